//! Many calls, and how long they took.

use std::time::{Duration, Instant};

use crate::clock::cpu_time;

/// Whoever can be asked.
pub(crate) trait Client: Clone + Send + Sync + 'static {
    /// Calls the tool that says a word.
    fn call(&self) -> impl Future<Output = ()> + Send;
    /// Ends the connection.
    fn stop(self) -> impl Future<Output = ()> + Send;
}

/// How long some calls took.
#[derive(Debug)]
pub(crate) struct Load {
    /// Each, shortest first.
    pub(crate) latencies: Vec<Duration>,
    /// All of them.
    pub(crate) elapsed: Duration,
    /// What this process computed meanwhile.
    pub(crate) cpu: Duration,
}

/// Makes calls, so many at the same time.
pub(crate) async fn load(client: &impl Client, calls: usize, in_flight: usize) -> Load {
    let (cpu, started) = (cpu_time(), Instant::now());
    let workers: Vec<_> = (0..in_flight)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                let mut latencies = Vec::with_capacity(calls / in_flight);
                for _ in 0..calls / in_flight {
                    let started = Instant::now();
                    client.call().await;
                    latencies.push(started.elapsed());
                }
                latencies
            })
        })
        .collect();
    let mut latencies = Vec::with_capacity(calls);
    for worker in workers {
        latencies.extend(worker.await.unwrap());
    }
    Load::new(latencies, started.elapsed(), cpu_time().saturating_sub(cpu))
}

impl Load {
    pub(crate) fn new(mut latencies: Vec<Duration>, elapsed: Duration, cpu: Duration) -> Self {
        latencies.sort();
        Self { latencies, elapsed, cpu }
    }
}

/// Where client and server run. Waking the other core costs more than any client does, and whether it happens is chance.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    OneCore,
    Anywhere,
}

#[cfg(target_os = "linux")]
impl Place {
    /// Runs it there, with all threads and processes it starts.
    pub(crate) fn with<T>(self, work: impl FnOnce() -> T) -> T {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let before = sched_getaffinity(None).unwrap();
        if let Self::OneCore = self {
            let mut one = CpuSet::new();
            one.set((0..CpuSet::MAX_CPU).find(|cpu| before.is_set(*cpu)).unwrap_or(0));
            sched_setaffinity(None, &one).unwrap();
        }
        let done = work();
        sched_setaffinity(None, &before).unwrap();
        done
    }
}

#[cfg(not(target_os = "linux"))]
impl Place {
    pub(crate) fn with<T>(self, work: impl FnOnce() -> T) -> T {
        work()
    }
}
