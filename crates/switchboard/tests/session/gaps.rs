//! What other runtimes lack, and the tests that show that it is here. Logins are not among them yet.
//!
//! Where nothing else is said a test is in this file. `cli` stands for the tests of the program.
//!
//! - A line that is no JSON kills the connection: `stdio/flood`: `noise_is_passed_over_and_counted`,
//!   `noise_before_the_handshake_is_passed_over`.
//! - The standard error is thrown away: `the_last_words_of_a_server_are_in_every_failure`; `stdio/crash`,
//!   `stdio/hang`: `what_it_said_before_is_shown`; `cli/online`: `the_last_words_of_a_server_are_shown`.
//! - A server is not told that a call was given up: `stdio/patience`: `a_call_that_is_dropped_is_cancelled`,
//!   `a_call_that_takes_too_long_is_cancelled`; `http/cancel`.
//! - Progress is neither asked for nor heard: `progress_is_heard_and_keeps_a_call_alive`; `stdio/patience`:
//!   `progress_keeps_a_call_alive`; `http/streams`.
//! - A call whose outcome is unknown is replayed: `calls`:
//!   `a_call_whose_server_dies_is_not_repeated_unless_that_is_safe`; `once`; `http/refusals`:
//!   `a_call_is_never_made_twice_whatever_happens_to_its_answer`.
//! - Versions, shapes and cursors are not checked: `stdio/era`:
//!   `older_handshakes_are_accepted_and_unknown_ones_refused_by_name`; `stdio/ids`:
//!   `an_answer_that_breaks_the_rules_is_told_to_who_asked`; unit `offer`: `a_result_without_its_list_is_none`;
//!   `stdio/lists`: `a_cursor_that_comes_again_ends_the_list`, `a_list_has_sixty_four_pages_at_most`.
//! - Sounds, links, blobs and images of prompts are lost: unit `calls/shape`: `every_kind_is_shown_in_order_and_kept`;
//!   `stdio/odd`: `content_of_an_unknown_type_is_kept_beside_the_rest`; `a_prompt_keeps_all_that_is_in_it`.
//! - Nobody asks the user or the model, nobody logs: `stdio/asked`; `peers/everything`:
//!   `the_host_is_asked_for_folders_forms_visits_and_the_model`;
//!   `a_question_of_a_server_reaches_the_host_of_the_session`, `log_lines_are_heard_with_the_name_of_their_server`.
//! - Formats of other tools are read by half: `it/corpus`: `every_provider_has_a_corpus_and_golden_output`, in it
//!   `servers` of VS Code, `httpUrl`, `serverUrl`, projects of Claude Code, tool lists and limits of Codex;
//!   `cli/eight_tools`.
//! - What is shadowed, filtered or wrong is not told: `cli/list`: `shows_what_there_is`; `it/precedence`:
//!   `filters_are_options_and_say_so`; `it/bad_input`; `cli/doctor`.
//! - No rules for tools, no late start, no idle stop, no approval by server:
//!   `only_the_tools_that_are_allowed_and_not_denied_are_there`; `calls`: `the_rules_decide_who_is_asked`; `life`:
//!   `lazy_servers_start_at_the_first_call`, `an_idle_server_is_stopped_and_comes_back_when_needed`.
//! - A project's commands run without consent: `nothing_of_a_project_runs_before_it_is_approved`; `it/consent`;
//!   `cli/inventory`: `no_command_runs_or_dials_anything`.
//! - Each change is a fetch: `life`: `ten_thousand_changes_are_a_few_fetches_and_the_last_is_seen`; `stdio/flood`:
//!   `a_storm_of_changes_is_one_change`.
//! - Projects evict each other from the cache: `servers_of_one_name_in_two_projects_are_cached_side_by_side`.
//! - No command line: `cli/online`, `cli/examine`, `cli/list`; how soon it is there is in the benchmark
//!   `discovery`.
//! - `http` never turns out to be `sse`: `http/kinds`:
//!   `an_address_of_the_older_kind_is_found_out_whatever_it_says_to_a_post`.
//! - Limits of parts of a session are fixed: `a_part_of_a_session_has_the_limits_of_its_servers`.
//! - What another tool disabled cannot be enabled: `cli/switch`: `ours_in_its_own_entry_theirs_in_our_lists`,
//!   `a_server_that_its_tool_lists_as_off_can_be_switched_on`.
//! - Properties called `const` or `nullable` break a schema:
//!   `a_schema_reaches_a_model_as_it_came_whatever_its_properties_are_called`.
//! - One bad entry hides other servers: `one_bad_entry_hides_no_other_server`; `it/bad_input`:
//!   `bad_input_costs_only_itself`.
//! - Usual spellings are not understood: `usual_spellings_are_understood`; `it/corpus`.
//! - An id of the other type is not matched: `stdio/ids`: `an_id_in_the_other_json_type_is_ours`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard::calls::{CallError, Request};
use switchboard::connect::Event;
use switchboard::host::{Abilities, Answer, Elicitation, Host, Reply};
use switchboard::json::Json;
use switchboard::notice::Notice;
use switchboard::session::{Found, Gate, Session};
use testkit::{Fake, fake_server};

