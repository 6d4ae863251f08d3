//! What servers ask of clients.

use serde_json::{Value, json};

use super::{Cell, YES};
use crate::client::{Client, Era, able, calling, text_of};

const FORM: &str = "elicitation/create";

fn accept(content: Value) -> Value {
    let mut answer = json!({"action": "accept"});
    answer["content"] = content;
    answer
}

/// Answers whatever can be asked.
fn reply(method: &str, params: &Value) -> Value {
    match method {
        FORM if params["mode"] == "url" => json!({"action": "accept"}),
        FORM => accept(json!({"name": "Ada", "color": "red", "context": "tests", "ok": true})),
        "sampling/createMessage" => {
            json!({"role": "assistant", "content": {"type": "text", "text": "Hello"}, "model": "none", "stopReason": "endTurn"})
        }
        "roots/list" => json!({"roots": [{"uri": "file:///one", "name": "one"}]}),
        _ => panic!("nobody asks for {method}"),
    }
}

pub(super) fn form(cell: &mut Cell<'_>) -> &'static str {
    let params = calling("test_elicitation", json!({"message": "Who are you?"}));
    let content = json!({"username": "Ada", "email": "ada@example.com"});
    let (result, asked) = cell.client.converse("tools/call", &params, |_, _| accept(content.clone()));
    let [(method, question)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((method.as_str(), &question["message"]), (FORM, &json!("Who are you?")));
    assert_eq!(question["requestedSchema"]["properties"]["email"]["description"], "Your address");
    assert!(
        text_of(&result).contains("action=accept") && text_of(&result).contains("ada@example.com"),
        "{result}"
    );
    let (result, _) = cell.client.converse("tools/call", &params, |_, _| json!({"action": "decline"}));
    assert!(text_of(&result).contains("action=decline"), "{result}");
    YES
}

pub(super) fn url(cell: &mut Cell<'_>) -> &'static str {
    let params = calling("test_elicitation_url", json!({}));
    let (result, asked) = cell.client.converse("tools/call", &params, reply);
    let [(_, question)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(
        (&question["mode"], &question["url"]),
        (&json!("url"), &json!("https://example.com/consent?n=1"))
    );
    assert_eq!(text_of(&result), "page: accept");
    YES
}

pub(super) fn sampling(cell: &mut Cell<'_>) -> &'static str {
    let params = calling("test_sampling", json!({"prompt": "Say hello"}));
    let (result, asked) = cell.client.converse("tools/call", &params, reply);
    let [(method, question)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((method.as_str(), &question["maxTokens"]), ("sampling/createMessage", &json!(100)));
    assert_eq!(question["messages"][0]["content"]["text"], "Say hello");
    assert_eq!(text_of(&result), "LLM response: Hello");
    YES
}

pub(super) fn roots(cell: &mut Cell<'_>) -> &'static str {
    let params = calling("test_input_required_result_list_roots", json!({}));
    let (result, asked) = cell.client.converse("tools/call", &params, reply);
    assert_eq!(asked.len(), 1);
    assert_eq!(text_of(&result), "Roots: file:///one");
    YES
}

/// A client with a handshake says that its roots changed; a modern server asks anew with each call anyway.
pub(super) fn roots_changed(cell: &mut Cell<'_>) -> &'static str {
    let is_told = cell.eras() == (Era::Handshake, Era::Handshake);
    if cell.client.era == Era::Handshake {
        let before: u32 = cell.client.text("test_roots_told", json!({})).parse().unwrap();
        cell.client.notify("notifications/roots/list_changed", None);
        if is_told {
            super::tells::until(cell, "test_roots_told", |text| text == (before + 1).to_string());
        }
    }
    let params = calling("test_input_required_result_list_roots", json!({}));
    let (result, _) =
        cell.client.converse("tools/call", &params, |_, _| json!({"roots": [{"uri": "file:///two"}]}));
    assert_eq!(text_of(&result), "Roots: file:///two");
    match cell.eras() {
        (Era::Handshake, Era::Handshake) => YES,
        (Era::Handshake, Era::Modern) => "yes: asked anew; the server's protocol has no notice",
        (Era::Modern, _) => "yes: asked anew; the client's protocol has no notice",
    }
}

pub(super) fn rounds(cell: &mut Cell<'_>) -> &'static str {
    let params = calling("test_input_required_result_multiple_inputs", json!({}));
    let (result, asked) = cell.client.converse("tools/call", &params, reply);
    let mut methods: Vec<&str> = asked.iter().map(|(method, _)| method.as_str()).collect();
    methods.sort_unstable();
    assert_eq!(methods, [FORM, "roots/list", "sampling/createMessage"]);
    assert_eq!(text_of(&result), "Hello Ada, with 1 roots");
    let params = calling("test_input_required_result_multi_round", json!({}));
    let (result, asked) = cell.client.converse("tools/call", &params, reply);
    assert_eq!((asked.len(), text_of(&result).as_str()), (2, "Ada likes red"));
    YES
}

pub(super) fn of_others(cell: &mut Cell<'_>) -> &'static str {
    let params = json!({"name": "mcp_fixture_test_input_required_result_prompt"});
    let (prompt, asked) = cell.client.converse("prompts/get", &params, reply);
    assert_eq!(
        (asked.len(), &prompt["messages"][0]["content"]["text"]),
        (1, &json!("The context is: tests"))
    );
    let params = json!({"uri": "fixture+test://confirmed"});
    let (read, asked) = cell.client.converse("resources/read", &params, reply);
    assert_eq!(asked.len(), 1);
    assert!(read["contents"][0]["text"].as_str().unwrap().starts_with("action=accept"), "{read}");
    YES
}

/// Both calls wait at the same time, and each client is asked what is its own.
pub(super) fn two_clients(cell: &mut Cell<'_>) -> &'static str {
    let mut second = Client::open(cell.world, able());
    let mut clients = [(&mut *cell.client, "first"), (&mut second, "second")];
    let ask = |name: &str| calling("test_elicitation", json!({ "message": name }));
    // Both are asked before either answers.
    let mut open = Vec::new();
    for (client, name) in &mut clients {
        open.push((client.request("tools/call", ask(name)), None));
    }
    for ((client, name), (id, question)) in clients.iter_mut().zip(&mut open) {
        let asked = client.wait(|message| message["id"] == *id || message["method"] == FORM);
        assert!(asked.to_string().contains(&format!("\"message\":\"{name}\"")), "{name} got {asked}");
        *question = Some(asked);
    }
    for ((client, name), (id, question)) in clients.iter_mut().zip(&open) {
        let content = json!({"username": name, "email": "x"});
        let result = client.settle((*id, question.as_ref().unwrap()), &ask(name), &accept(content));
        assert!(text_of(&result).contains(&format!("\"username\":\"{name}\"")), "{name} got {result}");
    }
    YES
}

pub(super) fn unable(cell: &mut Cell<'_>) -> &'static str {
    let mut client = Client::open(cell.world, json!({}));
    let answer = client.ask("tools/call", calling("test_elicitation", json!({"message": "Anybody?"})));
    // An error of the protocol, or of the tool; but nobody was asked, and nobody waits.
    match &answer {
        Ok(result) => assert_eq!(result["isError"], true, "{result}"),
        Err(error) => assert!(error["code"].is_i64(), "{error}"),
    }
    assert_eq!(client.heard(FORM), [json!(null); 0]);
    match answer {
        Ok(_) => "refused: an error of the tool",
        Err(_) => "refused: an error of the protocol",
    }
}
