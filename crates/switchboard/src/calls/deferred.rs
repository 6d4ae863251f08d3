//! A call that waits for the user's word. Nothing of it was sent; a host can keep it and ask later, also elsewhere.
//!
//! What is stored may have been changed by others, so nothing is taken from it but what the user is shown anyway: which
//! tool, and the arguments. Whether it is still that tool of that server is decided by the pin, and every rule is asked
//! again when the answer comes.

use serde::{Deserialize, Serialize};

use crate::catalog::{Entry, pin};
use crate::digest;
use crate::host::{Permission, Why};
use crate::json::Json;

/// A call that waits for the user's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deferred {
    /// The name of the tool.
    pub name: String,
    /// The server, by its configured name.
    pub server: String,
    /// The server's own name for the tool.
    pub tool: String,
    /// What it would be called with, to the byte.
    pub arguments: Json,
    /// A hash of the server's definition and of all a model is told of the tool.
    pub pin: String,
}

impl Deferred {
    /// Puts a call aside. `key` is the connection of its server.
    pub(crate) fn new(entry: &Entry, key: &str, arguments: &Json) -> Self {
        Self {
            name: entry.name.clone(),
            server: entry.server.clone(),
            tool: entry.tool.name.clone(),
            arguments: arguments.clone(),
            pin: bind(entry, key),
        }
    }

    /// Whether it is still the same tool of the same server, under the name the user knows; or why not.
    pub(crate) fn is_for(&self, entry: &Entry, key: &str) -> Result<(), String> {
        if entry.name != self.name {
            return Err(format!("`{}` of `{}` is now called `{}`", self.tool, self.server, entry.name));
        }
        if entry.tool.name != self.tool || bind(entry, key) != self.pin {
            return Err(format!(
                "`{}` or its server is not what it was when the call was put aside",
                self.name
            ));
        }
        Ok(())
    }

    /// What to ask the user, in the words of the tool as it is now.
    pub(crate) fn question(&self, entry: &Entry, why: Why) -> Permission {
        question(entry, &self.arguments, why)
    }
}

/// What to ask the user about a call.
pub(crate) fn question(entry: &Entry, arguments: &Json, why: Why) -> Permission {
    Permission {
        name: entry.name.clone(),
        server: entry.server.clone(),
        tool: entry.tool.name.clone(),
        description: entry.tool.description.clone(),
        arguments: arguments.clone(),
        annotations: entry.tool.annotations.clone(),
        why,
    }
}

fn bind(entry: &Entry, key: &str) -> String {
    let whole = serde_json::json!([key, entry.server, pin(entry)]);
    digest::hex(whole.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::catalog::sample::catalog;
    use crate::declared::Conduct;

    fn entry(tool: &Value) -> Entry {
        catalog(&[("s", Conduct::default(), json!([tool]))]).tools.remove(0)
    }

    #[test]
    fn it_is_for_one_tool_of_one_definition_and_survives_being_stored() {
        let tool =
            json!({"name": "t", "description": "d", "inputSchema": {"type": "object", "properties": {}}});
        let arguments = Json::from_text(r#"{"id": 123456789012345678901234567890, "a": 1.0}"#).unwrap();
        let deferred = Deferred::new(&entry(&tool), "key", &arguments);
        let stored = serde_json::to_string(&deferred).unwrap();
        let back: Deferred = serde_json::from_str(&stored).unwrap();
        assert_eq!(back, deferred);
        assert_eq!(back.arguments.as_str(), arguments.as_str(), "to the byte");
        assert_eq!(serde_json::from_value::<Deferred>(json!(deferred)).unwrap().name, "mcp_s_t");

        assert_eq!(back.is_for(&entry(&tool), "key"), Ok(()));
        assert!(back.is_for(&entry(&tool), "other key").is_err());
        for (field, value) in [
            ("description", json!("another")),
            ("title", json!("new")),
            ("annotations", json!({"readOnlyHint": true})),
            ("inputSchema", json!({"type": "object", "properties": {"a": {}}})),
            ("outputSchema", json!({"type": "object"})),
        ] {
            let mut changed = tool.clone();
            changed[field] = value;
            assert!(back.is_for(&entry(&changed), "key").unwrap_err().contains("not what it was"), "{field}");
        }
        let misspelled = Deferred { tool: "T".to_owned(), ..back.clone() };
        assert!(misspelled.is_for(&entry(&tool), "key").is_err());
        let renamed = Deferred { name: "mcp_s_harmless".to_owned(), ..back };
        assert!(renamed.is_for(&entry(&tool), "key").unwrap_err().contains("is now called `mcp_s_t`"));
    }
}