use crate::world::{World, echo, names, only, status, tool};

fn never_asks() -> Value {
    json!({"approval": "never"})
}

#[tokio::test]
async fn the_last_words_of_a_server_are_in_every_failure() {
    let words = json!({"stderr": "disk full\n"});
    let ends = json!({"on": {"tools/call": [words, {"exit": 1}]}});
    let hangs = json!({"on": {"tools/call": [words, {"silent": true}]}});
    let lists = json!({"on": {"tools/list": [words, {"exit": 1}]}});
    let world = World::new()
        .stdio("ends", ends, never_asks())
        .stdio("hangs", hangs, json!({"approval": "never", "timeout": 800}))
        .stdio("lists", lists, json!({}));
    let session = world.ready().await;
    for server in ["ends", "hangs"] {
        let Err(Found::Call(error)) = echo(&session, server, "x").await else { panic!("{server}") };
        assert_eq!(error.last_words(), Some("disk full"), "{server}: {error:?}");
    }
    let error = session.errors().into_iter().find(|error| error.server.as_deref() == Some("lists")).unwrap();
    assert_eq!(error.last_words.as_deref(), Some("disk full"));
    session.shutdown().await;
}

#[tokio::test]
async fn progress_is_heard_and_keeps_a_call_alive() {
    let world = World::new().stdio("s", json!({}), json!({"approval": "never", "timeout": 700}));
    let session = world.ready().await;
    let entry = session.catalog().find("s/slow", None).unwrap().clone();
    let mut heard = Vec::new();
    let mut hear = |step: switchboard::notice::Progress| heard.push((step.progress, step.total));
    let request = Request { on_progress: Some(&mut hear), ..Request::default() };
    // Twice its limit, with a word every 50 ms.
    session.call_entry(&entry, &json!({"ms": 1400}).into(), request).await.unwrap();
    assert!(heard.len() > 5 && heard.iter().all(|(_, total)| *total == Some(1400.0)), "{heard:?}");
    assert!(heard.is_sorted());
    session.shutdown().await;
}

#[tokio::test]
async fn a_prompt_keeps_all_that_is_in_it() {
    let messages = json!([
        {"role": "user", "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"}},
        {"role": "assistant", "content": {"type": "audio", "data": "BBBB", "mimeType": "audio/wav"}},
        {"role": "user", "content": {"type": "resource", "resource": {"uri": "a:b", "blob": "CCCC"}}},
        {"role": "user", "content": {"type": "hologram", "beam": 1}}]);
    let world = World::new().stdio("s", json!({"prompts": [{"name": "p", "messages": messages}]}), json!({}));
    let session = world.ready().await;
    let prompt = session.prompt("s", "p", &[]).await.unwrap();
    let got: Vec<Value> = prompt.messages.iter().map(Json::value).collect();
    assert_eq!(json!(got), messages);
    session.shutdown().await;
}

/// Answers every form with a name, and remembers who asked.
#[derive(Default)]
struct Person {
    asked_by: Mutex<Vec<String>>,
}

impl Host for Person {
    fn abilities(&self) -> Abilities {
        Abilities { forms: true, ..Abilities::default() }
    }
    fn elicit(&self, question: Elicitation) -> Reply<'_, Answer> {
        self.asked_by.lock().unwrap().push(question.server);
        Box::pin(std::future::ready(Answer::Accept(json!({"name": "Ada"}).into())))
    }
}

#[tokio::test]
async fn a_question_of_a_server_reaches_the_host_of_the_session() {
    let world = World::new().stdio("old", json!({}), never_asks()).stdio(
        "new",
        json!({"era": "modern"}),
        never_asks(),
    );
    let host = Arc::new(Person::default());
    let mut options = world.options();
    options.host = host.clone();
    let session = Session::start(options).await;
    session.ready(Gate::Correct).await;
    for server in ["old", "new"] {
        let outcome = session.call(&format!("{server}/ask"), &json!({}).into()).await.unwrap();
        assert!(outcome.shaped.text.contains("Ada"), "{}", outcome.shaped.text);
    }
    assert_eq!(*host.asked_by.lock().unwrap(), ["old", "new"]);
    session.shutdown().await;
}

