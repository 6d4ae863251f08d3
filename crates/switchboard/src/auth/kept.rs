//! A login as it is kept: who we are to which issuer, and what we were given.
//!
//! Plain data and its JSON. What a newer version added stays where it was when an older one writes the file again. No
//! secret shows itself.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use crate::digest;
use crate::redact::STARS;

/// The version of the JSON of a credential. A new field needs no new one; a change that an older program must not
/// write over does.
pub(crate) const VERSION: u64 = 1;

/// What a credential is kept under: an address, or a name that somebody gave it. Never the name of a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct CredentialId(String);

impl CredentialId {
    /// The one for whoever has no name for it. The query counts, the fragment does not.
    pub(crate) fn of_url(url: &Url) -> Self {
        let mut url = url.clone();
        url.set_fragment(None);
        Self(format!("url:{}", digest::hex(url.as_str().as_bytes())))
    }

    /// The one that goes by a name. No name can be that of an address.
    pub(crate) fn named(name: &str) -> Self {
        Self(format!("name:{name}"))
    }

    /// The id as it stands in the file.
    #[cfg(test)]
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// What its files are called.
    pub(crate) fn key(&self) -> String {
        digest::hex(self.0.as_bytes()).chars().take(32).collect()
    }
}

/// A text nobody may see.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Hidden(String);

impl Hidden {
    /// Hides a text.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, to be sent to where it belongs.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(STARS)
    }
}

/// Fields we do not know.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Unknown(Map<String, Value>);

impl fmt::Debug for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Any of the values may be a secret.
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// One credential: what is in its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Kept {
    pub(crate) version: u64,
    pub(crate) id: CredentialId,
    /// Where the server is, without its query: there may be a key in it.
    pub(crate) server: String,
    /// The issuer whose login counts.
    #[serde(default)]
    pub(crate) current: Option<String>,
    /// Logins by issuer. A token goes to its own issuer's endpoints only.
    #[serde(default)]
    pub(crate) logins: BTreeMap<String, Login>,
    #[serde(flatten)]
    pub(crate) unknown: Unknown,
}

impl Kept {
    /// A credential without a login.
    pub(crate) fn new(id: CredentialId, server: &Url) -> Self {
        let mut server = server.clone();
        server.set_query(None);
        server.set_fragment(None);
        // Fails only where there is none.
        let _none = server.set_username("").and_then(|()| server.set_password(None));
        Self {
            version: VERSION,
            id,
            server: server.into(),
            current: None,
            logins: BTreeMap::new(),
            unknown: Unknown::default(),
        }
    }

    /// The login that counts.
    pub(crate) fn login(&self) -> Option<&Login> {
        self.logins.get(self.current.as_ref()?)
    }

    /// All of it that may be seen: stars where there is a secret, and nothing that we do not know.
    pub(crate) fn outline(&self) -> Self {
        let logins = self.logins.iter().map(|(issuer, login)| (issuer.clone(), login.outline())).collect();
        Self { logins, unknown: Unknown::default(), ..self.clone() }
    }
}

/// What one issuer gave us.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Login {
    pub(crate) client: Client,
    /// What the token is for, exactly as it was published.
    pub(crate) resource: String,
    pub(crate) token_endpoint: String,
    #[serde(default)]
    pub(crate) revocation_endpoint: Option<String>,
    #[serde(default)]
    pub(crate) requested: Vec<String>,
    #[serde(default)]
    pub(crate) granted: Vec<String>,
    #[serde(default)]
    pub(crate) access: Option<Hidden>,
    #[serde(rename = "type")]
    pub(crate) token_type: TokenType,
    /// Seconds since 1970.
    pub(crate) received_at: u64,
    /// Seconds since 1970; `None` if nobody said.
    #[serde(default)]
    pub(crate) expires_at: Option<u64>,
    #[serde(default)]
    pub(crate) refresh: Option<Hidden>,
    #[serde(default)]
    pub(crate) dpop_key: Option<Hidden>,
    /// Grows by one with each token.
    pub(crate) generation: u64,
    pub(crate) state: State,
    /// Set while a refresh is under way; left behind if its answer never came.
    #[serde(default)]
    pub(crate) refreshing: Option<Refreshing>,
    #[serde(flatten)]
    pub(crate) unknown: Unknown,
}

impl Login {
    fn outline(&self) -> Self {
        let stars = |secret: &Option<Hidden>| secret.as_ref().map(|_| Hidden::new(STARS));
        Self {
            client: Client {
                secret: stars(&self.client.secret),
                unknown: Unknown::default(),
                ..self.client.clone()
            },
            access: stars(&self.access),
            refresh: stars(&self.refresh),
            dpop_key: stars(&self.dpop_key),
            unknown: Unknown::default(),
            ..self.clone()
        }
    }
}

/// Who we are to an issuer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Client {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) secret: Option<Hidden>,
    pub(crate) method: Method,
    pub(crate) kind: Kind,
    /// Where the browser comes back to, as it was registered.
    #[serde(default)]
    pub(crate) redirect: Option<String>,
    /// Seconds since 1970; `None` if it does not expire.
    #[serde(default)]
    pub(crate) secret_expires: Option<u64>,
    #[serde(flatten)]
    pub(crate) unknown: Unknown,
}

/// How a client proves itself, by the names that issuers use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Method {
    /// It does not.
    #[serde(rename = "none")]
    None,
    /// A secret in the header.
    #[serde(rename = "client_secret_basic")]
    Basic,
    /// A secret in the form.
    #[serde(rename = "client_secret_post")]
    Post,
    /// A signature.
    #[serde(rename = "private_key_jwt")]
    PrivateKeyJwt,
}

