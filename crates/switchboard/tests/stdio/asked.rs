//! What servers ask us: answered by the host, and only what it said it could be asked.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard::host::{Abilities, Answer, Elicitation, Headless, Host, Reply, Root, Wish};
use switchboard::json::Json;
use switchboard::wire::{Link, Terms};
use testkit::connect::terms;
use testkit::{FakeScript, eventually};
use tokio::sync::Notify;

use crate::kit::{assert_works, call, heard, heard_that, on_call, open_on, text};

/// A host that answers as a test wants it to.
#[derive(Default)]
pub(crate) struct Person {
    pub(crate) abilities: Abilities,
    /// What it answers; nothing means that it thinks for ever.
    pub(crate) answer: Option<Answer>,
    /// Before it answers.
    pub(crate) thinks: Duration,
    pub(crate) asked: AtomicUsize,
    pub(crate) gave_up: Arc<AtomicUsize>,
    pub(crate) was_asked: Notify,
    pub(crate) questions: std::sync::Mutex<Vec<Elicitation>>,
}

/// Counts a question nobody waits for any more.
struct Thought(Arc<AtomicUsize>, bool);

impl Drop for Thought {
    fn drop(&mut self) {
        if !self.1 {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Host for Person {
    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn roots(&self) -> Vec<Root> {
        vec![Root { path: PathBuf::from("/home/ada/my project"), name: "my project".into() }]
    }

    fn elicit(&self, question: Elicitation) -> Reply<'_, Answer> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.questions.lock().unwrap().push(question);
        self.was_asked.notify_one();
        Box::pin(async {
            let mut thought = Thought(Arc::clone(&self.gave_up), false);
            tokio::time::sleep(self.thinks).await;
            let answer = match &self.answer {
                Some(answer) => answer.clone(),
                None => std::future::pending().await,
            };
            thought.1 = true;
            answer
        })
    }

    fn sample(&self, server: String, params: Json) -> Reply<'_, Result<Json, String>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            let said = json!({"server": server, "n": params.value()["maxTokens"]}).to_string();
            Ok(json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": said}}).into())
        })
    }
}

pub(crate) const EVERYTHING: Abilities = Abilities { roots: true, forms: true, urls: true, sampling: true };

impl Person {
    pub(crate) fn who_says(answer: Answer) -> Arc<Self> {
        Arc::new(Self { abilities: EVERYTHING, answer: Some(answer), ..Self::default() })
    }
}

pub(crate) async fn open_for(host: Arc<dyn Host>, script: Value) -> (FakeScript, Link) {
    open_on(script, &Terms { host, ..terms() }).await
}

/// A script in which a call asks something and gives back the whole answer.
fn asks(question: &Value) -> Value {
    let answer = json!({"content": [], "structuredContent": "$answer"});
    on_call(json!([{"request": question}, {"result": answer}]))
}

/// The answer to a question, as the server got it.
async fn answer(host: Arc<dyn Host>, question: Value) -> Value {
    let (_script, link) = open_for(host, asks(&question)).await;
    call(&link, "echo", json!({})).await.unwrap().structured.unwrap().value()
}

