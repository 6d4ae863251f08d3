//! Questions of servers, to clients of either protocol, from servers of either.

use serde_json::{Value, json};
use testkit::{Fake, FakeScript, Mark};

use super::{Pipe, modern, world};

fn calls(script: &FakeScript) -> usize {
    script.methods().iter().filter(|method| *method == "tools/call").count()
}

fn ask() -> Value {
    json!({"name": "mcp_fake_ask", "arguments": {"message": "Who?"}})
}

const ADA: &str = r#"{"action": "accept", "content": {"name": "Ada"}}"#;

#[test]
fn a_client_with_a_handshake_is_asked_by_a_request() {
    for (era, n_calls) in [("legacy", 1), ("modern", 2)] {
        let script = Fake::script(json!({"era": era}));
        let sandbox = world(&[("fake", &script)], &Mark::new());
        let mut pipe = Pipe::open(&sandbox);
        pipe.greet();
        pipe.request("call", "tools/call", ask());
        let question = pipe.wait(|message| message["method"] == "elicitation/create");
        assert_eq!(question["params"]["message"], "Who?", "{era}");
        let answer: Value = serde_json::from_str(ADA).unwrap();
        pipe.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
        let result = pipe.answer("call");
        assert!(result["result"]["content"][0]["text"].as_str().unwrap().contains("Ada"), "{era}: {result}");
        assert_eq!(calls(&script), n_calls, "{era}");
        // Who is gone cannot be asked: the call ends, and so does the program.
        pipe.request("again", "tools/call", ask());
        pipe.wait(|message| message["method"] == "elicitation/create");
        assert_eq!(pipe.close().0, Some(0), "{era}");
    }
}

#[test]
fn a_modern_client_is_asked_by_a_result_and_answers_with_the_next_request() {
    for (era, n_calls) in [("legacy", 1), ("modern", 2)] {
        let script = Fake::script(json!({"era": era}));
        let sandbox = world(&[("fake", &script)], &Mark::new());
        let mut pipe = Pipe::open(&sandbox);
        let asked = pipe.result(1, "tools/call", modern(ask()));
        assert_eq!(asked["resultType"], "input_required", "{era}");
        let (key, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
        assert_eq!(
            (&question["method"], &question["params"]["message"]),
            (&json!("elicitation/create"), &json!("Who?"))
        );
        let mut again = ask();
        again["inputResponses"] = json!({key: serde_json::from_str::<Value>(ADA).unwrap()});
        if let Some(state) = asked.get("requestState") {
            again["requestState"] = state.clone();
        }
        let result = pipe.result(2, "tools/call", modern(again.clone()));
        assert_eq!(result["resultType"], "complete", "{era}");
        assert!(result["content"][0]["text"].as_str().unwrap().contains("Ada"), "{era}: {result}");
        assert_eq!(calls(&script), n_calls, "{era}");
        if era == "legacy" {
            // The call that was parked is over; its handle leads nowhere, and nothing is called.
            pipe.request(3, "tools/call", modern(again));
            assert_eq!(pipe.answer(3)["error"]["code"], -32602);
            assert_eq!(calls(&script), 1);
        }
        // A call that is parked for good does not outlive its client.
        assert_eq!(pipe.result(4, "tools/call", modern(ask()))["resultType"], "input_required");
        assert_eq!(pipe.close().0, Some(0), "{era}");
    }
}

#[test]
fn a_client_that_cannot_be_asked_is_not() {
    let script = Fake::script(json!({}));
    let sandbox = world(&[("fake", &script)], &Mark::new());
    let mut pipe = Pipe::open(&sandbox);
    let mut params = modern(ask());
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    // Its call ends as it would with a modern server.
    pipe.request(1, "tools/call", params);
    let error = pipe.answer(1)["error"].take();
    assert_eq!(error["code"], -32021, "{error}");
    assert_eq!(error["data"], json!({"requiredCapabilities": {"elicitation": {"form": {}}}}));
    assert_eq!(pipe.close().0, Some(0));
}
