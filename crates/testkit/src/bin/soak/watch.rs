//! Looks at the gateway all the time: what it takes, what it leaves behind, whether it answers.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::book::{Book, Rule, lock};
use crate::cast::Nature;
use crate::client::Client;
use crate::process::{Usage, belongings, usage, zombies};
use crate::world::World;

/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// Between two questions about its health.
const ASK: Duration = Duration::from_millis(500);
/// So long an answer about its health may take.
const HEALTH: Duration = Duration::from_secs(5);
/// A process that ended is asked about at once; on a busy machine that takes a while.
const ZOMBIE: Duration = Duration::from_secs(5);
/// A server that is replaced may be there twice, each with its guard, as long as the old one takes to stop.
const STOPPING: Duration = Duration::from_secs(20);
/// One thread does the work; files and names are looked up on others, which go away.
const MOST_THREADS: usize = 40;

/// One look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) at: Duration,
    pub(crate) usage: Usage,
}

/// What was seen so far.
pub(crate) struct Watch {
    pid: u32,
    world: Arc<World>,
    book: Arc<Book>,
    start: Instant,
    stop: AtomicBool,
    samples: Mutex<Vec<Sample>>,
    healths: Mutex<Vec<Duration>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Watch {
    pub(crate) fn new(pid: u32, world: Arc<World>, book: Arc<Book>) -> Self {
        let (samples, healths, threads) = Default::default();
        let (start, stop) = (Instant::now(), AtomicBool::new(false));
        Self { pid, world, book, start, stop, samples, healths, threads }
    }

    /// Begins to look.
    pub(crate) fn begin(self: &Arc<Self>, address: std::net::SocketAddr) {
        let (looks, asks) = (Arc::clone(self), Arc::clone(self));
        lock(&self.threads).push(std::thread::spawn(move || looks.look()));
        lock(&self.threads).push(std::thread::spawn(move || asks.ask(address)));
    }

    /// Ends it, whether it looks or not.
    pub(crate) fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            drop(thread.join());
        }
    }

    pub(crate) fn samples(&self) -> Vec<Sample> {
        lock(&self.samples).clone()
    }

    pub(crate) fn last(&self) -> Usage {
        lock(&self.samples).last().map(|sample| sample.usage).unwrap_or_default()
    }

    /// How many answers there were, and the slowest.
    pub(crate) fn healths(&self) -> (usize, Duration) {
        let healths = lock(&self.healths);
        (healths.len(), healths.iter().max().copied().unwrap_or_default())
    }

    fn look(&self) {
        let mut dead: HashMap<u32, Instant> = HashMap::new();
        let mut many: BTreeMap<String, Instant> = BTreeMap::new();
        while !self.stop.load(Ordering::Relaxed) {
            let Some(usage) = usage(self.pid) else {
                self.book.broken(Rule::Health, "the gateway is gone");
                return;
            };
            lock(&self.samples).push(Sample { at: self.start.elapsed(), usage });
            if usage.threads > MOST_THREADS {
                self.book.broken(Rule::Threads, format!("{} threads", usage.threads));
            }
            let now = zombies(self.pid);
            dead.retain(|pid, _| now.contains(pid));
            for pid in now {
                let since = dead.entry(pid).or_insert_with(Instant::now);
                if since.elapsed() > ZOMBIE {
                    self.book.broken(Rule::Zombies, format!("process {pid} ended {:?} ago", since.elapsed()));
                }
            }
            self.count(&mut many);
            std::thread::sleep(LOOK);
        }
    }

    /// No server may have more processes than one that stops and one that starts.
    fn count(&self, many: &mut BTreeMap<String, Instant>) {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for one in belongings(&self.world.mark) {
            *counts.entry(one.server).or_insert(0) += 1;
        }
        let nature = |name: &str| {
            let part = self.world.cast.iter().find(|part| part.name == name);
            part.map_or(Nature::Pipe, |part| part.nature)
        };
        let usual = |name: &str| if nature(name) == Nature::Asking { usize::MAX } else { 2 };
        many.retain(|name, _| counts.get(name).is_some_and(|count| *count > usual(name)));
        for (name, count) in counts {
            if count > nature(&name).most_processes() {
                self.book.broken(Rule::Processes, format!("{name} has {count} processes"));
            }
            if count <= usual(&name) {
                continue;
            }
            let since = many.entry(name.clone()).or_insert_with(Instant::now);
            if since.elapsed() > STOPPING {
                let told = format!("{name} has {count} processes, more than 2 for {:?}", since.elapsed());
                self.book.broken(Rule::Processes, told);
            }
        }
    }

    fn ask(&self, address: std::net::SocketAddr) {
        let mut client = Client::new(address, true);
        while !self.stop.load(Ordering::Relaxed) {
            let start = Instant::now();
            match client.get("/health", HEALTH) {
                Ok(reply) if reply.status == 200 && reply.body.contains("\"ok\"") => {
                    lock(&self.healths).push(start.elapsed());
                }
                Ok(reply) => self.book.broken(Rule::Health, format!("{} {}", reply.status, reply.body)),
                Err(error) => {
                    let told = format!("{error}, {:?} after the start", self.start.elapsed());
                    self.book.broken(Rule::Health, told);
                    client.hang_up();
                }
            }
            std::thread::sleep(ASK);
        }
    }
}

/// Waits until open files do not change any more, or it is enough. Gives what there is then.
pub(crate) fn settle(pid: u32, is_enough: impl Fn(Usage) -> bool, patience: Duration) -> Usage {
    let calm = Duration::from_secs(5);
    let start = Instant::now();
    let mut last = (usage(pid).unwrap_or_default(), Instant::now());
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let now = usage(pid).unwrap_or_default();
        if now.fds != last.0.fds || now.threads != last.0.threads {
            last = (now, Instant::now());
        }
        let is_calm = last.1.elapsed() > calm && is_enough(now);
        if is_calm || start.elapsed() > patience {
            return now;
        }
    }
}

/// How fast memory grows, in kilobytes a second, by least squares.
#[expect(clippy::cast_precision_loss, reason = "kilobytes of a process")]
pub(crate) fn slope(samples: &[Sample]) -> f64 {
    let n = samples.len() as f64;
    if samples.len() < 2 {
        return 0.0;
    }
    let time = |sample: &Sample| sample.at.as_secs_f64();
    let size = |sample: &Sample| sample.usage.resident as f64;
    let (mean_time, mean_size) =
        (samples.iter().map(time).sum::<f64>() / n, samples.iter().map(size).sum::<f64>() / n);
    let with = |of: &dyn Fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>();
    let above = with(&|sample| (time(sample) - mean_time) * (size(sample) - mean_size));
    let below = with(&|sample| (time(sample) - mean_time).powi(2));
    if below > 0.0 { above / below } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_seen_and_noise_is_not() {
        let sample = |second: u64, resident: u64| {
            let usage = Usage { resident, ..Usage::default() };
            Sample { at: Duration::from_secs(second), usage }
        };
        let grows: Vec<_> = (0..100).map(|n| sample(n, 1000 + 3 * n)).collect();
        assert!((slope(&grows) - 3.0).abs() < 1e-9);
        let noise: Vec<_> = (0..100).map(|n| sample(n, 1000 + n % 2)).collect();
        assert!(slope(&noise).abs() < 0.01);
    }
}
