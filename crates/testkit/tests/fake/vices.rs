//! What no server should do, done on purpose.

use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::Fake;

use crate::client::{Connection, Pipes, call, initialize, request};

fn ping(id: u64) -> Value {
    request(id, "ping", json!({}))
}

#[test]
fn a_script_with_a_typo_is_refused() {
    let script = Fake::script(json!({"on": {"ping": [{"reslut": {}}]}}));
    let output = script.command().stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    assert!(String::from_utf8_lossy(&output.stderr).contains("unknown action `reslut`"));
}

#[test]
fn answers_are_what_the_script_says() {
    let mut pipes = Pipes::start(json!({"on": {
        "ping": {"times": [
            [{"result": {"n": 1, "got": "$params.a.1", "id": "$id", "schema": "$schema"}}],
            [{"error": {"code": -1, "message": "no"}}, {"message": {"stray": true}}],
            [
                {"raw": "{\"id\":"}, {"raw": "$id"}, {"raw": ",\"big\":\""},
                {"repeat": {"text": "ab", "times": 100_001}}, {"raw": "\"}\n"},
            ],
        ]},
        "ask/me": [{"request": {"id": "q", "method": "roots/list"}}, {"result": "$answer.result.roots"}],
        "*": [{"result": "star"}],
    }}));
    let first = pipes.ask(&request(7, "ping", json!({"a": [1, "two"]})));
    assert_eq!(first["result"], json!({"n": 1, "got": "two", "id": 7, "schema": "$schema"}));
    assert_eq!(pipes.ask(&ping(8))["error"]["message"], "no");
    assert_eq!(pipes.receive(), json!({"stray": true}));
    for id in [9, 10] {
        let big = pipes.ask(&ping(id));
        assert_eq!((&big["id"], big["big"].as_str().unwrap().len()), (&json!(id), 200_002));
    }
    assert_eq!(pipes.ask(&request(1, "ask/me", json!({})))["method"], "roots/list");
    let answer = pipes.ask(&json!({"jsonrpc": "2.0", "id": "q", "result": {"roots": [1]}}));
    assert_eq!(answer["result"], json!([1]));
    assert_eq!(pipes.ask(&request(2, "what/ever", json!({})))["result"], "star");
}

#[test]
fn silence_is_for_one_and_slowness_ends() {
    let mut pipes = Pipes::start(json!({"on": {
        "a": [{"silent": true}],
        "b": [{"drip": {"result": {"x": 1}, "ms": 0}}],
    }}));
    pipes.send(&request(1, "a", json!({})));
    assert_eq!(
        pipes.ask(&request(2, "b", json!({}))),
        json!({"jsonrpc": "2.0", "id": 2, "result": {"x": 1}})
    );
}

#[test]
fn it_dies_as_it_is_told() {
    let mut pipes = Pipes::start(json!({"start": [{"raw": "Welcome!\n"}, {"stderr": "oh\n"}, {"exit": 3}]}));
    assert_eq!((pipes.line().as_str(), pipes.line().as_str()), ("Welcome!\n", ""));
    assert_eq!(pipes.child.wait().unwrap().code(), Some(3));
    let mut stderr = String::new();
    pipes.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(stderr, "oh\n");
    let mut pipes = Pipes::start(json!({"eof": [{"message": "bye"}, {"exit": 5}]}));
    drop(pipes.stdin.take());
    assert_eq!(pipes.receive(), "bye");
    assert_eq!(pipes.child.wait().unwrap().code(), Some(5));
}

#[cfg(unix)]
#[test]
fn it_dies_by_a_signal_or_does_not() {
    use std::os::unix::process::ExitStatusExt;
    for (name, number) in [("KILL", 9), ("SEGV", 11), ("ABRT", 6)] {
        let mut pipes = Pipes::start(json!({"on": {"ping": [{"signal": name}]}}));
        pipes.send(&ping(1));
        assert_eq!(pipes.line(), "");
        assert_eq!(pipes.child.wait().unwrap().signal(), Some(number));
    }
    let mut pipes = Pipes::ready(json!({"sigterm": "ignore"}));
    let killed = Command::new("kill").arg(pipes.child.id().to_string()).status().unwrap();
    assert!(killed.success());
    assert_eq!(pipes.ask(&ping(1))["id"], 1);
}

#[cfg(unix)]
#[test]
fn it_gives_up_its_output_and_lives_on() {
    let mut pipes = Pipes::ready(json!({"on": {"ping": [{"close_stdout": true}]}}));
    pipes.send(&ping(1));
    assert_eq!(pipes.line(), "");
    pipes.send(&request(2, "tools/list", json!({})));
    pipes.script.wait_for(|line| line["message"]["id"] == 2);
    assert!(pipes.child.try_wait().unwrap().is_none());
}

