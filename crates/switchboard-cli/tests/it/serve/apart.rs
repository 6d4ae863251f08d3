//! Who shares a server with whom: quiet servers are shared, those that ask have a connection for each client.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::{Fake, FakeScript, Mark, Sandbox, eventually_blocking};

use super::guest::{Guest, Stream, gone, modern_call};
use super::http::Site;
use super::{Pipe, modern, world};

fn can_be_asked() -> Value {
    json!({"elicitation": {}})
}

fn name(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

/// Puts something else into the entry of a server.
fn change(sandbox: &Sandbox, server: &str, field: &str, value: Value) {
    let mut servers: Value = serde_json::from_str(&sandbox.read("~/.switchboard/mcp.json")).unwrap();
    servers["mcpServers"][server][field] = value;
    sandbox.write("~/.switchboard/mcp.json", servers.to_string());
}

/// Says of a server how it is shared.
fn share(sandbox: &Sandbox, server: &str, how: &str) {
    change(sandbox, server, "share", json!(how));
}

fn pid(stream: &mut Stream) -> u32 {
    stream.text().parse().unwrap()
}

/// Whether a process is the server itself, and not what guards it.
fn is_server(pid: u32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let program = line.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(program).ends_with("fake-server")
}

/// A call of this client that the server works on for an hour.
fn slow(guest: &Guest<'_>, script: &FakeScript) -> Stream {
    let stream = guest.call(1, "mcp_fake_slow", &json!({"ms": 3_600_000}));
    script.wait_for(|line| line["message"]["params"]["name"] == "slow");
    stream
}

/// Bob is asked what is meant for him, and his answer arrives.
fn is_for_bob(bob: &Guest<'_>, asking: &mut Stream) {
    let question = asking.question("elicitation/create");
    assert_eq!(question["params"]["message"], "for bob");
    bob.reply(&question, &name("bob"));
    assert!(asking.text().contains("bob"));
}

/// What each handshake of the server was told.
fn told(script: &FakeScript) -> Vec<Value> {
    let greetings = script.log();
    let greetings = greetings.iter().filter(|line| line["message"]["method"] == "initialize");
    greetings.map(|line| line["message"]["params"]["capabilities"].clone()).collect()
}

#[test]
fn clients_of_a_quiet_server_share_its_process() {
    let script = Fake::script(json!({}));
    let mark = Mark::new();
    let sandbox = world(&[("fake", &script)], &mark);
    let site = Site::open(&sandbox, &[]);
    let guests: Vec<Guest<'_>> = (0..3).map(|_| Guest::greet(&site, &can_be_asked())).collect();
    let mut pids: Vec<u32> =
        guests.iter().map(|guest| pid(&mut guest.call(1, "mcp_fake_pid", &json!({})))).collect();
    pids.push(pid(&mut modern_call(&site, "ada", ("mcp_fake_pid", json!({})))));
    pids.dedup();
    assert_eq!(pids.len(), 1);
    assert_eq!(told(&script).len(), 1);
}

#[test]
fn clients_of_a_server_that_is_not_shared_have_a_process_each() {
    let script = Fake::script(json!({}));
    let mark = Mark::new();
    let sandbox = world(&[("fake", &script)], &mark);
    share(&sandbox, "fake", "client");
    let site = Site::open(&sandbox, &[]);
    let capabilities = [json!({}), can_be_asked(), json!({"roots": {"listChanged": true}})];
    let guests = capabilities.each_ref().map(|capabilities| Guest::greet(&site, capabilities));
    let ask = |guest: &Guest<'_>| pid(&mut guest.call(1, "mcp_fake_pid", &json!({})));
    let pids = guests.each_ref().map(ask);
    assert!(pids[0] != pids[1] && pids[1] != pids[2] && pids[0] != pids[2], "{pids:?}");
    assert_eq!(guests.each_ref().map(ask), pids, "each finds its own again");
    // Each process was told what its client said; the one for the lists that everything can be asked.
    let told = told(&script);
    assert_eq!(told.len(), 4);
    for capabilities in &capabilities {
        assert!(told.contains(capabilities), "{capabilities} is not in {told:?}");
    }
    // Who leaves takes its process along, and nobody else's.
    let [first, second, third] = guests;
    first.leave();
    gone(&mark, pids[0]);
    assert_eq!([ask(&second), ask(&third)], [pids[1], pids[2]]);
    // One that crashes hurts only its client, and comes back.
    kill_process(Pid::from_raw(i32::try_from(pids[1]).unwrap()).unwrap(), Signal::KILL).unwrap();
    gone(&mark, pids[1]);
    assert_eq!(ask(&third), pids[2]);
    // A call that met the crash may fail; the next one does not.
    let met = second.call(2, "mcp_fake_pid", &json!({})).answer();
    assert!(met.get("result").is_some() || met["error"]["data"]["code"] == "server-exited", "{met}");
    assert_ne!(ask(&second), pids[1]);
    // When the clients have their own, the one that listed is no longer needed.
    let listing = script.log().iter().filter(|line| line["message"]["method"] == "tools/list").count();
    let has_two = |alive: &Vec<u32>| alive.iter().filter(|pid| is_server(**pid)).count() == 2;
    eventually_blocking("the shared process rests", || mark.alive(), has_two);
    let tools = third.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"})).answer();
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 7);
    let listed = script.log().iter().filter(|line| line["message"]["method"] == "tools/list").count();
    assert_eq!(listed, listing, "what it offers is still known");
    site.terminate();
    let (code, _) = site.end();
    assert_eq!(code, Some(0));
    assert!(mark.alive().is_empty(), "a server is left behind");
}

