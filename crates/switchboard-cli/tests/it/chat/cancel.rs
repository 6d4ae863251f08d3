//! Ctrl-C in a turn: the model's provider and the servers hear of it.

#![cfg(unix)]

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{OPENAI, PROVIDERS, World, calls};

fn interrupt(child: &std::process::Child) {
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::INT).unwrap();
}

#[test]
fn ctrl_c_while_the_model_speaks_drops_the_answer() {
    for provider in PROVIDERS {
        let world = World::new(provider, json!({}), &json!([{"text": "On and on", "hang": true}]));
        let mut child = world.command(&[]).spawn().unwrap();
        world.model.wait_for(|line| line.get("path").is_some());
        interrupt(&child);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{}", provider.word);
        world.model.wait_for(|line| line.get("closed").is_some());
    }
}

#[test]
fn ctrl_c_in_calls_tells_the_server_of_each() {
    let server = json!({"on": {"tools/call": [{"silent": true}]}});
    let two = calls(&[("mcp_fake_echo", json!({"text": "a"})), ("mcp_fake_echo", json!({"text": "b"}))]);
    let world = World::new(OPENAI, server, &json!([two]));
    let mut child = world.command(&["--allow", "*"]).spawn().unwrap();
    world.script.wait_for(|line| line["message"]["params"]["arguments"]["text"] == "b");
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    world.script.wait_for(|line| line["message"]["method"] == "notifications/cancelled");
    let methods = world.script.methods();
    let n_cancelled = methods.iter().filter(|method| *method == "notifications/cancelled").count();
    assert_eq!(n_cancelled, 2, "{methods:?}");
    assert_eq!(world.model.requests().len(), 1, "the model is not asked again");
}