#[test]
fn a_server_that_hangs_reads_nothing_more() {
    let mut pipes = Pipes::start(json!({"on": {"ping": [{"notify": {"method": "x"}}, {"hang": true}]}}));
    pipes.send(&ping(1));
    assert_eq!(pipes.receive()["method"], "x");
    drop(pipes.stdin.take());
    assert!(pipes.child.try_wait().unwrap().is_none());
    assert_eq!(pipes.script.methods(), ["ping"]);
}

#[test]
fn it_floods_its_standard_error() {
    let flood = json!([{"stderr_repeat": {"text": "noise\n", "times": 200_000}}, {"default": true}]);
    let mut pipes = Pipes::start(json!({"on": {"ping": flood}}));
    pipes.send(&ping(1));
    // It waits until somebody reads, and answers others meanwhile.
    assert_eq!(pipes.ask(&initialize())["id"], 0);
    let mut stderr = pipes.child.stderr.take().unwrap();
    let mut noise = vec![0; 1_200_000];
    stderr.read_exact(&mut noise).unwrap();
    assert_eq!(pipes.receive()["id"], 1);
}

#[cfg(target_os = "linux")]
mod processes {
    use std::fs;

    use super::*;

    /// Processes with a mark in their environment, except one.
    fn marked(mark: &str, except: u32) -> Vec<u32> {
        let pids = fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let has_mark = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.windows(mark.len()).any(|part| part == mark.as_bytes())
        };
        pids.filter(|pid| *pid != except).filter(has_mark).collect()
    }

    /// Group and session of a process.
    fn family(pid: u32) -> (String, String) {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let after: Vec<_> = stat.rsplit(") ").next().unwrap().split(' ').collect();
        (after[2].to_owned(), after[3].to_owned())
    }

    #[test]
    fn it_leaves_processes_behind() {
        for (kind, count) in [("grandchild", 1), ("tree", 3), ("daemon", 1)] {
            let name = format!("{kind}-{}", std::process::id());
            let mark = format!("FAKE_MARK={name}");
            let forks = json!([{"fork": kind}, {"default": true}]);
            let mut pipes = Pipes::with_vars(json!({"on": {"ping": forks}}), &[("FAKE_MARK", &name)]);
            assert_eq!(pipes.ask(&ping(1))["id"], 1);
            let server = pipes.child.id();
            let left = marked(&mark, server);
            assert_eq!(left.len(), count, "{kind}");
            for pid in &left {
                assert_eq!(family(*pid) == family(server), kind != "daemon");
                assert!(Command::new("kill").arg(pid.to_string()).status().unwrap().success());
            }
            drop(pipes.stdin.take());
            pipes.child.wait().unwrap();
            assert_eq!(marked(&mark, server), left, "they do not go by themselves");
            for pid in left {
                Command::new("kill").arg("-9").arg(pid.to_string()).status().unwrap();
            }
        }
    }
}

#[test]
fn http_answers_are_what_the_script_says() {
    let fake = Fake::http(json!({"on": {
        "a": [{"status": 503, "headers": {"Retry-After": "7", "X-Two": ["1", "2"]}, "body": {"id": "$id"}}],
        "b": [{"redirect": {"status": 308, "location": "/else"}}],
        "c": [{"accept": true}],
        "d": [{"result": 1}, {"result": 2}],
        "GET": [{"status": 418}],
        "GET /.well-known/x": [{"status": 200, "body": {}}],
    }}));
    let mut client = Connection::to(&fake);
    let (head, body) = client.post(&request(4, "a", json!({})));
    assert_eq!((head.status, head.get("retry-after"), body), (503, Some("7"), json!({"id": 4})));
    let (head, _) = client.post(&request(5, "b", json!({})));
    assert_eq!((head.status, head.get("location")), (308, Some("/else")));
    assert_eq!(client.post(&request(6, "c", json!({}))).0.status, 202);
    client.send("POST", "/mcp", &request(7, "d", json!({})).to_string());
    client.head();
    assert_eq!([client.event_message()["result"].clone(), client.event_message()["result"].clone()], [1, 2]);
    assert_eq!(client.event(), None);
    for (path, status) in [("/mcp", 418), ("/.well-known/x", 200)] {
        client.send("GET", path, "");
        let head = client.head();
        client.body(&head);
        assert_eq!(head.status, status);
    }
}

