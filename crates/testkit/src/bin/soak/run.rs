//! One run from its start to its verdict.

use std::fs;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::book::{Book, Rule};
use crate::cast::{Nature, Part, cast};
use crate::client::Client;
use crate::edits::Edits;
use crate::fault::{Faults, RECOVERY};
use crate::load::{Calls, End, Load, Manner};
use crate::options::Options;
use crate::plan::{Planned, plan};
use crate::process::{Usage, belongings, open_files};
use crate::say;
use crate::verdict;
use crate::watch::{Watch, settle};
use crate::world::{Gateway, PATIENCE, World, beside};

/// Load without faults before anything counts, so that everything is there that is made once.
const WARM_UP: Duration = Duration::from_secs(10);
/// Between two words about how it goes.
const REPORT: Duration = Duration::from_secs(10);
/// Files that may be open more than before: a connection that is just being renewed.
const MORE_FDS: usize = 2;
/// So long it may take until nothing is left of the load.
const CALM: Duration = Duration::from_mins(2);
/// So long the end may take.
const FAREWELL: Duration = Duration::from_secs(30);

/// Who is there on this machine.
fn actors(options: &Options) -> Vec<Part> {
    cast(options.servers, has_real())
}

/// Whether the servers made by others are installed. They are not installed for this.
#[expect(clippy::disallowed_methods, reason = "which installation to use is a fact of the machine")]
fn has_real() -> bool {
    let named = std::env::var_os("SWITCHBOARD_PEERS").map(std::path::PathBuf::from);
    let path = named.unwrap_or_else(|| testkit::workspace().join("target/peers"));
    path.join("node").exists() && path.join("python/bin/mcp-server-time").exists()
}

/// Prints the faults of a seed.
pub(crate) fn show_plan(options: &Options) {
    let cast = actors(options);
    for Planned { at, fault, whom, .. } in plan(options.seed, options.time, &cast) {
        let name = whom.map_or("", |whom| cast[whom].name.as_str());
        say(&format!("{:>6} s  {:<12} {name}\n", at.as_secs(), fault.word()));
    }
}

/// Set by Ctrl-C and SIGTERM.
fn interruption() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let kind = tokio::signal::unix::SignalKind::terminate();
            let Ok(mut ends) = tokio::signal::unix::signal(kind) else { return };
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = ends.recv() => {}
            }
            set.store(true, Ordering::Relaxed);
        });
    });
    flag
}

/// All that one run has.
struct Run {
    options_time: Duration,
    rate: usize,
    world: Arc<World>,
    gateway: Gateway,
    book: Arc<Book>,
    calls: Arc<Calls>,
    edits: Arc<Edits>,
    faults: Arc<Faults>,
    watch: Arc<Watch>,
    stop: Arc<AtomicBool>,
}

