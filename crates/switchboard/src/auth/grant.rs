//! Asks a login server for tokens, and reads its answer.

use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use url::Url;
use url::form_urlencoded::byte_serialize;

use super::error::{self, Error};
use super::fetch::{Answer, Fetcher};
use super::kept::{Client, Hidden, Method};
use super::keys::now;
use super::sign::{self, Claims, DpopKey, Proof, SigningKey};

/// Longest token that is believed to be one.
const LONGEST_TOKEN: usize = 64 * 1024;
const LONGEST_LIFE: u64 = 10 * 365 * 24 * 60 * 60;

/// What a login server gave.
#[derive(Debug, Clone)]
pub(super) struct Tokens {
    pub(super) access: Hidden,
    pub(super) refresh: Option<Hidden>,
    /// In seconds, if it says so.
    pub(super) life: Option<u64>,
    pub(super) scopes: Option<Vec<String>>,
    /// The token is bound to a key.
    pub(super) is_bound: bool,
}

/// Who asks, and where.
pub(super) struct Desk<'a> {
    pub(super) fetcher: &'a Fetcher,
    pub(super) endpoint: &'a Url,
    /// Who a signed statement is for.
    pub(super) issuer: &'a str,
    pub(super) client: &'a Client,
    pub(super) key: Option<&'a SigningKey>,
    pub(super) proof: Option<&'a Prover>,
}

/// Proves that a token is ours, where tokens are bound to a key.
#[derive(Debug)]
pub(super) struct Prover {
    pub(super) key: DpopKey,
    /// What servers want to see in the next proof, by origin.
    nonces: Mutex<Vec<(String, String)>>,
}

impl Prover {
    pub(super) fn new(key: DpopKey) -> Self {
        Self { key, nonces: Mutex::default() }
    }

    pub(super) fn learn(&self, url: &Url, nonce: &str) {
        let origin = url.origin().ascii_serialization();
        let mut nonces = self.nonces.lock().unwrap_or_else(PoisonError::into_inner);
        nonces.retain(|(known, _)| *known != origin);
        nonces.push((origin, nonce.to_owned()));
    }

    pub(super) fn proof(&self, method: &str, url: &Url, token: Option<&str>) -> Result<String, Error> {
        let origin = url.origin().ascii_serialization();
        let nonces = self.nonces.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let nonce = nonces.iter().find(|(known, _)| *known == origin).map(|(_, nonce)| nonce.as_str());
        Ok(self.key.proof(&Proof { method, url, access: token, nonce, now: now() })?)
    }
}

/// What is sent, by name.
type Form<'f> = Vec<(&'f str, String)>;

impl Desk<'_> {
    /// Asks for tokens with a form of these fields.
    pub(super) async fn ask(&self, fields: &[(&str, String)]) -> Result<Tokens, Error> {
        let mut is_first = true;
        loop {
            let (headers, form) = self.request(fields)?;
            let answer = self.fetcher.post_form(self.endpoint, headers, &form).await?;
            if let (Some(nonce), Some(prover)) = (&answer.nonce, self.proof) {
                prover.learn(self.endpoint, nonce);
            }
            let wants_nonce = said(&answer) == Some("use_dpop_nonce") && answer.nonce.is_some();
            if is_first && wants_nonce && self.proof.is_some() {
                is_first = false;
                continue;
            }
            return read(&answer);
        }
    }

    /// Tells it something; whatever it answers is as good.
    pub(super) async fn tell(&self, fields: &[(&str, String)]) -> Result<(), Error> {
        let (headers, form) = self.request(fields)?;
        self.fetcher.post_form(self.endpoint, headers, &form).await?;
        Ok(())
    }

    fn request<'f>(&self, fields: &[(&'f str, String)]) -> Result<(HeaderMap, Form<'f>), Error> {
        let mut form: Form<'f> = fields.to_vec();
        let mut headers = HeaderMap::new();
        let secret = self.client.secret.as_ref().map(Hidden::expose).unwrap_or_default();
        match self.client.method {
            Method::None => form.push(("client_id", self.client.id.clone())),
            Method::Basic => {
                // Beside the header as well: some servers look only there.
                form.push(("client_id", self.client.id.clone()));
                let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let login = STANDARD.encode(format!("{}:{}", encode(&self.client.id), encode(secret)));
                insert(&mut headers, AUTHORIZATION, &format!("Basic {login}"));
            }
            Method::Post => {
                form.push(("client_id", self.client.id.clone()));
                form.push(("client_secret", secret.to_owned()));
            }
            Method::PrivateKeyJwt => {
                let key = self.key.ok_or_else(|| Error::Key { why: "there is none".to_owned() })?;
                let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
                form.push(("client_assertion_type", kind.to_owned()));
                let claims = Claims { client: &self.client.id, audience: self.issuer, now: now() };
                form.push(("client_assertion", sign::assertion(key, &claims)?));
            }
        }
        if let Some(prover) = self.proof {
            let proof = prover.proof("POST", self.endpoint, None)?;
            insert(&mut headers, HeaderName::from_static("dpop"), &proof);
        }
        Ok((headers, form))
    }
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(mut value) = HeaderValue::from_str(value) {
        value.set_sensitive(true);
        headers.insert(name, value);
    }
}

