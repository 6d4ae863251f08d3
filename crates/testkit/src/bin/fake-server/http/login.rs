//! A server that wants a login, and the login server beside it: documents, registration, a page that agrees, tokens.

use serde_json::{Value, json};

use crate::http::request::Request;
use crate::keys::Keys;

/// What the script says about logins.
pub(crate) struct Login {
    /// The token that is let in.
    access: String,
    refresh: Option<String>,
    expires_in: Option<u64>,
    scope: Option<String>,
    /// Nothing says where to log in.
    is_hidden: bool,
    /// The token endpoint refuses with this code.
    refuse: Option<String>,
}

/// An answer: status, headers, body.
pub(crate) type Answer = (u16, Vec<(String, String)>, Vec<u8>);

impl Login {
    pub(crate) fn read(value: &Value) -> Result<Self, String> {
        let mut keys = Keys::of("`login`", value)?;
        let login = Self {
            access: keys.text("access")?.unwrap_or_else(|| "fake-token".to_owned()),
            refresh: keys.text("refresh")?,
            expires_in: keys.number("expires_in")?,
            scope: keys.text("scope")?,
            is_hidden: keys.flag("hidden")?,
            refuse: keys.text("refuse")?,
        };
        keys.end()?;
        Ok(login)
    }

    /// What the login has to say to a request; nothing if the server itself may answer.
    pub(crate) fn answer(&self, request: &Request) -> Option<Answer> {
        let origin = format!("http://{}", request.header("host").unwrap_or_default());
        let is_let_in =
            request.header("authorization").is_some_and(|value| value == format!("Bearer {}", self.access));
        match (request.verb.as_str(), request.path.as_str()) {
            (_, "/mcp" | "/sse" | "/message") if is_let_in => None,
            (_, "/mcp" | "/sse" | "/message") => {
                let challenge = if self.is_hidden { "Bearer".to_owned() } else { self.challenge(&origin) };
                Some((401, vec![("WWW-Authenticate".to_owned(), challenge)], b"who are you?".to_vec()))
            }
            _ if self.is_hidden => None,
            ("GET", path) if path.starts_with("/.well-known/oauth-protected-resource") => {
                let mut document =
                    json!({"resource": format!("{origin}/mcp"), "authorization_servers": [origin]});
                if let Some(scope) = &self.scope {
                    document["scopes_supported"] = scope.split(' ').collect();
                }
                Some(json_answer(200, &document))
            }
            ("GET", "/.well-known/oauth-authorization-server") => Some(json_answer(
                200,
                &json!({
                    "issuer": origin,
                    "authorization_endpoint": format!("{origin}/authorize"),
                    "token_endpoint": format!("{origin}/token"),
                    "registration_endpoint": format!("{origin}/register"),
                    "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": ["none"],
                }),
            )),
            ("POST", "/register") => {
                let wished: Value = serde_json::from_slice(&request.body).unwrap_or_default();
                let uris = wished.get("redirect_uris").cloned().unwrap_or_default();
                let client = json!({"client_id": "fake-client", "token_endpoint_auth_method": "none",
                    "redirect_uris": uris});
                Some(json_answer(201, &client))
            }
            ("GET", "/authorize") => Some(agree(&request.query)),
            ("POST", "/token") => Some(self.token()),
            _ => None,
        }
    }

    fn challenge(&self, origin: &str) -> String {
        let document = format!("{origin}/.well-known/oauth-protected-resource/mcp");
        let scope = self.scope.as_ref().map(|scope| format!(", scope=\"{scope}\"")).unwrap_or_default();
        format!("Bearer resource_metadata=\"{document}\"{scope}")
    }

    fn token(&self) -> Answer {
        if let Some(code) = &self.refuse {
            return json_answer(400, &json!({"error": code}));
        }
        let mut token = json!({"access_token": self.access, "token_type": "Bearer"});
        if let Some(refresh) = &self.refresh {
            token["refresh_token"] = json!(refresh);
        }
        if let Some(seconds) = self.expires_in {
            token["expires_in"] = json!(seconds);
        }
        json_answer(200, &token)
    }
}

/// Sends the browser back at once. The parameters stay as they are encoded.
fn agree(query: &str) -> Answer {
    let value = |name: &str| {
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).unwrap_or_default()
    };
    let back = value("redirect_uri").replace("%3A", ":").replace("%2F", "/");
    let location = format!("{back}?code=fake-code&state={}", value("state"));
    (302, vec![("Location".to_owned(), location)], Vec::new())
}

fn json_answer(status: u16, value: &Value) -> Answer {
    let kind = ("Content-Type".to_owned(), "application/json".to_owned());
    (status, vec![kind], value.to_string().into_bytes())
}
