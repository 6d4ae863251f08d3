//! Calls that go on while their client is away, as each protocol has them; and skills, which only one has.
//!
//! Where both sides have the same kind of tasks, they pass. Between the two kinds the gateway may follow a task for its
//! client, who then has a call like any other; what the client wants with it still has to reach the server.

use std::time::Instant;

use serde_json::{Value, json};

use super::{Cell, YES};
use crate::client::{Client, Era, PATIENCE, TASKS, able, calling, text_of};

const FOLLOWED: &str = "followed for the client, who gets the result";

/// A client that knows the tasks of its protocol.
fn client(cell: &Cell<'_>) -> Client {
    let mut capabilities = able();
    match cell.client.era {
        Era::Modern => capabilities["extensions"][TASKS] = json!({}),
        Era::Handshake => capabilities["tasks"] = json!({"list": {}, "cancel": {}}),
    }
    Client::open(cell.world, capabilities)
}

/// Whether the client can have tasks here: it is told so, and if both sides have the same kind, it has to be.
fn has_tasks(cell: &Cell<'_>, client: &Client) -> bool {
    let offered = &client.greeting["capabilities"];
    let is_offered = match client.era {
        Era::Modern => offered["extensions"][TASKS].is_object(),
        Era::Handshake => offered["tasks"]["requests"]["tools"]["call"].is_object(),
    };
    let (ours, theirs) = cell.eras();
    assert!(is_offered || ours != theirs, "tasks are not offered: {}", client.greeting);
    is_offered
}

/// Calls a tool as a task; gives the id of the task.
fn start(client: &mut Client, tool: &str, arguments: Value) -> String {
    let mut params = calling(tool, arguments);
    if client.era == Era::Handshake {
        params["task"] = json!({"ttl": 60_000});
    }
    let result = client.result("tools/call", params);
    let task = if client.era == Era::Modern { &result } else { &result["task"] };
    task["taskId"].as_str().unwrap_or_else(|| panic!("this is no task: {result}")).to_owned()
}

/// Waits until the task is in this state.
fn until(client: &mut Client, id: &str, status: &str) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let state = client.result("tasks/get", json!({ "taskId": id }));
        assert_eq!(state["taskId"], id);
        if state["status"] == status {
            return state;
        }
        assert!(Instant::now() < end, "the task does not become {status}: {state}");
    }
}

pub(super) fn life(cell: &mut Cell<'_>) -> &'static str {
    let mut client = client(cell);
    let arguments = json!({"seconds": 0.1, "label": "it"});
    if !has_tasks(cell, &client) {
        assert_eq!(client.text("slow_compute", arguments), "computed it for 0.1 s");
        return FOLLOWED;
    }
    let id = start(&mut client, "slow_compute", arguments);
    let done = until(&mut client, &id, "completed");
    let result = match client.era {
        Era::Modern => done["result"].clone(),
        Era::Handshake => client.result("tasks/result", json!({ "taskId": id })),
    };
    assert_eq!(text_of(&result), "computed it for 0.1 s");
    assert_eq!(client.error("tasks/get", json!({"taskId": "made up"}))["code"], -32602);
    if client.greeting["capabilities"]["tasks"]["list"].is_object() {
        let listed = client.result("tasks/list", json!({}));
        assert!(listed["tasks"].as_array().unwrap().iter().any(|task| task["taskId"] == id), "{listed}");
    }
    YES
}

pub(super) fn asking(cell: &mut Cell<'_>) -> &'static str {
    let mut client = client(cell);
    let yes = json!({"action": "accept", "content": {"confirm": true}});
    let arguments = json!({"filename": "notes"});
    if !has_tasks(cell, &client) {
        let params = calling("confirm_delete", arguments);
        let (result, asked) = client.converse("tools/call", &params, |_, _| yes.clone());
        assert_eq!((asked.len(), text_of(&result).as_str()), (1, "deleted notes"));
        return "asked about the call, which is followed for the client";
    }
    let id = start(&mut client, "confirm_delete", arguments);
    let state = until(&mut client, &id, "input_required");
    if client.era == Era::Handshake {
        let (result, asked) = client.converse("tasks/result", &json!({ "taskId": id }), |_, _| yes.clone());
        assert_eq!((asked.len(), text_of(&result).as_str()), (1, "deleted notes"));
        return YES;
    }
    let (key, question) = state["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(question["params"]["message"], "Delete notes?");
    client.result("tasks/update", json!({"taskId": id, "inputResponses": {key: yes}}));
    let done = until(&mut client, &id, "completed");
    assert_eq!(text_of(&done["result"]), "deleted notes");
    YES
}

pub(super) fn cancelled(cell: &mut Cell<'_>) -> &'static str {
    let mut client = client(cell);
    let arguments = json!({"name": "task"});
    if !has_tasks(cell, &client) {
        let id = client.request("tools/call", calling("test_hold_task", arguments));
        cell.world.noted("holds task");
        client.cancel(id);
        cell.world.noted("lost task");
        return "the call is taken back, and with it the task";
    }
    let id = start(&mut client, "test_hold_task", arguments);
    cell.world.noted("holds task");
    client.result("tasks/cancel", json!({ "taskId": id }));
    until(&mut client, &id, "cancelled");
    cell.world.noted("lost task");
    YES
}

/// A client that knows no tasks calls a tool that runs only as one.
pub(super) fn required(cell: &mut Cell<'_>) -> &'static str {
    let answer = cell.client.ask("tools/call", calling("failing_job", json!({})));
    match (cell.eras(), answer) {
        ((Era::Modern, Era::Modern), Err(error)) => {
            // Its protocol has a word for that.
            assert_eq!(error["code"], -32021, "{error}");
            "refused: the client lacks a capability"
        }
        (_, Ok(result)) => {
            assert_eq!(
                (result["isError"].as_bool(), text_of(&result).as_str()),
                (Some(true), "the job failed")
            );
            FOLLOWED
        }
        (_, Err(error)) => panic!("{error}"),
    }
}

pub(super) fn skills(cell: &mut Cell<'_>) -> &'static str {
    match cell.eras() {
        (Era::Modern, Era::Modern) => {
            let skills = cell.client.result("skills/list", json!({}));
            let uri = &skills["skills"][0]["uri"];
            assert_eq!(uri, "fixture+skill://counting/SKILL.md");
            let skill = cell.client.result("skills/get", json!({ "uri": uri }));
            assert_eq!(skill["skill"]["frontmatter"]["name"], "counting");
            let read = cell.client.result("resources/read", json!({ "uri": uri }));
            assert!(read["contents"][0]["text"].as_str().unwrap().contains("one, two, three"));
            YES
        }
        (_, server) => {
            assert_eq!(cell.client.error("skills/list", json!({}))["code"], -32601);
            match server {
                Era::Handshake => "not in the server's protocol: unknown method",
                Era::Modern => "not in the client's protocol: unknown method",
            }
        }
    }
}
