//! A client of the gateway, of either protocol, over either transport. A check says what it wants; this knows how it is
//! said.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::carrier::{Carrier, Http, Pipe, Said};
use crate::world::{Way, World};

/// So long a message may take before the check gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(12);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Modern,
    Handshake,
}

const KEY: &str = "io.modelcontextprotocol/";
pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) era: Era,
    carrier: Carrier,
    said: Receiver<Said>,
    /// What came while something else was waited for.
    pub(crate) kept: Vec<Said>,
    next_id: u64,
    capabilities: Value,
    /// What the gateway said of itself.
    pub(crate) greeting: Value,
    /// Headers that go with every request, over HTTP.
    pub(crate) headers: Vec<(String, String)>,
}

/// What a client can be asked, if nothing else is said.
pub(crate) fn able() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": true}})
}

impl Client {
    /// A client that can be asked this.
    pub(crate) fn open(world: &World, capabilities: Value) -> Self {
        let (sender, said) = channel();
        let carrier = match world.client.way {
            Way::Http => Carrier::Http(Http::new(world.url(), sender)),
            Way::Stdio | Way::Sse => Carrier::Pipe(Pipe::open(world.serve(), sender)),
        };
        let (kept, headers) = (Vec::new(), Vec::new());
        let era = world.client.era;
        let greeting = Value::Null;
        let mut client = Self { era, carrier, said, kept, next_id: 1, capabilities, greeting, headers };
        client.greet();
        client
    }