fn said(answer: &Answer) -> Option<&str> {
    answer.body.as_ref()?.get("error")?.as_str()
}

/// What an answer means.
fn read(answer: &Answer) -> Result<Tokens, Error> {
    if let Some(code) = said(answer) {
        return Err(refusal(code, answer.status));
    }
    match answer.status {
        200..300 => {}
        401 => return Err(Error::TokenRefused { code: "HTTP 401".to_owned(), was_cut_off: false }),
        status => return Err(Error::TokenLater { code: format!("HTTP {status}") }),
    }
    let body = answer.body.as_ref().ok_or(Error::BadAnswer { why: "it is not JSON" })?;
    let text = |name: &str| body.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let access = text("access_token").ok_or(Error::BadAnswer { why: "there is no token in it" })?;
    if access.len() > LONGEST_TOKEN || access.chars().any(|c| c.is_control() || c == ' ' || !c.is_ascii()) {
        return Err(Error::BadAnswer { why: "its token cannot be sent" });
    }
    let kind = text("token_type").unwrap_or("bearer");
    let is_bound = kind.eq_ignore_ascii_case("dpop");
    if !is_bound && !kind.eq_ignore_ascii_case("bearer") && !kind.eq_ignore_ascii_case("n_a") {
        return Err(Error::BadAnswer { why: "its token is of an unknown kind" });
    }
    let life = body.get("expires_in").and_then(seconds).map(|life| life.min(LONGEST_LIFE));
    Ok(Tokens {
        access: Hidden::new(access.to_owned()),
        refresh: text("refresh_token").map(|token| Hidden::new(token.to_owned())),
        life,
        scopes: text("scope").map(|scopes| scopes.split_whitespace().map(str::to_owned).collect()),
        is_bound,
    })
}

/// A number, or one in quotes.
fn seconds(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok()).or_else(|| {
        let number = value.as_f64().filter(|number| number.is_finite() && *number >= 0.0)?;
        // Longer than anything lives; larger ones are no whole numbers of ours.
        format!("{:.0}", number.min(1e15)).parse().ok()
    })
}

/// Which refusals are final: the rest may be another answer later.
fn refusal(code: &str, status: u16) -> Error {
    let is_passing = matches!(code, "temporarily_unavailable" | "server_error" | "slow_down")
        || matches!(status, 408 | 425 | 429 | 500..);
    let code = error::code(code);
    if is_passing { Error::TokenLater { code } } else { Error::TokenRefused { code, was_cut_off: false } }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(status: u16, body: Value) -> Answer {
        Answer { status, body: Some(body), nonce: None }
    }

    #[test]
    fn tokens_are_read_in_every_spelling_and_nonsense_is_refused() {
        let good = json!({"access_token": "a", "token_type": "bearer", "expires_in": "60", "refresh_token": "", "scope": "x y"});
        let tokens = read(&answer(200, good)).unwrap();
        assert_eq!((tokens.access.expose(), tokens.life, tokens.refresh.is_none()), ("a", Some(60), true));
        assert_eq!(tokens.scopes.unwrap(), ["x", "y"]);
        let life =
            |life: Value| read(&answer(200, json!({"access_token": "a", "expires_in": life}))).unwrap().life;
        assert_eq!(life(json!(u64::MAX)), Some(LONGEST_LIFE));
        assert_eq!(life(json!(3599.6)), Some(3600));
        assert_eq!(life(json!(1e30)), Some(LONGEST_LIFE));
        assert_eq!(read(&answer(200, json!({"access_token": "a", "expires_in": -5}))).unwrap().life, None);
        assert!(read(&answer(200, json!({"access_token": "a", "token_type": "DPoP"}))).unwrap().is_bound);
        for body in [
            json!({}),
            json!({"access_token": ""}),
            json!({"access_token": "a b"}),
            json!({"access_token": "a\r\nX: y"}),
            json!({"access_token": "x".repeat(LONGEST_TOKEN + 1)}),
            json!({"access_token": "a", "token_type": "mac"}),
        ] {
            assert!(matches!(read(&answer(200, body.clone())), Err(Error::BadAnswer { .. })), "{body}");
        }
    }

    #[test]
    fn some_refusals_are_final_and_some_are_not() {
        let is_final = |status: u16, code: &str| {
            matches!(read(&answer(status, json!({"error": code}))), Err(Error::TokenRefused { .. }))
        };
        for code in ["invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope", "odd"] {
            assert!(is_final(400, code), "{code}");
        }
        assert!(is_final(200, "invalid_grant"), "an error is one whatever the number");
        for (status, code) in [(503, "invalid_grant"), (429, "slow_down"), (400, "temporarily_unavailable")] {
            assert!(!is_final(status, code), "{status} {code}");
        }
        let html = Answer { status: 502, body: None, nonce: None };
        assert!(matches!(read(&html), Err(Error::TokenLater { .. })));
    }
}
