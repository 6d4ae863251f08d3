//! Pictures in results reach the model, in the form each provider takes.

use serde_json::{Value, json};

use super::{OPENAI, PROVIDERS, World, calls};

const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn server() -> Value {
    let result = json!({"content": [
        {"type": "text", "text": "a picture"},
        {"type": "image", "mimeType": "image/png", "data": PNG},
        {"type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zz4="}]});
    json!({"on": {"tools/call": [{ "result": result }]}})
}

#[test]
fn pictures_are_sent_where_the_provider_takes_them() {
    for provider in PROVIDERS {
        let turns = json!([calls(&[("mcp_fake_echo", json!({}))]), {"text": "Pretty."}]);
        let world = World::new(provider, server(), &turns);
        let ran = world.chat(&["--allow", "*"]);
        assert_eq!(ran.out, "Pretty.\n", "{}: {}", provider.word, ran.err);
        let request = world.model.requests()[1].to_string();
        assert!(request.contains(PNG), "{}: {request}", provider.word);
        assert!(!request.contains("PHN2Zz4="), "no provider takes this type");
        assert!(request.contains("[Image: image/svg+xml]"), "but it is named");
    }
}

#[test]
fn a_model_that_takes_no_pictures_gets_none() {
    let refusal = json!({"status": 400, "body": {"error": {"message": "image input is not supported"}}});
    let turns = json!([calls(&[("mcp_fake_echo", json!({}))]), refusal, {"text": "Blind."}]);
    let world = World::new(OPENAI, server(), &turns);
    let ran = world.chat(&["--allow", "*"]);
    assert_eq!((ran.out.as_str(), ran.code), ("Blind.\n", Some(0)));
    assert!(ran.err.contains("sent again without its 1 pictures"), "{}", ran.err);
    assert!(!world.model.requests()[2].to_string().contains(PNG));
}
