//! What servers say unasked: log lines, progress, changes.

use std::time::Instant;

use serde_json::{Value, json};

use super::{Cell, YES};
use crate::client::{Era, PATIENCE, calling, text_of};

const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const MESSAGE: &str = "notifications/message";

/// The levels of the lines that come of one call.
fn lines(cell: &mut Cell<'_>, level: Option<&str>) -> Vec<String> {
    drop(cell.client.heard(MESSAGE));
    let mut params = calling("test_log_levels", json!({}));
    match (level, cell.client.era) {
        (Some(level), Era::Modern) => params["_meta"]["io.modelcontextprotocol/logLevel"] = json!(level),
        (Some(level), Era::Handshake) => {
            assert_eq!(cell.client.result("logging/setLevel", json!({ "level": level })), json!({}));
        }
        (None, _) => {}
    }
    assert_eq!(text_of(&cell.client.result("tools/call", params)), "logged");
    // The last level is always wanted, so that everything is there when it is. Without a level nothing comes.
    let mut told = Vec::new();
    if level.is_some() {
        while told.last().is_none_or(|line: &Value| line["level"] != "emergency") {
            told.push(cell.client.told(MESSAGE));
        }
    }
    told.extend(cell.client.heard(MESSAGE));
    for line in &told {
        assert_eq!(line["data"], format!("a line of {}", line["level"].as_str().unwrap()));
    }
    told.iter().map(|line| line["level"].as_str().unwrap().to_owned()).collect()
}

pub(super) fn logging(cell: &mut Cell<'_>) -> &'static str {
    if cell.client.era == Era::Modern {
        assert_eq!(lines(cell, None), [""; 0], "nobody asked for lines");
    }
    for least in [4, 0, 6, 1] {
        assert_eq!(lines(cell, Some(LEVELS[least])), LEVELS[least..], "from {} on", LEVELS[least]);
    }
    YES
}

pub(super) fn progress(cell: &mut Cell<'_>) -> &'static str {
    for token in [json!("a token of mine"), json!(77)] {
        let mut params = calling("test_tool_with_progress", json!({}));
        params["_meta"] = json!({ "progressToken": token });
        cell.client.result("tools/call", params);
        let told: Vec<Value> = (0..3).map(|_| cell.client.told("notifications/progress")).collect();
        let expected = [0, 50, 100].map(
            |n| json!({"progressToken": token, "progress": n, "total": 100, "message": format!("{n} of 100")}),
        );
        assert_eq!(told, expected);
    }
    // Who did not ask for it does not get it.
    cell.client.call("test_tool_with_progress", json!({}));
    assert_eq!(cell.client.heard("notifications/progress"), [json!(null); 0]);
    YES
}

pub(super) fn cancellation(cell: &mut Cell<'_>) -> &'static str {
    let hold = |name: &str| calling("test_hold", json!({ "name": name }));
    let one = cell.client.request("tools/call", hold("one"));
    let other = cell.client.request("tools/call", hold("other"));
    cell.world.noted("holds one");
    cell.world.noted("holds other");
    cell.client.cancel(one);
    cell.world.noted("lost one");
    assert_eq!(cell.client.text("test_release", json!({"name": "other"})), "true");
    assert_eq!(text_of(&cell.client.answer(other)["result"]), "released other");
    assert!(!cell.world.has_noted("lost other"));
    assert!(
        !cell.client.kept.iter().any(|said| said.message["id"] == one),
        "what was taken back got an answer"
    );
    YES
}

/// Looks again until it is so.
pub(super) fn until(cell: &mut Cell<'_>, tool: &str, is_so: impl Fn(&str) -> bool) {
    let end = Instant::now() + PATIENCE;
    loop {
        let text = cell.client.text(tool, json!({}));
        if is_so(&text) {
            return;
        }
        assert!(Instant::now() < end, "{tool} says {text}");
    }
}

pub(super) fn tools_changed(cell: &mut Cell<'_>) -> &'static str {
    changed(cell, ("tools", "tool"), ("name", "mcp_fixture_test_sometimes"))
}

pub(super) fn resources_changed(cell: &mut Cell<'_>) -> &'static str {
    changed(cell, ("resources", "resource"), ("uri", "fixture+test://sometimes"))
}

pub(super) fn prompts_changed(cell: &mut Cell<'_>) -> &'static str {
    changed(cell, ("prompts", "prompt"), ("name", "mcp_fixture_test_sometimes"))
}

/// A list that is said to have changed and did not is no news; one that did is, once.
fn changed(cell: &mut Cell<'_>, (list, one): (&str, &str), (field, name): (&str, &str)) -> &'static str {
    let news = format!("notifications/{list}/list_changed");
    let method = format!("{list}/list");
    let is_there =
        |cell: &mut Cell<'_>| cell.client.all(&method, list).iter().any(|item| item[field] == name);
    assert!(!is_there(cell));
    let ear = cell.client.listen(&json!({ format!("{list}ListChanged"): true }));
    drop(cell.client.heard(&news));
    cell.client.call("test_touch", json!({"list": list, "times": 5}));
    for is_added in [true, false] {
        cell.client.call(&format!("test_trigger_{one}_change"), json!({}));
        let told = cell.client.told(&news);
        if let Some(ear) = ear {
            assert_eq!(told["_meta"]["io.modelcontextprotocol/subscriptionId"], ear);
        }
        assert_eq!(is_there(cell), is_added, "it was told of before it could be seen");
    }
    assert_eq!(cell.client.heard(&news), [json!(null); 0], "told of more often than it changed");
    if let Some(ear) = ear {
        cell.client.cancel(ear);
    }
    YES
}

pub(super) fn subscriptions(cell: &mut Cell<'_>) -> &'static str {
    const UPDATED: &str = "notifications/resources/updated";
    let [one, other] = ["fixture+test://watched-resource", "fixture+test://static-text"];
    let touch = |cell: &mut Cell<'_>, uri: &str| {
        cell.client.call("test_trigger_resource_update", json!({"uri": uri.trim_start_matches("fixture+")}));
    };
    let ear = cell.client.listen(&json!({"resourceSubscriptions": [one]}));
    touch(cell, other);
    touch(cell, one);
    let told = cell.client.told(UPDATED);
    assert_eq!(told["uri"], one);
    if let Some(ear) = ear {
        assert_eq!(told["_meta"]["io.modelcontextprotocol/subscriptionId"], ear);
    }
    match ear {
        Some(ear) => cell.client.cancel(ear),
        None => assert_eq!(cell.client.result("resources/unsubscribe", json!({ "uri": one })), json!({})),
    }
    // When the other one is heard of, the first would have been.
    let ear = cell.client.listen(&json!({"resourceSubscriptions": [other]}));
    touch(cell, one);
    touch(cell, other);
    assert_eq!(cell.client.told(UPDATED)["uri"], other);
    assert_eq!(cell.client.heard(UPDATED), [json!(null); 0]);
    match ear {
        Some(ear) => cell.client.cancel(ear),
        None => drop(cell.client.result("resources/unsubscribe", json!({ "uri": other }))),
    }
    YES
}
