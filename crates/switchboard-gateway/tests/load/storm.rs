//! A hundred clients of every kind that call, change their mind and go away, and what is left of it.

use std::collections::HashMap;
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;

use serde_json::{Value, json};
use testkit::{Fake, FakeScript, eventually_blocking};

use crate::chance::{Chance, seed};
use crate::client::{Guest, Line, Pipe, Reply, modern, modern_headers, request};
use crate::world::{Served, World, resident};

const CLIENTS: usize = 100;
const CALLS: usize = 1000;
/// Enough for everything that is made once: connections, buffers, threads.
const WARM_UP: usize = 50;
/// So many kilobytes may stay, whatever they are for: less than 170 bytes a call.
const GROWTH: u64 = 16 * 1024;
/// Calls a client at a pipe has open at once.
const OPEN: usize = 4;

/// Servers of all kinds: one that is quick, one of the modern protocol, one that tells how far it is, one that takes its
/// time, and one over HTTP.
struct Servers {
    scripts: Vec<FakeScript>,
    web: Fake,
}

const NAMES: [&str; 5] = ["plain", "new", "beats", "late", "web"];

impl Servers {
    fn start(world: &mut World) -> Self {
        let beat = json!({"progressToken": "$params._meta.progressToken", "progress": 1, "message": "$params.arguments.text"});
        let beat = json!({"notify": {"method": "notifications/progress", "params": beat}});
        let scripts = [
            json!({}),
            json!({"era": "modern"}),
            json!({"on": {"tools/call": [beat, {"default": true}]}}),
            json!({"on": {"tools/call": [{"sleep_ms": 3}, {"default": true}]}}),
        ];
        let scripts: Vec<FakeScript> = scripts.into_iter().map(Fake::script).collect();
        for (name, script) in NAMES.iter().zip(&scripts) {
            world.stdio(name, script);
        }
        let web = Fake::http(json!({"era": "modern"}));
        world.http("web", web.url());
        Self { scripts, web }
    }

    /// How often each word was heard by any of them.
    fn heard(&self) -> HashMap<String, usize> {
        let mut heard = HashMap::new();
        let logs = self.scripts.iter().map(FakeScript::log).chain([self.web.log()]);
        for line in logs.flatten() {
            if line["message"]["method"] == "tools/call" {
                let word = line["message"]["params"]["arguments"]["text"].as_str().unwrap().to_owned();
                *heard.entry(word).or_insert(0) += 1;
            }
        }
        heard
    }
}

/// What became of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answered,
    /// Nobody waited for the answer any more.
    GivenUp,
}

type Fates = Vec<(String, Fate)>;

/// One client's part of it.
struct Part {
    who: String,
    chance: Chance,
    calls: usize,
    fates: Fates,
}

/// One call.
struct Call {
    id: usize,
    tool: String,
    word: String,
}

impl Part {
    fn next(&mut self, id: usize) -> Call {
        let server = NAMES[self.chance.below(NAMES.len())];
        Call { id, tool: format!("mcp_{server}_echo"), word: format!("{}-{id}", self.who) }
    }

    fn over(&mut self, call: Call, fate: Fate) {
        self.fates.push((call.word, fate));
    }

    /// One in so many.
    fn is_one_in(&mut self, many: usize) -> bool {
        self.chance.below(many) == 0
    }
}

impl Call {
    fn params(&self) -> Value {
        let meta = json!({"progressToken": self.word});
        json!({"name": self.tool, "arguments": {"text": self.word}, "_meta": meta})
    }

    fn check(&self, answer: &Value) {
        assert_eq!(answer["id"], self.id, "{}: {answer}", self.word);
        assert_eq!(answer["result"]["content"][0]["text"], self.word.as_str(), "{answer}");
    }