#[test]
fn connections_break_where_the_script_says() {
    let fake = Fake::http(json!({"on": {
        "a": [{"cut": true}],
        "initialize": {"times": [[{"cut_after": 40}], [{"cut_after": {"body": 11}}], [{"default": true}]]},
    }}));
    let read = |message: &Value| {
        let mut client = Connection::to(&fake);
        client.send("POST", "/mcp", &message.to_string());
        let mut text = String::new();
        client.reader.read_to_string(&mut text).unwrap();
        text
    };
    assert_eq!(read(&request(1, "a", json!({}))), "");
    assert_eq!(read(&initialize()).len(), 40);
    assert!(read(&initialize()).ends_with("\r\n\r\n{\"jsonrpc\":"));
    assert_eq!(Connection::to(&fake).post(&initialize()).0.status, 200);
}

#[test]
fn streams_are_what_the_script_says() {
    let fake = Fake::http(json!({"on": {
        "a": [{"sse": [
            {"comment": "hello"},
            {"event": "odd", "id": "1", "retry": 5, "data": "two\nlines"},
            {"result": {"x": 1}},
            {"raw": "data: {}\r\n\r\n"},
            {"raw": "data: "}, {"repeat": {"text": "z", "times": 70_000}}, {"raw": "\n\n"},
        ]}],
        "b": [{"sse": [{"data": "x"}, {"cut": true}]}],
    }}));
    let mut client = Connection::to(&fake);
    client.send("POST", "/mcp", &request(3, "a", json!({})).to_string());
    let head = client.head();
    let body = String::from_utf8(client.body(&head)).unwrap();
    let start = ": hello\n\nevent: odd\nid: 1\nretry: 5\ndata: two\ndata: lines\n\n\
        data: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"x\":1}}\n\ndata: {}\r\n\r\ndata: zzz";
    assert!(body.starts_with(start), "{body}");
    assert!(body.ends_with("zz\n\n") && body.len() > 70_000);
    client.send("POST", "/mcp", &request(4, "b", json!({})).to_string());
    client.head();
    assert_eq!(client.event().as_deref(), Some("data: x"));
    let mut rest = String::new();
    client.reader.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "it ends without an end");
}

#[test]
fn bodies_and_headers_grow_without_end() {
    let fake =
        Fake::http(json!({"on": {"a": [{"gzip_bomb": 50_000_000}], "b": [{"endless_headers": true}]}}));
    let mut client = Connection::to(&fake);
    client.send("POST", "/mcp", &request(3, "a", json!({})).to_string());
    let head = client.head();
    assert_eq!(head.get("content-encoding"), Some("gzip"));
    let body = client.body(&head);
    assert!(body.len() < 500_000, "{}", body.len());
    let mut inflated = Vec::new();
    flate2::read::GzDecoder::new(body.as_slice()).read_to_end(&mut inflated).unwrap();
    assert_eq!(inflated.len(), 50_000_000);
    let answer: Value = serde_json::from_slice(&inflated).unwrap();
    assert_eq!(answer["id"], 3);
    let mut client = Connection::to(&fake);
    client.send("POST", "/mcp", &request(4, "b", json!({})).to_string());
    assert_eq!(client.reader.lines().take(50_000).flatten().count(), 50_000);
}

#[test]
fn a_call_that_hangs_over_http_hangs_alone() {
    let fake = Fake::http(json!({"on": {
        "a": [{"hang": true}],
        "b": [{"silent": true}],
        "tools/call": [{"forget": true}, {"default": true}],
    }}));
    let mut stuck: Vec<_> = ["a", "b"].map(|method| (method, Connection::to(&fake))).into();
    for (method, client) in &mut stuck {
        client.send("POST", "/mcp", &request(1, method, json!({})).to_string());
        fake.wait_for(|line| line["message"]["method"] == *method);
    }
    let mut client = Connection::to(&fake);
    assert_eq!(client.post(&initialize()).0.status, 200);
    assert_eq!(client.post(&call(1, "echo", json!({}))).1["error"]["code"], -32600);
    drop(stuck);
    fake.wait_for(|line| line["closed"] == 2);
}

#[test]
fn a_server_that_is_stopped_or_left_alone_is_gone() {
    let mut fake = Fake::http(json!({}));
    let address = crate::client::authority(fake.url()).to_owned();
    fake.stop();
    assert!(TcpStream::connect(&address).is_err());

    let script = Fake::script(json!({"transport": "http", "on": {"a": [{"hang": "all"}]}}));
    let mut child = script.command().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let mut stream = TcpStream::connect(crate::client::authority(&url)).unwrap();
    let body = request(1, "a", json!({})).to_string();
    write!(stream, "POST /mcp HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    script.wait_for(|line| line["message"]["method"] == "a");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}
