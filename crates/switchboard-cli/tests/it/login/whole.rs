//! All the way: logged in, used by other processes, renewed, logged out.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::eventually_blocking;
use testkit::logins::{Peer, browse, follow, parameter};

use super::World;
use crate::screen::Screen;

/// From no login to one that works in another process.
fn logged_in(world: &mut World, subject: Option<&str>) {
    world.run(&["call", "tracker/echo"]).failed(3, &["switchboard reauth tracker"]);
    let ran = world.login(&[]);
    assert!(ran.err.contains(&format!("Logged in to \"tracker\" at {}", world.peer.issuer())), "{}", ran.err);
    assert!(ran.err.contains("renewed by itself"), "{}", ran.err);
    let told = world.call();
    assert!(subject.is_none_or(|subject| told["subject"] == subject), "{told}");
    assert_eq!((world.peer.count("logins"), world.peer.count("refreshes")), (1, 0));
}

/// Expired, renewed, expired while the login server is down; again with the same registration.
fn renewed(world: &mut World) {
    for n_refreshes in 1..=2 {
        world.peer.expire();
        world.call();
        world.call();
        assert_eq!((world.peer.count("refreshes"), world.peer.count("refused")), (n_refreshes, 0));
    }
    world.peer.expire();
    world.peer.fail(100);
    assert_ne!(world.run(&["call", "tracker/echo"]).code, Some(0));
    world.peer.fail(0);
    world.call();
    assert_eq!((world.peer.count("refreshes"), world.peer.count("refused")), (3, 0));
}

/// Out, and told so.
fn logged_out(world: &mut World) {
    let n_logins = world.peer.count("logins");
    let ran = world.run(&["unauth", "tracker"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("Logged out of \"tracker\""), "{}", ran.err);
    assert!(world.peer.count("revocations") >= 1);
    world.run(&["call", "tracker/echo"]).failed(3, &["switchboard reauth tracker"]);
    assert_eq!(world.peer.count("logins"), n_logins);
    let ran = world.run(&["unauth", "tracker"]);
    assert!(ran.code == Some(0) && ran.err.contains("Nobody was logged in"), "{}", ran.err);
}

/// Whatever else shows something of a login.
fn shown(world: &mut World) {
    for line in [
        &["status"][..],
        &["status", "--json"],
        &["why", "tracker"],
        &["why", "tracker", "--json"],
        &["doctor"],
        &["list", "--json"],
        &["tools", "-v"],
        &["call", "tracker/echo", "--json", "-v"],
        &["test", "tracker", "-v", "--trace", "trace.jsonl"],
        &["test", "tracker", "--json"],
    ] {
        let ran = world.run(line);
        assert_eq!(ran.code, Some(0), "{line:?}: {}{}", ran.out, ran.err);
    }
    assert!(!world.sandbox.read("trace.jsonl").is_empty());
}

#[test]
fn with_the_certified_server() {
    let mut world = World::new(Peer::oidc(&[]));
    logged_in(&mut world, Some("ada"));
    renewed(&mut world);
    shown(&mut world);
    world.login(&[]);
    assert_eq!((world.peer.count("registrations"), world.peer.count("logins")), (1, 2));
    world.call();
    logged_out(&mut world);
    assert!(world.peer.seen().len() >= 10, "{:?}", world.peer.seen());
    world.ends_clean();
}

#[test]
fn with_the_server_of_the_typescript_sdk() {
    let mut world = World::new(Peer::typescript(&[]));
    logged_in(&mut world, Some("demo"));
    renewed(&mut world);
    shown(&mut world);
    world.login(&[]);
    assert_eq!((world.peer.count("registrations"), world.peer.count("logins")), (1, 2));
    logged_out(&mut world);
    world.ends_clean();
}

#[test]
fn with_the_server_that_gives_secrets() {
    // Its tokens are too short to be good for a while, so each process renews.
    let mut world = World::new(Peer::fastmcp(&[("ACCESS_SECONDS", "2")]));
    world.login(&[]);
    world.call();
    let n_before = world.peer.count("refreshes");
    let call = || {
        world.call();
        world.peer.count("refreshes")
    };
    eventually_blocking("it is renewed", call, |n| *n != n_before);
    assert_eq!((world.peer.count("logins"), world.peer.count("refused")), (1, 0));
    shown(&mut world);
    logged_out(&mut world);
    world.ends_clean();
}

#[test]
fn with_secrets_in_the_header_and_in_the_body() {
    for method in ["client_secret_basic", "client_secret_post"] {
        let mut world = World::new(Peer::oidc(&[("METHODS", method)]));
        logged_in(&mut world, Some("ada"));
        renewed(&mut world);
        logged_out(&mut world);
        assert!(world.kept().is_none());
        world.ends_clean();
    }
}

#[test]
fn as_a_client_that_was_registered_by_hand() {
    let peer = Peer::oidc(&[("REGISTRATION", "0")]);
    let mut world = World::new(peer);
    let waiting = world.run(&["reauth", "tracker", "--no-browser"]);
    waiting.failed(3, &["OAuth authentication failed: ", "registers nobody by itself", "oauth.clientId"]);

    let client = world.peer.facts["client"].clone();
    world.set("TRACKER_SECRET", client["secret"].as_str().unwrap());
    world.canaries.add(client["secret"].as_str().unwrap());
    world.declare(&json!({"oauth": {"clientId": client["id"], "clientSecret": "${TRACKER_SECRET}"}}));
    world.login(&[]);
    assert_eq!(world.call()["client"], client["id"]);
    renewed(&mut world);
    shown(&mut world);
    assert_eq!(world.peer.count("registrations"), 0);
    logged_out(&mut world);
    world.ends_clean();
}

#[test]
fn where_the_right_to_renew_must_be_asked_for() {
    let mut world = World::new(Peer::oidc(&[("OFFLINE", "1")]));
    let waiting = world.begin(&[], Stdio::null());
    assert_eq!(parameter(&waiting.page, "prompt").as_deref(), Some("consent"));
    browse(&waiting.page);
    let ran = world.end(waiting);
    assert!(ran.code == Some(0) && ran.err.contains("renewed by itself"), "{}", ran.err);
    world.call();
    renewed(&mut world);
    world.ends_clean();
}

#[test]
fn with_the_address_pasted() {
    let mut world = World::new(Peer::oidc(&[]));
    let mut waiting = world.begin(&["--json"], Stdio::piped());
    let back = follow(&waiting.page);
    waiting.paste(&format!("\n  {back} "));
    let ran = world.end(waiting);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&told["name"], &told["renewable"]), (&json!("tracker"), &json!(true)));
    assert_eq!(told["issuer"], world.peer.facts["issuer"]);
    world.call();
    world.ends_clean();
}

