//! What goes wrong goes wrong in the same way.

use serde_json::json;

use super::{Cell, YES};
use crate::client::{Era, calling};

pub(super) fn of_tool(cell: &mut Cell<'_>) -> &'static str {
    let result = cell.client.call("test_error_handling", json!({}));
    assert_eq!(result["isError"], true);
    assert_eq!(result["content"][0]["text"], "This tool intentionally returns an error for testing");
    YES
}

pub(super) fn ping(cell: &mut Cell<'_>) -> &'static str {
    if cell.client.era == Era::Handshake {
        assert_eq!(cell.client.result("ping", json!({})), json!({}));
        return YES;
    }
    assert_eq!(cell.client.error("ping", json!({}))["code"], -32601);
    "not in this protocol: unknown method"
}

pub(super) fn unknown_method(cell: &mut Cell<'_>) -> &'static str {
    assert_eq!(cell.client.error("nothing/known", json!({}))["code"], -32601);
    YES
}

pub(super) fn invalid_params(cell: &mut Cell<'_>) -> &'static str {
    // Ours: no name, and a name of nothing.
    assert_eq!(cell.client.error("tools/call", json!({}))["code"], -32602);
    assert_eq!(cell.client.error("tools/call", calling("nothing", json!({})))["code"], -32602);
    assert_eq!(cell.client.error("prompts/get", json!({"name": "nothing"}))["code"], -32602);
    // The server's: an argument is missing.
    let error = cell.client.error("tools/call", calling("test_structured", json!({"a": 1})));
    assert_eq!((&error["code"], &error["message"]), (&json!(-32602), &json!("missing arguments: b")));
    YES
}

pub(super) fn of_server(cell: &mut Cell<'_>) -> &'static str {
    let error = cell.client.error("tools/call", calling("test_refused", json!({})));
    assert_eq!(
        error,
        json!({"code": -31999, "message": "not today", "data": {"why": "closed", "until": [9, 30]}})
    );
    YES
}

pub(super) fn no_resource(cell: &mut Cell<'_>) -> &'static str {
    let uri = "fixture+test://nothing";
    let error = cell.client.error("resources/read", json!({ "uri": uri }));
    // The same thing under two numbers.
    let code = if cell.client.era == Era::Modern { -32602 } else { -32002 };
    assert_eq!((&error["code"], &error["data"]["uri"]), (&json!(code), &json!(uri)));
    YES
}
