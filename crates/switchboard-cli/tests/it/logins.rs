//! Logging in, and what the other commands tell of it. The login server is the fake server itself; the browser is us.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{Fake, Sandbox, fake_server};

use crate::screen::Screen;
use crate::{json as as_json, run, switchboard};

/// A browser: goes to an address, and on to wherever it is sent.
fn visit(url: &str) {
    let mut next = Some(url.to_owned());
    while let Some(url) = next {
        let (authority, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut stream = TcpStream::connect(authority).unwrap();
        write!(stream, "GET /{path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n").unwrap();
        // Who keeps the connection open is left alone after the headers.
        let mut head = String::new();
        let mut reader = BufReader::new(stream);
        while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
        next = head.lines().find_map(|line| line.strip_prefix("Location: ")).map(str::to_owned);
    }
}

/// The page in a text, if it is all there.
fn page(text: &str) -> Option<String> {
    let start = text.find("http://127.0.0.1").filter(|_| text.contains("/authorize?"))?;
    let mut pages = text[start..].split_whitespace().filter(|word| word.contains("/authorize?"));
    pages.next().map(str::to_owned)
}

/// Logs in without a terminal.
fn reauth(sandbox: &Sandbox, name: &str) -> String {
    let mut command = switchboard(sandbox);
    let mut child = command.args(["reauth", name, "--no-browser"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while page(&said).is_none() {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "{said}");
    }
    visit(&page(&said).unwrap());
    stderr.read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    said
}

fn write(sandbox: &Sandbox, entries: &Value) {
    sandbox.write("~/.switchboard/mcp.json", json!({ "mcpServers": entries }).to_string());
    sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
}

fn world(login: &Value, entry: Value) -> (Sandbox, Fake) {
    let fake = Fake::http(json!({ "login": login }));
    let sandbox = Sandbox::new();
    let mut entry = entry;
    entry["url"] = json!(fake.url());
    write(&sandbox, &json!({ "tracker": entry }));
    (sandbox, fake)
}

/// The only login that is kept.
fn kept(sandbox: &Sandbox) -> PathBuf {
    let files = fs::read_dir(sandbox.path("~/.switchboard/credentials")).unwrap();
    let mut files =
        files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|it| it == "json"));
    let file = files.next().unwrap();
    assert!(files.next().is_none());
    file
}