    fn check_progress(&self, message: &Value) {
        let params = &message["params"];
        assert_eq!(message["method"], "notifications/progress", "{}: {message}", self.word);
        let told = (params["progressToken"].as_str(), params["message"].as_str());
        assert_eq!(told, (Some(self.word.as_str()), Some(self.word.as_str())));
    }

    /// Whether it was answered; if so, with what is its own.
    fn is_answered(&self, reply: &Reply) -> bool {
        assert_eq!(reply.status, 200, "{}: {reply:?}", self.word);
        for message in reply.messages.iter().filter(|message| message.get("method").is_some()) {
            self.check_progress(message);
        }
        reply.answer().inspect(|answer| self.check(answer)).is_some()
    }
}

/// A client with a session, which takes calls back, loses connections, and comes back as somebody else.
fn guest(address: SocketAddr, part: &mut Part) {
    let mut guest = Guest::open(address);
    for id in 1..=part.calls {
        let call = part.next(id);
        let body = request(id, "tools/call", &call.params());
        if part.is_one_in(40) {
            guest.send(&body);
            let cancel =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
            // A connection of its own: one that is kept and not used is closed.
            let told = Line::open(address).ask("POST", &guest.session, &cancel.to_string());
            assert_eq!(told.status, 202, "{told:?}");
            let is_answered = call.is_answered(&guest.line.receive().unwrap());
            part.over(call, if is_answered { Fate::Answered } else { Fate::GivenUp });
        } else if part.is_one_in(60) {
            guest.send(&body);
            guest.line.renew();
            part.over(call, Fate::GivenUp);
        } else {
            assert!(call.is_answered(&guest.ask(&body)), "{} has no answer", call.word);
            part.over(call, Fate::Answered);
        }
        if part.is_one_in(30) {
            guest.begin_anew();
        }
    }
    guest.leave();
}

/// A client whose every request stands for itself, and which takes one back by closing the connection.
fn stranger(address: SocketAddr, part: &mut Part) {
    let mut line = Line::open(address);
    for id in 1..=part.calls {
        let call = part.next(id);
        let headers = modern_headers("tools/call", &call.tool);
        let body = request(id, "tools/call", &modern(call.params()));
        if part.is_one_in(30) {
            line.send("POST", &headers, &body).unwrap();
            line.renew();
            part.over(call, Fate::GivenUp);
        } else {
            assert!(call.is_answered(&line.ask("POST", &headers, &body)), "{} has no answer", call.word);
            part.over(call, Fate::Answered);
        }
    }
}

/// A client at a pipe, with several calls open at once, in both protocols.
fn at_a_pipe(stream: std::os::unix::net::UnixStream, part: &mut Part) {
    let end = stream.try_clone().unwrap();
    let mut pipe = Pipe::open(stream);
    let mut open: HashMap<usize, Call> = HashMap::new();
    let mut taken_back: HashMap<usize, Call> = HashMap::new();
    let mut next = 1;
    while next <= part.calls || !open.is_empty() {
        while open.len() < OPEN && next <= part.calls {
            let call = part.next(next);
            let params = if part.is_one_in(2) { modern(call.params()) } else { call.params() };
            pipe.send(&request(next, "tools/call", &params));
            if part.is_one_in(30) {
                let params = json!({"requestId": next});
                let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
                pipe.send(&cancel.to_string());
                taken_back.insert(next, call);
            } else {
                open.insert(next, call);
            }
            next += 1;
        }
        if open.is_empty() {
            continue;
        }
        let message = pipe.receive();
        if message["method"] == "notifications/tools/list_changed" {
            continue;
        }
        if message.get("method").is_some() {
            let of = message["params"]["message"].as_str().and_then(|word| word.rsplit('-').next());
            let id: usize = of.and_then(|id| id.parse().ok()).unwrap();
            let call = open.get(&id).or(taken_back.get(&id));
            call.unwrap_or_else(|| panic!("{}: nobody waits for {message}", part.who))
                .check_progress(&message);
            continue;
        }
        let id = usize::try_from(message["id"].as_u64().unwrap()).unwrap();
        let call = open.remove(&id).or_else(|| taken_back.remove(&id));
        let call = call.unwrap_or_else(|| panic!("{}: nobody waits for {message}", part.who));
        call.check(&message);
        part.over(call, Fate::Answered);
    }
    // What was taken back may have been answered before.
    end.shutdown(Shutdown::Write).unwrap();
    while let Some(message) = pipe.last_words() {
        let id = message["id"].as_u64().and_then(|id| usize::try_from(id).ok());
        if let Some(call) = id.and_then(|id| taken_back.remove(&id)) {
            call.check(&message);
            part.over(call, Fate::Answered);
        } else {
            assert_eq!(message["method"], "notifications/progress", "nobody waits for {message}");
        }
    }
    for call in taken_back.into_values() {
        part.over(call, Fate::GivenUp);
    }
}

