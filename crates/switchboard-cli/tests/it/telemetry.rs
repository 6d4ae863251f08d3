//! What happens, for others: a log file, spans for a collector, and the trace that is passed on to servers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Fake, FakeScript, Sandbox, fake_server};

use crate::switchboard;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// A home with one server that is given a secret.
fn world() -> (Sandbox, FakeScript) {
    let sandbox = Sandbox::new();
    let script = Fake::script(json!({"start": [{"stderr": "canary-in-stderr\n"}]}));
    let server = json!({
        "command": fake_server(),
        "args": [script.path()],
        "env": {"TOKEN": "canary-in-env"},
    });
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": {"s": server}}).to_string());
    (sandbox, script)
}

fn call(sandbox: &Sandbox, options: &[&str], vars: &[(&str, &str)]) -> Output {
    let mut command = switchboard(sandbox);
    command.args(["call", "s/echo", "text=canary-in-arguments"]).args(options);
    command.envs(vars.iter().copied()).output().unwrap()
}

fn is_well(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "canary-in-arguments");
}

fn lines(sandbox: &Sandbox, name: &str) -> Vec<Value> {
    sandbox.read(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The spans in a log file, by name, in the order in which they ended.
fn spans(lines: &[Value]) -> Vec<&Value> {
    lines.iter().filter(|line| line["fields"]["message"] == "close").map(|line| &line["span"]).collect()
}

/// A collector on this machine that answers as it is told, and hands on the paths and bodies of what it is sent.
fn collector(answer: &'static str) -> (String, Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (tell, hear) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let tell = tell.clone();
            std::thread::spawn(move || serve(stream.unwrap(), answer, |request| drop(tell.send(request))));
        }
    });
    (address, hear)
}

fn serve(stream: TcpStream, answer: &str, tell: impl Fn((String, Vec<u8>))) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = Vec::new();
        let mut line = String::new();
        while reader.read_line(&mut line).is_ok_and(|n| n > 2) {
            head.push(std::mem::take(&mut line));
        }
        let Some(first) = head.first() else { return };
        let path = first.split(' ').nth(1).unwrap().to_owned();
        let length = head.iter().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
        });
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).unwrap();
        tell((path, body));
        if reader.get_mut().write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

const WELL: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";

fn contains(body: &[u8], part: &[u8]) -> bool {
    body.windows(part.len()).any(|window| window == part)
}

/// What the server was sent along with each request, by method.
fn metas(script: &FakeScript) -> Vec<(String, Value)> {
    let requests = script.log().into_iter().map(|line| line["message"].clone());
    let requests = requests.filter(|message| message["id"].is_number());
    let meta = |message: Value| {
        (message["method"].as_str().unwrap_or_default().to_owned(), message["params"]["_meta"].clone())
    };
    requests.map(meta).collect()
}

