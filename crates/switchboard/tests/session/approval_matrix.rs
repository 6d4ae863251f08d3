//! Every mode with every annotation, every remembered yes and every kind of host: what is asked, and what becomes of it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard::Explain;
use switchboard::calls::{By, CallError, Denier};
use switchboard::host::{Headless, Host, Permission, Permit, Reply, Ruled, Rules, Why};
use switchboard::session::{Found, Gate, Options, Session};

use crate::world::World;

/// What stands in the entry of the server, and in the settings for it.
const MODES: [(Option<&str>, Option<&str>); 15] = [
    (None, None),
    (Some("auto"), None),
    (Some("writes"), None),
    (Some("never"), None),
    (Some("auto"), Some("auto")),
    (Some("auto"), Some("writes")),
    (Some("auto"), Some("never")),
    (Some("auto"), Some("deny")),
    (Some("writes"), Some("auto")),
    (Some("writes"), Some("never")),
    (Some("writes"), Some("deny")),
    (Some("never"), Some("auto")),
    (Some("never"), Some("writes")),
    (Some("never"), Some("never")),
    (Some("never"), Some("deny")),
];

const HINTS: [&str; 5] = ["none", "reads", "writes", "destroys", "repeats"];
const GRANTS: [&str; 4] = ["none", "session", "always", "changed"];
/// Somebody who says yes, somebody who says no, nobody, nobody with rules that allow, deny, or are about others.
const HOSTS: [&str; 6] = ["yes", "no", "nobody", "allowed", "denied", "unsaid"];

fn annotations(hint: &str) -> Value {
    match hint {
        "none" => Value::Null,
        "reads" => json!({"readOnlyHint": true}),
        "writes" => json!({"readOnlyHint": false, "destructiveHint": false}),
        "destroys" => json!({"readOnlyHint": false, "destructiveHint": true}),
        "repeats" => json!({"idempotentHint": true}),
        other => panic!("{other}"),
    }
}

fn names() -> Vec<(&'static str, &'static str, String)> {
    let pairs = HINTS.into_iter().flat_map(|hint| GRANTS.into_iter().map(move |grant| (hint, grant)));
    pairs.map(|(hint, grant)| (hint, grant, format!("{hint}_{grant}"))).collect()
}

fn script(later: &str) -> Value {
    let tools: Vec<Value> = names()
        .into_iter()
        .map(|(hint, grant, name)| {
            let words = if grant == "changed" { later } else { "does it" };
            json!({"name": name, "description": words, "inputSchema": {"type": "object"}, "annotations": annotations(hint)})
        })
        .collect();
    json!({"tools": tools})
}

/// Takes the place of whoever is in front of the session, and notes what is asked.
struct Seat {
    host: Mutex<Arc<dyn Host>>,
    asked: Mutex<Vec<Why>>,
}

impl Seat {
    fn host(&self) -> Arc<dyn Host> {
        self.host.lock().unwrap().clone()
    }

    fn take(&self, host: Arc<dyn Host>) {
        *self.host.lock().unwrap() = host;
    }
}

impl Host for Seat {
    fn permit(&self, question: Permission) -> Reply<'_, Permit> {
        self.asked.lock().unwrap().push(question.why);
        let host = self.host();
        Box::pin(async move { host.permit(question).await })
    }
    fn forbids(&self, name: &str, server: &str, tool: &str) -> Option<String> {
        self.host().forbids(name, server, tool)
    }
}

/// A person with one answer.
struct Person(Permit);

impl Host for Person {
    fn permit(&self, _: Permission) -> Reply<'_, Permit> {
        Box::pin(std::future::ready(self.0.clone()))
    }
}

fn host(kind: &str) -> Arc<dyn Host> {
    let ruled = |allow: &str, deny: &str| {
        let list = |pattern: &str| vec![pattern.to_owned()];
        Arc::new(Ruled::new(Rules { allow: list(allow), deny: list(deny) }, Vec::new()))
    };
    match kind {
        "yes" => Arc::new(Person(Permit::Once)),
        "no" => Arc::new(Person(Permit::Deny { reason: "not now".to_owned() })),
        "nobody" => Arc::new(Headless::default()),
        "allowed" => ruled("mcp_s_*", "mcp_x_*"),
        "denied" => ruled("mcp_s_*", "s/*"),
        "unsaid" => ruled("mcp_x_*", "mcp_y_*"),
        other => panic!("{other}"),
    }
}

/// What must come of it: why the host was asked, if it was, and who said no.
#[derive(Debug, PartialEq)]
struct Fate {
    asked: Option<Why>,
    denied: Option<&'static str>,
}