pub(crate) fn run(options: &Options) -> io::Result<ExitCode> {
    let stop = interruption();
    let cast = actors(options);
    let planned = plan(options.seed, options.time, &cast);
    say(&format!(
        "soak: seed {}, {} servers, {} calls a second, {} faults in {}\n",
        options.seed,
        cast.len(),
        options.rate,
        planned.len(),
        clock(options.time)
    ));
    let world = Arc::new(World::new(cast.clone(), beside("switchboard")?, options.may_mount)?);
    for part in cast.iter().filter(|part| matches!(part.nature, Nature::Guarded | Nature::Tracker)) {
        world.log_in(&part.name)?;
    }
    let gateway = world.serve()?;
    let book = Arc::new(Book::default());
    let calls = Arc::new(Calls::new(gateway.address, cast, Arc::clone(&book), options.seed));
    let edits = Arc::new(Edits::new(Arc::clone(&world), Arc::clone(&book)));
    let faults = Faults::new(Arc::clone(&world), Arc::clone(&calls), Arc::clone(&edits), Arc::clone(&book));
    let watch = Arc::new(Watch::new(gateway.pid(), Arc::clone(&world), Arc::clone(&book)));
    let faults = Arc::new(faults);
    let (options_time, rate) = (options.time, options.rate);
    let mut run = Run { options_time, rate, world, gateway, book, calls, edits, faults, watch, stop };
    run.watch.begin(run.gateway.address);
    let done = run.whole(planned);
    // Whoever still looks holds the world, which goes with the last who does.
    run.watch.end();
    if run.stop.load(Ordering::Relaxed) {
        say("soak: interrupted\n");
        return Ok(ExitCode::from(130));
    }
    let memory = done?;
    let facts = run.facts(options, memory);
    say(&verdict::table(&facts));
    if let Some(file) = &options.json {
        fs::write(file, format!("{facts:#}\n"))?;
    }
    if facts["ok"] != true {
        run.keep_evidence();
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// `3:05`.
fn clock(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

impl Run {
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn pause(&self, time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time && !self.is_over() {
            std::thread::sleep(Duration::from_millis(50).min(time));
        }
    }

    /// From the first call to the last process. Gives what there is to say about memory.
    fn whole(&mut self, planned: Vec<Planned>) -> io::Result<Value> {
        let began = Instant::now();
        self.greet()?;
        let load = Load::start(&self.calls, self.rate);
        self.pause(WARM_UP);
        load.stop();
        let baseline = settle(self.gateway.pid(), |_| true, Duration::from_secs(40));
        say(&format!("soak: all {} answer; quiet: {}\n", self.world.cast.len(), told(baseline)));
        say(&format!("soak: open then: {}\n", open_files(self.gateway.pid())));
        let start = began.elapsed();
        let load = Load::start(&self.calls, self.rate);
        self.abuse(planned);
        load.stop();
        if self.is_over() {
            return Ok(Value::Null);
        }
        self.edits.clear()?;
        let memory = verdict::memory(&self.watch, &self.book, (start, self.options_time));
        self.calm(baseline);
        self.watch.end();
        verdict::runs(&self.world, &self.calls, &self.book);
        self.words();
        self.farewell()?;
        Ok(memory)
    }

    /// Everybody answers once before it begins.
    fn greet(&self) -> io::Result<()> {
        let start = Instant::now();
        let mut client = Client::new(self.calls.address, true);
        for (who, part) in self.world.cast.iter().enumerate() {
            while self.calls.call(&mut client, (who, "look"), Manner::Waits) != End::Answered {
                if start.elapsed() > PATIENCE || self.is_over() {
                    return Err(io::Error::other(format!("{} does not answer at the start", part.name)));
                }
                std::thread::sleep(Duration::from_millis(500));
            }
        }
        Ok(())
    }

    /// Load and faults, for the time that was asked for.
    fn abuse(&self, planned: Vec<Planned>) {
        let start = Instant::now();
        let mut last = ("none yet".to_owned(), Instant::now());
        let mut going: Vec<JoinHandle<()>> = Vec::new();
        let mut planned = planned.into_iter().peekable();
        while start.elapsed() < self.options_time && !self.is_over() {
            while let Some(next) = planned.next_if(|next| next.at <= start.elapsed()) {
                let name = next.whom.map_or("", |whom| self.calls.cast[whom].name.as_str());
                last.0 = format!("{} {name}", next.fault.word());
                going.push(self.faults.begin(next));
                going.retain(|thread| !thread.is_finished());
            }
            if last.1.elapsed() > REPORT {
                last.1 = Instant::now();
                self.report(start.elapsed(), &last.0);
            }
            self.pause(Duration::from_millis(100));
        }
        for thread in going {
            drop(thread.join());
        }
    }

    fn report(&self, time: Duration, last: &str) {
        say(&format!(
            "[{:>5}] {} calls, {} open, {} faults, the last {}; {}; {} broken\n",
            clock(time),
            self.calls.n_over(),
            self.calls.open.load(Ordering::Relaxed),
            self.faults.n_done(),
            last.trim_end(),
            told(self.watch.last()),
            self.book.n_broken()
        ));
    }

    /// Waits until it is as quiet as before, and says what is left.
    fn calm(&self, baseline: Usage) {
        let most = baseline.fds + MORE_FDS;
        let now = settle(self.gateway.pid(), |now| now.fds <= most, CALM);
        let samples = self.watch.samples();
        let highest =
            |of: fn(&Usage) -> usize| samples.iter().map(|sample| of(&sample.usage)).max().unwrap_or(0);
        let figure =
            format!("{} before, {} after, {} at most", baseline.fds, now.fds, highest(|usage| usage.fds));
        if now.fds > most {
            let open = open_files(self.gateway.pid());
            self.book.broken(Rule::Fds, format!("{figure}; open are {open}"));
        }
        self.book.figure(Rule::Fds, figure);
        let figure = format!(
            "{} before, {} after, {} at most",
            baseline.threads,
            now.threads,
            highest(|usage| usage.threads)
        );
        self.book.figure(Rule::Threads, figure);
        self.book.figure(Rule::Zombies, format!("{} looks", samples.len()));
        let (n, slowest) = self.watch.healths();
        self.book.figure(Rule::Health, format!("{n} times, the slowest in {} ms", slowest.as_millis()));
        self.processes();
    }

    /// Each server that is up has its process and its guard, and nobody else is there.
    fn processes(&self) {
        let start = Instant::now();
        loop {
            let there = belongings(&self.world.mark);
            let count = |name: &str| {
                let own: Vec<_> = there.iter().filter(|one| one.server == name).collect();
                (
                    own.iter().filter(|one| !one.is_guard).count(),
                    own.iter().filter(|one| one.is_guard).count(),
                )
            };
            let is_right = |part: &&Part| match part.nature {
                Nature::Pipe | Nature::RealPipe => count(&part.name) == (1, 1),
                Nature::Idle | Nature::Asking => count(&part.name) == (0, 0),
                Nature::Lazy => matches!(count(&part.name), (0, 0) | (1, 1)),
                _ => true,
            };
            let wrong = self.world.cast.iter().find(|part| !is_right(part));
            let known = |name: &str| self.world.cast.iter().any(|part| part.name == name);
            let stranger = there.iter().find(|one| !known(&one.server));
            if wrong.is_none() && stranger.is_none() {
                let figure = format!("{} processes for servers and guards", there.len());
                self.book.figure(Rule::Processes, figure);
                return;
            }
            if start.elapsed() > RECOVERY || self.is_over() {
                let told = wrong.map(|part| format!("{} has {:?}", part.name, count(&part.name)));
                let told = told.or(stranger.map(|one| format!("{} should not be there", one.server)));
                self.book.broken(Rule::Processes, told.unwrap_or_default());
                return;
            }
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    /// Looks for panics in what it said and logged.
    fn words(&self) {
        let log = fs::read_to_string(&self.gateway.log).unwrap_or_default();
        let said = fs::read_to_string(&self.gateway.said).unwrap_or_default();
        if let Some(line) = log.lines().chain(said.lines()).find(|line| line.contains("panicked")) {
            self.book.broken(Rule::Quiet, line);
        }
        let figure = format!("{} lines logged, {} said", log.lines().count(), said.lines().count());
        self.book.figure(Rule::Quiet, figure);
    }

    fn farewell(&mut self) -> io::Result<()> {
        let start = Instant::now();
        match self.gateway.terminate(FAREWELL)? {
            Some(status) if status.success() => {}
            Some(status) => self.book.broken(Rule::End, status.to_string()),
            None => self.book.broken(Rule::End, format!("it still runs after {FAREWELL:?}")),
        }
        let time = start.elapsed();
        self.book.figure(Rule::End, format!("in {} ms", time.as_millis()));
        // Guards are the last to go.
        while !self.world.mark.alive().is_empty() && start.elapsed() < FAREWELL {
            std::thread::sleep(Duration::from_millis(100));
        }
        let left = belongings(&self.world.mark);
        if let Some(one) = left.first() {
            self.book.broken(Rule::End, format!("{} processes are left, one of {}", left.len(), one.server));
        }
        Ok(())
    }

    fn facts(&self, options: &Options, memory: Value) -> Value {
        let calls = self.calls.n_over();
        self.book.figure(Rule::Ends, format!("{calls} calls"));
        let answered = self.calls.by_end().get(&End::Answered).copied().unwrap_or(0);
        self.book.figure(Rule::Belongs, format!("{answered} results"));
        self.book.figure(Rule::Edits, format!("{} edits", self.edits.n_edits()));
        let mut facts = verdict::facts(&self.calls, &self.faults, &self.book);
        let recovery = &facts["recovery"];
        let figure = format!("{} times, the slowest in {} ms", recovery["n"], recovery["most_ms"]);
        self.book.figure(Rule::Recovers, figure);
        facts = verdict::facts(&self.calls, &self.faults, &self.book);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        facts["run"] = json!({
            "minutes": (options.time.as_secs_f64() / 6.0).round() / 10.0, "seed": options.seed, "servers": self.world.cast.len(),
            "real": self.world.cast.iter().filter(|part| !part.nature.is_ours()).count(),
            "rate": options.rate, "at": now.as_secs(),
            "build": if cfg!(debug_assertions) { "debug" } else { "release" },
        });
        facts["memory"] = memory;
        facts
    }

    /// What there is to look at when it broke.
    fn keep_evidence(&self) {
        let place = testkit::workspace().join("target/soak");
        drop(fs::create_dir_all(&place));
        for (file, name) in [(&self.gateway.log, "gateway.log"), (&self.gateway.said, "gateway.err")] {
            drop(fs::copy(file, place.join(name)));
        }
        drop(fs::copy(self.world.config(), place.join("mcp.json")));
        say("soak: what the gateway logged and said is in target/soak\n");
    }
}

/// What a process takes, in words.
fn told(usage: Usage) -> String {
    format!("{} MB, {} files, {} threads", usage.resident / 1024, usage.fds, usage.threads)
}