#[test]
fn with_nothing_to_paste_from() {
    let mut world = World::new(Peer::oidc(&[]));
    let mut waiting = world.begin(&[], Stdio::null());
    waiting.hear("Waiting up to 5 minutes.");
    waiting.hear(
        "Standard input is closed, so no address can be pasted; waiting for the browser on this machine \
         (up to 5 minutes, Ctrl-C stops)",
    );
    // A browser on this machine needs nobody who pastes.
    assert_eq!(browse(&waiting.page).status, 200);
    let ran = world.end(waiting);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    world.call();
    world.ends_clean();
}

#[test]
fn with_a_browser() {
    let mut world = World::new(Peer::oidc(&[]));
    let script = "#!/bin/sh\nprintf '%s' \"$1\" > \"[PROJECT]/opening\" && mv \"[PROJECT]/opening\" \"[PROJECT]/opened\"\n";
    let program = world.sandbox.write("browser", script);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    world.sandbox = world.sandbox.with_var("BROWSER", program.to_str().unwrap());
    let mut screen = Screen::open(&world.sandbox, 100, &["reauth", "tracker"]);
    screen.wait_for("Waiting for you to come back");
    let opened = || world.sandbox.read("opened");
    let page = eventually_blocking("a browser is opened", opened, |page| !page.is_empty());
    fs::remove_file(world.sandbox.path("opened")).unwrap();
    assert_eq!(browse(page.trim()).status, 200);
    assert_eq!(screen.end(), 0, "{}", screen.text());
    assert!(screen.text().contains("Your browser opens."), "{}", screen.text());
    assert!(screen.text().contains("Logged in to \"tracker\""), "{}", screen.text());
    world.said.extend(&screen.raw);
    world.call();
    world.ends_clean();
}

/// Chromium, opened by us, follows the login to its end and shows our page. It outlives the terminal it was opened from.
#[test]
fn with_a_real_browser() {
    let mut world = World::new(Peer::oidc(&[]));
    let chromium = std::process::Command::new("chromium").arg("--version").output();
    assert!(chromium.is_ok(), "`chromium` cannot be started. Install it: apt-get install chromium");
    let script = "#!/bin/sh\ntrap '' HUP\nchromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --user-data-dir=[HOME]/browser --dump-dom \"$1\" >[PROJECT]/showing 2>/dev/null \
        && mv [PROJECT]/showing [PROJECT]/shown\n";
    let program = world.sandbox.write("browser", script);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    world.set("BROWSER", program.to_str().unwrap());
    let mut screen = Screen::open(&world.sandbox, 100, &["reauth", "tracker"]);
    assert_eq!(screen.end(), 0, "{}", screen.text());
    assert!(screen.text().contains("Logged in to \"tracker\""), "{}", screen.text());
    world.said.extend(&screen.raw);
    let shown = || world.sandbox.read("shown");
    let shown = eventually_blocking("the browser shows our page", shown, |shown| !shown.is_empty());
    assert!(shown.contains("You are logged in to Switchboard"), "{shown}");
    assert_eq!(world.call()["subject"], "ada");
    // Its profile remembers where it was; that is its own business.
    fs::remove_dir_all(world.sandbox.path("~/browser")).unwrap();
    world.ends_clean();
}

#[test]
fn no_browser_without_a_terminal() {
    let mut world = World::new(Peer::oidc(&[]));
    world.run(&["reauth", "tracker"]).failed(2, &["logging in needs a person at a terminal", "--no-browser"]);
    assert_eq!(world.peer.count("registrations"), 0);
}
