//! What may be dialled: an address over HTTP and the headers sent to it.
//!
//! In: an address and headers with their values filled in. Out: the address without user and fragment, and what is
//! wrong with it. Pure: nothing is looked up or dialled.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use url::{Host, Url};

use crate::redact;

/// Why a text is no address one can dial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlFault {
    /// It breaks the rules.
    #[error("is not an address: {reason}")]
    Malformed {
        /// Which rule.
        reason: url::ParseError,
    },
    /// It is for another protocol.
    #[error("is not an address that starts with http:// or https://")]
    Scheme,
}

/// A user and a password that stood in an address.
pub(super) struct Login {
    /// What to send instead.
    pub(super) header: String,
    pub(super) user: String,
    pub(super) password: String,
}

/// The address, and the login that stood in it.
pub(super) fn parse(text: &str) -> Result<(Url, Option<Login>), UrlFault> {
    let mut url = Url::parse(text.trim()).map_err(|reason| UrlFault::Malformed { reason })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(UrlFault::Scheme);
    }
    url.set_fragment(None);
    let (user, password) = (decoded(url.username()), decoded(url.password().unwrap_or_default()));
    if user.is_empty() && password.is_empty() {
        return Ok((url, None));
    }
    // An address over HTTP has a host, so a login can be taken away from it.
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    let header = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
    Ok((url, Some(Login { header, user, password })))
}

/// Whether what is sent there stays on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
        }
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
        None => false,
    }
}

/// Whether the address itself or a header of this name carries a credential.
pub(super) fn has_credential(url: &Url, headers: &[(String, String)]) -> bool {
    headers.iter().any(|(name, _)| redact::is_telling(name)) || telling_queries(url).next().is_some()
}

/// The values of an address's query that are secrets by their name or by their look.
pub(super) fn telling_queries(url: &Url) -> impl Iterator<Item = String> {
    url.query_pairs()
        .filter(|(name, value)| redact::is_telling(name) || redact::word(value) == redact::STARS)
        .map(|(_, value)| value.into_owned())
}

/// Whether HTTP allows a header of this name.
pub(super) fn is_header_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_allowed)
}

/// Whether HTTP allows this value: no control characters, above all no line end that would start another header.
pub(super) fn is_header_value(value: &str) -> bool {
    value.bytes().all(|byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f))
}

/// Text in which `%41` is a letter. What is not UTF-8 after that stays as it was.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digit = |index: usize| tail.get(index).and_then(|byte| char::from(*byte).to_digit(16));
        if let (b'%', Some(high), Some(low)) = (first, digit(0), digit(1)) {
            bytes.extend(u8::try_from(high * 16 + low));
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_is_dialled() {
        let check = |text: &str, expected: Result<&str, UrlFault>| {
            let parsed = parse(text).map(|(url, _)| url.to_string());
            assert_eq!(parsed, expected.map(str::to_owned), "{text}");
        };
        let malformed = |reason| Err(UrlFault::Malformed { reason });
        check("https://mcp.example.com/mcp", Ok("https://mcp.example.com/mcp"));
        check(" http://localhost:80/a?b=c#d ", Ok("http://localhost/a?b=c"));
        check("https://a:b@mcp.example.com/", Ok("https://mcp.example.com/"));
        check("file:///etc/passwd", Err(UrlFault::Scheme));
        check("unix:///run/x#/mcp", Err(UrlFault::Scheme));
        check("javascript:alert(1)", Err(UrlFault::Scheme));
        check("mcp.example.com/mcp", malformed(url::ParseError::RelativeUrlWithoutBase));
        check("https://", malformed(url::ParseError::EmptyHost));
        check("https://a:b@[x]/", malformed(url::ParseError::InvalidIpv6Address));
        check("", malformed(url::ParseError::RelativeUrlWithoutBase));
    }

    #[test]
    fn a_login_becomes_a_header() {
        let check = |text: &str, user: &str, password: &str| {
            let login = parse(text).unwrap().1.unwrap();
            assert_eq!((login.user.as_str(), login.password.as_str()), (user, password));
            assert_eq!(login.header, format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))));
        };
        check("https://me:p%40ss@x.dev/", "me", "p@ss");
        check("https://token@x.dev/", "token", "");
        check("https://:pass@x.dev/", "", "pass");
        check("https://a%zz:b%ff@x.dev/", "a%zz", "b%ff");
    }

    #[test]
    fn some_hosts_are_this_machine() {
        let check = |text: &str, expected: bool| {
            assert_eq!(is_loopback(&Url::parse(text).unwrap()), expected, "{text}");
        };
        for text in ["http://localhost", "http://LOCALHOST.", "http://a.localhost", "http://127.9.9.9"] {
            check(text, true);
        }
        for text in ["http://[::1]:80", "http://[::ffff:127.0.0.1]", "http://0x7f.1"] {
            check(text, true);
        }
        for text in ["http://localhost.example.com", "http://0.0.0.0", "http://10.0.0.1", "http://[::]"] {
            check(text, false);
        }
    }

    #[test]
    fn headers_hold_no_line_ends() {
        assert!(is_header_name("X-Api_Key") && !is_header_name("a b") && !is_header_name(""));
        assert!(!is_header_name("a:") && !is_header_name("ä") && !is_header_name("a\n"));
        assert!(is_header_value("Bearer ä\t1") && is_header_value(""));
        assert!(!is_header_value("a\r\nX: y") && !is_header_value("a\0") && !is_header_value("\u{7f}"));
    }
}
