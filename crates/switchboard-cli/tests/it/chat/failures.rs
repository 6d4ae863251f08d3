//! A model that fails: what is tried again, what is not, and what is said.

use serde_json::{Value, json};

use super::{OPENAI, PROVIDERS, Ran, World, calls};

fn busy(status: u16) -> Value {
    json!({"status": status, "headers": {"retry-after-ms": "5"}, "body": {"error": {"message": "slow down", "type": "overloaded_error"}}})
}

fn retries(ran: &Ran) -> Vec<Value> {
    ran.lines().into_iter().filter(|line| line["type"] == "retry").collect()
}

#[test]
fn too_busy_is_asked_again_when_the_provider_says() {
    for provider in PROVIDERS {
        let turns = json!([busy(429), busy(500), busy(529), {"text": "Here I am."}]);
        let world = World::new(provider, json!({}), &turns);
        let ran = world.chat(&["--stream-json"]);
        assert_eq!(ran.code, Some(0), "{}: {}", provider.word, ran.err);
        let waits: Vec<_> = retries(&ran).iter().map(|line| line["waitMs"].clone()).collect();
        assert_eq!(waits, [5, 5, 5], "{}", provider.word);
        assert_eq!(ran.lines().last().unwrap()["text"], "Here I am.");
    }
}

#[test]
fn for_ever_busy_is_an_error_after_some_tries() {
    let world = World::new(
        OPENAI,
        json!({}),
        &json!([busy(503), busy(503), busy(503), busy(503), busy(503), {"text": "late"}]),
    );
    let ran = world.chat(&[]);
    assert_eq!((ran.out.as_str(), ran.code), ("", Some(4)));
    let again = "openai/small is busy (503): slow down; trying again in 5 ms\n".repeat(4);
    assert_eq!(ran.err, format!("{again}error: openai/small is busy (503): slow down\n"));
    assert_eq!(world.model.requests().len(), 5);
}

#[test]
fn an_answer_that_breaks_off_is_asked_for_again_and_no_tool_runs_twice() {
    for provider in PROVIDERS {
        for cut in ["hard", "clean"] {
            let call = json!([{"name": "mcp_fake_count", "arguments": {}}]);
            let broken = json!({"text": "Let me", "calls": call, "cut": cut});
            let whole = json!({"text": "Let me count.", "calls": call});
            let world = World::new(provider, json!({}), &json!([broken, whole, {"text": "Once."}]));
            let ran = world.chat(&["--allow", "*", "--stream-json"]);
            assert_eq!(ran.code, Some(0), "{} {cut}: {}", provider.word, ran.err);
            let again = retries(&ran);
            assert_eq!((again.len(), &again[0]["discards"]), (1, &json!(true)), "{} {cut}", provider.word);
            let n_calls = world.script.methods().iter().filter(|method| *method == "tools/call").count();
            assert_eq!(n_calls, 1, "{} {cut}", provider.word);
            assert_eq!(ran.lines().last().unwrap()["text"], "Once.");
        }
    }
}

#[test]
fn what_came_of_an_answer_that_always_breaks_off_is_kept() {
    let settled = json!({"text": "Half of", "cut": "hard"});
    let model = testkit::FakeModel::repeating(&json!([settled]));
    let world = World::with_model(OPENAI, json!({}), model);
    world.sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    let ran = world.chat(&[]);
    assert_eq!((ran.out.as_str(), ran.code), ("Half of\n", Some(1)));
    assert!(ran.err.contains("broke off again and again"), "{}", ran.err);
}

#[test]
fn an_error_in_the_middle_is_an_error() {
    for provider in PROVIDERS.into_iter().filter(|provider| provider.word != "ollama") {
        let turns = json!([{"text": "Hm", "error": "overloaded_error"}, {"text": "Now."}]);
        let world = World::new(provider, json!({}), &turns);
        let ran = world.chat(&["--stream-json"]);
        assert_eq!(
            (retries(&ran).len(), ran.code),
            (1, Some(0)),
            "{}: {}{}",
            provider.word,
            ran.out,
            ran.err
        );
    }
}