#[tokio::test]
async fn ping_is_answered_under_the_id_it_came_with() {
    for id in [json!(1), json!("a b"), json!(0), json!(-7)] {
        let got = answer(Arc::new(Headless::default()), json!({"id": id, "method": "ping"})).await;
        assert_eq!(got, json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    }
}

#[tokio::test]
async fn roots_are_named_as_addresses() {
    let host = Person::who_says(Answer::Decline);
    let got = answer(host, json!({"id": 1, "method": "roots/list"})).await;
    assert_eq!(
        got["result"]["roots"],
        json!([{"uri": "file:///home/ada/my%20project", "name": "my project"}])
    );
}

#[tokio::test]
async fn a_host_without_folders_and_models_refuses_to_be_asked() {
    for method in ["roots/list", "sampling/createMessage", "tasks/list", "no/such/method", "tools/call"] {
        let got = answer(Arc::new(Headless::default()), json!({"id": "q", "method": method})).await;
        assert_eq!((&got["error"]["code"], &got["id"]), (&json!(-32601), &json!("q")), "{method}");
    }
}

#[tokio::test]
async fn only_what_can_be_asked_is_announced() {
    let (script, _link) = open_for(Arc::new(Headless::default()), json!({})).await;
    assert_eq!(heard(&script, "initialize").await["params"]["capabilities"], json!({}));
    let (script, _link) = open_for(Person::who_says(Answer::Decline), json!({})).await;
    let expected =
        json!({"roots": {"listChanged": true}, "elicitation": {"form": {}, "url": {}}, "sampling": {}});
    assert_eq!(heard(&script, "initialize").await["params"]["capabilities"], expected);
}

#[tokio::test]
async fn the_model_is_asked_if_the_host_lets_it() {
    let host = Person::who_says(Answer::Decline);
    let question =
        json!({"id": 1, "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 7}});
    let got = answer(host, question).await;
    assert_eq!(got["result"]["content"]["text"], json!({"server": "test", "n": 7}).to_string());
}

#[tokio::test]
async fn a_person_accepts_declines_or_goes_away() {
    for (given, expected) in [
        (
            Answer::Accept(json!({"name": "Ada"}).into()),
            json!({"action": "accept", "content": {"name": "Ada"}}),
        ),
        (Answer::Decline, json!({"action": "decline"})),
        (Answer::Cancel, json!({"action": "cancel"})),
    ] {
        let host = Person::who_says(given);
        let (_script, link) = open_for(Arc::<Person>::clone(&host), json!({})).await;
        let result = call(&link, "ask", json!({"message": "Who?"})).await.unwrap();
        assert_eq!(serde_json::from_str::<Value>(text(&result)).unwrap(), expected);
        let questions = host.questions.lock().unwrap();
        assert_eq!((questions[0].server.as_str(), questions[0].message.as_str()), ("test", "Who?"));
        assert!(matches!(&questions[0].wish, Wish::Form { schema } if schema.as_str().contains("name")));
    }
}

#[tokio::test]
async fn an_address_is_shown_and_not_opened() {
    let host = Person::who_says(Answer::Accept(Json::null()));
    let params =
        json!({"mode": "url", "url": "https://example.com/a?b", "message": "Log in", "elicitationId": "1"});
    let question = json!({"id": 1, "method": "elicitation/create", "params": params});
    let got = answer(Arc::<Person>::clone(&host), question.clone()).await;
    assert_eq!(got["result"], json!({"action": "accept"}));
    let wish = host.questions.lock().unwrap()[0].wish.clone();
    assert!(matches!(wish, Wish::Visit { url } if url == "https://example.com/a?b"));
    // Nobody is there to see it.
    let got = answer(Arc::new(Headless::default()), question).await;
    assert_eq!(got["result"], json!({"action": "decline"}));
}

#[tokio::test]
async fn the_presets_of_a_form_count_where_nothing_was_said() {
    let host = Person::who_says(Answer::Accept(json!({"a": "mine"}).into()));
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "default": "x"}, "b": {"type": "boolean", "default": true}}});
    let params = json!({"message": "?", "requestedSchema": schema});
    let got = answer(host, json!({"id": 1, "method": "elicitation/create", "params": params})).await;
    assert_eq!(got["result"]["content"], json!({"a": "mine", "b": true}));
}

#[tokio::test]
async fn a_question_that_is_withdrawn_is_dropped_and_not_answered() {
    let host = Arc::new(Person { abilities: EVERYTHING, ..Person::default() });
    let question =
        json!({"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": {"message": "?"}});
    let withdrawn = json!({"notify": {"method": "notifications/cancelled", "params": {"requestId": "q1"}}});
    let script = json!({"on": {"tools/call": {"times": [
        [{"message": question}, {"silent": true}], [withdrawn, {"default": true}], [{"default": true}],
    ]}}});
    let (script, link) = open_for(Arc::<Person>::clone(&host), script).await;
    let waiting = {
        let link = link.clone();
        tokio::spawn(async move { call(&link, "echo", json!({})).await })
    };
    host.was_asked.notified().await;
    assert_works(&link).await;
    eventually("the person is left alone", || host.gave_up.load(Ordering::SeqCst), |n| *n == 1).await;
    assert_works(&link).await;
    assert!(
        !script.log().iter().any(|line| line["message"]["id"] == "q1"),
        "a withdrawn question was answered"
    );
    waiting.abort();
}

