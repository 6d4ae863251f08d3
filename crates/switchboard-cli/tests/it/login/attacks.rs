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
    for (text, words) in [
        (old.as_str(), "this address is from another login; paste the newest one"),
        ("hello?state=a&state=b", "this is not the address the browser was sent to; paste all of it"),
        ("http://127.0.0.1:1/callback?code=x", "this is only a part of the address"),
    ] {
        let mut waiting = world.begin(&[], Stdio::piped());
        waiting.paste(text);
        world
            .end(waiting)
            .failed(3, &[&format!("OAuth authentication failed: {words}"), "hint: copy the whole"]);
    }
    // The login that was there is there still.
    world.call();
    world.ends_clean();
}