/// Where a client's id is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Kind {
    /// Somebody configured it.
    Given,
    /// It is the address of a document about us.
    Document,
    /// We registered.
    Dynamic,
}

/// How a token is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TokenType {
    /// By itself.
    Bearer,
    /// With a proof that it is ours.
    #[serde(rename = "DPoP")]
    Dpop,
}

/// Whether a login is still any good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum State {
    /// As far as we know.
    Good,
    /// The issuer said no for good: only a new login helps.
    Refused,
}

/// A refresh under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refreshing {
    /// Since when, in seconds since 1970.
    pub(crate) at: u64,
    /// By which process.
    pub(crate) pid: u32,
}

/// Examples for whoever tests with logins.
#[cfg(test)]
pub(crate) mod example {
    use super::*;

    pub(crate) const ISSUER: &str = "https://issuer.example/tenant";

    /// A credential with one login that has everything in it.
    pub(crate) fn kept() -> Kept {
        let server = Url::parse("https://host.example/mcp?key=in-the-address#part").unwrap();
        let mut kept = Kept::new(CredentialId::of_url(&server), &server);
        kept.current = Some(ISSUER.to_owned());
        kept.logins.insert(ISSUER.to_owned(), login());
        kept
    }

    pub(crate) fn login() -> Login {
        Login {
            client: Client {
                id: "client".to_owned(),
                secret: Some(Hidden::new("secret-of-client")),
                method: Method::Basic,
                kind: Kind::Dynamic,
                redirect: Some("http://127.0.0.1:4711/callback".to_owned()),
                secret_expires: Some(2000),
                unknown: Unknown::default(),
            },
            resource: "https://host.example/mcp".to_owned(),
            token_endpoint: "https://issuer.example/token".to_owned(),
            revocation_endpoint: Some("https://issuer.example/revoke".to_owned()),
            requested: vec!["read".to_owned(), "write".to_owned()],
            granted: vec!["read".to_owned()],
            access: Some(Hidden::new("secret-access")),
            token_type: TokenType::Dpop,
            received_at: 1000,
            expires_at: Some(4600),
            refresh: Some(Hidden::new("secret-refresh")),
            dpop_key: Some(Hidden::new("secret-key")),
            generation: 7,
            state: State::Good,
            refreshing: Some(Refreshing { at: 1500, pid: 42 }),
            unknown: Unknown::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_id_is_that_of_an_address_or_of_a_name() {
        let of = |url: &str| CredentialId::of_url(&Url::parse(url).unwrap());
        assert_eq!(of("https://host/mcp"), of("https://HOST:443/mcp#part"));
        assert_ne!(of("https://host/mcp"), of("https://host/mcp?key=1"));
        assert_ne!(of("https://host/mcp"), of("https://host/mcp/"));
        let url = of("https://host/mcp");
        assert_eq!(url.as_str(), format!("url:{}", digest::hex(b"https://host/mcp")));
        // A name that says it is an address is still a name.
        assert_ne!(CredentialId::named(url.as_str()), url);
        assert_eq!(url.key().len(), 32);
        assert_ne!(CredentialId::named("a").key(), CredentialId::named("b").key());
    }

    #[test]
    fn the_json_is_the_one_that_is_documented() {
        let kept = example::kept();
        let value = serde_json::to_value(&kept).unwrap();
        let expected = json!({
            "version": 1,
            "id": kept.id.as_str(),
            "server": "https://host.example/mcp",
            "current": "https://issuer.example/tenant",
            "logins": { "https://issuer.example/tenant": {
                "client": {
                    "id": "client", "secret": "secret-of-client", "method": "client_secret_basic",
                    "kind": "dynamic", "redirect": "http://127.0.0.1:4711/callback", "secretExpires": 2000,
                },
                "resource": "https://host.example/mcp",
                "tokenEndpoint": "https://issuer.example/token",
                "revocationEndpoint": "https://issuer.example/revoke",
                "requested": ["read", "write"],
                "granted": ["read"],
                "access": "secret-access",
                "type": "DPoP",
                "receivedAt": 1000,
                "expiresAt": 4600,
                "refresh": "secret-refresh",
                "dpopKey": "secret-key",
                "generation": 7,
                "state": "good",
                "refreshing": { "at": 1500, "pid": 42 },
            } },
        });
        assert_eq!(value, expected);
        assert_eq!(serde_json::from_value::<Kept>(value).unwrap(), kept);
        assert_eq!(kept.login(), Some(&example::login()));
    }

    #[test]
    fn fields_of_a_newer_version_stay_where_they_are() {
        let mut value = serde_json::to_value(example::kept()).unwrap();
        let new = json!({ "deep": [1, "x"] });
        value["new"] = new.clone();
        value["logins"][example::ISSUER]["new"] = new.clone();
        value["logins"][example::ISSUER]["client"]["new"] = new;
        let kept: Kept = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(&kept).unwrap(), value);
    }

    #[test]
    fn no_secret_shows_itself() {
        let mut value = serde_json::to_value(example::kept()).unwrap();
        value["new"] = json!("secret-new");
        value["logins"][example::ISSUER]["idToken"] = json!({ "secret-deep": "secret-new" });
        let kept: Kept = serde_json::from_value(value).unwrap();
        let shown = format!("{kept:?} {kept:#?}");
        assert!(!shown.contains("secret-"), "{shown}");
        assert!(!shown.contains("in-the-address"), "{shown}");
        assert!(shown.contains("idToken"));
    }

    #[test]
    fn an_address_is_kept_without_what_may_be_secret() {
        let url = Url::parse("https://me:pass@host/mcp?key=1#x").unwrap();
        assert_eq!(Kept::new(CredentialId::of_url(&url), &url).server, "https://host/mcp");
    }
}
