//! Modern requests that come back with questions.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use switchboard::host::{Answer, Headless};
use switchboard::wire::Cause;

use crate::asked::{Person, open_for};
use crate::kit::{call, params, text};

fn modern(on: Value) -> Value {
    json!({"era": "modern", "on": on})
}

fn wants(requests: Value, state: Option<&str>) -> Value {
    let mut result = json!({"resultType": "input_required", "inputRequests": requests});
    if let Some(state) = state {
        result["requestState"] = json!(state);
    }
    json!([{"result": result}])
}

fn question() -> Value {
    json!({"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"type": "object"}}})
}

#[tokio::test]
async fn a_question_is_answered_and_the_call_put_again() {
    for (given, expected) in [
        (
            Answer::Accept(json!({"name": "Ada"}).into()),
            json!({"action": "accept", "content": {"name": "Ada"}}),
        ),
        (Answer::Decline, json!({"action": "decline"})),
        (Answer::Cancel, json!({"action": "cancel"})),
    ] {
        let host = Person::who_says(given);
        let (script, link) = open_for(Arc::<Person>::clone(&host), json!({"era": "modern"})).await;
        let result = call(&link, "ask", json!({"message": "Who?"})).await.unwrap();
        assert_eq!(serde_json::from_str::<Value>(text(&result)).unwrap(), expected);
        assert_eq!(host.asked.load(Ordering::SeqCst), 1);
        let calls: Vec<_> =
            script.log().into_iter().filter(|line| line["message"]["method"] == "tools/call").collect();
        assert_eq!(calls.len(), 2);
        assert_ne!(calls[0]["message"]["id"], calls[1]["message"]["id"]);
        assert_eq!(calls[0]["message"]["params"]["arguments"], calls[1]["message"]["params"]["arguments"]);
    }
}

#[tokio::test]
async fn nobody_to_ask_is_a_decline() {
    let (_script, link) = open_for(Arc::new(Headless::default()), json!({"era": "modern"})).await;
    let result = call(&link, "ask", json!({})).await.unwrap();
    assert_eq!(text(&result), r#"{"action":"decline"}"#);
}

#[tokio::test]
async fn a_question_nobody_may_ask_ends_the_call() {
    let sampling = json!({"q": {"method": "sampling/createMessage", "params": {"messages": []}}});
    let (script, link) =
        open_for(Arc::new(Headless::default()), modern(json!({"tools/call": wants(sampling, None)}))).await;
    let error = call(&link, "echo", json!({})).await.unwrap_err();
    assert!(matches!(&error.cause, Cause::Declined { what } if what.contains("sampling")), "{error}");
    assert_eq!(params(&script, "tools/call").len(), 1);
}

#[tokio::test]
async fn the_state_comes_back_as_it_was_and_none_comes_back_as_none() {
    let state = "  \u{e9}\"\\ {not json} ";
    let script = modern(json!({"tools/call": {"times": [
        wants(json!({"a": question(), "b": question()}), Some(state)), wants(json!({"c": question()}), None), [{"default": true}],
    ]}}));
    let host = Person::who_says(Answer::Decline);
    let (script, link) = open_for(host, script).await;
    call(&link, "echo", json!({"text": "x"})).await.unwrap();
    let asked = params(&script, "tools/call");
    assert_eq!(asked[1]["requestState"], state);
    assert_eq!(asked[1]["inputResponses"], json!({"a": {"action": "decline"}, "b": {"action": "decline"}}));
    assert_eq!(asked[2].get("requestState"), None);
    assert_eq!(asked[2]["inputResponses"], json!({"c": {"action": "decline"}}));
}

#[tokio::test]
async fn a_server_that_asks_without_end_is_given_up() {
    let host = Person::who_says(Answer::Decline);
    let script = modern(json!({"tools/call": wants(json!({"q": question()}), None)}));
    let (script, link) = open_for(Arc::<Person>::clone(&host), script).await;
    let error = call(&link, "echo", json!({})).await.unwrap_err();
    assert_eq!(error.cause, Cause::TooManyRounds { rounds: 10 });
    assert_eq!(params(&script, "tools/call").len(), 10);
    assert!(host.asked.load(Ordering::SeqCst) <= 10);
}

#[tokio::test]
async fn prompts_and_resources_may_ask_too() {
    let content = json!({"contents": [{"uri": "a://b", "text": "read"}], "resultType": "complete"});
    let messages = json!({"messages": [], "resultType": "complete"});
    let script = modern(json!({
        "resources/read": {"times": [wants(json!({"q": question()}), Some("s")), [{"result": content}]]},
        "prompts/get": {"times": [wants(json!({"q": question()}), Some("s")), [{"result": messages}]]},
    }));
    let (script, link) = open_for(Person::who_says(Answer::Decline), script).await;
    assert_eq!(link.read("a://b").await.unwrap().contents.len(), 1);
    link.prompt("p", &[]).await.unwrap();
    assert_eq!(params(&script, "resources/read")[1]["requestState"], "s");
    assert_eq!(params(&script, "prompts/get")[1]["requestState"], "s");
}

#[tokio::test]
async fn an_unknown_kind_of_result_is_told() {
    let script = modern(json!({"tools/call": [{"result": {"resultType": "perhaps", "content": []}}]}));
    let (_script, link) = open_for(Arc::new(Headless::default()), script).await;
    let error = call(&link, "echo", json!({})).await.unwrap_err();
    assert!(matches!(&error.cause, Cause::Malformed { why } if why.contains("perhaps")), "{error}");
}
