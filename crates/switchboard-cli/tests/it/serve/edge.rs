//! Who may come in over HTTP, and where to: every host with every origin, token, path and method; at an address and at a
//! socket.

use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Stdio};

use testkit::{Fake, Mark, PATIENCE, Sandbox, eventually_blocking};

use super::http::{Answer, Site, compose, greeting, receive, request, status};
use super::{modern, world};
use crate::{run, switchboard};

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

const LINES: [(&str, u16); 20] = [
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
    ("GET /metrics", 200),
    ("POST /metrics", 405),
    ("GET /metrics/", 404),
    ("GET /sse", 200),
    ("POST /sse", 405),
    ("OPTIONS /sse", 405),
    ("GET /messages", 405),
    ("POST /messages", 404),
    ("POST /messages?sessionId=made-up", 404),
];

/// Every row, and how many there are.
fn rows(mut check: impl FnMut(&str, &[(&str, &str)], (bool, bool), u16)) -> usize {
    let mut n_rows = 0;
    for (host, is_host) in HOSTS {
        for (origin, is_origin) in ORIGINS {
            for (token, is_token) in TOKENS {
                for (line, status) in LINES {
                    let mut headers = vec![("Host", host), ("Content-Type", "application/json")];
                    headers.extend(origin.map(|origin| ("Origin", origin)));
                    headers.extend(token.map(|token| ("Authorization", token)));
                    check(line, &headers, (is_host && is_origin, is_token), status);
                    n_rows += 1;
                }
            }
        }
    }
    n_rows
}

#[test]
fn every_way_in_is_open_or_shut() {
    let sandbox = world(&[], &Mark::new());
    let flags = ["127.0.0.1:0", "--token", "s3cret", "--host", "gate.example", "--sse"];
    let site = Site::open(&sandbox, &flags);
    let body = greeting().to_string();
    let n_rows = rows(|line, headers, (is_near, is_token), open| {
        let expected = match (is_near, is_token) {
            (false, _) => 403,
            (true, false) => 401,
            (true, true) => open,
        };
        let mut stream = site.connect();
        site.send(&mut stream, line, (headers, &body));
        assert_eq!(status(stream), expected, "{line} {headers:?}");
    });
    assert_eq!(n_rows, 1600);
}

/// The program, listening at a socket.
struct AtSocket {
    child: Child,
    path: std::path::PathBuf,
}

impl AtSocket {
    fn open(sandbox: &Sandbox, flags: &[&str]) -> Self {
        let path = sandbox.home().join("run/gate.sock");
        let mut command = switchboard(sandbox);
        command.args(["serve", "--unix"]).arg(&path).args(flags).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let what = format!("somebody listens at {}", path.display());
        eventually_blocking(what, || UnixStream::connect(&path), Result::is_ok).unwrap();
        Self { child, path }
    }

    fn send(&self, line: &str, headers: &[(&str, &str)], body: &str) -> UnixStream {
        let mut stream = UnixStream::connect(&self.path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(compose(line, (headers, body), "localhost").as_bytes()).unwrap();
        stream
    }

    fn request(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        receive(self.send(line, headers, body)).unwrap()
    }
}

impl Drop for AtSocket {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn at_a_socket_the_same_holds_without_a_token() {
    let sandbox = world(&[], &Mark::new());
    let site = AtSocket::open(&sandbox, &["--host", "gate.example", "--sse"]);
    let body = greeting().to_string();
    let n_rows = rows(|line, headers, (is_near, _), open| {
        let expected = if is_near { open } else { 403 };
        assert_eq!(status(site.send(line, headers, &body)), expected, "{line} {headers:?}");
    });
    assert_eq!(n_rows, 1600);
}

#[test]
fn a_socket_is_for_us_alone_and_goes_with_the_gateway() {
    let script = Fake::script(serde_json::json!({}));
    let sandbox = world(&[("fake", &script)], &Mark::new());
    let mut site = AtSocket::open(&sandbox, &[]);
    let mode = |path: &std::path::Path| path.symlink_metadata().unwrap().mode() & 0o777;
    let directory = site.path.parent().unwrap().to_owned();
    assert_eq!((mode(&site.path), mode(&directory)), (0o600, 0o700));
    let headers = [
        ("Content-Type", "application/json"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "mcp_fake_echo"),
    ];
    let params = modern(serde_json::json!({"name": "mcp_fake_echo", "arguments": {"text": "hi"}}));
    let answer = site.request("POST /mcp", &headers, &request(1, "tools/call", &params).to_string());
    assert_eq!((answer.status, &answer.message()["result"]["content"][0]["text"]), (200, &"hi".into()));
    // Somebody is there already.
    let path = site.path.display().to_string();
    let seen = run(&sandbox, &["serve", "--unix", &path]);
    assert!(seen.contains("a gateway listens there already") && seen.contains("--- exit 2"), "{seen}");
    assert_eq!(site.request("GET /health", &[], "").status, 200, "and is not disturbed");
    // What one that was killed leaves behind is replaced.
    site.child.kill().unwrap();
    site.child.wait().unwrap();
    assert!(site.path.exists());
    let mut site = AtSocket::open(&sandbox, &[]);
    assert_eq!(site.request("GET /health", &[], "").status, 200);
    let pid = rustix::process::Pid::from_raw(i32::try_from(site.child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(site.child.wait().unwrap().code(), Some(0));
    assert!(!site.path.exists(), "it is gone with the gateway");
}

#[test]
fn a_socket_is_not_put_where_others_could_swap_it() {
    let sandbox = world(&[], &Mark::new());
    let open = sandbox.home().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
    let seen = run(&sandbox, &["serve", "--unix", &open.join("s").display().to_string()]);
    assert!(seen.contains("others can change the directory") && seen.contains("--- exit 2"), "{seen}");
    sandbox.write("~/mine/file", "precious");
    let file = sandbox.home().join("mine/file").display().to_string();
    let seen = run(&sandbox, &["serve", "--unix", &file]);
    assert!(seen.contains("something else is there"), "{seen}");
    assert_eq!(sandbox.read("~/mine/file"), "precious");
    let long = sandbox.home().join("x".repeat(120)).join("s").display().to_string();
    assert!(run(&sandbox, &["serve", "--unix", &long]).contains("--- exit 2"));
}

#[test]
fn sockets_of_the_dead_are_swept_and_of_the_hung_not_waited_for() {
    let sandbox = world(&[], &Mark::new());
    let dir = sandbox.home().join(".switchboard/run");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).unwrap();
    drop(UnixListener::bind(dir.join("4000001.sock")).unwrap());
    let _hung = UnixListener::bind(dir.join("4000002.sock")).unwrap();
    sandbox.write("~/.switchboard/run/notes.txt", "not ours");
    sandbox.write("~/.switchboard/mcp.json", r#"{"mcpServers": {"a": {"command": "sh"}}}"#);
    let seen = run(&sandbox, &["status"]);
    assert!(seen.contains("process 4000002 does not answer"), "{seen}");
    assert!(seen.contains("--- exit 0") && !seen.contains("4000001"), "{seen}");
    assert!(!dir.join("4000001.sock").exists());
    assert!(dir.join("4000002.sock").metadata().unwrap().file_type().is_socket());
    assert!(dir.join("notes.txt").exists());
}
