//! Where to log in: from a challenge to the endpoints, by what the server and its login server publish.
//!
//! The resource and the issuer are kept as the texts they were published as: they are compared and sent byte for byte.

use serde_json::Value;
use url::Url;

use super::challenge::Challenge;
use super::error::Error;
use super::fetch::Fetcher;
use super::gate::Gate;
use super::place::Place;
use crate::redact;

/// Login servers of one resource that are looked at.
const MOST_SERVERS: usize = 4;

/// What is published about logging in.
#[derive(Debug, Clone)]
pub(super) struct Published {
    /// The server as its document names it.
    pub(super) resource: String,
    /// The rights it knows, if it says so.
    pub(super) scopes: Vec<String>,
    pub(super) server: LoginServer,
}

/// Where to log in.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that is published")]
pub(super) struct LoginServer {
    /// As published; the origin of the server where nothing is.
    pub(super) issuer: String,
    pub(super) authorization: Option<Url>,
    pub(super) token: Url,
    pub(super) registration: Option<Url>,
    pub(super) revocation: Option<Url>,
    /// How clients may prove who they are; none if it does not say.
    pub(super) methods: Option<Vec<String>>,
    pub(super) grants: Option<Vec<String>>,
    pub(super) scopes: Vec<String>,
    pub(super) sends_issuer: bool,
    pub(super) takes_documents: bool,
    pub(super) takes_proofs: bool,
    pub(super) has_pkce: bool,
    /// Nothing is published: these are the usual places.
    pub(super) is_guessed: bool,
}

impl LoginServer {
    pub(super) fn grants(&self, grant: &str) -> bool {
        self.grants.as_ref().is_none_or(|grants| grants.iter().any(|known| known == grant))
    }
}

/// Looks it all up.
pub(super) async fn discover(
    fetcher: &Fetcher,
    place: &Place,
    challenge: &Challenge,
) -> Result<Published, Error> {
    let looking = Looking { fetcher, gate: fetcher.gate(), place };
    match looking.resource(challenge.resource_metadata.as_deref()).await? {
        Some(document) => looking.published(&document).await,
        None => looking.unpublished().await,
    }
}

struct Looking<'a> {
    fetcher: &'a Fetcher,
    gate: &'a Gate,
    place: &'a Place,
}