#[test]
fn each_client_gets_its_own_question_also_when_all_wait_at_once() {
    let script = Fake::script(json!({}));
    let mark = Mark::new();
    let sandbox = world(&[("fake", &script)], &mark);
    let site = Site::open(&sandbox, &[]);
    let (ada, bob) = (Guest::greet(&site, &can_be_asked()), Guest::greet(&site, &can_be_asked()));
    // Alone, a client is asked at once, on the connection all share.
    let mut first = ada.call(1, "mcp_fake_ask", &json!({"message": "for the first"}));
    let question = first.question("elicitation/create");
    ada.reply(&question, &name("first"));
    assert!(first.text().contains("first"));
    // From then on the server is known to ask.
    let mut streams = [("ada", &ada), ("bob", &bob)].map(|(who, guest)| {
        let stream = guest.call(2, "mcp_fake_ask", &json!({"message": format!("for {who}")}));
        (who, guest, stream)
    });
    let questions = streams.each_mut().map(|(who, _, stream)| {
        let question = stream.question("elicitation/create");
        assert_eq!(question["params"]["message"], format!("for {who}"));
        question
    });
    for ((who, guest, stream), question) in streams.iter_mut().zip(&questions).rev() {
        guest.reply(question, &name(who));
        assert!(stream.text().contains(*who));
    }
}

#[test]
fn requests_that_stand_for_themselves_hold_a_connection_each_and_find_it_again() {
    let script = Fake::script(json!({}));
    let mark = Mark::new();
    let sandbox = world(&[("fake", &script)], &mark);
    share(&sandbox, "fake", "client");
    let site = Site::open(&sandbox, &[]);
    let ask = |who: &str| (("mcp_fake_ask"), json!({"arguments": {"message": format!("for {who}")}}));
    // Two calls of two clients, and a second one of the first, all parked.
    let asked = ["ada", "bob", "ada"].map(|who| {
        let answer = modern_call(&site, who, ask(who)).answer()["result"].take();
        assert_eq!(answer["resultType"], "input_required", "{answer}");
        assert_eq!(answer["inputRequests"]["q1"]["params"]["message"], format!("for {who}"));
        answer
    });
    assert_eq!(told(&script).len(), 4);
    for (who, asked) in ["ada", "bob", "ada"].iter().zip(&asked).rev() {
        let (tool, mut params) = ask(who);
        params["inputResponses"] = json!({"q1": name(who)});
        params["requestState"] = asked["requestState"].clone();
        assert!(modern_call(&site, who, (tool, params)).text().contains(who));
    }
    // What was given back is taken again: state that a server keeps is still there.
    let take = |who: &str| pid(&mut modern_call(&site, who, ("mcp_fake_pid", json!({}))));
    let (ada, bob) = (take("ada"), take("bob"));
    assert_ne!(ada, bob);
    assert_eq!((take("ada"), take("bob")), (ada, bob));
    assert_eq!(told(&script).len(), 4, "nothing was started for it");
}