#[test]
fn a_log_file_tells_what_happened_and_nothing_of_what_was_in_it() {
    let (sandbox, script) = world();
    is_well(&call(&sandbox, &["--log-file", "run.log"], &[("SWITCHBOARD_LOG", "trace")]));
    let first = lines(&sandbox, "run.log");
    let spans = spans(&first);
    let named = |name: &str| -> Vec<&&Value> { spans.iter().filter(|span| span["name"] == name).collect() };
    for name in ["switchboard.discover", "switchboard.server.stop", "switchboard.command"] {
        assert!(!named(name).is_empty(), "{name}");
    }
    let start = named("switchboard.server.start");
    assert_eq!(start.len(), 1);
    assert_eq!(
        (&start[0]["server"], &start[0]["transport"], &start[0]["outcome"]),
        (&json!("s"), &json!("stdio"), &json!("ok"))
    );
    assert!(start[0]["mcp.protocol.version"].is_string() && start[0]["elapsed_ms"].is_number());
    let call_span = named("switchboard.call");
    assert_eq!(call_span.len(), 1);
    let expected = [
        ("server", json!("s")),
        ("tool", json!("echo")),
        ("call", json!(1)),
        ("attempt", json!(1)),
        ("outcome", json!("ok")),
        ("mcp.method.name", json!("tools/call")),
        ("gen_ai.tool.name", json!("echo")),
    ];
    for (field, value) in expected {
        assert_eq!(call_span[0][field], value, "{field}");
    }
    assert_eq!(named("switchboard.command")[0]["command"], "call");
    assert!(first.iter().all(|line| line["target"].as_str().unwrap().starts_with("switchboard")));
    assert!(!sandbox.read("run.log").contains("canary"));
    assert!(metas(&script).iter().all(|(_, meta)| meta["traceparent"].is_null()), "no trace, no context");

    // The next run writes at the end.
    is_well(&call(&sandbox, &["--log-file", "run.log"], &[("SWITCHBOARD_LOG", "loud")]));
    let both = lines(&sandbox, "run.log");
    assert_eq!(both[..first.len()], first);
    let warning = both[first.len()..].iter().find(|line| line["level"] == "WARN").unwrap();
    assert!(warning["fields"]["message"].as_str().unwrap().contains("SWITCHBOARD_LOG must be"), "{warning}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(sandbox.path("run.log")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn a_failure_has_its_code_and_a_log_file_that_cannot_be_is_an_error() {
    let (sandbox, _script) = world();
    let rule = r#"{"defaults": false, "approval": {"s": "deny"}}"#;
    sandbox.write("~/.switchboard/settings.json", rule);
    let output = call(&sandbox, &["--log-file", "run.log"], &[]);
    assert_eq!(output.status.code(), Some(7));
    let lines = lines(&sandbox, "run.log");
    let spans = spans(&lines);
    let call_span = spans.iter().find(|span| span["name"] == "switchboard.call").unwrap();
    assert_eq!((&call_span["outcome"], &call_span["error.type"]), (&json!("denied"), &json!("denied")));

    let output = call(&sandbox, &["--log-file", "none/such/run.log"], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write the log file"));
}

#[test]
fn spans_reach_a_collector_and_servers_are_told_the_trace() {
    let (sandbox, script) = world();
    let (address, sent) = collector(WELL);
    is_well(&call(&sandbox, &[], &[("OTEL_EXPORTER_OTLP_ENDPOINT", &address), ("TRACEPARENT", PARENT)]));
    let mut whole = Vec::new();
    while let Ok((path, body)) = sent.recv_timeout(Duration::from_millis(100)) {
        assert_eq!(path, "/v1/traces");
        whole.extend(body);
    }
    let names = ["discover", "server.start", "server.stop", "call", "command"];
    for name in names.map(|name| format!("switchboard.{name}")) {
        assert!(contains(&whole, name.as_bytes()), "{name}");
    }
    for word in ["service.name", "mcp.method.name", "gen_ai.tool.name", "echo"] {
        assert!(contains(&whole, word.as_bytes()), "{word}");
    }
    let id: Vec<u8> = (0..16).map(|i| u8::from_str_radix(&TRACE[i * 2..i * 2 + 2], 16).unwrap()).collect();
    assert!(contains(&whole, &id), "it is part of the trace we were started in");
    assert!(!contains(&whole, b"canary"), "{}", String::from_utf8_lossy(&whole));

    let metas = metas(&script);
    let traced = |method: &str| {
        let (_, meta) = metas.iter().find(|(asked, _)| asked == method).unwrap();
        meta["traceparent"].as_str().unwrap().to_owned()
    };
    for method in ["initialize", "tools/list", "tools/call"] {
        assert!(traced(method).starts_with(&format!("00-{TRACE}-")), "{method}: {}", traced(method));
    }
    assert_ne!(traced("tools/call"), PARENT, "the call is a span of its own");
    assert_ne!(traced("tools/call"), traced("initialize"));
}

#[test]
fn another_name_and_an_exact_address_are_used() {
    let (sandbox, _script) = world();
    let (address, sent) = collector(WELL);
    let exact = format!("{address}/in/here");
    let vars =
        [("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", exact.as_str()), ("OTEL_SERVICE_NAME", "the-night-shift")];
    is_well(&call(&sandbox, &[], &vars));
    let (path, body) = sent.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!(path, "/in/here");
    assert!(contains(&body, b"the-night-shift"));
}

#[test]
fn a_collector_that_is_not_there_costs_a_line_and_no_more() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = format!("http://user:canary-in-address@{}", free.local_addr().unwrap());
    drop(free);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_address = format!("http://{}", silent.local_addr().unwrap());
    let (angry, _sent) = collector("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    for address in [&gone, &silent_address, &angry, &"no address".to_owned()] {
        let (sandbox, _script) = world();
        let vars = [("OTEL_EXPORTER_OTLP_ENDPOINT", address.as_str())];
        let output = call(&sandbox, &["--log-file", "run.log"], &vars);
        is_well(&output);
        assert!(!String::from_utf8_lossy(&output.stderr).contains("collector"), "it is nobody's business");
        let lines = lines(&sandbox, "run.log");
        let warnings: Vec<&Value> = lines.iter().filter(|line| line["level"] == "WARN").collect();
        assert!(!warnings.is_empty(), "{address}");
        let told = |line: &&Value| line["fields"]["message"] == "spans could not be sent to the collector";
        assert!(warnings.iter().all(told), "{warnings:?}");
        assert!(!sandbox.read("run.log").contains("canary"));
    }
}

#[test]
fn nothing_is_sent_unless_it_is_wanted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    for (name, value) in [("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_EXPORTER", "none")] {
        let (sandbox, script) = world();
        let vars =
            [("OTEL_EXPORTER_OTLP_ENDPOINT", address.as_str()), (name, value), ("TRACEPARENT", PARENT)];
        is_well(&call(&sandbox, &[], &vars));
        assert!(listener.accept().is_err(), "{name}");
        // Whose work it is is passed on all the same.
        let call = metas(&script).into_iter().find(|(method, _)| method == "tools/call").unwrap();
        assert_eq!(call.1["traceparent"], PARENT);
    }
}