#[tokio::test]
async fn log_lines_are_heard_with_the_name_of_their_server() {
    let line = json!({"level": "warning", "logger": "db", "data": {"slow": true}});
    let script = json!({"on": {"tools/call": [
        {"notify": {"method": "notifications/message", "params": line}}, {"default": true}]}});
    let world = World::new().stdio("s", script, never_asks());
    let session = world.ready().await;
    let mut events = session.events();
    echo(&session, "s", "x").await.unwrap();
    let heard = async {
        loop {
            if let Event::Said { server, notice: Notice::Log { level, logger, data } } =
                events.next().await.unwrap()
            {
                return (server, level, logger, data.value());
            }
        }
    };
    let heard = tokio::time::timeout(Duration::from_secs(20), heard).await.unwrap();
    assert_eq!(heard, ("s".into(), "warning".into(), Some("db".into()), json!({"slow": true})));
    session.shutdown().await;
}

#[tokio::test]
async fn only_the_tools_that_are_allowed_and_not_denied_are_there() {
    let tools = json!([tool("get_one"), tool("get_two"), tool("get_secret"), tool("put")]);
    let rules = json!({"tools": {"allow": ["get_*"], "deny": ["*secret"]}, "approval": "never"});
    let mut world = World::new().stdio("s", json!({"tools": tools}), rules);
    let session = world.ready().await;
    assert_eq!(names(&session), ["mcp_s_get_one", "mcp_s_get_two"]);
    for left_out in ["s/put", "mcp_s_get_secret", "mcp__s__put"] {
        let said = session.call(left_out, &json!({}).into()).await.unwrap_err();
        assert!(matches!(said, Found::Missed(_)) && said.to_string().contains("leave out"), "{said}");
    }
    world.change("s", json!({"tools": {"deny": ["get_*"]}}));
    session.reload().await;
    assert_eq!(names(&session), ["mcp_s_put"]);
    assert_eq!((world.asked("s", "initialize"), world.asked("s", "tools/call")), (1, 0));
    session.shutdown().await;
}

#[tokio::test]
async fn nothing_of_a_project_runs_before_it_is_approved() {
    let (stdio, http) = (Fake::script(json!({})), Fake::http(json!({})));
    let world = World::new().stdio("mine", json!({}), never_asks());
    let trace = world.sandbox.path("trace");
    let touch = format!("!touch {}; echo x", trace.display());
    let servers = json!({"mcpServers": {
        "program": {"command": fake_server(), "args": [stdio.path()], "env": {"KEY": touch}},
        "address": {"url": http.url(), "headers": {"X-Key": touch}}}});
    world.sandbox.write(".mcp.json", servers.to_string());
    let session = world.ready().await;
    session.reload().await;
    session.ready(Gate::Correct).await;
    assert_eq!(names(&session).len(), 7);
    assert!(!session.reconnect("program").await && status(&session, "address") == "absent");
    let untrusted = |name: &str| session.discovery().server(name).unwrap().state().as_str();
    assert_eq!((untrusted("program"), untrusted("address")), ("untrusted", "untrusted"));
    session.shutdown().await;
    assert!(stdio.log().is_empty() && http.log().is_empty() && !trace.exists());

    let world = world.var("SWITCHBOARD_TRUST", "1");
    let session = world.ready().await;
    assert_eq!((names(&session).len(), trace.exists()), (21, true), "all of it would have run");
    session.shutdown().await;
}

#[tokio::test]
async fn servers_of_one_name_in_two_projects_are_cached_side_by_side() {
    let world = World::new().var("SWITCHBOARD_TRUST", "1");
    let mut scripts = Vec::new();
    let session_in = |project: &str| {
        let mut options = world.options();
        options.env = options.env.with_cwd(world.sandbox.path(project));
        Session::start(options)
    };
    for project in ["one", "two"] {
        let script = Fake::script(json!({"tools": [tool(project)]}));
        std::fs::create_dir_all(world.sandbox.path(project).join(".git")).unwrap();
        let servers = json!({"mcpServers": {"same": {"command": fake_server(), "args": [script.path()]}}});
        world.sandbox.write(&format!("{project}/.mcp.json"), servers.to_string());
        scripts.push(script);
        let session = session_in(project).await;
        session.ready(Gate::Correct).await;
        session.shutdown().await;
    }
    for script in &scripts {
        std::fs::write(script.path(), json!({"start": [{"hang": true}]}).to_string()).unwrap();
    }
    for project in ["one", "two", "one"] {
        let session = session_in(project).await;
        session.ready(Gate::Quick).await;
        assert_eq!(
            (names(&session), status(&session, "same")),
            (vec![format!("mcp_same_{project}")], "connecting")
        );
        session.shutdown().await;
    }
}

