//! How long clients may keep what they get, and what is answered from memory.

use serde_json::{Value, json};
use testkit::{Fake, FakeScript, Mark, eventually_blocking};

use super::{Pipe, modern, world};

fn tools(hint: &Value) -> Value {
    let mut result =
        json!({"resultType": "complete", "tools": [{"name": "t", "inputSchema": {"type": "object"}}]});
    for (name, value) in hint.as_object().unwrap() {
        result[name] = value.clone();
    }
    json!([{ "result": result }])
}

fn server(hint: &Value) -> FakeScript {
    Fake::script(json!({"era": "modern", "capabilities": {"tools": {}}, "on": {"tools/list": tools(hint)}}))
}

/// The hint of the list of tools, with these servers.
fn hint(hints: &[Value]) -> (u64, String) {
    let scripts: Vec<(String, FakeScript)> =
        hints.iter().enumerate().map(|(n, hint)| (format!("s{n}"), server(hint))).collect();
    let servers: Vec<(&str, &FakeScript)> =
        scripts.iter().map(|(name, script)| (name.as_str(), script)).collect();
    let sandbox = world(&servers, &Mark::new());
    let mut pipe = Pipe::open(&sandbox);
    let listed = pipe.result(1, "tools/list", modern(json!({})));
    assert_eq!(listed["tools"].as_array().unwrap().len(), hints.len());
    drop(pipe.close());
    (listed["ttlMs"].as_u64().unwrap(), listed["cacheScope"].as_str().unwrap().to_owned())
}

#[test]
fn the_hint_of_a_list_is_the_strictest_of_its_servers() {
    let said = |ms: u64, scope: &str| json!({"ttlMs": ms, "cacheScope": scope});
    let (ms, scope) = hint(&[said(3_600_000, "public"), said(7_200_000, "public")]);
    assert!((3_000_000..=3_600_000).contains(&ms) && scope == "public", "{ms} {scope}");
    let (ms, scope) = hint(&[said(3_600_000, "public"), said(7_200_000, "private")]);
    assert!((3_000_000..=3_600_000).contains(&ms) && scope == "private", "{ms} {scope}");
    assert_eq!(
        hint(&[said(3_600_000, "public"), json!({})]),
        (30_000, "private".to_owned()),
        "nothing is not zero"
    );
    assert_eq!(hint(&[said(0, "public")]), (0, "public".to_owned()));
}

#[test]
fn a_resource_is_read_again_when_it_changed_and_not_before() {
    let contents = |text: &str, ttl: u64| {
        json!([{"result": {"resultType": "complete", "ttlMs": ttl, "cacheScope": "private",
            "contents": [{"uri": "note:one", "text": text}]}}])
    };
    let script = Fake::script(json!({
        "era": "modern",
        "resources": [{"uri": "note:one", "name": "one"}],
        "on": {
            "resources/read": {"times": [contents("first", 3_600_000), contents("second", 0), contents("third", 0)]},
            "tools/call": [
                {"broadcast": {"method": "notifications/resources/list_changed", "params": {}}},
                {"result": {"resultType": "complete", "content": []}}],
        },
    }));
    let sandbox = world(&[("notes", &script)], &Mark::new());
    let mut pipe = Pipe::open(&sandbox);
    pipe.result("list", "resources/list", modern(json!({})));
    // What was read before the gateway is told of changes is not kept; its second look comes after that.
    let looks = || script.methods().iter().filter(|method| *method == "resources/list").count();
    eventually_blocking("the gateway is told of changes", looks, |n| *n == 2);
    let reads = || script.methods().iter().filter(|method| *method == "resources/read").count();
    let read = |pipe: &mut Pipe, id: u64, params: Value| {
        let read = pipe.result(id, "resources/read", params);
        assert_eq!(read["contents"][0]["uri"], "notes+note:one");
        (read["contents"][0]["text"].as_str().unwrap().to_owned(), read["ttlMs"].as_u64())
    };
    let plain = || modern(json!({"uri": "notes+note:one"}));
    assert_eq!(read(&mut pipe, 1, plain()), ("first".to_owned(), Some(3_600_000)));
    let (text, left) = read(&mut pipe, 2, plain());
    assert_eq!((text.as_str(), reads()), ("first", 1), "from memory");
    assert!(left.unwrap() <= 3_600_000);
    // What a client adds to its request is for the server.
    let mut answered = plain();
    answered["inputResponses"] = json!({});
    assert_eq!(read(&mut pipe, 3, answered).0, "second");
    assert_eq!(read(&mut pipe, 4, plain()).0, "first");
    pipe.result(5, "tools/call", modern(json!({"name": "mcp_notes_echo", "arguments": {"text": "x"}})));
    let mut id = 6;
    while read(&mut pipe, id, plain()).0 == "first" {
        id += 1;
    }
    // It may not be kept, so it is not.
    let before = reads();
    read(&mut pipe, 100_000, plain());
    assert_eq!(reads(), before + 1);
    drop(pipe.close());
}