    fn greet(&mut self) {
        if self.era == Era::Modern {
            self.greeting = self.result("server/discover", json!({}));
            return;
        }
        let info = json!({"name": "matrix", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": self.capabilities, "clientInfo": info});
        let (id, message) = self.message("initialize", params);
        match &mut self.carrier {
            Carrier::Pipe(pipe) => pipe.send(&message),
            Carrier::Http(http) => {
                http.session = http.post(&message, &[]).recv_timeout(PATIENCE).unwrap().session;
            }
        }
        self.greeting = self.answer(id)["result"].take();
        self.notify("notifications/initialized", None);
        if let Carrier::Http(http) = &mut self.carrier {
            http.get(&[]);
        }
    }

    fn message(&mut self, method: &str, mut params: Value) -> (u64, Value) {
        let id = self.next_id;
        self.next_id += 1;
        if self.era == Era::Modern {
            let meta = &mut params["_meta"];
            meta[format!("{KEY}protocolVersion")] = json!("2026-07-28");
            meta[format!("{KEY}clientInfo")] = json!({"name": "matrix", "version": "1"});
            meta[format!("{KEY}clientCapabilities")] = self.capabilities.clone();
        }
        (id, json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    /// Headers that repeat what a modern request says.
    fn quoted(&self, message: &Value) -> Vec<(String, String)> {
        let mut headers = self.headers.clone();
        let version = if self.era == Era::Modern { "2026-07-28" } else { "2025-11-25" };
        headers.push(("MCP-Protocol-Version".to_owned(), version.to_owned()));
        let method = message["method"].as_str().unwrap_or_default();
        if self.era == Era::Modern {
            headers.push(("Mcp-Method".to_owned(), method.to_owned()));
            let field = match method {
                "tools/call" | "prompts/get" => "name",
                "resources/read" => "uri",
                "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
                _ => "",
            };
            headers.extend(
                message["params"][field].as_str().map(|name| ("Mcp-Name".to_owned(), name.to_owned())),
            );
        }
        headers
    }

    fn send(&mut self, message: &Value) {
        let headers = self.quoted(message);
        match &mut self.carrier {
            Carrier::Pipe(pipe) => pipe.send(message),
            Carrier::Http(http) => drop(http.post(message, &headers)),
        }
    }

    /// Says something that is no request. Over HTTP it is heard when this comes back.
    pub(crate) fn notify(&mut self, method: &str, params: Option<Value>) {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if let Some(params) = params {
            message["params"] = params;
        }
        let headers = self.quoted(&message);
        match &mut self.carrier {
            Carrier::Pipe(pipe) => pipe.send(&message),
            Carrier::Http(http) => {
                let head = http.post(&message, &headers).recv_timeout(PATIENCE).unwrap();
                assert_eq!(head.status, 202, "{message}");
            }
        }
    }

    /// Asks; gives the id.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> u64 {
        let (id, message) = self.message(method, params);
        self.send(&message);
        id
    }

    /// Takes a request back.
    pub(crate) fn cancel(&mut self, id: u64) {
        if let (Carrier::Http(http), Era::Modern) = (&mut self.carrier, self.era) {
            return http.hang_up(id);
        }
        self.notify("notifications/cancelled", Some(json!({ "requestId": id })));
    }

    /// The first message for which this holds. What comes before it is kept.
    pub(crate) fn wait_said(&mut self, is_meant: impl Fn(&Value) -> bool) -> Said {
        if let Some(at) = self.kept.iter().position(|said| is_meant(&said.message)) {
            return self.kept.remove(at);
        }
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(said) = self.said.recv_timeout(left) else {
                let there: Vec<String> =
                    self.kept.iter().map(|said| said.text.chars().take(300).collect()).collect();
                panic!("it does not come; there were {there:?}")
            };
            if is_meant(&said.message) {
                return said;
            }
            self.kept.push(said);
        }
    }

    pub(crate) fn wait(&mut self, is_meant: impl Fn(&Value) -> bool) -> Value {
        self.wait_said(is_meant).message
    }

    /// The next notification by this method.
    pub(crate) fn told(&mut self, method: &str) -> Value {
        self.wait(|message| message["method"] == method && message.get("id").is_none())["params"].take()
    }

    /// What was said by this method and nobody waited for.
    pub(crate) fn heard(&mut self, method: &str) -> Vec<Value> {
        self.kept.extend(self.said.try_iter());
        let of = |said: &Said| said.message["method"] == method;
        self.kept.extract_if(.., |said| of(said)).map(|mut said| said.message["params"].take()).collect()
    }

    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.wait(|message| message["id"] == id && message.get("method").is_none())
    }

    /// Asks; gives the result or the error.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.request(method, params);
        let mut answer = self.answer(id);
        match answer.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => Err(answer["error"].take()),
        }
    }

    pub(crate) fn result(&mut self, method: &str, params: Value) -> Value {
        self.ask(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    pub(crate) fn error(&mut self, method: &str, params: Value) -> Value {
        match self.ask(method, params) {
            Err(error) => error,
            Ok(result) => panic!("{method} should not have a result: {result}"),
        }
    }

    /// Calls a tool of the fixture.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", calling(tool, arguments))
    }

    /// The text a tool gives.
    pub(crate) fn text(&mut self, tool: &str, arguments: Value) -> String {
        text_of(&self.call(tool, arguments))
    }

    /// Everything in a list, page by page.
    pub(crate) fn all(&mut self, method: &str, field: &str) -> Vec<Value> {
        let mut items = Vec::new();
        let mut params = json!({});
        loop {
            let mut page = self.result(method, params);
            items.append(page[field].as_array_mut().unwrap());
            match page.get("nextCursor") {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return items,
            }
        }
    }

    /// Asks, and answers what is asked back, in the way of the protocol. Gives the result, and what was asked.
    pub(crate) fn converse(
        &mut self,
        method: &str,
        params: &Value,
        reply: impl Fn(&str, &Value) -> Value,
    ) -> (Value, Vec<(String, Value)>) {
        let mut asked = Vec::new();
        let mut id = self.request(method, params.clone());
        loop {
            let mut message = self.wait(|message| message["id"] == id || is_question(message));
            if is_question(&message) {
                assert_eq!(self.era, Era::Handshake, "a modern client is not asked by requests: {message}");
                let method = message["method"].as_str().unwrap().to_owned();
                let result = reply(&method, &message["params"]);
                asked.push((method, message["params"].take()));
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
                continue;
            }
            assert!(message.get("result").is_some(), "{message}");
            let result = message["result"].take();
            if result["resultType"] != "input_required" {
                return (result, asked);
            }
            assert_eq!(self.era, Era::Modern, "a client with a handshake is not asked by results: {result}");
            let mut again = params.clone();
            for (key, question) in result["inputRequests"].as_object().unwrap() {
                let method = question["method"].as_str().unwrap();
                again["inputResponses"][key] = reply(method, &question["params"]);
                asked.push((method.to_owned(), question["params"].clone()));
            }
            if let Some(state) = result.get("requestState") {
                again["requestState"] = state.clone();
            }
            id = self.request(method, again);
        }
    }

    /// Answers a question that came about a request, and gives the result.
    pub(crate) fn settle(&mut self, (id, asked): (u64, &Value), params: &Value, answer: &Value) -> Value {
        if self.era == Era::Handshake {
            self.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer}));
            return self.answer(id)["result"].take();
        }
        let mut again = params.clone();
        for key in asked["result"]["inputRequests"].as_object().unwrap().keys() {
            again["inputResponses"][key] = answer.clone();
        }
        if let Some(state) = asked["result"].get("requestState") {
            again["requestState"] = state.clone();
        }
        self.result("tools/call", again)
    }

    /// Begins to listen to changes of lists; gives the id of the request, if it takes one.
    pub(crate) fn listen(&mut self, filter: &Value) -> Option<u64> {
        if self.era == Era::Handshake {
            for uri in filter["resourceSubscriptions"].as_array().into_iter().flatten() {
                assert_eq!(self.result("resources/subscribe", json!({ "uri": uri })), json!({}));
            }
            return None;
        }
        let id = self.request("subscriptions/listen", json!({ "notifications": filter }));
        let granted = self.told("notifications/subscriptions/acknowledged");
        assert_eq!(&granted["notifications"], filter);
        assert_eq!(granted["_meta"][format!("{KEY}subscriptionId")], id);
        Some(id)
    }
}

fn is_question(message: &Value) -> bool {
    message.get("method").is_some() && message.get("id").is_some()
}

/// The parameters of a call of one of the fixture's tools.
pub(crate) fn calling(tool: &str, arguments: Value) -> Value {
    let mut params = json!({ "name": format!("mcp_fixture_{tool}") });
    params["arguments"] = arguments;
    params
}

pub(crate) fn text_of(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
}
