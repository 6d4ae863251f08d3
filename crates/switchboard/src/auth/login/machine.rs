//! Logins that need no person: a program is let in as itself, by a statement of others, or by an identity of the user.

use super::Attempt;
use crate::auth::error::Error;
use crate::auth::grant::{Desk, Tokens};
use crate::auth::kept::{Client, Kind, Method, Unknown};
use crate::auth::sign::SigningKey;
use crate::declared::Grant;
use crate::resolve::{Given, Machine};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

impl Attempt<'_> {
    /// Tokens without a person; none if that way is not open to us.
    pub(super) async fn alone(&self, known: Option<&Client>) -> Result<Option<(Client, Tokens)>, Error> {
        match self.place.account.machine.as_deref() {
            Some(Machine::Enterprise { client_id, id_token, token_endpoint }) => {
                let id_token = statement(id_token, "oauth.enterprise.idToken").await?;
                let assertion = self.exchange((client_id, &id_token, token_endpoint)).await?;
                let client = known.cloned().unwrap_or_else(|| public(""));
                let fields = [("grant_type", JWT_BEARER.to_owned()), ("assertion", assertion)];
                let tokens = self.desk(&client, None).ask(&fields).await?;
                Ok(Some((client, tokens)))
            }
            Some(Machine::Statement { jwt }) => {
                let assertion = statement(jwt, "oauth.assertion").await?;
                let client = public(self.place.account.client_id.as_deref().unwrap_or_default());
                let mut fields = vec![("grant_type", JWT_BEARER.to_owned()), ("assertion", assertion)];
                fields.extend(self.common());
                let tokens = self.desk(&client, None).ask(&fields).await?;
                Ok(Some((client, tokens)))
            }
            Some(Machine::Key { pem }) => {
                let pem = pem.read().await.map_err(|why| Error::Key { why })?;
                self.as_itself(known, Some(SigningKey::from_pem(&pem)?)).await
            }
            None => self.as_itself(known, None).await,
        }
    }

    /// The client itself is let in, where the entry says so, or there is no other way.
    async fn as_itself(
        &self,
        known: Option<&Client>,
        key: Option<SigningKey>,
    ) -> Result<Option<(Client, Tokens)>, Error> {
        let server = &self.published.server;
        let is_only_way = server.grants.is_some()
            && server.grants("client_credentials")
            && !server.grants("authorization_code");
        let is_wanted = match self.place.account.grant {
            Some(grant) => grant == Grant::ClientCredentials,
            None => is_only_way || key.is_some(),
        };
        let Some(client) = known.filter(|_| is_wanted) else { return Ok(None) };
        let mut fields = vec![("grant_type", Grant::ClientCredentials.as_str().to_owned())];
        fields.extend(self.common());
        let tokens = self.desk(client, key.as_ref()).ask(&fields).await?;
        Ok(Some((client.clone(), tokens)))
    }

    /// From the company's own login server: a statement that this user may use that server.
    async fn exchange(&self, (client_id, id_token, endpoint): (&str, &str, &str)) -> Result<String, Error> {
        let endpoint = self.fetcher.gate().endpoint(endpoint)?;
        let client = public(client_id);
        let desk = Desk {
            fetcher: self.fetcher,
            endpoint: &endpoint,
            issuer: "",
            client: &client,
            key: None,
            proof: None,
        };
        let kind = |name: &str| format!("urn:ietf:params:oauth:token-type:{name}");
        let mut fields = vec![
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange".to_owned()),
            ("requested_token_type", kind("id-jag")),
            ("subject_token", id_token.to_owned()),
            ("subject_token_type", kind("id_token")),
            ("audience", self.published.server.issuer.clone()),
        ];
        fields.extend(self.common());
        Ok(desk.ask(&fields).await?.access.expose().to_owned())
    }
}

/// A client that proves nothing.
fn public(id: &str) -> Client {
    Client {
        id: id.to_owned(),
        secret: None,
        method: Method::None,
        kind: Kind::Given,
        redirect: None,
        secret_expires: None,
        unknown: Unknown::default(),
    }
}

/// A signed statement. Nothing else is sent: the path in the entry may lead anywhere.
async fn statement(given: &Given, field: &'static str) -> Result<String, Error> {
    let text = given.read().await.map_err(|why| Error::Statement { field, why })?;
    if is_statement(&text) {
        Ok(text)
    } else {
        Err(Error::Statement { field, why: "it is not a signed statement (JWT)".to_owned() })
    }
}

/// Three parts of base64, of which the first begins an object.
fn is_statement(text: &str) -> bool {
    let is_part = |part: &str| part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    let parts: Vec<_> = text.split('.').collect();
    parts.len() == 3 && text.starts_with("ey") && parts.iter().all(|part| !part.is_empty() && is_part(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_statements_are_sent() {
        assert!(is_statement("eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9.c2ln-_"));
        for text in [
            "",
            "ey",
            "ey..",
            "eyJ.eyJ",
            "eyJ.eyJ.sig.more",
            "eyJ.ey J.sig",
            "root:x:0:0:root:/root:/bin/bash",
            "-----BEGIN PRIVATE KEY-----\nMIGH.ey.x\n",
            "AKIA.secret.key",
        ] {
            assert!(!is_statement(text), "{text}");
        }
    }
}
