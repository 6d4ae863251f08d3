//! Every way a login does not work, in the words of the contract.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Stdio;

use serde_json::json;
use testkit::Sandbox;
use testkit::logins::{Peer, browse, request};

use super::World;
use crate::run;

#[test]
fn the_person_says_no() {
    let mut world = World::new(Peer::oidc(&[("DENY", "1")]));
    let waiting = world.begin(&[], Stdio::null());
    let reply = browse(&waiting.page);
    assert!(reply.body.contains("The login did not work"), "{reply:?}");
    let ran = world.end(waiting);
    ran.failed(3, &["OAuth authentication failed: Authorization failed: access_denied", "reauth tracker"]);
    assert!(!world.sandbox.path("~/.switchboard/credentials").read_dir().is_ok_and(|mut dir| {
        dir.any(|file| file.unwrap().path().extension().is_some_and(|end| end == "json"))
    }));
    world.ends_clean();
}

#[test]
fn the_login_server_is_down_in_the_middle() {
    let mut world = World::new(Peer::oidc(&[]));
    world.peer.fail(100);
    let waiting = world.begin(&["--json"], Stdio::null());
    browse(&waiting.page);
    let ran = world.end(waiting);
    ran.failed(3, &[]);
    let error: serde_json::Value = serde_json::from_str(ran.err.lines().last().unwrap()).unwrap();
    let message = "OAuth authentication failed: the login server cannot give a token right now: HTTP 503";
    assert_eq!(error["error"]["message"], message);
    // A code is shown once.
    assert_eq!(world.peer.count("exchanges"), 0);
    world.ends_clean();
}

#[test]
fn a_server_without_a_login_server() {
    // It refuses, and says nothing of where to log in.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap_or_default();
            let status = if line.contains(" /mcp ") { "401 Unauthorized" } else { "404 Not Found" };
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    let sandbox = Sandbox::new();
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": {"tracker": {"url": url}}}).to_string());
    let said = run(&sandbox, &["reauth", "tracker", "--no-browser"]);
    let words = "Authentication required for \"tracker\", but OAuth endpoints could not be discovered";
    assert!(said.contains(words) && said.contains("--- exit 3"), "{said}");
}

#[test]
fn a_document_of_somebody_else_is_not_believed() {
    let mut world = World::new(Peer::oidc(&[("RESOURCE", "https://elsewhere.example/mcp")]));
    let ran = world.run(&["reauth", "tracker", "--no-browser"]);
    ran.failed(3, &["OAuth authentication failed: the server says that it is https://elsewhere.example/mcp"]);
    assert_eq!(world.peer.count("registrations"), 0);
}

#[test]
fn a_bare_refusal_is_enough() {
    let mut world = World::new(Peer::oidc(&[("CHALLENGE", "bare")]));
    world.login(&[]);
    world.call();
    world.ends_clean();
}

#[test]
fn a_stopped_login_leaves_what_was_there() {
    let mut world = World::new(Peer::oidc(&[]));
    world.login(&[]);
    let waiting = world.begin(&[], Stdio::null());
    let page = waiting.page.clone();
    let pid = rustix::process::Pid::from_child(&waiting.child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ran = world.end(waiting);
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    // Nobody waits for the browser any more.
    assert_eq!(request("GET", &testkit::logins::follow(&page)).status, 0);
    world.call();
    world.ends_clean();
}