/// The table, in other words than the library's.
fn expected((entry, settings): (Option<&str>, Option<&str>), hint: &str, grant: &str, host: &str) -> Fate {
    let run = Fate { asked: None, denied: None };
    let in_force = settings.or(entry).unwrap_or("auto");
    // A tool that changed says what it says of itself all the same.
    let needs_a_yes = match in_force {
        "deny" if host != "denied" => return Fate { asked: None, denied: Some("rule") },
        "deny" | "auto" => true,
        "writes" => hint != "reads",
        "never" => false,
        other => panic!("{other}"),
    };
    let is_remembered = matches!(grant, "session" | "always");
    let why = if grant == "changed" { Why::Changed } else { Why::Rule };
    match host {
        // What a run forbids is forbidden whatever else is said. Only it keeps account.
        "denied" => Fate { asked: Some(Why::Rule), denied: Some("run") },
        _ if !needs_a_yes || is_remembered => run,
        "yes" | "allowed" => Fate { asked: Some(why), denied: None },
        "no" => Fate { asked: Some(why), denied: Some("user") },
        "nobody" | "unsaid" => Fate { asked: Some(why), denied: Some("nobody") },
        other => panic!("{other}"),
    }
}

/// Who said no, and whether the words for the model and the hint are those for that.
fn denier(error: &CallError) -> &'static str {
    let CallError::Denied { by, .. } = error else { panic!("{error:?}") };
    let (text, hint) = (error.text(), error.hint().unwrap());
    let (word, said, hinted) = match by {
        Denier::Rule(By::Host) => ("run", "of this run denies", "start without the rule"),
        Denier::Rule(_) => ("rule", "the settings deny", "settings.json"),
        Denier::User => ("user", "Error: the user said no: not now", "ask the user"),
        Denier::Nobody => ("nobody", "nobody is there to ask", "--allow"),
        Denier::Unasked(_) | Denier::Scope => panic!(),
    };
    assert!(text.contains(said) && hint.contains(hinted), "{text} ({hint})");
    assert_eq!(text.contains("user said") || text.contains("cancel"), word == "user", "{text}");
    word
}

fn settings(rule: Option<&str>) -> String {
    match rule {
        Some(rule) => json!({"defaults": false, "approval": {"s": rule}}).to_string(),
        None => json!({"defaults": false}).to_string(),
    }
}

async fn call(session: &Session, tool: &str) -> Result<(), CallError> {
    match session.call(&format!("s/{tool}"), &json!({}).into()).await {
        Ok(_) => Ok(()),
        Err(Found::Call(error)) => Err(error),
        Err(Found::Missed(missed)) => panic!("{tool}: {missed:?}"),
    }
}

async fn start(world: &World, seat: &Arc<Seat>) -> Session {
    let session = Session::start(Options { host: seat.clone(), ..world.options() }).await;
    session.ready(Gate::Correct).await;
    session.listed().await;
    session
}

#[tokio::test]
async fn every_mode_with_every_annotation_every_yes_and_every_host() {
    let mut world = World::new().stdio("s", script("does it"), json!({}));
    let seat = Arc::new(Seat { host: Mutex::new(Arc::new(Person(Permit::Always))), asked: Mutex::default() });
    // Granted for good, some of it before it changed.
    let session = start(&world, &seat).await;
    for (_, _, name) in names().iter().filter(|(_, grant, _)| matches!(*grant, "always" | "changed")) {
        call(&session, name).await.unwrap();
    }
    session.shutdown().await;
    world.rescript("s", script("does something else"));

    let (mut n_cases, mut n_sent, mut fates) = (0, 0, BTreeSet::new());
    for mode in MODES {
        world.change("s", json!({"approval": "auto"}));
        world.sandbox.write("~/.switchboard/settings.json", settings(None));
        seat.take(Arc::new(Person(Permit::Session)));
        let session = start(&world, &seat).await;
        for (_, _, name) in names().iter().filter(|(_, grant, _)| *grant == "session") {
            call(&session, name).await.unwrap();
        }
        world.change("s", json!({"approval": mode.0.unwrap_or("auto")}));
        world.sandbox.write("~/.switchboard/settings.json", settings(mode.1));
        let changes = session.reload().await;
        assert_eq!(changes.kept, ["s"], "rules touch no connection");
        let before = world.asked("s", "tools/call");
        for kind in HOSTS {
            seat.take(host(kind));
            for (hint, grant, name) in names() {
                seat.asked.lock().unwrap().clear();
                let called = call(&session, &name).await;
                let asked = seat.asked.lock().unwrap().clone();
                assert!(asked.len() <= 1, "asked twice");
                let fate = Fate { asked: asked.first().copied(), denied: called.as_ref().err().map(denier) };
                assert_eq!(fate, expected(mode, hint, grant, kind), "{mode:?} {hint} {grant} {kind}");
                n_cases += 1;
                n_sent += usize::from(fate.denied.is_none());
                fates.insert(format!("{fate:?}"));
            }
        }
        session.shutdown().await;
        assert_eq!(world.asked("s", "tools/call") - before, n_sent, "what was denied was never sent");
        n_sent = 0;
    }
    assert_eq!(n_cases, MODES.len() * HINTS.len() * GRANTS.len() * HOSTS.len());
    assert_eq!(fates.len(), 9, "{fates:#?}");
}
