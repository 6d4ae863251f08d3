//! How an HTTP client is made here, whoever it is for: no redirects by itself, certificates of the system or our own,
//! and never more of a body than allowed.

use std::error::Error as _;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::{Certificate, Client, ClientBuilder, Response};

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Servers close a connection that nobody used for a while, many of them after 5 seconds. A request that meets one just
/// then is lost half-way, and one that must not be repeated is lost for good. So we let go of it before they do.
const KEPT_OPEN: Duration = Duration::from_secs(4);

/// A client with what is special about it, or why there is none.
pub(crate) fn client(special: impl Fn(ClientBuilder) -> ClientBuilder) -> Result<Client, String> {
    // A machine without certificates of its own, such as a small container, gets those we bring.
    let with_ours = |_| special(builder()).tls_certs_only(roots()).build();
    special(builder()).build().or_else(with_ours).map_err(|error| chain(&error))
}

/// The same for whom nothing is encrypted: reading the certificates of a system takes longer than a call does.
pub(crate) fn plain_client(special: impl Fn(ClientBuilder) -> ClientBuilder) -> Result<Client, String> {
    // One, since none is refused.
    special(builder()).tls_certs_only(roots().take(1)).build().map_err(|error| chain(&error))
}

fn builder() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("switchboard/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_LIMIT)
        .pool_idle_timeout(KEPT_OPEN)
}

/// The certificates the web trusts.
fn roots() -> impl Iterator<Item = Certificate> {
    webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().filter_map(|root| Certificate::from_der(root).ok())
}

/// The innermost words of an error say most; the address is said elsewhere.
pub(crate) fn chain(error: &reqwest::Error) -> String {
    let mut words = Vec::new();
    let mut source = error.source();
    while let Some(inner) = source {
        words.push(inner.to_string());
        source = inner.source();
    }
    words.dedup();
    if words.is_empty() {
        if error.is_timeout() { "timed out".to_owned() } else { "the request failed".to_owned() }
    } else {
        words.join(": ")
    }
}

/// Why a body could not be read.
#[derive(Debug)]
pub(crate) enum BodyError {
    TooLarge,
    Broken,
}

/// The whole body, counted after decompression.
pub(crate) async fn body(response: &mut Response, limit: usize) -> Result<Bytes, BodyError> {
    let mut whole = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| BodyError::Broken)? {
        if whole.len() + chunk.len() > limit {
            return Err(BodyError::TooLarge);
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.freeze())
}
