//! Who we are to a login server: given by hand, by a document of ours, or registered there.

use serde_json::{Value, json};

use super::discover::LoginServer;
use super::error::{self, Error};
use super::fetch::{Answer, Fetcher};
use super::kept::{Client, Hidden, Kind, Method, Unknown};
use super::place::Place;
use crate::resolve::Machine;

/// What we call ourselves.
const NAME: &str = "Switchboard";

/// What a client is wanted for.
pub(super) struct Purpose<'a> {
    /// Where the browser comes back to.
    pub(super) redirect: &'a str,
    pub(super) scopes: &'a [String],
    /// The document that describes us, if there is one.
    pub(super) document: Option<&'a str>,
}

/// A client that needs no registration, if there is one: given by hand, or remembered of this login server.
pub(super) fn known(place: &Place, server: &LoginServer, kept: Option<&Client>, now: u64) -> Option<Client> {
    if let Some(id) = &place.account.client_id {
        let secret = place.account.client_secret.clone().map(Hidden::new);
        let method = match (place.account.machine.as_deref(), &secret) {
            (Some(Machine::Key { .. }), _) => Method::PrivateKeyJwt,
            (_, None) => Method::None,
            (_, Some(_)) => with_secret(server, Method::Basic),
        };
        return Some(Client {
            id: id.clone(),
            secret,
            method,
            kind: Kind::Given,
            redirect: place.account.redirect_uri.clone(),
            secret_expires: None,
            unknown: Unknown::default(),
        });
    }
    let is_good = |client: &&Client| client.secret_expires.is_none_or(|at| at == 0 || at > now);
    kept.filter(|client| client.kind == Kind::Dynamic).filter(is_good).cloned()
}

/// A client for a login that comes back to `redirect`.
pub(super) async fn client(
    fetcher: &Fetcher,
    server: &LoginServer,
    (known, purpose): (Option<Client>, &Purpose<'_>),
) -> Result<Client, Error> {
    let comes_back = |client: &Client| {
        client.kind != Kind::Dynamic || client.redirect.as_deref() == Some(purpose.redirect)
    };
    if let Some(client) = known.filter(comes_back) {
        return Ok(client);
    }
    if let Some(document) = purpose.document.filter(|_| server.takes_documents) {
        return Ok(Client {
            id: document.to_owned(),
            secret: None,
            method: Method::None,
            kind: Kind::Document,
            redirect: Some(purpose.redirect.to_owned()),
            secret_expires: None,
            unknown: Unknown::default(),
        });
    }
    register(fetcher, server, purpose).await
}

async fn register(fetcher: &Fetcher, server: &LoginServer, purpose: &Purpose<'_>) -> Result<Client, Error> {
    let issuer = || server.issuer.clone();
    let endpoint = server.registration.as_ref().ok_or_else(|| Error::NoClient { issuer: issuer() })?;
    let wanted = wanted_method(server);
    let mut wish = json!({
        "client_name": NAME,
        "application_type": "native",
        "redirect_uris": [purpose.redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": wanted.as_str(),
    });
    if !purpose.scopes.is_empty() {
        wish["scope"] = purpose.scopes.join(" ").into();
    }
    let mut answer = fetcher.post_json(endpoint, &wish).await?;
    // Some know only rights of their own here, and not those of the servers behind them. They need not be named.
    let is_about_wish = said(&answer) == Some("invalid_client_metadata");
    if is_about_wish && wish.as_object_mut().is_some_and(|wish| wish.remove("scope").is_some()) {
        answer = fetcher.post_json(endpoint, &wish).await?;
    }
    if !(200..300).contains(&answer.status) {
        return Err(Error::RegistrationRefused { issuer: issuer(), code: refusal(&answer) });
    }
    let document = answer.body.unwrap_or_default();
    read(&document, wanted, server, purpose.redirect).ok_or_else(|| Error::RegistrationRefused {
        issuer: issuer(),
        code: "an answer without an id".to_owned(),
    })
}

fn read(document: &Value, wanted: Method, server: &LoginServer, redirect: &str) -> Option<Client> {
    let text = |name: &str| document.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let secret = text("client_secret").map(|secret| Hidden::new(secret.to_owned()));
    let lists_none =
        server.methods.as_ref().is_some_and(|methods| methods.iter().any(|known| known == "none"));
    let method = match (text("token_endpoint_auth_method").and_then(Method::from_word), &secret) {
        (_, None) => Method::None,
        (Some(method), Some(_)) => method,
        // A secret nobody wants to see again.
        (None, Some(_)) if wanted == Method::None && lists_none => Method::None,
        (None, Some(_)) if wanted == Method::None => Method::Basic,
        (None, Some(_)) => wanted,
    };
    Some(Client {
        id: text("client_id")?.to_owned(),
        secret,
        method,
        kind: Kind::Dynamic,
        redirect: Some(redirect.to_owned()),
        secret_expires: document.get("client_secret_expires_at").and_then(Value::as_u64).filter(|at| *at > 0),
        unknown: Unknown::default(),
    })
}

/// How we would like to prove who we are: not at all, where that is enough.
fn wanted_method(server: &LoginServer) -> Method {
    match &server.methods {
        None => Method::None,
        Some(methods) if methods.iter().any(|known| known == "none") => Method::None,
        // Some that take both look for it in the form when a login is to end, whatever was agreed.
        Some(methods) if methods.iter().any(|known| known == Method::Post.as_str()) => Method::Post,
        Some(_) => with_secret(server, Method::None),
    }
}

/// The way to show a secret that the server takes.
fn with_secret(server: &LoginServer, otherwise: Method) -> Method {
    let takes = |method: Method| {
        server.methods.as_ref().is_some_and(|methods| methods.iter().any(|known| known == method.as_str()))
    };
    [Method::Basic, Method::Post].into_iter().find(|method| takes(*method)).unwrap_or(otherwise)
}

fn said(answer: &Answer) -> Option<&str> {
    answer.body.as_ref()?.get("error")?.as_str()
}

fn refusal(answer: &Answer) -> String {
    said(answer).map_or_else(|| format!("HTTP {}", answer.status), error::code)
}

impl Method {
    /// The word login servers use.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::None, Self::Basic, Self::Post, Self::PrivateKeyJwt]
            .into_iter()
            .find(|method| method.as_str() == word)
    }
}
