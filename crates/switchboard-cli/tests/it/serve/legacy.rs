//! Clients of the oldest kind: a stream with the address to write to, and answers on that stream.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;

use serde_json::{Value, json};
use testkit::{Fake, Mark, Sandbox};

use super::http::{Site, greeting, request};
use super::world;
use crate::run;

/// The stream of a client.
struct Stream {
    reader: BufReader<TcpStream>,
    /// Where to write.
    endpoint: String,
}

impl Stream {
    fn open(site: &Site) -> Self {
        let mut stream = site.connect();
        site.send(&mut stream, "GET /sse", (&[("Accept", "text/event-stream")], ""));
        let mut this = Self { reader: BufReader::new(stream), endpoint: String::new() };
        let (kind, endpoint) = this.event();
        assert_eq!(kind, "endpoint");
        this.endpoint = endpoint;
        this
    }

    /// The kind of the next event, and its data.
    fn event(&mut self) -> (String, String) {
        let mut kind = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(self.reader.read_line(&mut line).unwrap(), 0, "the stream is over");
            if let Some(name) = line.strip_prefix("event: ") {
                name.trim().clone_into(&mut kind);
            } else if let Some(data) = line.strip_prefix("data: ") {
                return (kind, data.trim().to_owned());
            }
        }
    }

    /// The next message that answers this request.
    fn answer(&mut self, id: u32) -> Value {
        loop {
            let (_, data) = self.event();
            let message: Value = serde_json::from_str(&data).unwrap();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }
}

fn post(site: &Site, endpoint: &str, message: &Value) -> u16 {
    let kind = [("Content-Type", "application/json")];
    site.request(&format!("POST {endpoint}"), &kind, &message.to_string()).status
}

#[test]
fn an_old_client_is_served_on_its_stream_and_gone_with_it() {
    let script = Fake::script(json!({}));
    let sandbox = world(&[("fake", &script)], &Mark::new());
    let site = Site::open(&sandbox, &["127.0.0.1:0", "--sse"]);
    let (mut one, mut another) = (Stream::open(&site), Stream::open(&site));
    assert!(one.endpoint.starts_with("/messages?sessionId=") && one.endpoint.len() >= 42, "{}", one.endpoint);
    assert_ne!(one.endpoint, another.endpoint);
    let mut early = request(0, "tools/list", &json!({}));
    assert_eq!(post(&site, &one.endpoint, &early), 202);
    assert_eq!(one.answer(0)["error"]["message"], "`initialize` comes first");
    for stream in [&mut one, &mut another] {
        let mut hello = greeting();
        hello["params"]["protocolVersion"] = json!("2024-11-05");
        assert_eq!(post(&site, &stream.endpoint, &hello), 202);
        assert_eq!(stream.answer(1)["result"]["protocolVersion"], "2024-11-05");
    }
    // Both use the same ids, and each gets its own answer.
    for (stream, text) in [(&mut one, "first"), (&mut another, "second")] {
        let call = json!({"name": "mcp_fake_echo", "arguments": {"text": text}});
        assert_eq!(post(&site, &stream.endpoint, &request(2, "tools/call", &call)), 202);
        assert_eq!(stream.answer(2)["result"]["content"][0]["text"], text);
    }
    // What is under way for a stream ends with it.
    let call = json!({"name": "mcp_fake_slow", "arguments": {"ms": 3_600_000}});
    assert_eq!(post(&site, &one.endpoint, &request(3, "tools/call", &call)), 202);
    script.wait_for(|line| line["message"]["params"]["name"] == "slow");
    let endpoint = one.endpoint.clone();
    drop(one);
    script.wait_for(|line| line["message"]["method"] == "notifications/cancelled");
    site.until("switchboard_sessions{transport=\"sse\"}", |left| left < 1.5);
    early["id"] = json!(9);
    assert_eq!(post(&site, &endpoint, &early), 404);
    assert_eq!(post(&site, &another.endpoint, &request(4, "ping", &json!({}))), 202);
    assert_eq!(another.answer(4)["result"], json!({}));
    site.terminate();
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut another.reader, &mut rest).unwrap();
    assert_eq!(site.end().0, Some(0), "streams end with the gateway");
}

#[test]
fn our_own_client_of_that_kind_gets_through() {
    let script = Fake::script(json!({}));
    let sandbox = world(&[("fake", &script)], &Mark::new());
    let site = Site::open(&sandbox, &["127.0.0.1:0", "--sse"]);
    let client = Sandbox::new();
    client.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    let entry = json!({"type": "sse", "url": format!("http://{}/sse", site.address)});
    client.write("~/.switchboard/mcp.json", json!({"mcpServers": {"gate": entry}}).to_string());
    let seen = run(&client, &["call", "gate/mcp_fake_echo", "text=hello"]);
    assert!(seen.contains("\nhello\n") && seen.contains("--- exit 0"), "{seen}");
}

#[test]
fn without_the_flag_there_is_nothing() {
    let sandbox = world(&[], &Mark::new());
    let site = Site::open(&sandbox, &[]);
    assert_eq!(site.request("GET /sse", &[], "").status, 404);
    assert_eq!(post(&site, "/messages?sessionId=x", &greeting()), 404);
}