#[tokio::test]
async fn a_withdrawal_of_something_else_changes_nothing() {
    let host = Arc::new(Person {
        abilities: EVERYTHING,
        answer: Some(Answer::Decline),
        thinks: Duration::from_millis(200),
        ..Person::default()
    });
    let question =
        json!({"jsonrpc": "2.0", "id": 77, "method": "elicitation/create", "params": {"message": "?"}});
    // 3 is the id of our own call: the server cannot end that so.
    let others = [json!("77"), json!(78), json!(3), json!(null)]
        .map(|id| json!({"notify": {"method": "notifications/cancelled", "params": {"requestId": id}}}));
    let mut actions = vec![json!({"message": question})];
    actions.extend(others);
    actions.push(json!({"sleep_ms": 300}));
    actions.push(json!({"default": true}));
    let (script, link) = open_for(host, on_call(json!(actions))).await;
    assert_works(&link).await;
    let answer = heard_that(&script, |message| message["id"] == 77).await;
    assert_eq!(answer["result"]["action"], "decline");
}

#[tokio::test]
async fn a_person_may_think_longer_than_a_server_may() {
    for era in ["legacy", "modern"] {
        let host = Arc::new(Person {
            abilities: EVERYTHING,
            answer: Some(Answer::Accept(json!({"name": "slow"}).into())),
            thinks: Duration::from_millis(1500),
            ..Person::default()
        });
        let terms = Terms { host, timeout: Some(Duration::from_millis(400)), ..terms() };
        let (_script, link) = open_on(json!({"era": era}), &terms).await;
        let result = call(&link, "ask", json!({})).await.unwrap();
        assert!(text(&result).contains("slow"), "{era}: {}", text(&result));
    }
}

#[tokio::test]
async fn a_flood_of_questions_is_answered_or_refused_and_the_link_lives() {
    let flood: Vec<_> = (0..500)
        .map(|n| json!({"message": {"jsonrpc": "2.0", "id": format!("q{n}"), "method": "ping"}}))
        .chain([json!({"default": true})])
        .collect();
    let (script, link) = open_for(Arc::new(Headless::default()), on_call(json!(flood))).await;
    assert_works(&link).await;
    heard_that(&script, |message| message["id"].as_str().is_some_and(|id| id.starts_with('q'))).await;
    assert_works(&link).await;
}

#[tokio::test]
async fn a_change_of_folders_is_told_to_those_who_know_folders() {
    let (script, link) = open_for(Person::who_says(Answer::Decline), json!({})).await;
    link.roots_changed().await.unwrap();
    heard(&script, "notifications/roots/list_changed").await;
    let (script, link) = open_for(Person::who_says(Answer::Decline), json!({"era": "modern"})).await;
    link.roots_changed().await.unwrap();
    link.ping().await.unwrap();
    assert_eq!(script.methods(), ["server/discover", "server/discover"]);
}

#[tokio::test]
async fn a_question_there_is_no_room_for_is_turned_away_and_not_left_open() {
    let large = "x".repeat(3 * 1024 * 1024);
    let ask = |id: u64| {
        let params = json!({"message": large, "requestedSchema": {"type": "object", "properties": {}}});
        json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params}).to_string()
            + "\n"
    };
    // The first one is thought about for ever, and keeps its room.
    let script = on_call(json!([{"raw": ask(1)}, {"raw": ask(2)}, {"silent": true}]));
    let host = Arc::new(Person { abilities: EVERYTHING, ..Person::default() });
    let (script, link) = open_for(host, script).await;
    let calling = tokio::spawn(async move { call(&link, "echo", json!({})).await });
    let refusal = heard_that(&script, |message| message["id"] == 2 && message["error"].is_object()).await;
    assert_eq!(refusal["error"]["code"], -32000);
    calling.abort();
}
