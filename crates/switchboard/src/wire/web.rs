//! The HTTP client all servers share: one pool of connections, one TLS set-up, made when the first one needs it.

use std::sync::OnceLock;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::{HeaderMap, LOCATION, WWW_AUTHENTICATE};
use reqwest::{Client, ClientBuilder, Method, Response};
use url::{Host, Url};

use super::error::{Cause, Step};
use crate::dial::{self, chain};
pub(crate) use crate::dial::{BodyError, body};
use crate::redact;
use crate::secret::Secrets;
use crate::visible::excerpt;

const MOST_REDIRECTS: usize = 5;
/// How much of an error page is looked at.
const ERROR_BODY: usize = 64 * 1024;

/// The clients, made on first use: a run without remote servers needs no certificates, nor does one whose only remote
/// server is a gateway on this machine.
#[derive(Debug, Default)]
pub struct Web {
    client: OnceLock<Result<Client, String>>,
    plain: OnceLock<Result<Client, String>>,
}

/// One request over HTTP.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
}

impl Web {
    fn client(&self, url: &Url) -> Result<&Client, Cause> {
        let special = |builder: ClientBuilder| builder.tcp_keepalive(Duration::from_secs(30));
        let made = if is_plain(url) {
            self.plain.get_or_init(|| dial::plain_client(special))
        } else {
            self.client.get_or_init(|| dial::client(special))
        };
        made.as_ref().map_err(|why| Cause::Unreachable {
            url: "the network".to_owned(),
            step: Step::Tls,
            why: why.clone(),
        })
    }

    /// Sends a request and follows redirects as long as they stay with the origin and keep the method.
    ///
    /// The error says in its second half whether anything can have left.
    pub(crate) async fn send(&self, ask: &Ask) -> Result<Response, (Cause, bool)> {
        // Redirects stay with the origin, so the client is the right one for them too.
        let client = self.client(&ask.url).map_err(|cause| (cause, false))?;
        let mut url = ask.url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let mut request = client.request(ask.method.clone(), url.clone()).headers(ask.headers.clone());
            if let Some(body) = &ask.body {
                request = request.body(body.clone());
            }
            let response = request.send().await.map_err(|error| failure(&error, &url))?;
            let Some(next) = redirect(&response) else { return Ok(response) };
            let keeps_method = matches!(response.status().as_u16(), 307 | 308) || ask.method == Method::GET;
            if next.origin() != ask.url.origin() || !keeps_method {
                let cause =
                    Cause::Redirected { from: redact::url(url.as_str()), to: redact::url(next.as_str()) };
                return Err((cause, false));
            }
            url = next;
        }
        let at = redact::url(url.as_str());
        Err((Cause::Redirected { from: redact::url(ask.url.as_str()), to: at }, false))
    }
}

/// Whether nothing on the way is encrypted. Elsewhere than on this machine a proxy may be, whatever the address says.
fn is_plain(url: &Url) -> bool {
    let is_here = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    url.scheme() == "http" && is_here
}

fn redirect(response: &Response) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    response.url().join(location).ok()
}

/// What a failure of the client means, and whether anything can have left.
pub(crate) fn failure(error: &reqwest::Error, url: &Url) -> (Cause, bool) {
    let why = chain(error);
    let lower = why.to_lowercase();
    let step = if lower.contains("dns error") {
        Step::Dns
    } else if is_encryption(error, &lower, url) {
        // The words of rustls for an answer that is none of its own.
        if lower.contains("invalidcontenttype") { Step::NoTls } else { Step::Tls }
    } else if error.is_connect() {
        Step::Connect
    } else {
        Step::Transfer
    };
    let may_have_left = !error.is_connect() && !error.is_builder();
    let why = excerpt(&plainly(&why), 300);
    (Cause::Unreachable { url: redact::url(url.as_str()), step, why }, may_have_left)
}

/// The same without the layers that only say that there are layers, and without numbers for programmers.
fn plainly(chain: &str) -> String {
    let is_layer = |part: &&str| {
        part.starts_with("client error (") || matches!(*part, "tcp connect error" | "dns error")
    };
    let parts: Vec<&str> = chain.split(": ").filter(|part| !is_layer(part)).collect();
    let words = if parts.is_empty() { chain.to_owned() } else { parts.join(": ") };
    match words.rsplit_once(" (os error ") {
        Some((words, number)) if number.ends_with(')') => words.to_owned(),
        _ => words,
    }
}

