//! What the user said yes to for more than one call: kept, shared, taken back, and asked again about what changed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard::calls::{By, CallError, Decision, Denier, GrantKind, Request, Standing};
use switchboard::config::edit::SettingsFile;
use switchboard::config::settings::Rule;
use switchboard::connect::Event;
use switchboard::host::{Host, Permission, Permit, Reply, Why};
use switchboard::session::{Found, Gate, Options, Session};
use switchboard::{Code, Explain, discover};

use crate::world::World;

/// Somebody who gives these answers, one after the other, and remembers what was asked.
#[derive(Default)]
struct Person {
    answers: Mutex<VecDeque<Permit>>,
    asked: Mutex<Vec<(String, Why)>>,
}

impl Person {
    fn says(answers: impl IntoIterator<Item = Permit>) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(answers.into_iter().collect()), asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<(String, Why)> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl Host for Person {
    fn permit(&self, question: Permission) -> Reply<'_, Permit> {
        self.asked.lock().unwrap().push((question.tool, question.why));
        let answer = self.answers.lock().unwrap().pop_front();
        Box::pin(std::future::ready(answer.unwrap_or(Permit::Deny { reason: "enough".to_owned() })))
    }
}

fn tool(description: &str) -> Value {
    json!({"name": "write", "description": description, "inputSchema": {"type": "object"}, "annotations": {"openWorldHint": true}})
}

fn script(description: &str) -> Value {
    json!({"tools": [tool(description), {"name": "other"}]})
}

fn world() -> World {
    World::new().stdio("files", script("Writes a file"), json!({}))
}

async fn start(world: &World, host: &Arc<Person>) -> Session {
    let options = Options { host: host.clone(), ..world.options() };
    let session = Session::start(options).await;
    session.ready(Gate::Correct).await;
    session.listed().await;
    session
}

async fn call(session: &Session, tool: &str) -> Result<(), CallError> {
    match session.call(&format!("files/{tool}"), &json!({}).into()).await {
        Ok(_) => Ok(()),
        Err(Found::Call(error)) => Err(error),
        Err(Found::Missed(missed)) => panic!("{missed:?}"),
    }
}

fn write_asked(why: Why) -> Vec<(String, Why)> {
    vec![("write".to_owned(), why)]
}

