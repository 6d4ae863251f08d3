//! Makes things go wrong, one at a time or several, and sees that whoever was hit comes back.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::book::{Book, Rule, lock};
use crate::chance::Chance;
use crate::client::Client;
use crate::edits::Edits;
use crate::load::{Calls, End, Manner};
use crate::plan::{Fault, Planned};
use crate::process::{belongings, signal};
use crate::world::World;

/// So long a server may take to answer again after its fault is over.
pub(crate) const RECOVERY: Duration = Duration::from_secs(75);
/// Between two tries. A server that fails is tried ten times a minute, whoever asks.
const TRY: Duration = Duration::from_secs(2);
/// Clients that go away at once.
const CROWD: usize = 10;

/// What is needed to make things go wrong.
pub(crate) struct Faults {
    pub(crate) world: Arc<World>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) edits: Arc<Edits>,
    pub(crate) book: Arc<Book>,
    done: Mutex<BTreeMap<Fault, usize>>,
    skipped: Mutex<BTreeMap<Fault, String>>,
    recoveries: Mutex<Vec<Duration>>,
}

impl Faults {
    pub(crate) fn new(world: Arc<World>, calls: Arc<Calls>, edits: Arc<Edits>, book: Arc<Book>) -> Self {
        let (done, skipped, recoveries) = Default::default();
        Self { world, calls, edits, book, done, skipped, recoveries }
    }

    /// How often each happened, what was left out and why, and how long servers took to come back.
    pub(crate) fn facts(&self) -> (BTreeMap<Fault, usize>, BTreeMap<Fault, String>, Vec<Duration>) {
        (lock(&self.done).clone(), lock(&self.skipped).clone(), lock(&self.recoveries).clone())
    }

    pub(crate) fn n_done(&self) -> usize {
        lock(&self.done).values().sum()
    }

    /// Begins a fault; it goes on by itself.
    pub(crate) fn begin(self: &Arc<Self>, planned: Planned) -> JoinHandle<()> {
        let faults = Arc::clone(self);
        std::thread::spawn(move || {
            match faults.perform(&planned) {
                Ok(true) => *lock(&faults.done).entry(planned.fault).or_insert(0) += 1,
                Ok(false) => return,
                Err(error) => {
                    let told = format!("{}: {error}", planned.fault.word());
                    faults.book.broken(Rule::Recovers, told);
                }
            }
            faults.recover(&planned);
        })
    }

    fn skip(&self, fault: Fault, why: &str) -> bool {
        lock(&self.skipped).insert(fault, why.to_owned());
        false
    }

    /// Whether it happened.
    fn perform(&self, planned: &Planned) -> io::Result<bool> {
        let mut chance = Chance::new(planned.number, 4);
        let time = Duration::from_millis(1000 + chance.below(3000) as u64);
        let whom = planned.whom.unwrap_or(0);
        let name = self.calls.cast[whom].name.clone();
        match planned.fault {
            Fault::Kill => return self.kill(whom, time),
            Fault::Hang => return Ok(self.hang(whom, time * 3)),
            Fault::Junk => self.say(whom, "junk"),
            Fault::Flood => self.say(whom, "flood"),
            Fault::Shout => self.say(whom, "shout"),
            Fault::BrokenLine => self.say(whom, "broken"),
            Fault::ShutMouth => self.say(whom, "shut"),
            Fault::Cut => self.say(whom, "cut"),
            Fault::Forget => self.say(whom, "forget"),
            Fault::Reconnect => drop(self.edits.run(&["reconnect", &name])?),
            Fault::Expire | Fault::Renewal => {
                let Some(tracker) = &self.world.tracker else {
                    return Ok(self.skip(planned.fault, "the login server is not installed"));
                };
                if planned.fault == Fault::Renewal {
                    tracker.fail(2);
                }
                tracker.expire();
            }
            Fault::Edits => self.edits.commands(planned.number)?,
            Fault::Editor => self.edits.editor(&name, planned.number)?,
            Fault::BrokenFile => self.edits.broken_file(time)?,
            Fault::FullDisk if !self.world.has_disk => {
                return Ok(self.skip(planned.fault, "a small disk could not be mounted here"));
            }
            Fault::FullDisk => self.edits.full_disk(time, planned.number)?,
            Fault::Vanish => self.crowd(&mut chance, Manner::Vanishes),
            Fault::Cancel => self.crowd(&mut chance, Manner::Cancels),
        }
        Ok(true)
    }

    /// The processes of a server; its guard is none of them.
    fn pids(&self, name: &str) -> Vec<u32> {
        let own = belongings(&self.world.mark).into_iter();
        let own = own.filter(|one| one.server == name && !one.is_guard).map(|one| one.pid);
        own.chain(self.world.site_pid(name)).collect()
    }

    fn kill(&self, whom: usize, time: Duration) -> io::Result<bool> {
        let part = &self.calls.cast[whom];
        if part.nature.is_process() {
            let pids = self.pids(&part.name);
            // It may have ended by itself since.
            let hit = pids.iter().filter(|pid| signal(**pid, Signal::KILL).is_ok()).count();
            return Ok(hit > 0);
        }
        self.world.kill_site(&part.name);
        std::thread::sleep(time);
        self.world.restart_site(&part.name)?;
        Ok(true)
    }

    fn hang(&self, whom: usize, time: Duration) -> bool {
        let pids = self.pids(&self.calls.cast[whom].name);
        let stopped: Vec<u32> = pids.into_iter().filter(|pid| signal(*pid, Signal::STOP).is_ok()).collect();
        std::thread::sleep(time);
        for pid in &stopped {
            // Somebody may have lost patience with it.
            drop(signal(*pid, Signal::CONT));
        }
        !stopped.is_empty()
    }

    /// Calls the tool that does it.
    fn say(&self, whom: usize, tool: &str) {
        let mut client = Client::new(self.calls.address, true);
        self.calls.call(&mut client, (whom, tool), Manner::Waits);
    }

    fn crowd(&self, chance: &mut Chance, manner: Manner) {
        std::thread::scope(|scope| {
            for n in 0..CROWD {
                let whom = chance.below(self.calls.cast.len());
                scope.spawn(move || {
                    let mut client = Client::new(self.calls.address, n.is_multiple_of(2));
                    self.calls.call(&mut client, (whom, "late"), manner);
                    client.leave();
                });
            }
        });
    }

    /// Calls whoever was hit until there is an answer.
    fn recover(&self, planned: &Planned) {
        let whom = match (planned.whom, planned.fault) {
            (Some(whom), _) => vec![whom],
            (None, Fault::BrokenFile) => {
                let mut chance = Chance::new(planned.number, 5);
                (0..3).map(|_| chance.below(self.calls.cast.len())).collect()
            }
            (None, _) => Vec::new(),
        };
        let start = Instant::now();
        for who in whom {
            let mut client = Client::new(self.calls.address, true);
            let mut last = self.calls.call(&mut client, (who, "look"), Manner::Waits);
            while last != End::Answered {
                if start.elapsed() > RECOVERY {
                    let name = &self.calls.cast[who].name;
                    let told = format!(
                        "{name} does not come back after {} at {:?}: {last:?}",
                        planned.fault.word(),
                        planned.at
                    );
                    self.book.broken(Rule::Recovers, told);
                    return;
                }
                std::thread::sleep(TRY);
                last = self.calls.call(&mut client, (who, "look"), Manner::Waits);
            }
            lock(&self.recoveries).push(start.elapsed());
        }
    }
}
