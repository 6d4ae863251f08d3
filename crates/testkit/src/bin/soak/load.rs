//! Calls, at a steady rate, and what became of each.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::book::{Book, Rule, lock};
use crate::cast::{Errand, Part};
use crate::chance::Chance;
use crate::client::{Client, Reply};

/// Clients that call at the same time, at most.
const CLIENTS: usize = 32;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum End {
    Answered,
    /// It failed, and may have run.
    Unknown,
    /// It failed, and nothing was sent.
    NotSent,
    /// It was refused, by the server or because there is no such tool.
    Refused,
    /// Nobody waits for it any more.
    GivenUp,
    /// It has no end, or one that is none: an invariant is broken.
    Lost,
}

/// What its client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Waits,
    Vanishes,
    Cancels,
}

/// A call that is over.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) number: u64,
    pub(crate) who: usize,
    pub(crate) is_safe: bool,
    pub(crate) end: End,
    pub(crate) time: Duration,
}

/// What all calls share.
pub(crate) struct Calls {
    pub(crate) address: SocketAddr,
    pub(crate) cast: Vec<Part>,
    pub(crate) book: Arc<Book>,
    pub(crate) seed: u64,
    next: AtomicU64,
    pub(crate) open: AtomicUsize,
    records: Mutex<Vec<Record>>,
}

/// The word a call carries.
pub(crate) fn word(number: u64) -> String {
    format!("w{number}.")
}

impl Calls {
    pub(crate) fn new(address: SocketAddr, cast: Vec<Part>, book: Arc<Book>, seed: u64) -> Self {
        let (next, open) = (AtomicU64::new(1), AtomicUsize::new(0));
        Self { address, cast, book, seed, next, open, records: Mutex::default() }
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        lock(&self.records).clone()
    }

    pub(crate) fn n_over(&self) -> usize {
        lock(&self.records).len()
    }

    pub(crate) fn by_end(&self) -> BTreeMap<End, usize> {
        let mut ends = BTreeMap::new();
        for record in lock(&self.records).iter() {
            *ends.entry(record.end).or_insert(0) += 1;
        }
        ends
    }

    /// A number nobody had before.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Makes one call and notes how it ended.
    pub(crate) fn call(&self, client: &mut Client, (who, tool): (usize, &str), manner: Manner) -> End {
        let number = self.number();
        self.numbered(client, (who, tool), manner, number)
    }

    fn numbered(&self, client: &mut Client, (who, tool): (usize, &str), manner: Manner, number: u64) -> End {
        let part = &self.cast[who];
        let errand = part.errand(tool, &word(number));
        self.open.fetch_add(1, Ordering::Relaxed);
        let start = Instant::now();
        let end = self.perform(client, who, &errand, (number, manner));
        let time = start.elapsed();
        self.open.fetch_sub(1, Ordering::Relaxed);
        if end != End::GivenUp && time > part.nature.bound() {
            self.book.broken(Rule::Ends, format!("{} took {time:?}", tell(number, &errand)));
        }
        lock(&self.records).push(Record { number, who, is_safe: errand.is_safe, end, time });
        end
    }

    fn perform(
        &self,
        client: &mut Client,
        who: usize,
        errand: &Errand,
        (number, manner): (u64, Manner),
    ) -> End {
        let bound = self.cast[who].nature.bound();
        let lost = |client: &mut Client, error: &std::io::Error| {
            client.hang_up();
            self.book.broken(Rule::Ends, format!("{}: {error}", tell(number, errand)));
            End::Lost
        };
        if let Err(error) = client.send(number, &errand.tool, &errand.arguments, bound) {
            return lost(client, &error);
        }
        if manner == Manner::Vanishes {
            client.hang_up();
            return End::GivenUp;
        }
        if manner == Manner::Cancels
            && let Err(error) = client.cancel(number)
        {
            return lost(client, &error);
        }
        match client.receive() {
            Ok(reply) => self.judge(&reply, errand, (number, manner)),
            // Who hung up hears nothing.
            Err(_) if manner == Manner::Cancels => End::GivenUp,
            Err(error) => lost(client, &error),
        }
    }

