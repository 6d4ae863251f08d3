//! The part of a login that needs a person: a page, and the browser that comes back from it.

use std::time::Duration;

use tokio::time::timeout;
use url::Url;

use super::{Attempt, OFFLINE};
use crate::auth::callback::{Callback, Host as Home, Returned, Wish, parse_pasted};
use crate::auth::error::{self, Error};
use crate::auth::grant::Tokens;
use crate::auth::kept::Client;
use crate::auth::register::{self, Purpose};
use crate::auth::sign;
use crate::host::{Host, Page, Visited};
use crate::redact;

/// How long a person may take.
const PATIENCE: Duration = Duration::from_mins(5);
const CALLBACK: &str = "/callback";

impl Page {
    /// How long a person may take.
    pub const PATIENCE: Duration = PATIENCE;

    /// Whether a pasted text would end this login, well or badly. If not, the error says what is wrong with the text and
    /// repeats nothing of it, so that a host can ask again. The login looks at the text itself, whatever is asked here.
    pub fn check_pasted(&self, text: &str) -> Result<(), Error> {
        let url = Url::parse(&self.url).ok();
        // Ours comes last, whatever the login server has in its own address.
        let states = url.iter().flat_map(Url::query_pairs).filter(|(name, _)| name == "state");
        let state = states.last().map(|(_, state)| state).unwrap_or_default();
        read(text, &state, &self.redirect).map(drop)
    }
}

fn read(pasted: &str, state: &str, redirect: &str) -> Result<Returned, Error> {
    parse_pasted(pasted, state, redirect).map_err(|error| Error::Pasted(error.to_string()))
}

impl Attempt<'_> {
    /// A person logs in at a page, and the browser comes back to us.
    pub(super) async fn by_page(
        &self,
        host: &dyn Host,
        known: Option<Client>,
    ) -> Result<(Client, Tokens), Error> {
        let server = &self.published.server;
        let no_endpoints = || Error::NoEndpoints { server: self.place.server.clone() };
        let page = server.authorization.clone().ok_or_else(no_endpoints)?;
        if !server.has_pkce {
            return Err(Error::NoPkce { issuer: server.issuer.clone() });
        }
        let mut callback = self.callback(known.as_ref())?;
        let redirect = self.place.account.redirect_uri.clone().unwrap_or_else(|| callback.redirect());
        let purpose = Purpose { redirect: &redirect, scopes: self.scopes, document: self.document };
        let client = match register::client(self.fetcher, server, (known, &purpose)).await {
            // Nothing says that there is a login at all.
            Err(Error::RegistrationRefused { .. } | Error::NoClient { .. } | Error::Unreachable { .. })
                if server.is_guessed =>
            {
                return Err(no_endpoints());
            }
            client => client?,
        };
        let (state, verifier) = (sign::random(), sign::random());
        let url = self.page(page, (&client, &redirect), (&state, &verifier));
        self.fetcher.gate().page(&url)?;
        let before = self.before.map(|login| login.requested.as_slice()).unwrap_or_default();
        let page = Page {
            server: self.place.server.clone(),
            issuer: server.issuer.clone(),
            url: url.to_string(),
            redirect: redirect.clone(),
            scopes: self.scopes.to_vec(),
            new_scopes: self.scopes.iter().filter(|scope| !before.contains(scope)).cloned().collect(),
        };
        let returned = visit(host, page, &mut callback, &state).await?;
        let code = self.code(returned)?;
        let fields = [
            ("grant_type", "authorization_code".to_owned()),
            ("code", code),
            ("redirect_uri", redirect),
            ("code_verifier", verifier),
            ("resource", self.published.resource.clone()),
        ];
        // Whoever reloads the page meanwhile is told that all is well.
        let tokens = callback.during(self.desk(&client, None).ask(&fields)).await?;
        Ok((client, tokens))
    }

    /// Where the browser comes back to: where the entry says, else where it came back to last time, else anywhere.
    fn callback(&self, known: Option<&Client>) -> Result<Callback, Error> {
        let account = &self.place.account;
        let wished = account.redirect_uri.as_deref().and_then(|uri| Url::parse(uri).ok());
        let last = known
            .and_then(|client| client.redirect.as_deref())
            .and_then(|redirect| Url::parse(redirect).ok())
            .filter(is_here);
        let given = wished.as_ref().filter(|url| is_here(url)).and_then(Url::port);
        let ports = match account.callback_port.or(given) {
            Some(port) => vec![port],
            None => last.and_then(|redirect| redirect.port()).into_iter().chain([0]).collect(),
        };
        let path = wished.as_ref().map_or_else(|| CALLBACK.to_owned(), |url| url.path().to_owned());
        let host = wished.as_ref().map_or(Home::Ipv4, home);
        Callback::bind(&Wish { ports, path, host }).map_err(|error| Error::NoPort(error.to_string()))
    }

    fn page(
        &self,
        mut page: Url,
        (client, redirect): (&Client, &str),
        (state, verifier): (&str, &str),
    ) -> Url {
        let prompt = match self.place.account.prompt.as_deref() {
            Some("") => None,
            Some(prompt) => Some(prompt),
            // Some login servers drop the right to renew without a word unless the user is asked for it.
            None => self.scopes.iter().any(|scope| scope == OFFLINE).then_some("consent"),
        };
        let mut query = page.query_pairs_mut();
        query.append_pair("response_type", "code").append_pair("client_id", &client.id);
        query.append_pair("redirect_uri", redirect).append_pair("state", state);
        query
            .append_pair("code_challenge", &sign::pkce(verifier))
            .append_pair("code_challenge_method", "S256");
        if !self.scopes.is_empty() {
            query.append_pair("scope", &self.scopes.join(" "));
        }
        query.append_pair("resource", &self.published.resource);
        if let Some(prompt) = prompt {
            query.append_pair("prompt", prompt);
        }
        drop(query);
        page
    }

    /// The code, if it comes from who was asked. That is looked at first: a stranger's error is not shown either.
    fn code(&self, returned: Returned) -> Result<String, Error> {
        let server = &self.published.server;
        let is_right = match &returned.iss {
            Some(iss) => *iss == server.issuer && !server.is_guessed,
            None => !server.sends_issuer,
        };
        if !is_right {
            return Err(Error::WrongIssuer { expected: redact::url(&server.issuer) });
        }
        if let Some(code) = returned.error {
            return Err(Error::Refused { code: error::code(&code) });
        }
        returned.code.ok_or(Error::BadAnswer { why: "the browser came back without a code" })
    }
}

