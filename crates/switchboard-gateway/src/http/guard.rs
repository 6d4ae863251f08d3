//! Who may come in over HTTP. Pure: headers in, a verdict out.
//!
//! A page in a browser can send requests to this machine. It cannot choose the `Host` it sends, nor hide its `Origin`: so
//! both have to be ours. Anybody else is kept out by the token.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::limits::Limits;
use crate::metrics::Refused;

/// What stands at the door.
#[derive(Clone, Default)]
pub struct Edge {
    /// Who knows it may come in. Without one, everybody on this machine may.
    pub token: Option<String>,
    /// Names we are reached by, beside those of this machine itself.
    pub hosts: Vec<String>,
    /// Whether clients of the oldest kind, with SSE, are served as well.
    pub sse: bool,
    /// What clients can take up at most.
    pub limits: Limits,
}

impl std::fmt::Debug for Edge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Edge").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    Host,
    Origin,
    Token,
}

impl Denied {
    pub(crate) const fn status(self) -> u16 {
        match self {
            Self::Host | Self::Origin => 403,
            Self::Token => 401,
        }
    }

    /// What it is counted as.
    pub(crate) const fn reason(self) -> Refused {
        match self {
            Self::Host => Refused::Host,
            Self::Origin => Refused::Origin,
            Self::Token => Refused::Token,
        }
    }

    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Host => "the Host header names another machine",
            Self::Origin => "requests of this Origin are not let in",
            Self::Token => "a token is needed: Authorization: Bearer TOKEN",
        }
    }
}

impl Edge {
    /// A token nobody can guess, of characters that can stand in a header and an address. Nothing if no random numbers
    /// can be had.
    pub fn new_token() -> Option<String> {
        let mut bytes = [0_u8; 32];
        aws_lc_rs::rand::fill(&mut bytes).ok()?;
        Some(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Whether a request may come in. `authority` is the host of the request line, where that has one.
    pub(crate) fn judge(&self, headers: &HeaderMap, authority: Option<&str>) -> Result<(), Denied> {
        let all = |name| headers.get_all(name).iter().map(|value| value.to_str().ok()).collect::<Vec<_>>();
        let hosts = all(HOST);
        let host = match (hosts.as_slice(), authority) {
            ([Some(host)], None) => *host,
            ([], Some(authority)) => authority,
            ([Some(host)], Some(authority)) if *host == authority => authority,
            _ => return Err(Denied::Host),
        };
        if !self.is_ours(host) {
            return Err(Denied::Host);
        }
        match all(ORIGIN).as_slice() {
            [] => {}
            [Some(origin)] if self.is_our_page(origin) => {}
            _ => return Err(Denied::Origin),
        }
        let Some(token) = &self.token else { return Ok(()) };
        match all(AUTHORIZATION).as_slice() {
            [Some(given)] if is_token(given, token) => Ok(()),
            _ => Err(Denied::Token),
        }
    }

    fn is_our_page(&self, origin: &str) -> bool {
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        host.is_some_and(|host| self.is_ours(host))
    }

    /// Whether it is a name of this machine, or one we are told we have. Any port will do: who can choose the port of a
    /// page can choose the name as well.
    fn is_ours(&self, host: &str) -> bool {
        let name = without_port(host);
        let is_local = |name: &str| {
            let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
            name.eq_ignore_ascii_case("localhost")
                || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        };
        name.is_some_and(|name| {
            is_local(name) || self.hosts.iter().any(|ours| ours.eq_ignore_ascii_case(name))
        })
    }
}

/// The host without its port; nothing if the port is none.
fn without_port(host: &str) -> Option<&str> {
    let (name, port) = match host.rfind(']') {
        Some(end) => (
            &host[..=end],
            host[end + 1..].strip_prefix(':').or_else(|| host[end + 1..].is_empty().then_some("0"))?,
        ),
        None => host.split_once(':').unwrap_or((host, "0")),
    };
    port.parse::<u16>().is_ok().then_some(name)
}

fn is_token(given: &str, token: &str) -> bool {
    let Some((scheme, given)) = given.split_once(' ') else { return false };
    scheme.eq_ignore_ascii_case("bearer")
        && verify_slices_are_equal(given.trim().as_bytes(), token.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn judge(edge: &Edge, pairs: &[(HeaderName, &str)]) -> Result<(), Denied> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name.clone(), value.parse().unwrap());
        }
        edge.judge(&headers, None)
    }

    #[test]
    fn the_host_has_to_be_ours() {
        let edge = Edge { hosts: vec!["gate.example".into()], ..Edge::default() };
        for (host, is_let_in) in [
            ("localhost", true),
            ("localhost:8080", true),
            ("LOCALHOST:1", true),
            ("127.0.0.1:8080", true),
            ("127.8.8.8", true),
            ("[::1]:8080", true),
            ("[::1]", true),
            ("gate.example", true),
            ("Gate.Example:443", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("evil.example:8080", false),
            ("127.0.0.1.evil.example", false),
            ("10.0.0.1", false),
            ("0.0.0.0", false),
            ("[::]", false),
            ("[::1", false),
            ("localhost:port", false),
            ("localhost:99999", false),
            ("user@localhost", false),
            ("", false),
        ] {
            let expected = if is_let_in { Ok(()) } else { Err(Denied::Host) };
            assert_eq!(judge(&edge, &[(HOST, host)]), expected, "{host}");
        }
        assert_eq!(judge(&edge, &[]), Err(Denied::Host));
        assert_eq!(judge(&edge, &[(HOST, "localhost"), (HOST, "localhost")]), Err(Denied::Host));
        let none = HeaderMap::new();
        assert_eq!(edge.judge(&none, Some("localhost:1")), Ok(()));
        assert_eq!(edge.judge(&none, Some("evil.example")), Err(Denied::Host));
    }

    #[test]
    fn a_page_has_to_be_ours() {
        let edge = Edge::default();
        for (origin, is_let_in) in [
            ("http://localhost:3000", true),
            ("https://127.0.0.1", true),
            ("http://[::1]:3000", true),
            ("null", false),
            ("", false),
            ("https://evil.example", false),
            ("http://localhost.evil.example", false),
            ("file://", false),
            ("chrome-extension://abc", false),
            ("http://localhost:3000/", false),
            ("localhost", false),
        ] {
            let expected = if is_let_in { Ok(()) } else { Err(Denied::Origin) };
            assert_eq!(judge(&edge, &[(HOST, "localhost"), (ORIGIN, origin)]), expected, "{origin}");
        }
        let twice = [(HOST, "localhost"), (ORIGIN, "http://localhost"), (ORIGIN, "http://localhost")];
        assert_eq!(judge(&edge, &twice), Err(Denied::Origin));
    }

    #[test]
    fn who_has_the_token_comes_in() {
        let edge = Edge { token: Some("s3cret".into()), ..Edge::default() };
        for (given, is_let_in) in [
            ("Bearer s3cret", true),
            ("bearer s3cret", true),
            ("Bearer  s3cret", true),
            ("Bearer s3cre", false),
            ("Bearer s3crets", false),
            ("Bearer ", false),
            ("Bearer", false),
            ("Basic s3cret", false),
            ("s3cret", false),
        ] {
            let expected = if is_let_in { Ok(()) } else { Err(Denied::Token) };
            assert_eq!(judge(&edge, &[(HOST, "localhost"), (AUTHORIZATION, given)]), expected, "{given}");
        }
        assert_eq!(judge(&edge, &[(HOST, "localhost")]), Err(Denied::Token));
    }
}