#[test]
fn that_a_server_asks_is_remembered_until_it_is_another_one() {
    let script = Fake::script(json!({}));
    let mark = Mark::new();
    let sandbox = world(&[("fake", &script)], &mark);
    let ask = json!({"name": "mcp_fake_ask", "arguments": {}});
    let mut pipe = Pipe::open(&sandbox);
    assert_eq!(pipe.result(1, "tools/call", modern(ask))["resultType"], "input_required");
    assert_eq!(pipe.close().0, Some(0));
    let own = json!({"elicitation": {"form": {}}});
    assert!(!told(&script).contains(&own), "it was not known yet");
    let call = |id: u32| {
        let mut pipe = Pipe::open(&sandbox);
        pipe.result(id, "tools/call", modern(json!({"name": "mcp_fake_pid", "arguments": {}})));
        assert_eq!(pipe.close().0, Some(0));
        told(&script).iter().filter(|told| **told == own).count()
    };
    assert_eq!(call(2), 1, "it is known from the start");
    let mut servers: Value = serde_json::from_str(&sandbox.read("~/.switchboard/mcp.json")).unwrap();
    servers["mcpServers"]["fake"]["env"]["MORE"] = json!("1");
    sandbox.write("~/.switchboard/mcp.json", servers.to_string());
    assert_eq!(call(3), 1, "another definition is another server");
}

#[test]
fn folders_are_those_of_the_client_and_asked_for_again_when_they_change() {
    let roots = json!([{"request": {"method": "roots/list"}}, {"result": {"content": [{"type": "text", "text": "there"}]}}]);
    let script = Fake::script(json!({
        "tools": [{"name": "where", "inputSchema": {"type": "object"}}],
        "on": {
            "notifications/initialized": [{"request": {"id": "at start", "method": "roots/list"}}],
            "notifications/roots/list_changed": [{"request": {"id": "again", "method": "roots/list"}}],
            "tools/call": roots,
        },
    }));
    let mark = Mark::new();
    let sandbox = world(&[("fake", &script)], &mark);
    share(&sandbox, "fake", "client");
    let site = Site::open(&sandbox, &[]);
    let capabilities = json!({"roots": {"listChanged": true}});
    let folder = |who: &str| json!({"roots": [{"uri": format!("file:///{who}")}]});
    let answers = |id: &str, who: &str| {
        let log = script.log();
        log.iter()
            .filter(|line| line["message"]["id"] == id && line["message"]["result"] == folder(who))
            .count()
    };
    for who in ["ada", "bob"] {
        let guest = Guest::greet(&site, &capabilities);
        let mut post = guest.listen();
        let mut call = guest.call(1, "mcp_fake_where", &json!({}));
        // First what the server wants to know at its start, then what the call is about.
        for _ in 0..2 {
            let question = call.question("roots/list");
            guest.reply(&question, &folder(who));
        }
        assert_eq!(call.text(), "there");
        assert_eq!((answers("at start", who), answers("again", who)), (1, 0));
        guest.tell("notifications/roots/list_changed");
        let question = post.question("roots/list");
        guest.reply(&question, &folder(&format!("{who}/new")));
        script.wait_for(|line| line["message"]["result"] == folder(&format!("{who}/new")));
    }
}