impl Looking<'_> {
    /// The document of the server about itself.
    async fn resource(&self, pointer: Option<&str>) -> Result<Option<Value>, Error> {
        let mut places = Vec::new();
        if let Some(pointer) = pointer {
            places.push(self.gate.document(pointer)?);
        }
        let name = "oauth-protected-resource";
        for guess in [inserted(&self.place.url, name), at_root(&self.place.url, name)] {
            if let Ok(url) = Url::parse(&guess)
                && !places.contains(&url)
            {
                places.push(url);
            }
        }
        for (index, url) in places.iter().enumerate() {
            let is_pointer = pointer.is_some() && index == 0;
            let Some(document) = self.document(url, is_pointer).await? else { continue };
            let Some(resource) = document.get("resource").and_then(Value::as_str) else { continue };
            if !fits(resource, &self.place.url) {
                return Err(Error::ResourceMismatch { published: redact::url(resource) });
            }
            return Ok(Some(document));
        }
        Ok(None)
    }

    /// One that is not there, or is no document, is no reason to stop.
    async fn document(&self, url: &Url, must_be_reached: bool) -> Result<Option<Value>, Error> {
        match self.fetcher.get(url).await {
            Ok(answer) if answer.status == 200 => Ok(answer.body.filter(Value::is_object)),
            Err(failure) if must_be_reached => Err(failure.into()),
            Ok(_) | Err(_) => Ok(None),
        }
    }

    async fn published(&self, document: &Value) -> Result<Published, Error> {
        let no_endpoints = || Error::NoEndpoints { server: self.place.server.clone() };
        for issuer in texts(document, "authorization_servers").into_iter().flatten().take(MOST_SERVERS) {
            if let Some(server) = self.login_server(&issuer).await? {
                return Ok(Published {
                    resource: text(document, "resource").unwrap_or_default(),
                    scopes: texts(document, "scopes_supported").unwrap_or_default(),
                    server,
                });
            }
        }
        Err(no_endpoints())
    }

    /// What a login server publishes about itself. It must be the one that was named, to the letter.
    async fn login_server(&self, issuer: &str) -> Result<Option<LoginServer>, Error> {
        let url = self.gate.document(issuer)?;
        let (oauth, oidc) = ("oauth-authorization-server", "openid-configuration");
        let mut places = vec![inserted(&url, oauth), inserted(&url, oidc)];
        let path = url.path().trim_end_matches('/');
        if !path.is_empty() {
            places.push(format!("{}{path}/.well-known/{oidc}", origin(&url)));
        }
        for guess in places {
            let Some(document) = self.document(&self.gate.document(&guess)?, false).await? else { continue };
            if text(&document, "token_endpoint").is_none() {
                continue;
            }
            let found = text(&document, "issuer").unwrap_or_default();
            if found != issuer {
                let expected = redact::url(issuer);
                return Err(Error::IssuerMismatch { expected, found: redact::url(&found) });
            }
            return self.read(&document, issuer).map(Some);
        }
        Ok(None)
    }

    /// The way of 2025-03-26: the server is its own login server.
    async fn unpublished(&self) -> Result<Published, Error> {
        let origin = origin(&self.place.url);
        let mut resource = self.place.url.clone();
        resource.set_query(None);
        resource.set_fragment(None);
        let server = match self.login_server(&origin).await? {
            Some(server) => server,
            None => self.usual(&origin)?,
        };
        Ok(Published { resource: resource.to_string(), scopes: Vec::new(), server })
    }

    fn usual(&self, origin: &str) -> Result<LoginServer, Error> {
        let at = |path: &str| self.gate.endpoint(&format!("{origin}{path}"));
        Ok(LoginServer {
            issuer: origin.to_owned(),
            authorization: Some(at("/authorize")?),
            token: at("/token")?,
            registration: Some(at("/register")?),
            revocation: None,
            methods: None,
            grants: None,
            scopes: Vec::new(),
            sends_issuer: false,
            takes_documents: false,
            takes_proofs: false,
            has_pkce: true,
            is_guessed: true,
        })
    }

    fn read(&self, document: &Value, issuer: &str) -> Result<LoginServer, Error> {
        let endpoint = |name: &str| {
            text(document, name).map(|text| self.gate.endpoint(&text)).transpose().map_err(Error::from)
        };
        let is_true = |name: &str| document.get(name).and_then(Value::as_bool).unwrap_or(false);
        let has = |name: &str, wanted: &str| {
            texts(document, name).is_some_and(|list| list.iter().any(|text| text == wanted))
        };
        Ok(LoginServer {
            issuer: issuer.to_owned(),
            authorization: endpoint("authorization_endpoint")?,
            token: endpoint("token_endpoint")?.ok_or(Error::BadAnswer { why: "no token endpoint" })?,
            registration: endpoint("registration_endpoint")?,
            revocation: endpoint("revocation_endpoint")?,
            methods: texts(document, "token_endpoint_auth_methods_supported"),
            grants: texts(document, "grant_types_supported"),
            scopes: texts(document, "scopes_supported").unwrap_or_default(),
            sends_issuer: is_true("authorization_response_iss_parameter_supported"),
            takes_documents: is_true("client_id_metadata_document_supported"),
            takes_proofs: has("dpop_signing_alg_values_supported", "ES256"),
            has_pkce: has("code_challenge_methods_supported", "S256"),
            is_guessed: false,
        })
    }
}

fn text(document: &Value, name: &str) -> Option<String> {
    document.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn texts(document: &Value, name: &str) -> Option<Vec<String>> {
    let list = document.get(name)?.as_array()?;
    Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// The well-known place with the path behind it.
fn inserted(url: &Url, name: &str) -> String {
    format!("{}/.well-known/{name}{}", origin(url), url.path().trim_end_matches('/'))
}

fn at_root(url: &Url, name: &str) -> String {
    format!("{}/.well-known/{name}", origin(url))
}

/// Whether a document about `resource` is about this server: the same origin, and the same path or one above it.
fn fits(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    if resource.origin() != server.origin() || resource.fragment().is_some() {
        return false;
    }
    let above = resource.path().trim_end_matches('/');
    let path = server.path().trim_end_matches('/');
    path == above || path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_about_a_server_or_it_is_not() {
        let check = |resource: &str, server: &str| fits(resource, &Url::parse(server).unwrap());
        for resource in
            ["https://a.b/mcp", "https://a.b/mcp/", "https://a.b", "https://a.b/", "https://a.b:443/mcp"]
        {
            assert!(check(resource, "https://a.b/mcp"), "{resource}");
        }
        for resource in [
            "https://a.b/mc",
            "https://a.b/mcp/x",
            "http://a.b/mcp",
            "https://a.b:8/mcp",
            "https://a.c/mcp",
            "https://a.b/mcp#x",
            "mcp",
            "",
        ] {
            assert!(!check(resource, "https://a.b/mcp"), "{resource}");
        }
    }

    #[test]
    fn well_known_places_have_the_path_behind_them() {
        let url = Url::parse("https://a.b:8443/tenant/one/?key=1").unwrap();
        assert_eq!(inserted(&url, "x"), "https://a.b:8443/.well-known/x/tenant/one");
        assert_eq!(at_root(&url, "x"), "https://a.b:8443/.well-known/x");
        assert_eq!(inserted(&Url::parse("https://a.b/").unwrap(), "x"), "https://a.b/.well-known/x");
    }
}
