//! The fields that say how to log in: `auth` and `oauth` in every tool's spelling.

use super::super::tree::{Node, Value};
use super::Reader;
use crate::declared::{Auth, OAuth};
use crate::problem::{Code, Problem};
use crate::visible::excerpt;

impl Reader<'_> {
    /// Ours is `{type, ...}`, Codex has a word, Cursor and Copilot CLI put OAuth keys here.
    pub(super) fn auth(&mut self, key: &str, node: &Node<'_>) {
        let kind = node.text().or_else(|| node.get("type")?.text());
        let text = |field: &str| node.get(field).and_then(Node::text).map(str::to_owned);
        self.declared.conduct.auth = match kind {
            Some("oauth") => Some(Auth::OAuth { credential_id: text("credentialId") }),
            Some("bearer") => match text("tokenEnv") {
                Some(token_env) => Some(Auth::Bearer { token_env }),
                None => return self.ignore(key, node, "`{\"type\": \"bearer\", \"tokenEnv\": \"NAME\"}`"),
            },
            Some("none") => Some(Auth::None),
            Some(other) => {
                let key = format!("{key}: {}", excerpt(other, 30));
                return self.cannot(&key, node, "known are `oauth`, `bearer` and `none`");
            }
            None if node.entries().is_some_and(|entries| !entries.is_empty())
                && node.get("type").is_none() =>
            {
                return self.oauth(key, node);
            }
            None => return self.ignore(key, node, "an object with a `type`"),
        };
        // omp keeps the client beside the credential.
        for part in ["clientId", "clientSecret"] {
            if let Some(value) = node.get(part) {
                self.oauth_part(part, value);
            }
        }
    }

    pub(super) fn oauth(&mut self, key: &str, node: &Node<'_>) {
        match &node.value {
            Value::Bool(true) => self.declared.conduct.auth = Some(Auth::OAuth { credential_id: None }),
            Value::Bool(false) => self.declared.conduct.auth = Some(Auth::None),
            Value::Map(entries) => {
                self.declared.conduct.oauth.get_or_insert_default();
                for (part, value) in entries {
                    self.oauth_part(&part.text, value);
                }
            }
            Value::Null | Value::Number(_) | Value::Text(_) | Value::List(_) => {
                self.ignore(key, node, "an object");
            }
        }
    }

    pub(super) fn oauth_part(&mut self, part: &str, node: &Node<'_>) {
        let text = node.text().map(str::to_owned);
        let mut oauth = self.declared.conduct.oauth.take().unwrap_or_default();
        let understood = match part {
            "clientId" | "client_id" | "CLIENT_ID" => set(&mut oauth.client_id, text),
            "clientSecret" | "client_secret" | "CLIENT_SECRET" => {
                let secret = text.map(|text| self.parse(&text));
                set(&mut oauth.client_secret, secret)
            }
            "scope" | "scopes" => set(&mut oauth.scope, text.or_else(|| Some(node.texts()?.join(" ")))),
            "redirectUri" | "redirect_uri" => set(&mut oauth.redirect_uri, text),
            "callbackPort" | "callback_port" | "redirectPort" => {
                let number =
                    node.scalar().and_then(|text| text.parse::<u16>().ok()).filter(|port| *port != 0);
                set(&mut oauth.callback_port, number)
            }
            "prompt" => set(&mut oauth.prompt, text),
            "enabled" => true,
            "authorizationUrl"
            | "tokenUrl"
            | "authServerMetadataUrl"
            | "callbackPath"
            | "tokenParamName"
            | "audiences"
            | "enterpriseManaged" => {
                let reason = "it is taken from what the server publishes";
                self.cannot(&format!("oauth.{part}"), node, reason);
                true
            }
            other => {
                let message = format!("`oauth.{}` is not a known field", excerpt(other, 60));
                self.report(Problem::new(Code::UnknownField, message), node.line);
                true
            }
        };
        if oauth != OAuth::default() || self.declared.conduct.oauth.is_some() {
            self.declared.conduct.oauth = Some(oauth);
        }
        if !understood {
            let expected = if part.to_lowercase().contains("port") { "a port number" } else { "a string" };
            self.ignore(&format!("oauth.{}", excerpt(part, 60)), node, expected);
        }
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