#[test]
fn the_server_for_files_works_in_the_folders_of_each_client() {
    let mark = Mark::new();
    let sandbox = world(&[], &mark);
    let peers = testkit::peers();
    let program = peers.join("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
    let [ada, bob] = ["ada", "bob"].map(|who| {
        sandbox.write(&format!("~/{who}/note.txt"), who);
        sandbox.home().join(who).canonicalize().unwrap()
    });
    let env = json!({Mark::NAME: mark.value()});
    let files = json!({"command": peers.join("node"), "args": [program, sandbox.home()], "env": env});
    sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": {"files": files}}).to_string());
    let site = Site::open(&sandbox, &[]);
    for folder in [&ada, &bob] {
        let guest = Guest::greet(&site, &json!({"roots": {}}));
        let mut call = guest.call(1, "mcp_files_list_allowed_directories", &json!({}));
        let question = call.question("roots/list");
        let uri = format!("file://{}", folder.display());
        guest.reply(&question, &json!({"roots": [{"uri": uri}]}));
        call.text();
        // It takes the folders over when it has looked at them.
        let list = || guest.call(2, "mcp_files_list_allowed_directories", &json!({})).text();
        eventually_blocking("the folders are taken over", list, |answer| !answer.ends_with("home"));
        let answer = list();
        assert!(answer.contains(folder.to_str().unwrap()), "{answer}");
        let other = if *folder == ada { &bob } else { &ada };
        assert!(!answer.contains(other.to_str().unwrap()), "{answer}");
        let note =
            guest.call(3, "mcp_files_read_text_file", &json!({"path": other.join("note.txt")})).answer();
        assert_eq!(note["result"]["isError"], true, "{note}");
    }
}

#[test]
fn a_question_that_could_be_for_several_waits_until_it_is_clear() {
    let script = Fake::script(json!({}));
    let sandbox = world(&[("fake", &script)], &Mark::new());
    let site = Site::open(&sandbox, &[]);
    let (ada, bob) = (Guest::greet(&site, &can_be_asked()), Guest::greet(&site, &can_be_asked()));
    let _slow = slow(&ada, &script);
    let mut asking = bob.call(1, "mcp_fake_ask", &json!({"message": "for bob"}));
    script.wait_for(|line| line["message"]["params"]["name"] == "ask");
    ada.cancel(1);
    is_for_bob(&bob, &mut asking);
}

#[test]
fn a_question_that_stays_unclear_is_declined_and_the_next_call_works() {
    let script = Fake::script(json!({}));
    let sandbox = world(&[("fake", &script)], &Mark::new());
    let site = Site::open(&sandbox, &[]);
    let (ada, bob) = (Guest::greet(&site, &can_be_asked()), Guest::greet(&site, &can_be_asked()));
    let _slow = slow(&ada, &script);
    let declined = bob.call(1, "mcp_fake_ask", &json!({"message": "for bob"})).text();
    assert!(declined.contains("make the call again"), "{declined}");
    let mut asking = bob.call(2, "mcp_fake_ask", &json!({"message": "for bob"}));
    is_for_bob(&bob, &mut asking);
}

#[test]
fn connections_of_clients_follow_their_server_when_it_is_changed_or_removed() {
    let script = Fake::script(json!({}));
    let mark = Mark::new();
    let sandbox = world(&[("fake", &script)], &mark);
    share(&sandbox, "fake", "client");
    let mut site = Site::open(&sandbox, &[]);
    let guests = [(); 2].map(|()| Guest::greet(&site, &can_be_asked()));
    let ask = |guest: &Guest<'_>| pid(&mut guest.call(1, "mcp_fake_pid", &json!({})));
    let before = guests.each_ref().map(ask);
    drop(guests);
    change(&sandbox, "fake", "env", json!({Mark::NAME: mark.value(), "MORE": "1"}));
    assert_eq!(site.says(), "the configuration changed: changed fake\n");
    for pid in before {
        gone(&mark, pid);
    }
    let guests = [(); 2].map(|()| Guest::greet(&site, &can_be_asked()));
    let ask = |guest: &Guest<'_>| pid(&mut guest.call(1, "mcp_fake_pid", &json!({})));
    let after = guests.each_ref().map(ask);
    assert!(before.iter().all(|pid| !after.contains(pid)), "{before:?} {after:?}");
    let more = guests[0].call(2, "mcp_fake_env", &json!({"name": "MORE"})).answer();
    assert!(more.to_string().contains('1'), "{more}");
    drop(guests);
    sandbox.write("~/.switchboard/mcp.json", r#"{"mcpServers": {}}"#);
    assert_eq!(site.says(), "the configuration changed: removed fake\n");
    eventually_blocking("every process is gone", || mark.alive(), Vec::is_empty);
    let guest = Guest::greet(&site, &can_be_asked());
    let answer = guest.call(3, "mcp_fake_pid", &json!({})).answer();
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[test]
fn a_revoked_approval_ends_the_connections_of_all_clients() {
    let script = Fake::script(json!({}));
    let mark = Mark::new();
    let sandbox = world(&[], &mark);
    let env = json!({Mark::NAME: mark.value()});
    let entry =
        json!({"command": testkit::fake_server(), "args": [script.path()], "env": env, "share": "client"});
    sandbox.write(".switchboard/mcp.json", json!({"mcpServers": {"fake": entry}}).to_string());
    assert!(crate::run(&sandbox, &["trust", "fake"]).contains("--- exit 0"));
    let mut site = Site::open(&sandbox, &[]);
    let guest = Guest::greet(&site, &can_be_asked());
    let process = pid(&mut guest.call(1, "mcp_fake_pid", &json!({})));
    let mut modern = modern_call(&site, "ada", ("mcp_fake_pid", json!({})));
    assert_ne!(pid(&mut modern), process);
    drop(guest);
    assert!(crate::run(&sandbox, &["untrust", "fake"]).contains("--- exit 0"));
    let told = site.says();
    assert!(told.starts_with("the configuration changed: removed fake"), "{told}");
    eventually_blocking("every process is gone", || mark.alive(), Vec::is_empty);
    let answer = modern_call(&site, "ada", ("mcp_fake_pid", json!({}))).answer();
    assert!(answer["error"]["code"].is_i64(), "{answer}");
    assert!(mark.alive().is_empty(), "nothing is started without consent");
}

#[test]
fn there_is_room_for_so_many_clients_and_the_next_one_is_told() {
    let script = Fake::script(json!({}));
    let mark = Mark::new();
    let sandbox = world(&[("fake", &script)], &mark);
    share(&sandbox, "fake", "client");
    let site = Site::open(&sandbox, &[]);
    let mut guests: Vec<Guest<'_>> = (0..32).map(|_| Guest::greet(&site, &can_be_asked())).collect();
    let mut pids: Vec<u32> =
        guests.iter().map(|guest| pid(&mut guest.call(1, "mcp_fake_pid", &json!({})))).collect();
    pids.sort_unstable();
    pids.dedup();
    assert_eq!(pids.len(), 32);
    let late = Guest::greet(&site, &can_be_asked());
    let answer = late.call(1, "mcp_fake_pid", &json!({})).answer();
    assert_eq!(answer["error"]["data"]["code"], "too-many-clients", "{answer}");
    assert_eq!(answer["error"]["data"]["limit"], 32);
    guests.remove(7).leave();
    assert!(!pids.contains(&pid(&mut late.call(2, "mcp_fake_pid", &json!({})))));
}

#[test]
fn a_connection_nobody_uses_ends() {
    let script = Fake::script(json!({}));
    let mark = Mark::new();
    let sandbox = world(&[("fake", &script)], &mark);
    share(&sandbox, "fake", "client");
    let site = Site::open(&sandbox, &["--session-idle", "1"]);
    let process = pid(&mut modern_call(&site, "ada", ("mcp_fake_pid", json!({}))));
    gone(&mark, process);
    let again = pid(&mut modern_call(&site, "ada", ("mcp_fake_pid", json!({}))));
    assert_ne!(process, again);
}
