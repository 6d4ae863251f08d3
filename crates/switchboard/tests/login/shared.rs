//! Many who share one login.

use testkit::logins::Peer;

use crate::world::{Person, World, call};

const PROCESSES: usize = 16;
const EXPIRIES: u64 = 50;

#[tokio::test]
async fn sixteen_processes_renew_once() {
    let world = World::new(Peer::oidc(&[]));
    world.login().await;
    let mut callers: Vec<_> = (0..PROCESSES).map(|_| world.caller()).collect();
    for caller in &mut callers {
        assert_eq!(caller.hear(), "ready");
    }
    for _ in 0..EXPIRIES {
        // Everybody has used the token of now, so everybody's ends.
        world.peer.expire();
        callers.iter_mut().for_each(super::world::Caller::tell);
        for caller in &mut callers {
            assert_eq!(caller.hear(), "ok");
        }
    }
    let counts = ["refreshes", "refused", "families", "logins"].map(|what| world.peer.count(what));
    assert_eq!(counts, [EXPIRIES, 0, 0, 1]);
}

#[tokio::test]
async fn many_calls_of_one_session_renew_once() {
    let world = World::new(Peer::oidc(&[("TOKEN_DELAY_MS", "100")]));
    world.login().await;
    let session = world.session(&Person::willing()).await;
    for n_refreshes in 1..=3 {
        world.peer.expire();
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let session = session.clone();
            calls.spawn(async move { call(&session, "tracker/echo").await });
        }
        while let Some(called) = calls.join_next().await {
            assert_eq!(called.unwrap().unwrap()["subject"], "ada");
        }
        assert_eq!((world.peer.count("refreshes"), world.peer.count("refused")), (n_refreshes, 0));
    }
    session.shutdown().await;
}

#[tokio::test]
async fn a_login_server_that_is_away_logs_nobody_out() {
    let world = World::new(Peer::oidc(&[]));
    world.login().await;
    let person = Person::willing();
    let session = world.session(&person).await;
    call(&session, "tracker/echo").await.unwrap();
    world.peer.expire();
    world.peer.fail(1000);
    let error = call(&session, "tracker/echo").await.unwrap_err();
    assert!(error.contains("the login server cannot give a token right now: HTTP 503"), "{error}");
    world.peer.fail(0);
    call(&session, "tracker/echo").await.unwrap();
    assert_eq!(person.pages(), []);
    assert_eq!((world.peer.count("refreshes"), world.peer.count("logins")), (1, 1));
    session.shutdown().await;
}
