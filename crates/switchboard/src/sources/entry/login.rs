//! The fields that say how to log in: `auth` and `oauth` in every tool's spelling.

use super::super::tree::{Node, Value};
use super::Reader;
use crate::declared::{Auth, Enterprise, Grant, OAuth};
use crate::problem::{Code, Problem};
use crate::visible::excerpt;

impl Reader<'_> {
    /// Ours is `{type, ...}`, Codex has a word, Cursor and Copilot CLI put OAuth keys here.
    pub(super) fn auth(&mut self, key: &str, node: &Node<'_>) {
        let kind = node.text().or_else(|| node.get("type")?.text());
        let text = |field: &str| node.get(field).and_then(Node::text).map(str::to_owned);
        let has_oauth_keys =
            ["CLIENT_ID", "CLIENT_SECRET", "redirectPort"].iter().any(|part| node.get(part).is_some());
        self.declared.conduct.auth = match kind {
            Some("oauth") => Some(Auth::OAuth { credential_id: text("credentialId") }),
            Some("bearer") => match text("tokenEnv") {
                Some(token_env) => Some(Auth::Bearer { token_env }),
                None => return self.ignore(key, node, "`{\"type\": \"bearer\", \"tokenEnv\": \"NAME\"}`"),
            },
            Some("none") => Some(Auth::None),
            Some(other) => {
                let key = format!("{key}: {}", excerpt(other, 30));
                return self.cannot(&key, "known are `oauth`, `bearer` and `none`");
            }
            None if has_oauth_keys => return self.oauth(key, node),
            None => return self.ignore(key, node, "an object with a `type`"),
        };
        for (part, value) in node.entries().unwrap_or_default() {
            self.line = part.line;
            match part.text.as_ref() {
                "type" | "tokenEnv" => {}
                "credentialId" if value.text().is_some() => {}
                "credentialId" => self.ignore("auth.credentialId", value, "a string"),
                // omp keeps the client beside the credential.
                other => self.oauth_part(key, other, value),
            }
        }
    }

    pub(super) fn oauth(&mut self, key: &str, node: &Node<'_>) {
        match &node.value {
            Value::Bool(true) => self.declared.conduct.auth = Some(Auth::OAuth { credential_id: None }),
            Value::Bool(false) => self.declared.conduct.auth = Some(Auth::None),
            Value::Map(entries) => {
                for (part, value) in entries {
                    self.line = part.line;
                    self.oauth_part(key, &part.text, value);
                }
            }
            Value::Null | Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Odd(_) => {
                self.ignore(key, node, "true, false or an object");
            }
        }
    }

    /// One key of `oauth`, or of the object `inside` that holds such keys.
    pub(super) fn oauth_part(&mut self, inside: &str, part: &str, node: &Node<'_>) {
        let text = node.text().map(str::to_owned);
        let template = text.as_deref().map(|text| self.parse(text));
        let mut oauth = self.declared.conduct.oauth.take().unwrap_or_default();
        let understood = match part {
            "clientId" | "client_id" | "CLIENT_ID" => set(&mut oauth.client_id, template),
            "clientSecret" | "client_secret" | "CLIENT_SECRET" => set(&mut oauth.client_secret, template),
            "scope" | "scopes" => set(&mut oauth.scope, text.or_else(|| Some(node.texts()?.join(" ")))),
            "redirectUri" | "redirect_uri" => set(&mut oauth.redirect_uri, text),
            "callbackPort" | "callback_port" | "redirectPort" => {
                let number =
                    node.scalar().and_then(|text| text.parse::<u16>().ok()).filter(|port| *port != 0);
                set(&mut oauth.callback_port, number)
            }
            "prompt" => set(&mut oauth.prompt, text),
            "grant" => set(&mut oauth.grant, text.as_deref().and_then(Grant::from_word)),
            "privateKey" => set(&mut oauth.private_key, template),
            "assertion" => set(&mut oauth.assertion, template),
            "enterprise" => set(&mut oauth.enterprise, self.enterprise(inside, node)),
            "enabled" => true,
            "authorizationUrl" | "tokenUrl" | "authServerMetadataUrl" | "resource" => {
                self.cannot(&format!("{inside}.{part}"), "it is taken from what the server publishes");
                true
            }
            "callbackPath" | "tokenParamName" | "audiences" | "enterpriseManaged" => {
                self.cannot(&format!("{inside}.{part}"), "there is nothing like it here");
                true
            }
            other => {
                let message = format!("`{inside}.{}` is not a known field", excerpt(other, 60));
                self.report(Problem::new(Code::UnknownField, message));
                true
            }
        };
        if *oauth != OAuth::default() {
            self.declared.conduct.oauth = Some(oauth);
        }
        if !understood {
            let expected = match part {
                "grant" => "`authorization_code` or `client_credentials`",
                "enterprise" => "an object with `endpoint`, `clientId` and `idToken`",
                other if other.to_lowercase().contains("port") => "a port number",
                _ => "a string",
            };
            self.ignore(&format!("{inside}.{}", excerpt(part, 60)), node, expected);
        }
    }

    /// All three, or nothing.
    fn enterprise(&mut self, inside: &str, node: &Node<'_>) -> Option<Enterprise> {
        const PARTS: [&str; 3] = ["endpoint", "clientId", "idToken"];
        for (part, _) in node.entries()? {
            if !PARTS.contains(&part.text.as_ref()) {
                let message =
                    format!("`{inside}.enterprise.{}` is not a known field", excerpt(&part.text, 60));
                self.report(Problem::new(Code::UnknownField, message));
            }
        }
        let [endpoint, client_id, id_token] =
            PARTS.map(|part| node.get(part).and_then(Node::text).map(|text| self.parse(text)));
        Some(Enterprise { endpoint: endpoint?, client_id: client_id?, id_token: id_token? })
    }
}

/// Fills the slot if there is a value.
fn set<T>(slot: &mut Option<T>, value: Option<T>) -> bool {
    let is_some = value.is_some();
    if is_some {
        *slot = value;
    }
    is_some
}