#[test]
fn deltas_that_cannot_be_read_are_asked_for_again() {
    for provider in PROVIDERS {
        let garbled = match provider.word {
            "anthropic" => "event: content_block_delta\ndata: {\"type\": \"content_blo\n\n",
            "ollama" => "{\"message\": {\"content\n",
            _ => "data: {\"choices\": [{\"del\n\n",
        };
        let turns = json!([{"text": "Hm", "raw": garbled}, {"text": "Now."}]);
        let world = World::new(provider, json!({}), &turns);
        let ran = world.chat(&["--stream-json"]);
        let last = ran.lines().pop().unwrap();
        assert_eq!(ran.code, Some(0), "{}: {}", provider.word, ran.err);
        // One format skips what it cannot read, and the answer ends well all the same.
        let expected = if provider.word == "openai-responses" { "Hm" } else { "Now." };
        assert_eq!(last["text"], expected, "{}", provider.word);
    }
}

#[test]
fn a_refusal_is_told_with_its_words() {
    for provider in PROVIDERS.into_iter().filter(|provider| provider.word != "ollama") {
        let world = World::new(provider, json!({}), &json!([{"text": "I will not.", "stop": "refusal"}]));
        let ran = world.chat(&["--json"]);
        let report = ran.json();
        assert_eq!((&report["stopReason"], ran.code), (&json!("refused"), Some(1)), "{}", provider.word);
        assert_eq!(report["text"], "I will not.", "{}", provider.word);
    }
}

#[test]
fn an_answer_that_may_not_be_longer_says_so() {
    for provider in PROVIDERS {
        let world = World::new(provider, json!({}), &json!([{"text": "On and", "stop": "length"}]));
        let ran = world.chat(&["--json"]);
        assert_eq!((&ran.json()["stopReason"], ran.code), (&json!("length"), Some(1)), "{}", provider.word);
    }
}

#[test]
fn a_refused_key_is_not_tried_again_and_not_told() {
    for provider in PROVIDERS {
        let body = json!({"error": {"message": "Incorrect key provided: canary-key"}});
        let world = World::new(provider, json!({}), &json!([{"status": 401, "body": body}]));
        let ran = world.chat(&[]);
        assert_eq!((ran.code, world.model.requests().len()), (Some(3), 1), "{}: {}", provider.word, ran.err);
        let is_secret = provider.key.is_some();
        assert_eq!(ran.err.contains("canary-key"), !is_secret, "{}", ran.err);
        assert!(ran.err.contains("refuses the key (401)"), "{}", ran.err);
    }
}

#[test]
fn a_request_that_is_refused_fails_with_the_reason() {
    let world = World::new(
        OPENAI,
        json!({}),
        &json!([{"status": 404, "body": {"error": {"message": "no such model"}}}]),
    );
    let ran = world.chat(&["--json"]);
    assert_eq!(ran.code, Some(1));
    let error: Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!(error["error"]["code"], "model-rejected");
    assert_eq!(error["error"]["message"], "openai/small refuses the request (404): no such model");
}

#[test]
fn a_conversation_that_is_too_long_is_shortened() {
    let long = json!({"result": {"content": [{"type": "text", "text": "x".repeat(20_000)}]}});
    let server = json!({"on": {"tools/call": [long]}});
    let call = calls(&[("mcp_fake_echo", json!({}))]);
    let refusal = json!({"status": 400, "body": {"error": {"message": "This model's maximum context length is 8192 tokens"}}});
    let turns = json!([call, call, call, call, refusal, {"text": "It fits."}]);
    let world = World::new(OPENAI, server, &turns);
    let ran = world.chat(&["--allow", "*", "--stream-json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let kinds: Vec<String> =
        ran.lines().iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect();
    assert!(kinds.contains(&"trimmed".to_owned()), "{kinds:?}");
    let sizes: Vec<usize> = world.model.requests().iter().map(|request| request.to_string().len()).collect();
    assert!(sizes[5] < sizes[4] - 15_000, "{sizes:?}");
}

#[test]
fn a_model_that_is_not_there_is_told() {
    let mut world = World::new(OPENAI, json!({}), &json!([]));
    world.sandbox = world.sandbox.with_var("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    world.sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
    let ran = world.chat(&[]);
    assert_eq!(ran.code, Some(4));
    assert!(ran.err.contains("\nerror: openai/small cannot be reached: "), "{}", ran.err);
    assert_eq!(ran.err.matches("trying again").count(), 1, "{}", ran.err);
}
