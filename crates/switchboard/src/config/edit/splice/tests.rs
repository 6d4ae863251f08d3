//! Examples of every layout people write.

use serde_json::json;

use super::*;

fn path(keys: &str) -> Vec<String> {
    keys.split('.').map(str::to_owned).collect()
}

fn check_set(before: &str, keys: &str, value: Value, after: &str) {
    assert_eq!(apply(before, &[Edit::Set(path(keys), value)]).as_deref(), Ok(after));
}

fn check_remove(before: &str, keys: &str, after: &str) {
    assert_eq!(apply(before, &[Edit::Remove(path(keys))]).as_deref(), Ok(after));
}

#[test]
fn a_new_server_goes_to_the_end_in_the_manner_of_the_file() {
    check_set("", "s.a", json!({"x": 1}), "{\n  \"s\": {\n    \"a\": {\n      \"x\": 1\n    }\n  }\n}\n");
    check_set("// mine\n", "s", json!(1), "// mine\n{\n  \"s\": 1\n}\n");
    check_set("{}\n", "s", json!(1), "{ \"s\": 1 }\n");
    check_set("{ \"s\": {} }", "s.a", json!({"x": [1]}), "{ \"s\": { \"a\": { \"x\": [1] } } }");
    check_set("{\n}\n", "s", json!(1), "{\n  \"s\": 1\n}\n");
    check_set(
        "{\n\t\"s\": {\n\t\t\"a\": 1 // first\n\t}\n}\n",
        "s.b",
        json!({"y": 2}),
        "{\n\t\"s\": {\n\t\t\"a\": 1, // first\n\t\t\"b\": {\n\t\t\t\"y\": 2\n\t\t}\n\t}\n}\n",
    );
    check_set(
        "{\n  \"s\": {\n    \"a\": 1, // first\n    // more to come\n  },\n}",
        "s.b",
        json!(2),
        "{\n  \"s\": {\n    \"a\": 1, // first\n    \"b\": 2,\n    // more to come\n  },\n}",
    );
    check_set("{\r\n  \"a\": 1\r\n}\r\n", "b", json!(2), "{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}\r\n");
    check_set(
        "{\n  \"s\": {\n    // none yet\n  }\n}",
        "s.a",
        json!(1),
        "{\n  \"s\": {\n    // none yet\n    \"a\": 1\n  }\n}",
    );
}

#[test]
fn a_changed_value_leaves_its_surroundings_alone() {
    check_set(
        "{ /* x */ \"a\" /* y */ : 1 /* z */ , }",
        "a",
        json!(2),
        "{ /* x */ \"a\" /* y */ : 2 /* z */ , }",
    );
    check_set("{\"a\":1,\"a\":2}", "a", json!(3), "{\"a\":1,\"a\":3}");
    check_set("{\n  \"s\": null\n}", "s.a", json!(1), "{\n  \"s\": {\n    \"a\": 1\n  }\n}");
}

#[test]
fn a_removed_server_takes_its_comma_and_no_comment() {
    check_remove("{\n  \"a\": 1,\n  \"b\": 2\n}", "a", "{\n  \"b\": 2\n}");
    check_remove("{\n  \"a\": 1, // keep\n  \"b\": 2\n}", "b", "{\n  \"a\": 1 // keep\n}");
    check_remove(
        "{\n  // keep\n  \"a\": 1, // me\n  \"b\": 2\n}",
        "a",
        "{\n  // keep\n  // me\n  \"b\": 2\n}",
    );
    check_remove("{\"a\":1,\"b\":2}", "b", "{\"a\":1}");
    check_remove("{\"a\":1, \"b\":2}", "a", "{\"b\":2}");
    check_remove("{ \"a\": 1 }", "a", "{  }");
    check_remove("{ \"a\": 1, \"b\": 2, }", "b", "{ \"a\": 1, }");
    check_remove("{\"a\":1,\"b\":0,\"a\":2}", "a", "{\"b\":0}");
    check_remove("{\"a\":1}", "x.y", "{\"a\":1}");
}

#[test]
fn what_cannot_be_edited_is_refused_with_its_line() {
    let refusal = apply("{\n  \"a\": oops\n}", &[Edit::Remove(path("a"))]).unwrap_err();
    assert_eq!(refusal.line, Some(2));
    assert!(apply("[1]", &[Edit::Set(path("a"), json!(1))]).is_err());
    assert!(apply("{\"a\": 1}", &[Edit::Set(path("a.b"), json!(1))]).is_err());
}

#[test]
fn the_container_is_where_the_servers_are() {
    let check = |text: &str, expected: &[&str]| {
        assert_eq!(Document::read(text).unwrap().container().unwrap(), expected);
    };
    check("", &["mcpServers"]);
    check("{\"mcpServers\": {}}", &["mcpServers"]);
    check("{\"servers\": {}}", &["servers"]);
    check("{\"mcp\": {\"servers\": {}}}", &["mcp", "servers"]);
    check("{\"a\": {\"command\": \"x\"}}", &[]);
    check("{\"disabledServers\": []}", &["mcpServers"]);
    check("{\"$schema\": \"x\", \"a\": {\"command\": \"x\"}}", &[]);
    check("{\"mcpServers\": null, \"servers\": {}}", &["mcpServers"]);
    assert!(Document::read("{\"mcpServers\": []}").unwrap().container().is_err());
}
