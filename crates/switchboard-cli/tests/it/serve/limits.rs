//! Tokens, rates and times: what clients need, how often they may come, and what is over when nobody comes.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use testkit::{Fake, Mark, eventually_blocking};

use super::http::{Site, greeting, request};
use super::{Pipe, names, world};
use crate::run;

#[test]
fn a_token_is_made_and_printed_once_with_its_header() {
    let sandbox = world(&[], &Mark::new());
    let mut made = Vec::new();
    for _ in 0..2 {
        let mut site = Site::open(&sandbox, &["127.0.0.1:0", "--token"]);
        let said = site.says();
        let header = said.trim().strip_prefix("clients need the header Authorization: ").unwrap().to_owned();
        let token = header.strip_prefix("Bearer ").unwrap().to_owned();
        assert_eq!(token.len(), 43, "32 bytes: {token}");
        assert!(token.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)), "{token}");
        assert_eq!(site.request("GET /health", &[("Authorization", &header)], "").status, 200);
        let refused = site.request("GET /health", &[], "");
        assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
        site.terminate();
        assert_eq!(site.end(), (Some(0), String::new()), "it is said once");
        made.push(token);
    }
    assert_ne!(made[0], made[1]);
}

#[test]
fn a_token_that_is_given_is_used_and_never_shown() {
    let file = |sandbox: &testkit::Sandbox, mode: u32| {
        let path = sandbox.home().join("token");
        std::fs::write(&path, "s3cret-of-a-file\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path.display().to_string()
    };
    let sandbox = world(&[], &Mark::new());
    let path = file(&sandbox, 0o600);
    let by_file = Site::open(&sandbox, &["127.0.0.1:0", "--token-file", &path]);
    let by_argument = Site::open(&sandbox, &["127.0.0.1:0", "--token", "s3cret-of-a-line"]);
    let sandbox_with = world(&[], &Mark::new()).with_var("SWITCHBOARD_GATEWAY_TOKEN", "s3cret-of-a-variable");
    let by_variable = Site::open(&sandbox_with, &["127.0.0.1:0"]);
    for (site, token, warns) in [
        (by_file, "s3cret-of-a-file", false),
        (by_argument, "s3cret-of-a-line", true),
        (by_variable, "s3cret-of-a-variable", false),
    ] {
        let header = format!("Bearer {token}");
        assert_eq!(site.request("GET /health", &[("Authorization", &header)], "").status, 200, "{token}");
        assert_eq!(site.request("GET /health", &[], "").status, 401);
        let page = site.request("GET /metrics", &[("Authorization", &header)], "").body;
        assert!(!page.contains("s3cret"));
        site.terminate();
        let (code, said) = site.end();
        assert_eq!(code, Some(0));
        assert!(said.contains("with the token you gave") && !said.contains("s3cret"), "{said}");
        assert_eq!(said.contains("list of processes"), warns, "{said}");
    }
    let path = file(&sandbox, 0o644);
    let seen = run(&sandbox, &["serve", "--http", "127.0.0.1:0", "--token-file", &path]);
    assert!(seen.contains("others can read the file") && seen.contains("chmod 600"), "{seen}");
    assert!(seen.contains("--- exit 2") && !seen.contains("s3cret"), "{seen}");
    for line in [
        vec!["serve", "--http", "127.0.0.1:0", "--token", ""],
        vec!["serve", "--http", "127.0.0.1:0", "--token", "two words"],
        vec!["serve", "--http", "127.0.0.1:0", "--token-file", "nowhere"],
        vec!["serve", "--sse"],
        vec!["serve", "--http", "--unix", "x"],
    ] {
        let seen = run(&sandbox, &line);
        assert!(seen.contains("--- exit 2"), "{seen}");
    }
}

#[test]
fn who_comes_too_often_is_told_when_to_come_again() {
    let sandbox = world(&[], &Mark::new());
    let site = Site::open(&sandbox, &["127.0.0.1:0", "--rate", "1"]);
    let session = site.post(None, &greeting()).header("mcp-session-id").unwrap().to_owned();
    let ping = request(1, "ping", &json!({}));
    let answer = || site.post(Some(&session), &ping);
    let refused = eventually_blocking("one is refused", answer, |answer| answer.status != 200);
    assert_eq!(refused.status, 429);
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=10).contains(&wait), "{wait}");
    let message = refused.message()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("more than 1 requests a second"), "{message}");
    // A session has a bucket of its own, so whoever is without one is not hurt by it.
    assert_eq!(site.request("GET /health", &[], "").status, 200);
    // All of a batch count.
    let batch = Value::Array((0..50).map(|id| request(id, "ping", &json!({}))).collect());
    assert_eq!(site.post(Some(&session), &batch).status, 429);
    let free = Site::open(&sandbox, &["127.0.0.1:0", "--rate", "0"]);
    for _ in 0..100 {
        assert_eq!(free.request("GET /health", &[], "").status, 200);
    }
}

