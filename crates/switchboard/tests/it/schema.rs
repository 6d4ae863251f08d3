//! The shipped schemas are the generated ones, and the corpus obeys them.

use serde_json::Value;
use switchboard::config::schema;
use switchboard::sources::syntax::{Format, parse};
use switchboard::sources::tree::{Node, Value as Tree};

#[test]
fn the_shipped_schemas_are_up_to_date() {
    let dir = testkit::workspace().join("schemas");
    testkit::golden(&dir.join("mcp.schema.json"), &format!("{:#}\n", schema::mcp_file().to_value()));
    testkit::golden(
        &dir.join("settings.schema.json"),
        &format!("{:#}\n", schema::settings_file().to_value()),
    );
}

#[test]
fn our_own_corpus_obeys_the_schemas() {
    for (provider, schema, least) in
        [("native", schema::mcp_file().to_value(), 5), ("settings", schema::settings_file().to_value(), 3)]
    {
        let validator = jsonschema::validator_for(&schema).unwrap();
        let dir = testkit::workspace().join("crates/switchboard/tests/corpus").join(provider);
        let mut checked = 0;
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let root = parse(&text, Format::Json).unwrap().unwrap();
            // A bare map or another container is read, but not what we write.
            if provider == "native" && root.get("mcpServers").is_none() {
                continue;
            }
            let errors: Vec<_> = validator
                .iter_errors(&value(&root))
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            assert!(errors.is_empty(), "{}: {}", path.display(), errors.join("; "));
            checked += 1;
        }
        assert!(checked >= least, "only {checked} files of {provider}");
    }
}

fn value(node: &Node<'_>) -> Value {
    match &node.value {
        Tree::Null | Tree::Odd(_) => Value::Null,
        Tree::Bool(value) => Value::Bool(*value),
        Tree::Number(number) => serde_json::from_str(number).unwrap(),
        Tree::Text(text) => Value::String(text.to_string()),
        Tree::List(items) => Value::Array(items.iter().map(value).collect()),
        Tree::Map(entries) => {
            Value::Object(entries.iter().map(|(key, node)| (key.text.to_string(), value(node))).collect())
        }
    }
}
