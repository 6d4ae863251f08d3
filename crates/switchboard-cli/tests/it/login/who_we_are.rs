//! Who we are to login servers, and which of them may be in a private network: as the entry and the settings say.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::Sandbox;
use testkit::logins::{Peer, parameter};

use super::World;
use crate::{run, switchboard};

const DOCUMENT: &str = "https://me.example/client.json";

/// A world whose login server takes a document about us, and nobody who has none.
fn world_with_document() -> (World, Sandbox) {
    let document = json!({
        "client_id": DOCUMENT, "client_name": "Mine", "application_type": "native",
        "redirect_uris": ["http://127.0.0.1/callback"], "response_types": ["code"],
        "grant_types": ["authorization_code", "refresh_token"], "token_endpoint_auth_method": "none",
    });
    let elsewhere = Sandbox::new();
    let path = elsewhere.write("client.json", document.to_string());
    let peer = Peer::oidc(&[("CLIENT_DOCUMENT", path.to_str().unwrap()), ("REGISTRATION", "0")]);
    (World::new(peer), elsewhere)
}

fn logged_in_by_document(mut world: World) {
    let waiting = world.begin(&[], Stdio::null());
    assert_eq!(parameter(&waiting.page, "client_id").unwrap(), "https%3A%2F%2Fme.example%2Fclient.json");
    testkit::logins::browse(&waiting.page);
    assert_eq!(world.end(waiting).code, Some(0));
    assert_eq!(world.call()["client"], DOCUMENT);
    world.peer.expire();
    world.call();
    assert_eq!((world.peer.count("refreshes"), world.peer.count("registrations")), (1, 0));
    world.ends_clean();
}

#[test]
fn a_document_of_ones_own_for_one_server() {
    let (mut world, _elsewhere) = world_with_document();
    world.declare(&json!({"oauth": {"clientId": DOCUMENT}}));
    logged_in_by_document(world);
}

#[test]
fn a_document_of_ones_own_for_all_servers() {
    let (world, _elsewhere) = world_with_document();
    let settings = json!({"defaults": false, "login": {"document": DOCUMENT}});
    world.sandbox.write("~/.switchboard/settings.json", settings.to_string());
    logged_in_by_document(world);
}

/// A server on this machine whose login server wants its tokens to be fetched from a private network.
fn inside() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let here = origin.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap_or_default();
            let path = line.split(' ').nth(1).unwrap_or_default();
            let (status, body) = match path {
                "/mcp" => ("401 Unauthorized", Value::Null),
                "/.well-known/oauth-protected-resource/mcp" => {
                    ("200 OK", json!({"resource": format!("{here}/mcp"), "authorization_servers": [here]}))
                }
                "/.well-known/oauth-authorization-server" => {
                    let document = json!({
                        "issuer": here,
                        "authorization_endpoint": format!("{here}/authorize"),
                        "token_endpoint": "https://10.11.12.13/token",
                        "code_challenge_methods_supported": ["S256"],
                    });
                    ("200 OK", document)
                }
                _ => ("404 Not Found", Value::Null),
            };
            let body = if body.is_null() { String::new() } else { body.to_string() };
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close", body.len());
            drop(stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()));
        }
    });
    format!("{origin}/mcp")
}

#[test]
fn a_login_server_inside_is_allowed_by_the_user_alone() {
    let url = inside();
    let entry = json!({"url": url, "oauth": {"clientId": "me"}});
    let sandbox = Sandbox::new();
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": {"tracker": entry}}).to_string());
    let refused = "https://10.11.12.13/token is in a private network, and the server's own address is not";
    let hint = "add its host to `login.privateHosts` in your settings.json";
    let line = ["reauth", "tracker", "--no-browser"];
    // A project cannot open the way.
    let settings = json!({"defaults": false, "login": {"privateHosts": ["10.11.12.13"]}}).to_string();
    sandbox.write(".switchboard/settings.json", &settings);
    let said = run(&sandbox, &line);
    assert!(said.contains(refused) && said.contains(hint) && said.contains("--- exit 3"), "{said}");
    let said = run(&sandbox, &["doctor"]);
    assert!(said.contains("`login` in a project's settings has no effect"), "{said}");

    sandbox.write("~/.switchboard/settings.json", &settings);
    let mut command = switchboard(&sandbox);
    let mut child = command.args(line).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let page = lines.map(|line| line.trim().to_owned()).find(|line| line.starts_with("http"));
    drop(child.kill());
    drop(child.wait());
    assert!(page.unwrap().contains("/authorize?"));
}
