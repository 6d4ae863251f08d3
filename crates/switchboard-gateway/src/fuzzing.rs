//! What strangers send over HTTP, as far as it is read without waiting: who is let in, and what they say. For fuzz targets
//! and the mutations below; nobody else needs it.

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;

use crate::http::{Edge, check, is_meant};
use crate::route;
use crate::rpc::{self, Message};

/// Any bytes as a request: its head is judged, its body is read. Whoever is let in is one who may be.
///
/// # Panics
///
/// When somebody is let in who may not be.
pub fn request(bytes: &[u8]) {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
    let (head, body) = bytes.split_at(end);
    let headers = headers(head);
    let open = Edge::default();
    let shut =
        Edge { token: Some("s3cret".to_owned()), hosts: vec!["gate.example".to_owned()], ..Edge::default() };
    for edge in [open, shut] {
        if edge.judge(&headers, None).is_ok() {
            assert_let_in(&edge, &headers);
        }
    }
    for message in rpc::decode(&Bytes::copy_from_slice(body.get(4..).unwrap_or_default())) {
        let Ok(Message::Request(request)) = message else { continue };
        let era = route::era(&request);
        if is_meant(&headers, &request) && check(&headers, &request).is_ok() {
            assert!(era.is_err() || headers.contains_key("mcp-method"), "its headers say nothing");
        }
    }
}

/// The same question, asked in another way.
fn assert_let_in(edge: &Edge, headers: &HeaderMap) {
    let all = |name| headers.get_all(name).iter().map(HeaderValue::as_bytes).collect::<Vec<_>>();
    let [host] = all(HOST)[..] else { panic!("not one host") };
    let name = String::from_utf8_lossy(host).to_ascii_lowercase();
    let is_near = |name: &str| {
        name.starts_with("localhost")
            || name.starts_with("127.")
            || name.starts_with('[')
            || edge.hosts.iter().any(|ours| name.starts_with(ours))
    };
    assert!(is_near(&name) && !name.contains("evil"), "{name}");
    assert!(all(ORIGIN).len() <= 1 && !all(ORIGIN).contains(&&b"null"[..]));
    if edge.token.is_some() {
        let [given] = all(AUTHORIZATION)[..] else { panic!("not one token") };
        assert!(given.ends_with(b"s3cret") || given.trim_ascii_end().ends_with(b"s3cret"));
    }
}

fn headers(head: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in head.split(|byte| *byte == b'\n').skip(1).take(100) {
        let Some(at) = line.iter().position(|byte| *byte == b':') else { continue };
        let name = HeaderName::from_bytes(&line[..at]);
        let value = HeaderValue::from_bytes(line[at + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: &str = "POST /mcp HTTP/1.1\r\nHost: localhost:80\r\nOrigin: http://localhost\r\nAuthorization: Bearer s3cret\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: =?base64?YQ==?=\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}";

    #[test]
    fn what_is_right_is_let_in() {
        let headers = headers(SEED.split("\r\n\r\n").next().unwrap().as_bytes());
        let edge = Edge { token: Some("s3cret".into()), ..Edge::default() };
        assert_eq!(edge.judge(&headers, None), Ok(()));
        request(SEED.as_bytes());
    }

    #[test]
    fn nobody_gets_in_by_accident() {
        let words: [&[u8]; 8] =
            [b"\r\n", b"evil.example", b"Host: ", b"null", b"@", b"\r\nOrigin: null", b":80", b"\xff"];
        let mut dice = 7_u64;
        let mut below = |limit: usize| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(dice >> 33).unwrap() % limit
        };
        for _ in 0..50_000 {
            let mut bytes = SEED.as_bytes().to_vec();
            for _ in 0..=below(3) {
                let at = below(bytes.len());
                match below(4) {
                    0 => bytes[at] ^= 1 << below(8),
                    1 => drop(bytes.drain(at..(at + 9).min(bytes.len()))),
                    2 => bytes.splice(at..at, words[below(words.len())].iter().copied()).for_each(drop),
                    _ => {
                        let again = bytes[at..(at + 30).min(bytes.len())].to_vec();
                        bytes.splice(at..at, again);
                    }
                }
            }
            request(&bytes);
        }
    }
}