#[tokio::test]
async fn a_part_of_a_session_has_the_limits_of_its_servers() {
    let late = json!({"on": {"tools/call": [{"sleep_ms": 900}, {"default": true}]}});
    let world = World::new()
        .stdio("short", late.clone(), json!({"approval": "never", "timeout": 300}))
        .stdio("long", late, json!({"approval": "never", "timeout": 30_000}));
    let session = world.ready().await;
    let Err(Found::Call(error)) = echo(&only(&session, "short"), "short", "x").await else { panic!() };
    assert!(
        matches!(&error, CallError::Failed { .. }) && error.text().contains("300 ms"),
        "{}",
        error.text()
    );
    assert_eq!(echo(&only(&session, "long"), "long", "x").await.unwrap(), "x");
    session.shutdown().await;
}

#[tokio::test]
async fn a_schema_reaches_a_model_as_it_came_whatever_its_properties_are_called() {
    let schema = json!({"type": "object", "required": ["const"], "properties": {
        "const": {"type": "string"}, "nullable": {"type": "boolean"}, "properties": {"type": "object"},
        "$ref": {"type": "string"}, "type": {"const": 1, "nullable": true}, "enum": {"$ref": "#/$defs/x"}},
        "$defs": {"x": {"anyOf": [{"const": 1}, {"const": 2}]}}});
    let script = json!({"tools": [{"name": "t", "inputSchema": schema}]});
    let world = World::new().stdio("s", script, never_asks());
    let session = world.ready().await;
    assert_eq!(session.catalog().tools[0].input_schema.value(), schema);
    let arguments = json!({"const": "a", "nullable": false, "enum": 1});
    session.call("s/t", &arguments.clone().into()).await.unwrap();
    let sent = world.script("s").wait_for(|line| line["message"]["method"] == "tools/call");
    assert_eq!(sent["message"]["params"]["arguments"], arguments);
    session.shutdown().await;
}

#[tokio::test]
async fn one_bad_entry_hides_no_other_server() {
    let mut world = World::new().stdio("good", json!({}), never_asks());
    let bad = [
        json!(null),
        json!([]),
        json!("npx"),
        json!({}),
        json!({"command": "x", "args": "one two"}),
        json!({"command": ["x"], "args": {"a": 1}}),
        json!({"command": "x", "env": {"A": {"b": 1}}}),
        json!({"url": 5}),
        json!({"url": "http://[::"}),
        json!({"type": {}, "url": "http://x"}),
    ];
    let n_bad = bad.len();
    for (index, entry) in bad.into_iter().enumerate() {
        world = world.entry(&format!("bad{index}"), entry);
    }
    let mut options = world.options();
    options.persistence = switchboard::connect::Persistence::OneShot;
    let loaded = switchboard::session::load(options).await;
    assert_eq!(loaded.tools.len(), 7);
    assert_eq!(echo(&loaded.session, "good", "x").await.unwrap(), "x");
    let told: std::collections::BTreeSet<_> =
        loaded.errors.iter().map(|error| error.server.clone()).collect();
    assert_eq!(told.len(), n_bad, "each is told of: {told:?}");
    loaded.session.shutdown().await;
}

#[tokio::test]
async fn usual_spellings_are_understood() {
    let http = Fake::http(json!({}));
    let mut world = World::new().stdio(
        "numbers",
        json!({}),
        json!({"approval": "never", "env": {"PORT": 8080, "DEBUG": true, "RATIO": 0.5}}),
    );
    for (index, kind) in
        ["http", "streamable-http", "streamableHttp", "streamable_http", "remote"].into_iter().enumerate()
    {
        // Another query makes it another server.
        let url = format!("{}?n={index}", http.url());
        world = world.entry(&format!("h{index}"), json!({"type": kind, "url": url}));
    }
    let off = Fake::script(json!({}));
    world = world.entry("off", json!({"command": fake_server(), "args": [off.path()], "disabled": true}));
    let session = world.ready().await;
    for index in 0..5 {
        assert_eq!(status(&session, &format!("h{index}")), "connected", "{:?}", session.errors());
    }
    assert_eq!(status(&session, "off"), "absent");
    let outcome = session.call("numbers/env", &json!({}).into()).await.unwrap();
    let variables = outcome.result.structured.unwrap().value();
    assert_eq!((&variables["PORT"], &variables["DEBUG"]), (&json!("8080"), &json!("true")));
    assert_eq!(variables["RATIO"], "0.5");
    session.shutdown().await;
    assert!(off.log().is_empty());
}
