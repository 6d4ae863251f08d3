//! What servers offer, and what comes of using it.

use serde_json::{Value, json};

use super::{Cell, YES};
use crate::client::{Era, calling, text_of};
use crate::world::{MANY, Way};

fn find<'a>(items: &'a [Value], field: &str, name: &str) -> &'a Value {
    items.iter().find(|item| item[field] == name).unwrap_or_else(|| panic!("`{name}` is not listed"))
}

pub(super) fn instructions(cell: &mut Cell<'_>) -> &'static str {
    let told = cell.client.greeting["instructions"].as_str().unwrap_or("nothing");
    assert_eq!(told, "## fixture\n\nEverything here is for tests.");
    YES
}

pub(super) fn list_tools(cell: &mut Cell<'_>) -> &'static str {
    let tools = cell.client.all("tools/list", "tools");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.is_sorted() && names.len() > 50, "{names:?}");
    let simple = find(&tools, "name", "mcp_fixture_test_simple_text");
    assert_eq!(simple["annotations"], json!({"readOnlyHint": true}));
    assert_eq!(simple["description"], "Gives a text");
    let schema = &find(&tools, "name", "mcp_fixture_json_schema_2020_12_tool")["inputSchema"];
    assert_eq!(schema["$defs"]["address"]["$anchor"], "addressDef");
    assert_eq!(schema["then"], json!({"required": ["phone"]}));
    assert_eq!(
        find(&tools, "name", "mcp_fixture_test_structured")["outputSchema"]["required"],
        json!(["sum"])
    );
    let page = cell.client.result("tools/list", json!({}));
    let is_modern = cell.client.era == Era::Modern;
    assert_eq!((page["resultType"] == "complete", page["ttlMs"].is_u64()), (is_modern, is_modern));
    YES
}

pub(super) fn call_tool(cell: &mut Cell<'_>) -> &'static str {
    let text = cell.client.text("test_simple_text", json!({}));
    assert_eq!(text, "This is a simple text response for testing.");
    let mixed = cell.client.call("test_multiple_content_types", json!({}));
    assert_eq!(
        (&mixed["content"][1]["type"], &mixed["content"][1]["mimeType"]),
        (&json!("image"), &json!("image/png"))
    );
    assert_eq!(cell.client.call("test_audio_content", json!({}))["content"][0]["type"], "audio");
    let is_modern = cell.client.era == Era::Modern;
    assert_eq!(mixed.get("resultType").is_some(), is_modern);
    YES
}

pub(super) fn structured(cell: &mut Cell<'_>) -> &'static str {
    let result = cell.client.call("test_structured", json!({"a": 2, "b": 40}));
    assert_eq!(
        (&result["structuredContent"], text_of(&result).as_str()),
        (&json!({"sum": 42}), r#"{"sum":42}"#)
    );
    YES
}

pub(super) fn unknown_parts(cell: &mut Cell<'_>) -> &'static str {
    let id = cell.client.request("tools/call", calling("test_unknown", json!({})));
    let said = cell.client.wait_said(|message| message["id"] == id);
    // As it came, digit by digit.
    for part in [
        r#"{"type":"hologram","uri":"holo://1","depth":1.50}"#,
        r#"{"type":"text","text":"plain","extra":{"kept":[null,true,1e3]}}"#,
        r#""novel":{"n":123456789012345678901234567890}"#,
        r#""example.com/kept":"yes""#,
    ] {
        assert!(said.text.contains(part), "{part} is not in {}", said.text);
    }
    YES
}

pub(super) fn resources(cell: &mut Cell<'_>) -> &'static str {
    let resources = cell.client.all("resources/list", "resources");
    let text = find(&resources, "uri", "fixture+test://static-text");
    assert_eq!((&text["name"], &text["mimeType"]), (&json!("static-text"), &json!("text/plain")));
    let read = cell.client.result("resources/read", json!({"uri": text["uri"]}));
    assert_eq!(read["contents"][0]["text"], "This is the content of the static text resource.");
    assert_eq!(read["contents"][0]["uri"], text["uri"]);
    let binary = cell.client.result("resources/read", json!({"uri": "fixture+test://static-binary"}));
    assert!(binary["contents"][0]["blob"].as_str().unwrap().starts_with("iVBOR"));
    YES
}

pub(super) fn templates(cell: &mut Cell<'_>) -> &'static str {
    let templates = cell.client.all("resources/templates/list", "resourceTemplates");
    let template = find(&templates, "uriTemplate", "fixture+test://template/{id}/data");
    let uri = template["uriTemplate"].as_str().unwrap().replace("{id}", "42");
    let read = cell.client.result("resources/read", json!({ "uri": uri }));
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("Data for ID: 42"), "{read}");
    YES
}

pub(super) fn prompts(cell: &mut Cell<'_>) -> &'static str {
    let prompts = cell.client.all("prompts/list", "prompts");
    let prompt = find(&prompts, "name", "mcp_fixture_test_prompt_with_arguments");
    assert_eq!(prompt["arguments"][1]["name"], "arg2");
    let arguments = json!({"arg1": "one", "arg2": "two"});
    let got = cell.client.result("prompts/get", json!({"name": prompt["name"], "arguments": arguments}));
    assert_eq!(got["messages"][0]["content"]["text"], "Prompt with arguments: arg1='one', arg2='two'");
    let got = cell.client.result("prompts/get", json!({"name": "mcp_fixture_test_prompt_with_image"}));
    assert_eq!(got["messages"][0]["content"]["mimeType"], "image/png");
    YES
}

pub(super) fn completion(cell: &mut Cell<'_>) -> &'static str {
    for reference in [
        json!({"type": "ref/prompt", "name": "mcp_fixture_test_prompt_with_arguments"}),
        json!({"type": "ref/resource", "uri": "fixture+test://template/{id}/data"}),
    ] {
        let params = json!({"ref": reference, "argument": {"name": "arg1", "value": "par"}});
        let completed = cell.client.result("completion/complete", params);
        assert_eq!(completed["completion"]["values"], json!(["paris", "park", "party"]));
        assert_eq!(completed["completion"]["total"], 3);
    }
    YES
}

pub(super) fn pages(cell: &mut Cell<'_>) -> &'static str {
    // The server gives fifty at a time, so all of them are there only if its pages were followed.
    let first = cell.client.result("resources/list", json!({}));
    assert!(first["nextCursor"].is_string(), "one page is not enough for {MANY}");
    let all = cell.client.all("resources/list", "resources");
    let many: Vec<&str> = all
        .iter()
        .filter_map(|item| item["name"].as_str())
        .filter(|name| name.starts_with("many-"))
        .collect();
    assert_eq!((many.len().to_string().as_str(), many.is_sorted()), (MANY, true));
    let mut uris: Vec<&str> = all.iter().filter_map(|item| item["uri"].as_str()).collect();
    uris.dedup();
    assert_eq!(uris.len(), all.len());
    let error = cell.client.error("resources/list", json!({"cursor": "made up"}));
    assert_eq!(error["code"], -32602);
    YES
}

pub(super) fn pointers(cell: &mut Cell<'_>) -> &'static str {
    let result = cell.client.call("test_pointers", json!({}));
    let prompt = cell.client.result(
        "prompts/get",
        json!({"name": "mcp_fixture_test_prompt_with_embedded_resource", "arguments": {"resourceUri": "test://static-text"}}),
    );
    for uri in [
        &result["content"][0]["uri"],
        &result["content"][1]["resource"]["uri"],
        &prompt["messages"][0]["content"]["resource"]["uri"],
    ] {
        let read = cell.client.result("resources/read", json!({ "uri": uri }));
        assert_eq!(read["contents"][0]["text"], "This is the content of the static text resource.");
    }
    YES
}

pub(super) fn large(cell: &mut Cell<'_>) -> &'static str {
    let text = cell.client.text("test_large", json!({"bytes": 5_000_000}));
    assert!(text.len() == 5_000_000 && text.ends_with("0123456789abcdef"), "{}", text.len());
    YES
}

pub(super) fn trace(cell: &mut Cell<'_>) -> &'static str {
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let mut params = calling("test_meta", json!({}));
    params["_meta"] = json!({
        "traceparent": parent, "tracestate": "vendor=1", "baggage": "user=7", "example.com/own": {"n": 1}, "progressToken": "mine",
    });
    let result = cell.client.result("tools/call", params);
    let meta: Value = serde_json::from_str(&text_of(&result)).unwrap();
    assert_eq!(meta["traceparent"], parent);
    assert_eq!((&meta["tracestate"], &meta["baggage"]), (&json!("vendor=1"), &json!("user=7")));
    assert_eq!(meta["example.com/own"], json!({"n": 1}));
    // What is between two of them is not passed on.
    assert_ne!(meta["progressToken"], "mine");
    assert!(!text_of(&result).contains("matrix"), "{meta}");
    let is_modern = meta["io.modelcontextprotocol/protocolVersion"].is_string();
    assert_eq!(is_modern, cell.world.server.era == Era::Modern);
    YES
}

/// The fixture refuses a call whose headers do not say what the arguments say, and so does the gateway.
pub(super) fn headers(cell: &mut Cell<'_>) -> &'static str {
    let arguments = json!({"region": "Zürich", "shard": 7, "dry": true});
    let header = |name: &str, value: &str| (format!("Mcp-Param-{name}"), value.to_owned());
    let sends = (cell.client.era, cell.world.client.way) == (Era::Modern, Way::Http);
    if sends {
        let region = header("Region", "=?base64?WsO8cmljaA==?=");
        cell.client.headers = vec![region, header("Shard", "8"), header("Dry", "true")];
        let error = cell.client.error("tools/call", calling("test_custom_header", arguments.clone()));
        assert_eq!(error["code"], -32020);
        cell.client.headers[1] = header("Shard", "7");
    }
    let text = cell.client.text("test_custom_header", arguments.clone());
    cell.client.headers.clear();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), arguments);
    let makes = (cell.world.server.era, cell.world.server.way) == (Era::Modern, Way::Http);
    match (sends, makes) {
        (true, true) => "yes, checked and made anew",
        (true, false) => "yes, checked; the server has no headers",
        (false, true) => "yes, made; the client has no headers",
        (false, false) => "no headers; the arguments pass",
    }
}
