//! Edits of the configuration file by commands and by an editor, and what has to be in it afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::process::{Child, Output};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{Mark, fake_server};

use crate::book::{Book, Rule, lock};
use crate::chance::Chance;
use crate::load::excerpt;
use crate::process::NAME;
use crate::world::World;

/// Servers that come and go.
const EXTRAS: usize = 8;
/// So long a command may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// What the file has to say.
#[derive(Debug, Default)]
struct Wanted {
    /// Those that were added, and whether they are switched on.
    extras: BTreeMap<String, bool>,
    /// What the editor wrote last, by server.
    rounds: BTreeMap<String, u64>,
    n_edits: usize,
}

/// One change of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Add,
    Remove,
    Enable,
    Disable,
}

/// The file, and who changes it. Commands may run at the same time as each other; an editor may not, since it has no lock.
pub(crate) struct Edits {
    world: Arc<World>,
    book: Arc<Book>,
    wanted: Mutex<Wanted>,
}

impl Edits {
    pub(crate) fn new(world: Arc<World>, book: Arc<Book>) -> Self {
        Self { world, book, wanted: Mutex::default() }
    }

    /// How many edits were made.
    pub(crate) fn n_edits(&self) -> usize {
        lock(&self.wanted).n_edits
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, args: &[&str]) -> io::Result<Output> {
        finish(self.world.command(args).spawn()?)
    }

    fn begin(&self, change: Change, name: &str) -> io::Result<Child> {
        let words = match change {
            Change::Remove => vec!["remove", name, "--scope", "user"],
            Change::Enable => vec!["enable", name],
            Change::Disable => vec!["disable", name],
            Change::Add => {
                let script = self.world.script_path("extra");
                let mark = format!("{}={}", Mark::NAME, self.world.mark.value());
                let own = format!("{NAME}={name}");
                let mut command = self.world.command(&["add", name, "--scope", "user", "--env", &mark]);
                command.args(["--env", &own, "--"]).arg(fake_server()).arg(script);
                return command.spawn();
            }
        };
        self.world.command(&words).spawn()
    }

    /// Four commands at once, each about another server; then a reload.
    pub(crate) fn commands(&self, number: u64) -> io::Result<()> {
        let mut wanted = lock(&self.wanted);
        let mut draw = Chance::new(number, 2);
        let first = draw.below(EXTRAS);
        let mut begun = Vec::new();
        for k in 0..4 {
            let name = format!("extra{}", (first + k) % EXTRAS);
            let choices: &[Change] = match wanted.extras.get(&name) {
                None => &[Change::Add],
                Some(true) => &[Change::Disable, Change::Remove],
                Some(false) => &[Change::Enable, Change::Remove],
            };
            let change = *draw.pick(choices).unwrap_or(&Change::Add);
            begun.push((change, self.begin(change, &name)?, name));
        }
        for (change, child, name) in begun {
            let output = finish(child)?;
            if output.status.success() {
                apply(&mut wanted, change, name);
            } else {
                self.book.broken(Rule::Edits, format!("{change:?} {name} failed: {}", said(&output)));
            }
        }
        self.check(&wanted);
        self.run(&["reload"]).map(drop)
    }

    /// Changes an entry as an editor does: a new file in the place of the old one. Then a reload.
    pub(crate) fn editor(&self, name: &str, number: u64) -> io::Result<()> {
        let mut wanted = lock(&self.wanted);
        let text = fs::read_to_string(self.world.config())?;
        let before = wanted.rounds.get(name).copied().unwrap_or(0);
        let start = format!("    \"{name}\": ");
        let (old, new) = (format!("\"ROUND\":\"{before}\""), format!("\"ROUND\":\"{number}\""));
        let change = |line: &str| {
            if line.starts_with(&start) { line.replace(&old, &new) } else { line.to_owned() }
        };
        let changed: Vec<String> = text.split('\n').map(change).collect();
        self.replace(&changed.join("\n"))?;
        wanted.rounds.insert(name.to_owned(), number);
        wanted.n_edits += 1;
        self.check(&wanted);
        self.run(&["reload"]).map(drop)
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        let beside = self.world.state().join(".mcp.json.swp");
        fs::write(&beside, text)?;
        fs::rename(beside, self.world.config())
    }