/// Once the connection stands, only the encryption can still be in the way of it, in whatever words it says so.
fn is_encryption(error: &reqwest::Error, words: &str, url: &Url) -> bool {
    let stands =
        || !error.is_timeout() && !["tcp connect", "tunnel", "proxy"].iter().any(|word| words.contains(word));
    ["certificate", "tls", "handshake"].iter().any(|word| words.contains(word))
        || (error.is_connect() && url.scheme() == "https" && stands())
}

/// What the server says about the login it wants: all it says, in one list as the header allows.
pub(crate) fn challenge(response: &Response) -> Option<String> {
    let all = response.headers().get_all(WWW_AUTHENTICATE);
    let all: Vec<_> = all.iter().filter_map(|value| value.to_str().ok()).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// The start of a body as it may be shown. Secrets go before it is cut: half of one is still half of one.
pub(crate) fn shown(body: &Bytes, secrets: &Secrets) -> String {
    let text = String::from_utf8_lossy(body);
    let text = secrets.scrub(text.trim());
    let text = if text.starts_with('<') { without_markup(&text) } else { text.into_owned() };
    excerpt(&text, 300)
}

/// The words of a page, which is what servers send that know nothing of us.
fn without_markup(page: &str) -> String {
    let start = page.find("<body").unwrap_or(0);
    let mut words = String::new();
    let mut is_inside = false;
    for c in page[start..].chars() {
        match c {
            '<' => is_inside = true,
            '>' => {
                is_inside = false;
                words.push(' ');
            }
            c if !is_inside => words.push(c),
            _ => {}
        }
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The start of a body that says why something failed.
pub(crate) async fn error_body(response: &mut Response) -> Bytes {
    let mut start = BytesMut::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        start.extend_from_slice(&chunk[..chunk.len().min(ERROR_BODY - start.len())]);
        if start.len() >= ERROR_BODY {
            break;
        }
    }
    start.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_said_plainly() {
        let check = |chain: &str, expected: &str| assert_eq!(plainly(chain), expected);
        check(
            "client error (Connect): tcp connect error: Connection refused (os error 111)",
            "Connection refused",
        );
        check(
            "client error (Connect): dns error: failed to lookup address information: Name or service not known",
            "failed to lookup address information: Name or service not known",
        );
        check(
            "client error (Connect): invalid peer certificate: Expired",
            "invalid peer certificate: Expired",
        );
        check("client error (Connect)", "client error (Connect)");
    }

    #[test]
    fn only_what_stays_on_this_machine_needs_no_certificates() {
        let check =
            |url: &str, expected: bool| assert_eq!(is_plain(&Url::parse(url).unwrap()), expected, "{url}");
        for here in
            ["http://127.0.0.1:8000/mcp", "http://localhost/mcp", "http://[::1]:1/", "http://127.9.9.9"]
        {
            check(here, true);
        }
        for elsewhere in
            ["https://127.0.0.1/", "https://localhost/", "http://example.com/", "http://10.0.0.1/"]
        {
            check(elsewhere, false);
        }
        check("http://localhost.example.com/", false);
        let web = Web::default();
        assert!(web.client(&Url::parse("http://localhost/").unwrap()).is_ok());
        assert!(web.plain.get().is_some() && web.client.get().is_none());
    }

    #[test]
    fn a_page_is_shown_by_its_words() {
        let shown = |body: &'static str| shown(&Bytes::from_static(body.as_bytes()), &Secrets::default());
        let page = "<!DOCTYPE html>\n<html><head><title>Error</title></head>\n<body>\n<pre>Cannot POST /nothing</pre></body></html>";
        assert_eq!(shown(page), "Cannot POST /nothing");
        assert_eq!(shown("<h1>404</h1>\n<p>Not <b>found</b></p>"), "404 Not found");
        assert_eq!(shown(" plain < text "), "plain < text");
        assert_eq!(shown("<"), "");
    }
}
