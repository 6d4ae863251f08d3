//! Documents and tokens over HTTP: gated, bounded, in time.
//!
//! In: an address and what to send there. Out: the status and the JSON that came, or why nothing did. Nothing of a body
//! is ever repeated in words: it may hold a token, or text that was put there to be repeated.

#[cfg(test)]
mod tests;

use std::error::Error as _;
use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, Method, Response};
use serde_json::Value;
use url::{Url, form_urlencoded};

use super::gate::{Checked, Gate, Refusal, shown};
use crate::dial::{self, BodyError, chain};
use crate::visible::excerpt;

/// For everything: the connection, redirects, the whole body.
const LIMIT: Duration = Duration::from_secs(30);
/// The largest body, in bytes.
const LARGEST: usize = 1024 * 1024;
const MOST_REDIRECTS: usize = 3;
/// The longest nonce that is sent back, in bytes.
const LONGEST_NONCE: usize = 1024;

/// Asks what belongs to the login at one server.
#[derive(Debug)]
pub(crate) struct Fetcher {
    gate: Gate,
    names: Checked,
    /// Made on first use: without a login nobody needs it.
    client: OnceLock<Result<Client, String>>,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Nothing if it is not JSON. Its type is not looked at: too many say `text/plain`.
    pub(crate) body: Option<Value>,
    /// What the next proof must contain.
    pub(crate) nonce: Option<String>,
}

/// Why nothing came back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("cannot reach {url}: {why}")]
    Unreachable {
        url: String,
        why: String,
        /// Whether the request may have been acted on.
        may_have_left: bool,
    },
    #[error("the answer of {url} is larger than {LARGEST} bytes")]
    TooLarge { url: String },
    #[error("{from} redirects to {to}")]
    Redirected { from: String, to: String },
}

impl Fetcher {
    pub(crate) fn new(gate: Gate) -> Self {
        Self { names: Checked::new(gate.clone()), gate, client: OnceLock::new() }
    }

    /// Which addresses it asks.
    pub(crate) const fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Fetches a document, also from another place of the same origin.
    pub(crate) async fn get(&self, url: &Url) -> Result<Answer, Failure> {
        let whole = async {
            let mut at = url.clone();
            for _ in 0..=MOST_REDIRECTS {
                let response = self.send(Method::GET, &at, HeaderMap::new(), String::new()).await?;
                let Some(to) = target(&response) else { return answer(response).await };
                self.gate.redirect(&at, &to)?;
                at = to;
            }
            Err(Failure::Redirected { from: shown(url.as_str()), to: shown(at.as_str()) })
        };
        in_time(url, whole).await
    }

    /// Sends a form.
    pub(crate) async fn post_form(
        &self,
        url: &Url,
        headers: HeaderMap,
        form: &[(&str, String)],
    ) -> Result<Answer, Failure> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        self.post(url, headers, "application/x-www-form-urlencoded", body).await
    }

    /// Sends JSON.
    pub(crate) async fn post_json(&self, url: &Url, body: &Value) -> Result<Answer, Failure> {
        self.post(url, HeaderMap::new(), "application/json", body.to_string()).await
    }

    /// What is sent is for this address alone, so it is never sent on.
    async fn post(
        &self,
        url: &Url,
        mut headers: HeaderMap,
        kind: &'static str,
        body: String,
    ) -> Result<Answer, Failure> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        let whole = async {
            let response = self.send(Method::POST, url, headers, body).await?;
            if !response.status().is_redirection() {
                return answer(response).await;
            }
            let to = target(&response).map_or_else(|| "nowhere".to_owned(), |to| shown(to.as_str()));
            Err(Failure::Redirected { from: shown(url.as_str()), to })
        };
        in_time(url, whole).await
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: String,
    ) -> Result<Response, Failure> {
        self.gate.page(url)?;
        self.dial(method, url, headers, body).await
    }

    /// Asks the address, whatever it is; where its name leads to is still checked.
    async fn dial(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: String,
    ) -> Result<Response, Failure> {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        self.names.announce(url);
        let request = self.client(url)?.request(method, url.clone()).headers(headers);
        let request = if body.is_empty() { request } else { request.body(body) };
        request.send().await.map_err(|error| failure(&error, url))
    }

    fn client(&self, url: &Url) -> Result<&Client, Failure> {
        let special = |builder: reqwest::ClientBuilder| builder.dns_resolver(self.names.clone());
        let made = self.client.get_or_init(|| dial::client(special));
        made.as_ref().map_err(|why| unreachable(url, why, Left::Nothing))
    }
}

/// Whether a request can have been acted on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    Something,
}

fn unreachable(url: &Url, why: &str, left: Left) -> Failure {
    Failure::Unreachable {
        url: shown(url.as_str()),
        why: excerpt(why, 300),
        may_have_left: left == Left::Something,
    }
}

/// What a failure of the client means. What the gate said of an address is deep in it.
fn failure(error: &reqwest::Error, url: &Url) -> Failure {
    let mut source = error.source();
    while let Some(inner) = source {
        if let Some(refusal) = inner.downcast_ref::<Refusal>() {
            return Failure::Refused(refusal.clone());
        }
        source = inner.source();
    }
    let left = if error.is_connect() || error.is_builder() { Left::Nothing } else { Left::Something };
    unreachable(url, &chain(error), left)
}

async fn in_time(url: &Url, whole: impl Future<Output = Result<Answer, Failure>>) -> Result<Answer, Failure> {
    // A connection has its own, shorter limit: what takes so long was sent.
    let late = |_| {
        let why = format!("no whole answer within {} s", LIMIT.as_secs());
        Err(unreachable(url, &why, Left::Something))
    };
    tokio::time::timeout(LIMIT, whole).await.unwrap_or_else(late)
}

/// Where an answer points to, if it does.
fn target(response: &Response) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    response.url().join(location).ok()
}

async fn answer(mut response: Response) -> Result<Answer, Failure> {
    let status = response.status().as_u16();
    let nonce = response.headers().get("DPoP-Nonce").and_then(nonce);
    let url = response.url().clone();
    let body = dial::body(&mut response, LARGEST).await.map_err(|error| match error {
        BodyError::TooLarge => Failure::TooLarge { url: shown(url.as_str()) },
        BodyError::Broken => unreachable(&url, "the answer was cut off", Left::Something),
    })?;
    Ok(Answer { status, body: serde_json::from_slice(&body).ok(), nonce })
}

/// A nonce as RFC 9449 allows it. It goes into what we sign.
fn nonce(value: &HeaderValue) -> Option<String> {
    let is_allowed = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    let text = value.to_str().ok()?;
    (1..=LONGEST_NONCE).contains(&text.len()).then_some(())?;
    text.bytes().all(is_allowed).then(|| text.to_owned())
}

impl fmt::Debug for Answer {
    /// The body may hold a token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("status", &self.status).finish_non_exhaustive()
    }
}