    /// Half a file for a while, with a reload; then the whole one, with another.
    pub(crate) fn broken_file(&self, time: Duration) -> io::Result<()> {
        let wanted = lock(&self.wanted);
        let text = fs::read_to_string(self.world.config())?;
        let half: String = text.chars().take(text.chars().count() / 2).collect();
        fs::write(self.world.config(), half)?;
        let reloaded = self.run(&["reload"]);
        std::thread::sleep(time);
        self.replace(&text)?;
        self.check(&wanted);
        reloaded.and_then(|_| self.run(&["reload"])).map(drop)
    }

    /// No room on the disk for a while, and an edit meanwhile, which is made or refused, and nothing between.
    pub(crate) fn full_disk(&self, time: Duration, number: u64) -> io::Result<()> {
        let mut wanted = lock(&self.wanted);
        let filler = self.world.state().join("filler");
        fill(&filler);
        let name = format!("extra{}", Chance::new(number, 3).below(EXTRAS));
        let change = if wanted.extras.contains_key(&name) { Change::Remove } else { Change::Add };
        let output = self.begin(change, &name).and_then(finish);
        std::thread::sleep(time);
        fs::remove_file(filler)?;
        if output?.status.success() {
            apply(&mut wanted, change, name);
        }
        self.check(&wanted);
        self.run(&["reload"]).map(drop)
    }

    /// Takes out what was added, so that it is as in the beginning.
    pub(crate) fn clear(&self) -> io::Result<()> {
        let mut wanted = lock(&self.wanted);
        self.check(&wanted);
        for name in wanted.extras.keys().cloned().collect::<Vec<_>>() {
            let output = finish(self.begin(Change::Remove, &name)?)?;
            if output.status.success() {
                apply(&mut wanted, Change::Remove, name);
            } else {
                self.book.broken(Rule::Edits, format!("Remove {name} failed: {}", said(&output)));
            }
        }
        self.check(&wanted);
        self.run(&["reload"]).map(drop)
    }

    /// Holds the file against what has to be in it.
    fn check(&self, wanted: &Wanted) {
        if let Err(why) = self.compare(wanted) {
            self.book.broken(Rule::Edits, why);
        }
    }

    fn compare(&self, wanted: &Wanted) -> Result<(), String> {
        let text = fs::read_to_string(self.world.config()).map_err(|error| error.to_string())?;
        let comments: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with("//")).collect();
        let n_comments = self.world.cast.len() + 3;
        if comments.len() != n_comments || comments.iter().any(|line| !line.contains("// soak: ")) {
            return Err(format!("{} comments instead of {n_comments}", comments.len()));
        }
        let bare: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let file: Value =
            serde_json::from_str(&bare.join("\n")).map_err(|error| format!("{error}: {}", excerpt(&text)))?;
        let servers = file["mcpServers"].as_object().ok_or("no servers")?;
        for part in &self.world.cast {
            let entry = servers.get(&part.name).ok_or(format!("{} is gone", part.name))?;
            let round = wanted.rounds.get(&part.name).copied().unwrap_or(0).to_string();
            if entry["env"].get("ROUND").is_some_and(|there| *there != round.as_str()) {
                return Err(format!("{} should be in round {round}: {entry}", part.name));
            }
        }
        let extras: BTreeMap<String, bool> = servers
            .iter()
            .filter(|(name, _)| name.starts_with("extra"))
            .map(|(name, entry)| (name.clone(), entry["enabled"] != false))
            .collect();
        if extras == wanted.extras {
            Ok(())
        } else {
            Err(format!("there should be {:?}, and there is {extras:?}", wanted.extras))
        }
    }
}

fn apply(wanted: &mut Wanted, change: Change, name: String) {
    wanted.n_edits += 1;
    match change {
        Change::Add | Change::Enable => wanted.extras.insert(name, true),
        Change::Disable => wanted.extras.insert(name, false),
        Change::Remove => wanted.extras.remove(&name),
    };
}

/// Takes all the room there is.
fn fill(path: &std::path::Path) {
    let block = vec![0; 64 * 1024];
    if let Ok(mut file) = fs::File::create(path) {
        for size in [block.len(), 512, 1] {
            while io::Write::write_all(&mut file, &block[..size]).is_ok() {}
        }
    }
}

fn said(output: &Output) -> String {
    excerpt(&String::from_utf8_lossy(&output.stderr))
}

/// Waits for a command. One that does not end is killed, and that is an error.
fn finish(mut child: Child) -> io::Result<Output> {
    let start = Instant::now();
    while child.try_wait()?.is_none() {
        if start.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::other("a command does not end"));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output()
}
