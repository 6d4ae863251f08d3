//! Whoever else knocks at the door that is open for the browser, or says who they are not.

use std::process::Stdio;

use testkit::logins::{Peer, browse, follow, parameter, request};

use super::World;

#[test]
fn strangers_change_nothing() {
    let mut world = World::new(Peer::oidc(&[]));
    let waiting = world.begin(&[], Stdio::null());
    let state = parameter(&waiting.page, "state").unwrap();
    for (request, status) in [
        ("GET /callback?code=x&state=guessed HTTP/1.1\r\nHost: [HOST]\r\n\r\n".to_owned(), 400),
        ("GET /callback?error=access_denied HTTP/1.1\r\nHost: [HOST]\r\n\r\n".to_owned(), 400),
        (format!("GET /callback?code=x&state={state} HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 400),
        (format!("GET /callback?code=x&code=y&state={state} HTTP/1.1\r\nHost: [HOST]\r\n\r\n"), 400),
        (format!("POST /callback?code=x&state={state} HTTP/1.1\r\nHost: [HOST]\r\n\r\n"), 405),
        (format!("GET /favicon.ico?code=x&state={state} HTTP/1.1\r\nHost: [HOST]\r\n\r\n"), 404),
        ("\u{0}\u{1}garbage \u{7f} \r\n\r\n".to_owned(), 400),
        (format!("GET /{} HTTP/1.1\r\nHost: [HOST]\r\n\r\n", "x".repeat(40_000)), 400),
    ] {
        let reply = waiting.knock(&request);
        assert_eq!(reply.status, status, "{request:.80}");
        assert!(!reply.body.contains("guessed") && !reply.body.contains(&state), "{}", reply.body);
    }
    // Whoever connects and says nothing keeps nobody out.
    let back = follow(&waiting.page);
    let first = request("GET", &back);
    assert!(first.body.contains("You are logged in"), "{first:?}");
    let again = request("GET", &back);
    assert!(again.status == 0 || again.body.contains("already done"), "{again:?}");
    let ran = world.end(waiting);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // Late: nobody is there any more.
    assert_eq!(request("GET", &back).status, 0);
    assert_eq!((world.peer.count("logins"), world.peer.count("exchanges")), (1, 1));
    world.call();
    world.ends_clean();
}

#[test]
fn the_answer_must_come_from_who_was_asked() {
    let mut world = World::new(Peer::oidc(&[]));
    for other in ["", "&iss=https%3A%2F%2Fevil.example", "&iss="] {
        let waiting = world.begin(&[], Stdio::null());
        let back = follow(&waiting.page);
        let (before, _) = back.split_once("&iss=").unwrap();
        let reply = request("GET", &format!("{before}{other}"));
        assert_eq!(reply.status, 200, "{reply:?}");
        let ran = world.end(waiting);
        ran.failed(3, &["OAuth authentication failed: the answer did not come from", world.peer.issuer()]);
    }
    // The code never left.
    assert_eq!(world.peer.count("exchanges"), 0);
    world.ends_clean();
}

#[test]
fn what_is_pasted_must_be_from_this_login() {
    let mut world = World::new(Peer::oidc(&[]));
    let first = world.begin(&[], Stdio::null());
    let old = follow(&first.page);
    browse(&first.page);
    world.end(first);
    // Where nothing more can be pasted, it ends with what is wrong, and at once.
    let mut waiting = world.begin(&[], Stdio::piped());
    waiting.paste(&old);
    let words = "OAuth authentication failed: this address is from another login, or was cut off";
    world.end(waiting).failed(3, &[words, "hint: copy the whole"]);
    // The login that was there is there still.
    world.call();

    let mut waiting = world.begin(&[], Stdio::piped());
    let (page, back) = (waiting.page.clone(), follow(&waiting.page));
    let (without_state, _) = back.split_once("state=").unwrap();
    for (text, words) in [
        (old.as_str(), "this address is from another login"),
        ("hello?state=a&state=b", "this is not a whole address"),
        ("\u{fffd}\u{0}", "this is not a whole address"),
        ("http://127.0.0.1:1/callback?code=x", "this address is not the one the browser is sent to"),
        (page.as_str(), "this is a page of the login itself"),
        (without_state, "this is only a part of the address"),
    ] {
        waiting.paste(text);
        waiting.hear(&format!("That does not help: {words}"));
        let last = waiting.err.lines().last().unwrap_or_default();
        let instead = ". Paste the whole address the browser ended at; it begins with http://127.0.0.1:";
        assert!(last.contains(instead) && last.ends_with("/callback"), "{last}");
    }
    assert_eq!(world.peer.count("exchanges"), 1);
    waiting.paste(&back);
    let ran = world.end(waiting);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("That is the address. Logging in\n"), "{}", ran.err);
    world.call();
    world.ends_clean();
}

#[test]
fn a_pasted_refusal_counts_if_it_is_of_this_login() {
    let mut world = World::new(Peer::oidc(&[("DENY", "1")]));
    let mut waiting = world.begin(&[], Stdio::piped());
    waiting.paste("http://127.0.0.1:1/callback?error=access_denied&state=guessed");
    waiting.hear("That does not help: this address is from another login");
    let back = follow(&waiting.page);
    waiting.paste(&back);
    let ran = world.end(waiting);
    ran.failed(3, &["OAuth authentication failed: Authorization failed: access_denied", "reauth tracker"]);
    world.ends_clean();
}

#[test]
fn a_pasted_answer_must_come_from_who_was_asked() {
    let mut world = World::new(Peer::oidc(&[]));
    let mut waiting = world.begin(&[], Stdio::piped());
    let back = follow(&waiting.page);
    let (before, _) = back.split_once("&iss=").unwrap();
    waiting.paste(&format!("{before}&iss=https%3A%2F%2Fevil.example"));
    world.end(waiting).failed(3, &["OAuth authentication failed: the answer did not come from"]);
    // The code never left.
    assert_eq!(world.peer.count("exchanges"), 0);
    world.ends_clean();
}