    fn judge(&self, reply: &Reply, errand: &Errand, (number, manner): (u64, Manner)) -> End {
        let answers = reply.answers();
        let answer = match answers.as_slice() {
            [answer] => answer,
            [] if manner == Manner::Cancels => return End::GivenUp,
            _ => {
                let told = tell(number, errand);
                let body = excerpt(&reply.body);
                let evidence = format!("{told}: {} answers, {} {body}", answers.len(), reply.status);
                self.book.broken(Rule::Ends, evidence);
                return End::Lost;
            }
        };
        let is_own = answer["id"] == number;
        if let Some(error) = answer.get("error") {
            if !is_own && !answer["id"].is_null() {
                self.book.broken(Rule::Belongs, format!("{} got {answer}", tell(number, errand)));
            }
            return match error["data"]["outcomeUnknown"] {
                Value::Bool(true) => End::Unknown,
                Value::Bool(false) => End::NotSent,
                _ => {
                    // Whatever happens, these tools are there, and their servers say yes.
                    let why = excerpt(&error.to_string());
                    self.book.broken(Rule::Stays, format!("{}: {why}", tell(number, errand)));
                    End::Refused
                }
            };
        }
        let text = answer["result"].to_string();
        if !is_own || !text.contains(&errand.wanted) {
            let evidence = format!("{} got {}", tell(number, errand), excerpt(&answer.to_string()));
            self.book.broken(Rule::Belongs, evidence);
            return End::Lost;
        }
        End::Answered
    }
}

fn tell(number: u64, errand: &Errand) -> String {
    format!("call {number} of {}", errand.tool)
}

/// The beginning of a text.
pub(crate) fn excerpt(text: &str) -> String {
    text.chars().take(300).collect()
}

/// Clients that call until they are told to stop.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// So many calls a second.
    pub(crate) fn start(calls: &Arc<Calls>, rate: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (give, take) = sync_channel::<u64>(CLIENTS);
        let take = Arc::new(Mutex::new(take));
        let mut threads: Vec<_> = (0..CLIENTS)
            .map(|n| {
                let (calls, take) = (Arc::clone(calls), Arc::clone(&take));
                std::thread::spawn(move || visit(&calls, &take, n))
            })
            .collect();
        let (calls, stopped) = (Arc::clone(calls), Arc::clone(&stop));
        threads.push(std::thread::spawn(move || pace(&calls, &give, rate, &stopped)));
        Self { stop, threads }
    }

    /// Lets those finish that are under way.
    pub(crate) fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            drop(thread.join());
        }
    }
}

fn pace(calls: &Calls, give: &SyncSender<u64>, rate: usize, stop: &AtomicBool) {
    let pause = Duration::from_secs(1) / u32::try_from(rate.max(1)).unwrap_or(u32::MAX);
    let mut next = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        if give.send(calls.number()).is_err() {
            return;
        }
        next = (next + pause).max(Instant::now());
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

/// One client; every other one has a handshake.
fn visit(calls: &Calls, take: &Mutex<Receiver<u64>>, n: usize) {
    let mut client = Client::new(calls.address, n.is_multiple_of(2));
    loop {
        let Ok(number) = lock(take).recv() else { break };
        let mut chance = Chance::new(calls.seed, number << 8);
        let who = chance.below(calls.cast.len());
        let tool = *chance.pick(&["write", "write", "write", "look", "look", "late"]).unwrap_or(&"write");
        let manner = match chance.below(60) {
            0 => Manner::Vanishes,
            1 => Manner::Cancels,
            _ => Manner::Waits,
        };
        calls.numbered(&mut client, (who, tool), manner, number);
        if chance.below(100) == 0 {
            client.leave();
        }
    }
    client.leave();
}
