//! A renewal whose caller goes away, or whose process is killed.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::eventually;
use testkit::logins::Peer;

use crate::world::{Person, World, call};

#[tokio::test]
async fn a_caller_that_goes_away_loses_nothing() {
    let world = World::new(Peer::oidc(&[("TOKEN_DELAY_MS", "300")]));
    world.login().await;
    let session = world.session(&Person::willing()).await;
    call(&session, "tracker/echo").await.unwrap();
    for n_refreshes in 1..=3 {
        world.peer.expire();
        let calling = tokio::spawn({
            let session = session.clone();
            async move { call(&session, "tracker/echo").await }
        });
        // The old token is gone, and the new one on its way.
        eventually("a renewal", || world.peer.count("refreshes"), |n| *n == n_refreshes).await;
        calling.abort();
        call(&session, "tracker/echo").await.unwrap();
        assert_eq!((world.peer.count("refreshes"), world.peer.count("logins")), (n_refreshes, 1));
    }
    session.shutdown().await;
}

#[tokio::test]
async fn a_session_that_ends_in_a_renewal_loses_nothing() {
    let world = World::new(Peer::oidc(&[("TOKEN_DELAY_MS", "300")]));
    world.login().await;
    let session = world.session(&Person::willing()).await;
    call(&session, "tracker/echo").await.unwrap();
    world.peer.expire();
    let calling = tokio::spawn({
        let session = session.clone();
        async move { call(&session, "tracker/echo").await }
    });
    eventually("a renewal", || world.peer.count("refreshes"), |n| *n == 1).await;
    session.shutdown().await;
    drop(calling.await);
    let again = world.session(&Person::willing()).await;
    call(&again, "tracker/echo").await.unwrap();
    assert_eq!((world.peer.count("refused"), world.peer.count("logins")), (0, 1));
    again.shutdown().await;
}

#[tokio::test]
async fn a_killed_renewal_is_told_of() {
    let world = World::new(Peer::oidc(&[("TOKEN_DELAY_MS", "1000")]));
    world.login().await;
    let mut caller = world.caller();
    assert_eq!(caller.hear(), "ready");
    world.peer.expire();
    caller.tell();
    // The login server gave a new token that nobody has.
    eventually("a renewal", || world.peer.count("refreshes"), |n| *n == 1).await;
    drop(caller);
    assert_ne!(world.kept()["refreshing"], Value::Null);

    let mut next = world.caller();
    assert_eq!(next.hear(), "ready");
    for _ in 0..2 {
        next.tell();
        let said = next.hear();
        assert!(said.contains("an earlier renewal was cut off; its token may be lost"), "{said}");
    }
    assert_eq!((world.peer.count("refused"), &world.kept()["state"]), (1, &json!("refused")));
    world.login().await;
    assert_eq!(world.kept()["refreshing"], Value::Null);
    assert_eq!(world.caller_says(), "ok");
}

/// Killed at any moment: the login holds, or it was lost between the server's answer and our disk, and that is said.
#[tokio::test]
async fn kills_at_any_moment() {
    let world = World::new(Peer::oidc(&[("TOKEN_DELAY_MS", "20")]));
    world.login().await;
    let (mut n_lost, mut n_kept) = (0, 0);
    for turn in 0..12_u64 {
        let mut caller = world.caller();
        assert_eq!(caller.hear(), "ready");
        world.peer.expire();
        caller.tell();
        // Scattered over the time a renewal takes; which one hits is up to the machine.
        tokio::time::sleep(Duration::from_millis(turn * 7 % 61)).await;
        drop(caller);
        let before = world.kept();
        match world.caller_says().as_str() {
            "ok" => n_kept += 1,
            said => {
                assert!(said.contains("an earlier renewal was cut off"), "{said}");
                assert_ne!(before["refreshing"], Value::Null, "lost, and nothing was under way");
                n_lost += 1;
                world.login().await;
            }
        }
    }
    assert_eq!(world.peer.count("refused"), n_lost);
    assert_eq!(world.peer.count("logins"), 1 + n_lost);
    assert_eq!(n_lost + n_kept, 12);
}

impl World {
    /// What a new process says when it calls.
    fn caller_says(&self) -> String {
        let mut caller = self.caller();
        assert_eq!(caller.hear(), "ready");
        caller.tell();
        caller.hear()
    }
}
