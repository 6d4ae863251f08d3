//! Scripted servers, a session over them, and a model that follows the test.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use serde_json::{Map, Value, json};
use switchboard::session::{Options, Session};
use switchboard_agent::block::Rules;
use switchboard_agent::message::Call;
use switchboard_agent::model::{Answer, Piece};
use switchboard_agent::{Agent, Choice, Error, Message, Model, Request, Settings};
use testkit::{Fake, FakeScript, Sandbox, fake_server};

/// Servers that run without asking, in a home of their own.
pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
    servers: Map<String, Value>,
    scripts: Vec<FakeScript>,
}

impl World {
    pub(crate) fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
        Self { sandbox, servers: Map::new(), scripts: Vec::new() }
    }

    pub(crate) fn server(mut self, name: &str, script: Value) -> Self {
        let script = Fake::script(script);
        let entry =
            json!({"command": fake_server(), "args": [script.path()], "approval": "never", "timeout": 0});
        self.servers.insert(name.to_owned(), entry);
        self.scripts.push(script);
        self.write();
        self
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.servers.shift_remove(name);
        self.write();
    }

    fn write(&self) {
        self.sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": self.servers}).to_string());
    }

    pub(crate) fn script(&self, index: usize) -> &FakeScript {
        &self.scripts[index]
    }

    /// A session whose servers are all there.
    pub(crate) async fn session(&self) -> Session {
        let session = Session::start(Options::headless(self.sandbox.env())).await;
        assert!(session.settled(None).await);
        session
    }
}

/// What the model does with one request.
type Step = Box<dyn FnOnce(&Request) -> BoxFuture<'static, Answer> + Send>;

/// A model that takes one step after the other, and keeps what it was asked.
#[derive(Clone, Default)]
pub(crate) struct Steps {
    queue: Arc<Mutex<VecDeque<Step>>>,
    asked: Arc<Mutex<Vec<Request>>>,
}

impl Steps {
    /// Does something first, then answers.
    pub(crate) fn then(self, work: impl Future<Output = ()> + Send + 'static, answer: Answer) -> Self {
        self.step(Box::new(move |_| {
            Box::pin(async move {
                work.await;
                answer
            })
        }))
    }

    pub(crate) fn says(self, answer: Answer) -> Self {
        self.then(std::future::ready(()), answer)
    }

    fn step(self, step: Step) -> Self {
        self.queue.lock().unwrap().push_back(step);
        self
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }

    /// The texts of the results in the last request.
    pub(crate) fn told(&self) -> Vec<String> {
        let asked = self.asked();
        let last = asked.last().unwrap().messages.iter().rev().find_map(|message| match message {
            Message::Tool { results } => Some(results.iter().map(|result| result.text.clone()).collect()),
            _ => None,
        });
        last.unwrap_or_default()
    }
}

impl Model for Steps {
    fn name(&self) -> &'static str {
        "test/steps"
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Piece, Error>> {
        let step = self.queue.lock().unwrap().pop_front();
        let answer = step.map(|step| step(&request));
        self.asked.lock().unwrap().push(request);
        stream::once(async move {
            let answer = match answer {
                Some(answer) => answer.await,
                None => text("nothing more to say"),
            };
            let mut pieces = Vec::new();
            if !answer.text.is_empty() {
                pieces.push(Ok(Piece::Text(answer.text.clone())));
            }
            pieces.push(Ok(Piece::End(answer)));
            stream::iter(pieces)
        })
        .flatten()
        .boxed()
    }
}

pub(crate) fn text(words: &str) -> Answer {
    Answer { text: words.to_owned(), ..Answer::default() }
}

pub(crate) fn calls(list: &[(&str, Value)]) -> Answer {
    let call = |(index, (name, arguments)): (usize, &(&str, Value))| Call {
        id: format!("c{index}"),
        name: (*name).to_owned(),
        arguments: arguments.to_string(),
        signatures: Vec::new(),
    };
    Answer { calls: list.iter().enumerate().map(call).collect(), ..Answer::default() }
}

pub(crate) fn settings() -> Settings {
    Settings {
        system: "Be kind.".to_owned(),
        max_steps: 10,
        rules: Rules { tokens: 100_000, pinned: Vec::new(), sub_agents: false },
        first_choice: Choice::Auto,
        context_tokens: 100_000,
        max_tokens: None,
        price: None,
        retries: 2,
        backoff: Duration::from_millis(1),
    }
}

pub(crate) fn agent(session: &Session, model: &Steps) -> Agent {
    Agent::new(session.clone(), Arc::new(model.clone()), settings())
}

/// Every call has exactly one result, right after it, in its order.
pub(crate) fn is_sound(messages: &[Message]) {
    for (at, message) in messages.iter().enumerate() {
        let Message::Assistant { calls, .. } = message else { continue };
        if calls.is_empty() {
            continue;
        }
        let Some(Message::Tool { results }) = messages.get(at + 1) else {
            panic!("calls without results: {messages:?}")
        };
        let asked: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        let told: Vec<&str> = results.iter().map(|result| result.id.as_str()).collect();
        assert_eq!(asked, told);
    }
}