#[tokio::test]
async fn a_yes_for_good_holds_in_every_session_until_it_is_taken_back() {
    let world = world();
    let person = Person::says([Permit::Always]);
    let session = start(&world, &person).await;
    // One that was there before sees it as well.
    let beside = start(&world, &person).await;
    for _ in 0..2 {
        call(&session, "write").await.unwrap();
    }
    call(&beside, "write").await.unwrap();
    assert_eq!(person.asked(), write_asked(Why::Rule), "asked once in all");
    assert!(
        matches!(call(&session, "other").await, Err(CallError::Denied { by: Denier::User, .. })),
        "that one only"
    );
    assert_eq!(person.asked().len(), 1);

    let grants = beside.grants();
    assert_eq!(grants.len(), 1);
    let grant = &grants[0];
    assert_eq!(
        (grant.server.as_str(), grant.tool.as_str(), grant.name.as_str()),
        ("files", "write", "mcp_files_write")
    );
    assert_eq!((grant.kind, grant.standing), (GrantKind::Always, Standing::Holds));
    assert!(grant.when.elapsed().unwrap().as_secs() < 600);
    session.shutdown().await;

    let later = start(&world, &person).await;
    call(&later, "write").await.unwrap();
    assert_eq!(person.asked(), []);
    assert_eq!(later.forget_grant("files", "write").await.unwrap(), 1);
    assert_eq!(later.forget_grant("files", "write").await.unwrap(), 0);
    assert_eq!(later.grants(), []);
    // Nobody goes on with what was taken back elsewhere.
    for session in [&later, &beside] {
        assert!(call(session, "write").await.is_err());
        assert_eq!(person.asked(), write_asked(Why::Rule));
    }
    later.shutdown().await;
    beside.shutdown().await;

    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode =
            std::fs::metadata(world.sandbox.path("~/.switchboard/grants.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn what_changed_is_asked_about_again_and_says_so() {
    let mut world = world();
    let person = Person::says([Permit::Always]);
    let session = start(&world, &person).await;
    call(&session, "write").await.unwrap();
    session.shutdown().await;
    person.asked();

    // Another description, another definition; then as it was.
    world.rescript("files", script("Sends a file away"));
    let session = start(&world, &person).await;
    assert_eq!(session.grants()[0].standing, Standing::Changed);
    assert!(call(&session, "write").await.is_err());
    assert_eq!(person.asked(), write_asked(Why::Changed));
    session.shutdown().await;
    world.rescript("files", script("Writes a file"));
    world.change("files", json!({"env": {"TARGET": "production"}}));
    let session = start(&world, &person).await;
    assert!(call(&session, "write").await.is_err());
    assert_eq!(person.asked(), write_asked(Why::Changed));
    // Rules and limits are no part of it.
    world.change(
        "files",
        json!({"env": {}, "timeout": 5000, "description": "mine", "tools": {"deny": ["x"]}}),
    );
    session.reload().await;
    session.settled(None).await;
    call(&session, "write").await.unwrap();
    assert_eq!(person.asked(), []);
    session.shutdown().await;
    world.remove("files");
    let session = start(&world, &person).await;
    assert_eq!(session.grants()[0].standing, Standing::Unseen);
    session.shutdown().await;
}

/// What is remembered of a tool is what was approved, but its server offers another one by now.
#[tokio::test]
async fn a_tool_from_memory_is_looked_at_again_before_it_is_called() {
    let world = world();
    let person = Person::says([Permit::Always]);
    let session = start(&world, &person).await;
    call(&session, "write").await.unwrap();
    session.shutdown().await;
    person.asked();
    let slow = |description: &str| {
        let mut script = script(description);
        script["start"] = json!([{"sleep_ms": 300}]);
        script
    };
    let from_memory = async |person: &Arc<Person>| {
        let session = Session::start(Options { host: person.clone(), ..world.options() }).await;
        let entry = session.catalog().find("files/write", None).unwrap().clone();
        assert_ne!(entry.freshness, switchboard::connect::Freshness::Live);
        let called = session.call_entry(&entry, &json!({}).into(), Request::default()).await;
        session.shutdown().await;
        called.map(|_| ())
    };
    world.rescript("files", slow("Writes a file"));
    from_memory(&person).await.unwrap();
    assert_eq!(person.asked(), [], "it is what it was");
    world.rescript("files", slow("Sends a file away"));
    assert!(from_memory(&person).await.is_err());
    assert_eq!(person.asked(), write_asked(Why::Changed), "asked about what it is now");

    // A yes to what was shown is none to what came instead.
    let person = Person::says([Permit::Once, Permit::Deny { reason: "that is not it".to_owned() }]);
    world.rescript("files", slow("Writes a file, again"));
    let error = from_memory(&person).await.unwrap_err();
    assert_eq!(error.text(), "Error: the user said no: that is not it");
    assert_eq!(person.asked().iter().map(|(_, why)| *why).collect::<Vec<_>>(), [Why::Changed, Why::Changed]);
    world.rescript("files", json!({"tools": [{"name": "other"}]}));
    let error = from_memory(&Person::says([Permit::Once])).await.unwrap_err();
    assert_eq!(error.code(), "approval-outdated", "{error}");
    assert_eq!(world.asked("files", "tools/call"), 2, "only what was approved was sent");
}

#[tokio::test]
async fn a_yes_for_the_session_ends_with_it_and_can_be_taken_back() {
    let world = world();
    let person = Person::says([Permit::Session, Permit::Session]);
    let session = start(&world, &person).await;
    for _ in 0..2 {
        call(&session, "write").await.unwrap();
    }
    let grants = session.grants();
    assert_eq!((grants.len(), grants[0].kind, grants[0].standing), (1, GrantKind::Session, Standing::Holds));
    assert_eq!(session.forget_grant("files", "write").await.unwrap(), 1);
    call(&session, "write").await.unwrap();
    assert_eq!(person.asked().len(), 2);
    session.shutdown().await;
    assert!(!world.sandbox.path("~/.switchboard/grants.json").exists());
    let session = start(&world, &person).await;
    assert!(call(&session, "write").await.is_err());
    session.shutdown().await;
}

#[tokio::test]
async fn a_broken_store_grants_nothing_and_is_told() {
    let world = world();
    world.sandbox.write("~/.switchboard/grants.json", "{\"version\": 9}");
    let person = Person::says([Permit::Always]);
    let session = start(&world, &person).await;
    let told = |problems: &[switchboard::Problem]| {
        problems.iter().any(|problem| problem.code == Code::GrantsUnreadable)
    };
    assert!(told(&session.discovery().problems));
    let mut events = session.events();
    for _ in 0..2 {
        call(&session, "write").await.unwrap();
    }
    assert_eq!(person.asked().len(), 1, "it holds for the session");
    let problem = loop {
        match events.next().await.unwrap() {
            Event::Problem { problem } => break problem,
            Event::Status { .. } | Event::Said { .. } | Event::TooLarge { .. } | Event::Missed { .. } => {}
        }
    };
    assert_eq!((problem.code, problem.server.as_deref()), (Code::GrantNotKept, Some("files")));
    session.shutdown().await;
    assert_eq!(world.sandbox.read("~/.switchboard/grants.json"), "{\"version\": 9}", "never overwritten");
    std::fs::remove_file(world.sandbox.path("~/.switchboard/grants.json")).unwrap();
    assert!(!told(&discover(&world.sandbox.env(), switchboard::Options::default()).problems));
}

#[tokio::test]
async fn a_rule_that_is_edited_counts_after_a_reload_and_touches_no_connection() {
    let world = world();
    let person = Person::says([]);
    let session = start(&world, &person).await;
    let settings = SettingsFile::of(&world.sandbox.env());
    let entry = session.catalog().find("files/write", None).unwrap().clone();
    let explain = || {
        let ruling = session.explain(&entry);
        assert_eq!(ruling.decision, session.decision(&entry));
        ruling
    };
    assert_eq!((explain().decision, explain().by), (Decision::Ask, By::Default));
    for (tool, rule, by) in [
        ("*", Rule::Never, By::SettingsServer(Rule::Never)),
        ("write", Rule::Deny, By::SettingsTool(Rule::Deny)),
        ("write", Rule::Never, By::SettingsTool(Rule::Never)),
    ] {
        settings.set_rule("files", tool, rule).unwrap();
        let changes = session.reload().await;
        assert_eq!((changes.kept.as_slice(), changes.changed.len()), (["files".to_owned()].as_slice(), 0));
        assert_eq!(explain().by, by);
        let called = call(&session, "write").await;
        match rule {
            Rule::Deny => {
                let error = called.unwrap_err();
                assert_eq!(error.text(), "Error: not allowed: the settings deny `write` of `files`");
                assert_eq!(error.hint().unwrap(), "change the rule under `approval` in settings.json");
            }
            _ => called.unwrap(),
        }
    }
    assert!(settings.remove_rule("files", "write").unwrap());
    assert!(settings.remove_rule("files", "*").unwrap());
    session.reload().await;
    assert_eq!(explain().by, By::Default);
    assert_eq!(person.asked(), []);
    session.shutdown().await;
    assert!(world.asked("files", "initialize") <= 1, "one connection");
}
