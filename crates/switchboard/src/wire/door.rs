//! Sends requests with whatever lets us in.

use std::sync::Arc;

use reqwest::Response;

use super::error::{Cause, Step};
use super::web::{self, Ask, Web};
use crate::auth::{self, Pass, Verdict};
use crate::redact;

/// A request is repeated so often at most: once for a new token, once for a new proof.
const MOST_REFUSALS: u32 = 2;

/// The client, and what lets us in.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    pub(crate) web: Arc<Web>,
    pub(crate) pass: Option<Pass>,
}

impl Door {
    /// Sends a request, and again when the server wants another token: it looked at nothing then, so nothing happens
    /// twice. The error says in its second half whether anything can have left.
    pub(crate) async fn send(&self, ask: Ask) -> Result<Response, (Cause, bool)> {
        match &self.pass {
            // A renewal needs room that a request should not carry along.
            Some(pass) => Box::pin(self.send_with(pass, ask)).await,
            None => self.web.send(&ask).await,
        }
    }

    async fn send_with(&self, pass: &Pass, mut ask: Ask) -> Result<Response, (Cause, bool)> {
        let mut refusals = 0;
        loop {
            let (stamp, headers) = pass
                .headers(ask.method.as_str(), &ask.url)
                .await
                .map_err(|error| (no_token(&ask, &error), false))?;
            for (name, value) in headers {
                ask.headers.insert(name, value);
            }
            let mut response = self.web.send(&ask).await?;
            let status = response.status().as_u16();
            if !matches!(status, 401 | 403) {
                pass.accepted(&stamp);
                return Ok(response);
            }
            let nonce = response.headers().get("dpop-nonce").and_then(|nonce| nonce.to_str().ok());
            let challenge = web::challenge(&response);
            if refusals == MOST_REFUSALS {
                return Ok(response);
            }
            let verdict = pass.refused(&stamp, (status, challenge.as_deref()), nonce).await;
            match verdict.map_err(|error| (no_token(&ask, &error), false))? {
                Verdict::Again => refusals += 1,
                Verdict::Final(why) => {
                    response.extensions_mut().insert(Why(why));
                    return Ok(response);
                }
            }
        }
    }
}

/// Why the login that was there is of no use, carried along with the refusal.
#[derive(Clone)]
struct Why(Option<String>);

/// What a refusal comes down to.
pub(crate) fn unauthorized(response: &Response) -> Cause {
    let why = response.extensions().get::<Why>().and_then(|why| why.0.clone());
    Cause::Unauthorized { status: response.status().as_u16(), challenge: web::challenge(response), why }
}

/// There is a login, and its token cannot be had right now.
fn no_token(ask: &Ask, error: &auth::Error) -> Cause {
    let why = format!("no token to show: {error}");
    Cause::Unreachable { url: redact::url(ask.url.as_str()), step: Step::Transfer, why }
}
