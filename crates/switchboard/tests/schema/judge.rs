//! Messages of ours, each held against its definition in the schema of a revision.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::{HANDSHAKES, MODERN, official};

/// The questions a server asks under the handshake: id, method, parameters, and the definition of the answer.
pub(crate) fn questions() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    let form =
        |message: &str| json!({"message": message, "requestedSchema": {"type": "object", "properties": {}}});
    let visit = json!({"mode": "url", "message": "go", "url": "https://example.com/", "elicitationId": "e"});
    let prompt = |limit: u64| {
        let message = json!({"role": "user", "content": {"type": "text", "text": "hi"}});
        json!({"messages": [message], "maxTokens": limit})
    };
    vec![
        ("q-ping", "ping", json!({}), "EmptyResult"),
        ("q-roots", "roots/list", json!({}), "ListRootsResult"),
        ("q-form", "elicitation/create", form("name?"), "ElicitResult"),
        ("q-no", "elicitation/create", form("no"), "ElicitResult"),
        ("q-later", "elicitation/create", form("later"), "ElicitResult"),
        ("q-visit", "elicitation/create", visit, "ElicitResult"),
        ("q-sample", "sampling/createMessage", prompt(10), "CreateMessageResult"),
        ("q-refused", "sampling/createMessage", prompt(0), ""),
        ("q-unknown", "no/such", json!({}), ""),
    ]
}

/// The schemas, ready to judge.
pub(crate) struct Schemas {
    dir: PathBuf,
    roots: HashMap<String, Value>,
    // Making one takes longer than using it.
    ready: HashMap<(String, String), jsonschema::Validator>,
}

impl Schemas {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { dir, roots: HashMap::new(), ready: HashMap::new() }
    }

    fn definitions(&mut self, version: &str) -> (&'static str, Map<String, Value>) {
        let path = self.dir.join(version).join("schema.json");
        let read = || serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let root = self.roots.entry(version.to_owned()).or_insert_with(read);
        let key = if root.get("$defs").is_some() { "$defs" } else { "definitions" };
        (key, root[key].as_object().unwrap().clone())
    }

    /// Complains about a value that is not as defined. A revision without the definition has nothing to say.
    fn judge(&mut self, version: &str, definition: &str, value: &Value) {
        let place = (version.to_owned(), definition.to_owned());
        if !self.ready.contains_key(&place) {
            let (key, definitions) = self.definitions(version);
            if !definitions.contains_key(definition) {
                return;
            }
            let mut schema = self.roots[version].clone();
            schema["$ref"] = json!(format!("#/{key}/{definition}"));
            self.ready.insert(place.clone(), jsonschema::validator_for(&schema).unwrap());
        }
        let errors: Vec<String> = self.ready[&place]
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{version} {definition}: {errors:?}\n{value}");
    }

    /// The definition of a request or notification.
    fn of_method(&mut self, version: &str, method: &str) -> Option<String> {
        let (_, definitions) = self.definitions(version);
        let has = |definition: &Value| definition["properties"]["method"]["const"] == method;
        definitions.into_iter().find(|(_, definition)| has(definition)).map(|(name, _)| name)
    }

    /// Judges a message we sent to a server of this version; says what it was.
    fn message(&mut self, version: &str, message: &Value) -> String {
        let Some(method) = message["method"].as_str() else { return self.answer(version, message) };
        // The question comes before anybody knows the version, and belongs to the newest.
        let version = if method == "server/discover" { MODERN } else { version };
        let envelope = if message.get("id").is_some() { "JSONRPCRequest" } else { "JSONRPCNotification" };
        self.judge(version, envelope, message);
        match self.of_method(version, method) {
            Some(definition) => self.judge(version, &definition, message),
            // Tasks of the newest protocol are an extension, without a schema of their own.
            None => {
                assert!(method.starts_with("test/") || method.starts_with("tasks/"), "{version} {method}");
            }
        }
        if method == "initialize" {
            self.judge(HANDSHAKES[0], "InitializeRequest", message);
        }
        method.to_owned()
    }

    fn answer(&mut self, version: &str, message: &Value) -> String {
        let id = message["id"].as_str().unwrap_or_default().to_owned();
        let envelopes = match message.get("error") {
            Some(_) => ["JSONRPCError", "JSONRPCErrorResponse"],
            None => ["JSONRPCResponse", "JSONRPCResultResponse"],
        };
        for envelope in envelopes {
            self.judge(version, envelope, message);
        }
        let asked = questions().into_iter().find(|question| question.0 == id);
        let wanted = asked.map_or("ElicitResult", |question| question.3);
        match message.get("result") {
            Some(result) if !wanted.is_empty() => self.judge(version, wanted, result),
            Some(_) => panic!("{message}"),
            None => assert!(wanted.is_empty(), "{message}"),
        }
        id
    }

    /// Judges a whole log; says what was in it.
    pub(crate) fn log(&mut self, version: &str, log: &[Value]) -> Vec<String> {
        let messages = log.iter().filter_map(|line| line.get("message"));
        messages.map(|message| self.message(version, message)).collect()
    }
}

#[test]
fn a_message_that_breaks_its_schema_is_noticed_in_every_revision() {
    let Some(dir) = official() else { return };
    for version in HANDSHAKES.into_iter().chain([MODERN]) {
        for params in [json!({}), json!({"name": 5}), json!([])] {
            let broken =
                json!({"message": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}});
            let dir = dir.clone();
            let judged = std::panic::catch_unwind(move || Schemas::new(dir).log(version, &[broken]));
            assert!(judged.is_err(), "{version}: {params}");
        }
    }
}
