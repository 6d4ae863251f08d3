//! Who may come in over HTTP, and where to: every host with every origin, token, path and method.

use testkit::Mark;

use super::http::{Site, greeting};
use super::world;

const HOSTS: [(&str, bool); 4] = [
    ("localhost:80", true),
    ("Gate.Example", true),
    ("evil.example", false),
    ("localhost.evil.example", false),
];

const ORIGINS: [(Option<&str>, bool); 5] = [
    (None, true),
    (Some("http://localhost:3000"), true),
    (Some("https://gate.example"), true),
    (Some("https://evil.example"), false),
    (Some("null"), false),
];

const TOKENS: [(Option<&str>, bool); 4] = [
    (Some("Bearer s3cret"), true),
    (Some("Bearer s3cre"), false),
    (Some("Basic s3cret"), false),
    (None, false),
];

const LINES: [(&str, u16); 11] = [
    ("POST /mcp", 200),
    ("GET /mcp", 400),
    ("DELETE /mcp", 400),
    ("PUT /mcp", 405),
    ("OPTIONS /mcp", 405),
    ("GET /health", 200),
    ("POST /health", 405),
    ("GET /", 404),
    ("POST /", 404),
    ("POST /mcp/", 404),
    ("GET /mcp/../health", 404),
];

#[test]
fn every_way_in_is_open_or_shut() {
    let sandbox = world(&[], &Mark::new());
    let flags = ["127.0.0.1:0", "--token", "s3cret", "--host", "gate.example"];
    let site = Site::open(&sandbox, &flags);
    let body = greeting().to_string();
    let mut n_rows = 0;
    for (host, is_host) in HOSTS {
        for (origin, is_origin) in ORIGINS {
            for (token, is_token) in TOKENS {
                for (line, status) in LINES {
                    let mut headers = vec![("Host", host), ("Content-Type", "application/json")];
                    headers.extend(origin.map(|origin| ("Origin", origin)));
                    headers.extend(token.map(|token| ("Authorization", token)));
                    let expected = match (is_host && is_origin, is_token) {
                        (false, _) => 403,
                        (true, false) => 401,
                        (true, true) => status,
                    };
                    let seen = site.request(line, &headers, &body).status;
                    assert_eq!(seen, expected, "{line} {host} {origin:?} {token:?}");
                    n_rows += 1;
                }
            }
        }
    }
    assert_eq!(n_rows, 880);
}