/// Everybody at once; gives what became of each word.
fn storm(served: &Served, seed: u64, calls: usize, round: &str) -> Fates {
    let address = served.address;
    let clients: Vec<_> = (0..CLIENTS)
        .map(|n| {
            let who = format!("{round}-{n}");
            let mut part = Part { who, chance: Chance::new(seed, n), calls, fates: Vec::new() };
            let pipe = (n % 10 == 0).then(|| served.pipe());
            let thread = std::thread::Builder::new().stack_size(256 * 1024);
            let run = move || {
                match (pipe, n % 2) {
                    (Some(pipe), _) => at_a_pipe(pipe, &mut part),
                    (None, 0) => guest(address, &mut part),
                    (None, _) => stranger(address, &mut part),
                }
                part.fates
            };
            thread.spawn(run).unwrap()
        })
        .collect();
    clients.into_iter().flat_map(|client| client.join().unwrap_or_else(|_| panic!("seed {seed}"))).collect()
}

#[test]
fn a_hundred_clients_get_their_own_answers_and_leave_nothing_behind() {
    let seed = seed();
    let mut world = World::new();
    let servers = Servers::start(&mut world);
    let served = Arc::new(world.serve());
    let mut fates = storm(&served, seed, WARM_UP, "warm");
    // Connections that nobody uses are let go of after some seconds.
    let quiet = || served.census(&world);
    let settled = settle(quiet);
    let before = resident();
    fates.extend(storm(&served, seed, CALLS, "storm"));
    let what = format!("seed {seed}: no more than {settled:?}");
    eventually_blocking(what, quiet, |now| now.is_within(settled));
    let grown = resident().saturating_sub(before);
    assert!(grown < GROWTH, "seed {seed}: {grown} kB more than before");
    let n_answered = fates.iter().filter(|(_, fate)| *fate == Fate::Answered).count();
    let heard = servers.heard();
    for (word, fate) in &fates {
        let times = heard.get(word).copied().unwrap_or(0);
        let is_right = times == 1 || (times == 0 && *fate == Fate::GivenUp);
        assert!(is_right, "seed {seed}: {word}, {fate:?}, was heard {times} times");
    }
    assert_eq!(fates.len(), CLIENTS * (CALLS + WARM_UP), "seed {seed}");
    assert!(heard.len() <= fates.len() && n_answered * 10 > fates.len() * 9, "seed {seed}: {n_answered}");
    Arc::into_inner(served).unwrap().stop();
    assert_eq!(world.n_processes(), 0, "seed {seed}: a server is left behind");
}

/// What there is when it no longer changes.
fn settle<T: PartialEq + Copy + std::fmt::Debug>(look: impl Fn() -> T) -> T {
    let calm = std::time::Duration::from_secs(5);
    let mut last = (look(), std::time::Instant::now());
    while last.1.elapsed() < calm {
        std::thread::sleep(std::time::Duration::from_millis(50));
        let now = look();
        if now != last.0 {
            last = (now, std::time::Instant::now());
        }
    }
    last.0
}