fn change(path: &PathBuf, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

fn origin(fake: &Fake) -> &str {
    fake.url().strip_suffix("/mcp").unwrap()
}

fn codes(report: &Value) -> Vec<&str> {
    let codes =
        report["problems"].as_array().unwrap().iter().map(|problem| problem["code"].as_str().unwrap());
    // The built-in servers, which are switched off here.
    codes.filter(|code| *code != "filtered").collect()
}

#[test]
fn status_and_why_tell_who_is_logged_in() {
    let login = json!({"refresh": "r", "expires_in": 3600, "scope": "read write"});
    let entry = json!({"auth": {"type": "oauth"}, "oauth": {"clientSecret": "!touch ran"}});
    let (sandbox, fake) = world(&login, entry);
    let seen = run(&sandbox, &["status"]);
    assert!(seen.contains("needs login") && seen.contains("switchboard reauth tracker"), "{seen}");
    let seen = run(&sandbox, &["why", "tracker"]);
    assert!(seen.contains("login       nobody is logged in: switchboard reauth tracker"), "{seen}");
    assert_eq!(as_json(&sandbox, &["why", "tracker", "--json"]).get("login"), None);
    let report = as_json(&sandbox, &["doctor", "--json"]);
    assert_eq!(codes(&report), ["login-missing"]);
    assert_eq!(report["problems"][0]["hint"], "switchboard reauth tracker");
    assert!(fake.log().is_empty() && !sandbox.path("ran").exists(), "looking runs and asks nothing");

    let said = reauth(&sandbox, "tracker");
    let at = format!("at {}, renewed by itself; rights: read write; kept in a private file", origin(&fake));
    assert!(said.contains(&format!("Logged in to \"tracker\" {at}")), "{said}");
    let seen = as_json(&sandbox, &["status", "--json"]);
    let row = json!({"name": "tracker", "status": "ready", "detail": format!("logged in {at}")});
    assert_eq!(seen["servers"][0], row);
    let login = &as_json(&sandbox, &["why", "tracker", "--json"])["login"];
    assert_eq!(login["issuer"], origin(&fake));
    assert_eq!((&login["scopes"], &login["renewable"]), (&json!(["read", "write"]), &json!(true)));
    assert!(login["works"] == true && login["expiresAt"].is_u64() && login["keptIn"] == "file");
    let seen = run(&sandbox, &["why", "tracker"]);
    assert!(seen.contains("renewed by itself; rights: read write"), "{seen}");
    assert_eq!(codes(&as_json(&sandbox, &["doctor", "--json"])), [""; 0]);
    let seen = run(&sandbox, &["test", "tracker"]);
    assert!(seen.contains("works") && seen.contains("exit 0") && !seen.contains("fake-token"), "{seen}");

    change(&kept(&sandbox), "\"good\"", "\"refused\"");
    let seen = run(&sandbox, &["status"]);
    assert!(seen.contains("needs login") && seen.contains("was refused or is over"), "{seen}");
    assert_eq!(as_json(&sandbox, &["why", "tracker", "--json"])["login"]["works"], false);
    for line in [&["doctor", "--json"][..], &["doctor", "--json", "--connect"]] {
        assert_eq!(codes(&as_json(&sandbox, line)), ["login-over"], "{line:?}");
    }
}

#[test]
fn a_login_that_is_over_and_one_without_an_end() {
    let (sandbox, _fake) = world(&json!({}), json!({}));
    assert!(!run(&sandbox, &["why", "tracker"]).contains("  login "), "nobody said that it wants one");
    reauth(&sandbox, "tracker");
    let detail = |sandbox: &Sandbox| as_json(sandbox, &["status", "--json"])["servers"][0].to_string();
    assert!(detail(&sandbox).contains("ready"));
    change(&kept(&sandbox), "\"expiresAt\": null", "\"expiresAt\": 1");
    assert!(detail(&sandbox).contains("needs login"), "{}", detail(&sandbox));
    let seen = run(&sandbox, &["unauth", "tracker"]);
    assert!(seen.contains("Logged out of"), "{seen}");
    // It asked for a login when it was last tried.
    assert!(detail(&sandbox).contains("needs login"), "{}", detail(&sandbox));
}

#[cfg(unix)]
#[test]
fn the_doctor_looks_at_the_files_of_logins() {
    use std::os::unix::fs::PermissionsExt as _;

    let (sandbox, _fake) = world(&json!({}), json!({}));
    reauth(&sandbox, "tracker");
    let path = kept(&sandbox);
    let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    set(0o644);
    let report = as_json(&sandbox, &["doctor", "--json"]);
    assert_eq!(codes(&report), ["credential-unreadable"]);
    assert_eq!(report["problems"][0]["hint"], format!("close it to others: chmod 600 {}", path.display()));
    let seen = run(&sandbox, &["status"]);
    assert!(seen.contains("needs login") && seen.contains("can be read by others"), "{seen}");
    set(0o600);

    write(&sandbox, &json!({"plain": {"url": "http://mcp.example.com/mcp", "auth": {"type": "oauth"}}}));
    let report = as_json(&sandbox, &["doctor", "--json"]);
    assert_eq!(codes(&report), ["clear-text-login", "credential-unused"]);
    assert_eq!(report["problems"][0]["hint"], "write https:// if the server has it");
    assert!(report["problems"][1]["hint"].as_str().unwrap().ends_with(&format!("rm {}", path.display())));

    // Something broken is told of, and stays where it is.
    fs::write(&path, "{").unwrap();
    assert!(codes(&as_json(&sandbox, &["doctor", "--json"])).contains(&"credential-unreadable"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "{");
}

#[test]
fn a_server_that_is_added_offers_its_login() {
    let fake = Fake::http(json!({"login": {}}));
    let sandbox = Sandbox::new();
    let mut screen = Screen::open(&sandbox, 500, &["add", "tracker", "--url", fake.url()]);
    screen.wait_for("wants a login. Log in at");
    screen.send("\r");
    screen.wait_until(|text| page(text).is_some() && text.contains("paste the address"));
    visit(&page(&screen.text()).unwrap());
    assert_eq!(screen.end(), 0, "{}", screen.text());
    assert!(screen.text().contains("Logged in to \"tracker\""), "{}", screen.text());
    let seen = run(&sandbox, &["test", "tracker"]);
    assert!(seen.contains("exit 0"), "{seen}");
    // A login belongs to the address.
    let seen = run(&sandbox, &["test", "--url", fake.url()]);
    assert!(seen.contains("exit 0"), "{seen}");
}

#[test]
fn what_was_added_stays_whatever_comes_of_it() {
    let asks = Fake::http(json!({"login": {}}));
    let hides = Fake::http(json!({"login": {"hidden": true}}));
    let works = Fake::http(json!({}));
    let sandbox = Sandbox::new();
    let add = |name: &str, url: &str, answer: Option<(&str, &str)>, expected: &str| {
        let mut screen = Screen::open(&sandbox, 200, &["add", name, "--url", url]);
        if let Some((question, keys)) = answer {
            screen.wait_for(question);
            screen.send(keys);
        }
        assert_eq!(screen.end(), 0, "{}", screen.text());
        assert!(screen.text().contains(expected), "{}", screen.text());
        assert!(sandbox.read(".switchboard/mcp.json").contains(&format!("\"{name}\"")));
    };
    let later = "Log in later: switchboard reauth";
    add("no", asks.url(), Some(("wants a login", "n\r")), later);
    add("again", asks.url(), None, "`again` is the same connection as `no`, which is used instead");
    add("stop", &format!("{}?other", asks.url()), Some(("wants a login", "\x03")), later);
    add(
        "hidden",
        hides.url(),
        None,
        "Authentication required for \"hidden\", but OAuth endpoints could not be discovered",
    );
    add("works", works.url(), None, "It works: 7 tools");
    let gone = Fake::http(json!({})).url().to_owned();
    add("gone", &gone, None, "warning: Failed to connect to \"gone\"");
}

#[test]
fn without_a_terminal_nothing_is_dialled_when_a_server_is_added() {
    let fake = Fake::http(json!({"login": {}}));
    let sandbox = Sandbox::new();
    let seen = run(&sandbox, &["add", "tracker", "--url", fake.url()]);
    assert!(seen.contains("If it wants a login: switchboard reauth tracker"), "{seen}");
    let seen = run(&sandbox, &["add", "keyed", "--url", fake.url(), "--header", "X-Key: ${KEY}"]);
    assert!(!seen.contains("reauth"), "{seen}");
    assert!(fake.log().is_empty());
}

#[test]
fn a_test_offers_the_login_once_and_tests_again() {
    let (sandbox, fake) = world(&json!({}), json!({}));
    let seen = run(&sandbox, &["test", "tracker"]);
    assert!(seen.contains("hint: log in: switchboard reauth tracker") && seen.contains("exit 3"), "{seen}");
    let seen = run(&sandbox, &["test", "--url", fake.url()]);
    assert!(
        seen.contains("give it a --header, or `switchboard add` it") && seen.contains("exit 3"),
        "{seen}"
    );

    let mut screen = Screen::open(&sandbox, 500, &["test", "tracker"]);
    screen.wait_for("wants a login. Log in at");
    screen.send("n\r");
    assert_eq!(screen.end(), 3, "{}", screen.text());

    let mut screen = Screen::open(&sandbox, 500, &["test", "--url", fake.url()]);
    screen.wait_for("wants a login. Log in at");
    screen.send("y\r");
    screen.wait_until(|text| page(text).is_some() && text.contains("paste the address"));
    visit(&page(&screen.text()).unwrap());
    assert_eq!(screen.end(), 0, "{}", screen.text());
    assert!(screen.text().contains("works"), "{}", screen.text());
}

#[test]
fn a_program_gets_the_token_or_a_warning() {
    let fake = Fake::http(json!({"login": {}}));
    let script = Fake::script(json!({}));
    let auth = json!({"type": "oauth", "credentialId": "work"});
    let sandbox = Sandbox::new();
    write(
        &sandbox,
        &json!({
            "program": {"command": fake_server(), "args": [script.path()], "auth": auth},
            "broken": {"command": "sh", "args": ["-c", "exit 3"], "auth": auth},
            "tracker": {"url": fake.url(), "auth": auth},
        }),
    );
    let report = as_json(&sandbox, &["test", "program", "--json"]);
    assert_eq!((&report["ok"], codes(&report)), (&json!(true), vec!["login-missing"]));
    let seen = run(&sandbox, &["test", "broken"]);
    assert!(seen.contains("hint: likely because there is no login `work` that works"), "{seen}");
    let seen = run(&sandbox, &["tools", "broken"]);
    assert!(seen.contains("likely because there is no login `work`"), "{seen}");
    let token = |sandbox: &Sandbox| run(sandbox, &["call", "program/env"]);
    assert!(!token(&sandbox).contains("fake-token"));

    reauth(&sandbox, "tracker");
    let report = as_json(&sandbox, &["test", "program", "--json"]);
    assert_eq!(codes(&report), [""; 0]);
    let seen = token(&sandbox);
    assert!(seen.contains("fake-token"), "{seen}");
}
