//! The end of a server: in order if it can be, by force if it must be, and never with something left behind.

use std::time::{Duration, Instant};

use serde_json::json;
use switchboard::wire::{Cause, Ending, Sent};

use testkit::{Mark, eventually};

use crate::kit::{Wrapper, assert_works, call, heard, on_call, open_marked};

#[tokio::test]
async fn a_good_server_goes_when_its_input_is_closed() {
    let mark = Mark::new();
    let (_script, link) = open_marked(&mark, json!({}), Wrapper::None).await;
    assert_works(&link).await;
    let start = Instant::now();
    assert_eq!(link.stop().await, Ending::ByItself);
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert_eq!(mark.alive(), Vec::<u32>::new());
    assert_eq!(link.stop().await, Ending::ByItself, "stopping twice does no harm");
    let error = call(&link, "echo", json!({})).await.unwrap_err();
    assert_eq!((error.cause, error.sent), (Cause::Stopped, Sent::Never));
}

#[tokio::test]
async fn one_that_does_not_see_the_end_of_its_input_is_asked() {
    let mark = Mark::new();
    let (_script, link) = open_marked(&mark, json!({"eof": [{"hang": true}]}), Wrapper::None).await;
    assert_eq!(link.stop().await, Ending::Asked);
    assert_eq!(mark.alive(), Vec::<u32>::new());
}

#[tokio::test]
async fn one_that_does_not_want_to_go_is_killed() {
    let mark = Mark::new();
    let script = json!({"eof": [{"hang": true}], "sigterm": "ignore"});
    let (_script, link) = open_marked(&mark, script, Wrapper::None).await;
    assert_works(&link).await;
    let start = Instant::now();
    assert_eq!(link.stop().await, Ending::Killed);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!(mark.alive(), Vec::<u32>::new());
}

#[tokio::test]
async fn calls_that_are_open_end_with_the_connection() {
    let mark = Mark::new();
    let (script, link) = open_marked(&mark, on_call(json!([{"silent": true}])), Wrapper::None).await;
    let open = {
        let link = link.clone();
        tokio::spawn(async move { call(&link, "echo", json!({})).await.unwrap_err() })
    };
    heard(&script, "tools/call").await;
    link.stop().await;
    let error = open.await.unwrap();
    assert_eq!((error.cause, error.sent), (Cause::Stopped, Sent::Maybe));
}

#[tokio::test]
async fn the_server_inside_a_shell_goes_with_the_shell() {
    // It ignores the end of its input; the shell only waits for it.
    let mark = Mark::new();
    let (_script, link) = open_marked(&mark, json!({"eof": [{"hang": true}]}), Wrapper::Shell).await;
    assert_works(&link).await;
    // The guard, the shell, the server.
    assert_eq!(mark.alive().len(), 3);
    link.stop().await;
    assert_eq!(mark.alive(), Vec::<u32>::new());
}

#[tokio::test]
async fn a_stubborn_server_inside_a_shell_goes_too() {
    let mark = Mark::new();
    let script = json!({"eof": [{"hang": true}], "sigterm": "ignore"});
    let (_script, link) = open_marked(&mark, script, Wrapper::Shell).await;
    link.stop().await;
    assert_eq!(mark.alive(), Vec::<u32>::new());
}

#[tokio::test]
async fn what_a_server_left_behind_goes_with_it() {
    for fork in ["grandchild", "tree", "daemon"] {
        let mark = Mark::new();
        let (_script, link) = open_marked(&mark, json!({"start": [{"fork": fork}]}), Wrapper::None).await;
        assert_works(&link).await;
        assert!(mark.alive().len() >= 3, "{fork}: {:?}", mark.alive());
        link.stop().await;
        assert_eq!(mark.alive(), Vec::<u32>::new(), "{fork}");
    }
}

#[tokio::test]
async fn what_a_server_left_behind_goes_when_it_crashes() {
    for fork in ["grandchild", "tree", "daemon"] {
        let mark = Mark::new();
        let script = json!({"start": [{"fork": fork}], "on": {"tools/call": [{"signal": "KILL"}]}});
        let (_script, link) = open_marked(&mark, script, Wrapper::None).await;
        let error = call(&link, "echo", json!({})).await.unwrap_err();
        assert!(matches!(error.cause, Cause::Exited { .. }), "{fork}: {error}");
        eventually("nothing is left", || mark.alive(), Vec::is_empty).await;
    }
}

#[tokio::test]
async fn dropping_the_link_ends_the_server_and_all_its_processes() {
    let mark = Mark::new();
    let script = json!({"start": [{"fork": "tree"}], "eof": [{"hang": true}], "sigterm": "ignore"});
    let (_script, link) = open_marked(&mark, script, Wrapper::None).await;
    let copy = link.clone();
    drop(link);
    assert_works(&copy).await;
    drop(copy);
    eventually("nothing is left", || mark.alive(), Vec::is_empty).await;
}