/// Whether an address is one of this machine, so that a browser on it comes straight to us.
fn is_here(url: &Url) -> bool {
    matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"))
}

/// What the browser calls this machine when it comes back to an address.
fn home(url: &Url) -> Home {
    match (url.host_str(), url.port()) {
        (Some("127.0.0.1") | None, _) => Home::Ipv4,
        (Some("localhost" | "[::1]"), _) => Home::Localhost,
        // Whoever stands there passes it on, under its own name.
        (Some(name), Some(port)) => Home::Behind(format!("{name}:{port}")),
        (Some(name), None) => Home::Behind(name.to_owned()),
    }
}

/// Shows the page and waits for the browser, or for what the user pastes.
async fn visit(host: &dyn Host, page: Page, callback: &mut Callback, state: &str) -> Result<Returned, Error> {
    let redirect = page.redirect.clone();
    let visiting = async {
        match host.visit(page).await {
            Visited::Opened => std::future::pending().await,
            Visited::Pasted(text) => read(&text, state, &redirect),
            Visited::Declined => Err(Error::Declined),
        }
    };
    let either = async {
        tokio::select! {
            returned = callback.wait(state) => Ok(returned),
            visited = visiting => visited,
        }
    };
    timeout(PATIENCE, either).await.unwrap_or(Err(Error::TimedOut))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_comes_back_here_or_is_passed_on() {
        let check =
            |url: &str, expected: Home| assert_eq!(home(&Url::parse(url).unwrap()), expected, "{url}");
        check("http://127.0.0.1:4711/callback", Home::Ipv4);
        check("http://localhost/callback", Home::Localhost);
        check("http://[::1]:1/", Home::Localhost);
        check("https://front.example/back", Home::Behind("front.example".to_owned()));
        check("https://front.example:8443/back", Home::Behind("front.example:8443".to_owned()));
    }

    #[test]
    fn a_host_learns_what_is_wrong_with_a_paste() {
        let page = Page {
            server: "tracker".to_owned(),
            issuer: "https://i".to_owned(),
            // The login server has a word of its own of that name.
            url: "https://i/authorize?state=theirs&client_id=c&state=o%2Furs".to_owned(),
            redirect: "http://127.0.0.1:4711/callback".to_owned(),
            scopes: Vec::new(),
            new_scopes: Vec::new(),
        };
        let check = |text: &str, expected: Option<&str>| {
            let why = page.check_pasted(text).err().map(|error| error.to_string());
            assert_eq!(why.as_deref(), expected, "{text}");
        };
        check("http://127.0.0.1:4711/callback?code=hush&state=o%2Furs", None);
        check("http://127.0.0.1:4711/callback?error=access_denied&state=o%2Furs", None);
        let other = Some("this address is from another login, or was cut off");
        check("http://127.0.0.1:4711/callback?code=hush&state=theirs", other);
        check("http://127.0.0.1:4711/callback?error=access_denied&state=theirs", other);
        check("hush", Some("this is not a whole address"));
    }
}
