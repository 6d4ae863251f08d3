//! Thousands of requests that are almost right, at a real gateway: it refuses them or answers them, goes on as if nothing
//! had been, and keeps no connection. Always the same ones: what is random comes from a seed.

use std::io::Write;
use std::time::Duration;

use serde_json::json;
use testkit::{Fake, Mark};

use super::http::{Site, compose, greeting, receive, request, status};
use super::{modern, world};

/// So long who waits for nothing waits.
const MOMENT: Duration = Duration::from_millis(20);

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }
}

const WORDS: [&[u8]; 24] = [
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b"\0",
    b"\xff\xfe",
    b" ",
    b":",
    b"Host: evil.example\r\n",
    b"Host: localhost\r\n",
    b"Content-Length: 0\r\n",
    b"Content-Length: 18446744073709551616\r\n",
    b"Content-Length: -1\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: chunked, identity\r\n",
    b"Expect: 100-continue\r\n",
    b"Upgrade: websocket\r\nConnection: upgrade\r\n",
    b"Mcp-Session-Id: ../../etc/passwd\r\n",
    b"Last-Event-ID: 99999999999999999999-1\r\n",
    b"MCP-Protocol-Version: 2026-07-28\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"HTTP/0.9",
    b"{\"jsonrpc\":\"2.0\",",
    b"[[[[[[[[[[[[[[[[[[[[",
    b"1e999999999",
];

/// What is right to begin with. No stream without end: it would outlast whoever says that nothing more comes.
fn seeds(host: &str) -> Vec<Vec<u8>> {
    let kind = ("Content-Type", "application/json");
    let version = ("MCP-Protocol-Version", "2026-07-28");
    let call = modern(json!({"name": "mcp_fake_echo", "arguments": {"text": "hi"}}));
    let call = request(1, "tools/call", &call).to_string();
    let calling = [kind, version, ("Mcp-Method", "tools/call"), ("Mcp-Name", "mcp_fake_echo")];
    let list = request(2, "tools/list", &modern(json!({}))).to_string();
    let listing = [kind, version, ("Mcp-Method", "tools/list")];
    let greeting = greeting().to_string();
    let batch = format!("[{greeting},{greeting}]");
    let chunked = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{greeting}\r\n0\r\n\r\n",
        greeting.len()
    );
    let mut seeds: Vec<String> = vec![
        compose("POST /mcp", (&[kind], &greeting), host),
        compose("POST /mcp", (&[kind], &batch), host),
        compose("POST /mcp", (&calling, &call), host),
        compose("POST /mcp", (&listing, &list), host),
        compose("GET /mcp", (&[("Mcp-Session-Id", "made-up"), ("Last-Event-ID", "1-2")], ""), host),
        compose("DELETE /mcp", (&[("Mcp-Session-Id", "made-up")], ""), host),
        compose("GET /metrics", (&[], ""), host),
        compose("POST /messages?sessionId=made-up", (&[kind], &greeting), host),
        chunked,
    ];
    seeds.push(seeds.concat());
    seeds.into_iter().map(String::into_bytes).collect()
}

/// A few changes to one of them, or to two.
fn mutated(dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[dice.below(seeds.len())].clone();
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len());
        let end = (at + dice.below(40)).min(bytes.len());
        match dice.below(7) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << dice.below(8),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.truncate(at),
            3 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            4 => {
                let other = &seeds[dice.below(seeds.len())];
                let from = dice.below(other.len());
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            5 => bytes.splice(at..at, vec![b'A'; dice.below(100_000)]).for_each(drop),
            _ => bytes.splice(at..at, WORDS[dice.below(WORDS.len())].iter().copied()).for_each(drop),
        }
    }
    bytes
}

#[test]
fn thousands_of_requests_that_are_almost_right_leave_nothing_behind() {
    let script = Fake::script(json!({}));
    let sandbox = world(&[("fake", &script)], &Mark::new());
    let site = Site::open(&sandbox, &["127.0.0.1:0", "--sse", "--session-idle", "1"]);
    site.until("switchboard_server_up{server=\"fake\"}", |up| up > 0.0);
    let (fds, connections) = ("process_open_fds", "switchboard_connections");
    // Our own question is one connection; more may still be closing.
    site.until(connections, |open| open < 1.5);
    let before = site.metric(fds).unwrap();
    let seeds = seeds(&site.address.to_string());
    for seed in &seeds {
        let mut stream = site.connect();
        stream.write_all(seed).unwrap();
        assert!(status(stream) < 500, "{}", String::from_utf8_lossy(seed));
    }
    let mut dice = Dice(2026);
    let mut n_answered = 0;
    for _ in 0..4000 {
        let bytes = mutated(&mut dice, &seeds);
        // Some say that nothing more comes, which ends what is under way; others just wait, and hang up after a moment.
        let seen = if dice.below(4) > 0 {
            site.bytes(&bytes).map(|answer| answer.status)
        } else {
            let mut stream = site.connect();
            stream.set_read_timeout(Some(MOMENT)).unwrap();
            drop(stream.write_all(&bytes));
            receive(stream).map(|answer| answer.status)
        };
        if let Some(status) = seen {
            assert!(status < 500 || status == 503, "{status} {}", String::from_utf8_lossy(&bytes));
            n_answered += 1;
        }
    }
    assert!(n_answered > 1000, "most of them are answered, not just closed: {n_answered}");
    site.until(connections, |open| open < 1.5);
    site.until("switchboard_sessions{transport=\"http\"}", |left| left < 0.5);
    site.until("switchboard_sessions{transport=\"sse\"}", |left| left < 0.5);
    site.until("switchboard_requests_in_flight", |left| left < 0.5);
    site.until(fds, |open| open <= before);
    let greeted = site.post(None, &greeting());
    let session = greeted.header("mcp-session-id").unwrap().to_owned();
    let call = request(2, "tools/call", &json!({"name": "mcp_fake_echo", "arguments": {"text": "hi"}}));
    let answer = site.post(Some(&session), &call);
    assert_eq!((answer.status, &answer.message()["result"]["content"][0]["text"]), (200, &json!("hi")));
    site.terminate();
    assert_eq!(site.end(), (Some(0), String::new()));
}