#[test]
fn a_batch_without_end_is_refused() {
    let sandbox = world(&[], &Mark::new());
    let site = Site::open(&sandbox, &[]);
    let session = site.post(None, &greeting()).header("mcp-session-id").unwrap().to_owned();
    let batch = |n: u32| Value::Array((0..n).map(|id| request(id, "ping", &json!({}))).collect());
    let refused = site.post(Some(&session), &batch(1025));
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert!(refused.body.contains("1024 for one session"), "{}", refused.body);
    assert_eq!(site.post(Some(&session), &batch(1024)).status, 200);
    site.until("switchboard_requests_in_flight", |left| left < 0.5);
    assert_eq!(site.post(Some(&session), &batch(10)).status, 200, "the room is given back");
}

#[test]
fn headers_without_end_are_refused() {
    let sandbox = world(&[], &Mark::new());
    let site = Site::open(&sandbox, &[]);
    let large = "x".repeat(66_000);
    assert_eq!(site.request("GET /health", &[("X-Large", &large)], "").status, 431);
    let many: Vec<(String, String)> = (0..200).map(|n| (format!("X-{n}"), "x".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(site.request("GET /health", &many, "").status, 431);
    assert_eq!(site.request("GET /health", &[], "").status, 200);
}

#[test]
fn a_session_nobody_uses_is_over() {
    let script = Fake::script(json!({}));
    let sandbox = world(&[("fake", &script)], &Mark::new());
    let site = Site::open(&sandbox, &["127.0.0.1:0", "--session-idle", "1"]);
    let [idle, heard] =
        [(); 2].map(|()| site.post(None, &greeting()).header("mcp-session-id").unwrap().to_owned());
    // Who listens is there, and so is who waits for an answer.
    let mut ear = site.connect();
    site.send(&mut ear, "GET /mcp", (&[("Mcp-Session-Id", &heard)], ""));
    let call = request(7, "tools/call", &json!({"name": "mcp_fake_slow", "arguments": {"ms": 3000}}));
    let waiting = site.post(None, &greeting()).header("mcp-session-id").unwrap().to_owned();
    let mut waits = site.connect();
    let headers = [("Content-Type", "application/json"), ("Mcp-Session-Id", waiting.as_str())];
    site.send(&mut waits, "POST /mcp", (&headers, &call.to_string()));
    site.until("switchboard_sessions{transport=\"http\"}", |left| left < 2.5);
    assert_eq!(site.post(Some(&idle), &request(1, "ping", &json!({}))).status, 404);
    let answer = super::http::receive(waits).unwrap();
    assert_eq!(answer.message()["result"]["content"][0]["text"], "waited 3000 ms");
    assert_eq!(site.post(Some(&heard), &request(1, "ping", &json!({}))).status, 200);
    drop(ear);
    site.until("switchboard_sessions{transport=\"http\"}", |left| left < 0.5);
    assert_eq!(site.post(Some(&heard), &request(1, "ping", &json!({}))).status, 404);
}

#[test]
fn a_server_stopped_for_idleness_stays_listed_and_starts_again() {
    let (script, mark) = (Fake::script(json!({})), Mark::new());
    let sandbox = world(&[("fake", &script)], &mark);
    let mut servers: Value = serde_json::from_str(&sandbox.read("~/.switchboard/mcp.json")).unwrap();
    servers["mcpServers"]["fake"]["idleTimeout"] = json!(100);
    sandbox.write("~/.switchboard/mcp.json", servers.to_string());
    let mut pipe = Pipe::open(&sandbox);
    pipe.greet();
    let before = pipe.result("before", "tools/list", json!({}));
    // Whoever greets before the server is there is told when it is, and never again.
    let told = |pipe: &Pipe| pipe.count("notifications/tools/list_changed");
    let (mut pids, mut told_first) = (Vec::new(), 0);
    for round in 0..3 {
        let call = json!({"name": "mcp_fake_pid", "arguments": {}});
        let result = pipe.result(format!("call {round}"), "tools/call", call);
        pids.push(result["content"][0]["text"].as_str().unwrap().to_owned());
        eventually_blocking("it is stopped", || mark.alive(), Vec::is_empty);
        let tools = pipe.result(format!("list {round}"), "tools/list", json!({}));
        assert_eq!(names(&tools, "tools", "name"), names(&before, "tools", "name"));
        if round == 0 {
            told_first = told(&pipe);
        }
    }
    pids.dedup();
    assert_eq!(pids.len(), 3, "each call had a process of its own: {pids:?}");
    assert_eq!(told(&pipe), told_first, "nothing changed for the client");
    assert_eq!(pipe.close().0, Some(0));
}

#[test]
fn more_connections_than_there_is_room_for_are_turned_away() {
    let sandbox = world(&[], &Mark::new());
    let site = Site::open(&sandbox, &[]);
    let mut held = Vec::new();
    for _ in 0..512 {
        held.push(site.connect());
    }
    let answer = || {
        let mut late = site.connect();
        late.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        // It may be closed before it has read what we wrote.
        drop(late.read_to_string(&mut text));
        text
    };
    let is_refusal = |text: &String| text.starts_with("HTTP/1.1 503") || text.is_empty();
    eventually_blocking("one is turned away", answer, is_refusal);
    drop(held);
    site.until("switchboard_connections", |open| open < 1.5);
    assert!(site.metric("switchboard_refused_total{reason=\"connections\"}").unwrap() >= 1.0);
    assert_eq!(site.request("GET /health", &[], "").status, 200);
}
