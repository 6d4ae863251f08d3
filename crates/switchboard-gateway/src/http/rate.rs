//! How often a client may ask: a bucket each, that fills with time and is emptied by requests. Time comes in.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// So many clients have a bucket of their own. The others share one.
const MOST: usize = 8192;

/// How often one client may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Requests a second, for as long as it likes.
    pub per_second: u32,
    /// Requests it may save up for a moment when it needs many.
    pub burst: u32,
}

impl Rate {
    /// So many a second, with what ten seconds bring saved up.
    pub const fn per_second(per_second: u32) -> Self {
        Self { per_second, burst: per_second.saturating_mul(10) }
    }
}

impl Default for Rate {
    /// What no honest agent comes near.
    fn default() -> Self {
        Self::per_second(5000)
    }
}

/// Whose bucket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    /// A session that there is.
    Session(String),
    /// Whoever is at an address, for requests that stand for themselves.
    Address(IpAddr),
    /// Whoever is at the socket.
    #[cfg(unix)]
    Socket,
    /// All for whom there is no room.
    Others,
}

impl Who {
    /// Somebody who has one address of the newer kind has 2^64 of them.
    pub(crate) fn at(address: IpAddr) -> Self {
        let IpAddr::V6(v6) = address.to_canonical() else { return Self::Address(address.to_canonical()) };
        let [a, b, c, d, ..] = v6.segments();
        Self::Address(IpAddr::from([a, b, c, d, 0, 0, 0, 0]))
    }
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// Requests it is good for, at that time.
    left: f64,
    at: Instant,
}

impl Bucket {
    fn filled(self, rate: Rate, now: Instant) -> Self {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        let left = passed.mul_add(f64::from(rate.per_second), self.left).min(f64::from(rate.burst));
        Self { left, at: now }
    }

    /// Takes so many out, or tells how long to wait until they are in. Who asks for more than fits gets it from a full one.
    fn take(self, rate: Rate, n_wanted: u32) -> (Self, Result<(), Duration>) {
        let wanted = f64::from(n_wanted);
        let needed = wanted.min(f64::from(rate.burst));
        if self.left >= needed {
            return (Self { left: self.left - wanted, at: self.at }, Ok(()));
        }
        let wait = (needed - self.left) / f64::from(rate.per_second.max(1));
        (self, Err(Duration::from_secs_f64(wait)))
    }
}

/// The buckets of all clients.
#[derive(Debug)]
pub(crate) struct Rates {
    rate: Option<Rate>,
    buckets: Mutex<HashMap<Who, Bucket>>,
}

impl Rates {
    pub(crate) fn new(rate: Option<Rate>) -> Self {
        Self { rate, buckets: Mutex::default() }
    }

    /// Whether somebody may ask so often now; else how long to wait.
    pub(crate) fn take(&self, who: Who, n_wanted: u32, now: Instant) -> Result<(), Duration> {
        let Some(rate) = self.rate else { return Ok(()) };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let full = Bucket { left: f64::from(rate.burst), at: now };
        if buckets.len() >= MOST && !buckets.contains_key(&who) {
            // A bucket that is full again is as good as none.
            buckets.retain(|_, bucket| bucket.filled(rate, now).left < f64::from(rate.burst));
        }
        let is_known = buckets.contains_key(&who) || buckets.len() < MOST;
        let bucket = buckets.entry(if is_known { who } else { Who::Others }).or_insert(full);
        let (after, taken) = bucket.filled(rate, now).take(rate, n_wanted);
        *bucket = after;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Who {
        Who::at(text.parse().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_has_its_burst_and_then_what_time_brings() {
        let rates = Rates::new(Some(Rate { per_second: 2, burst: 4 }));
        let start = Instant::now();
        for _ in 0..4 {
            assert_eq!(rates.take(at("10.0.0.1"), 1, start), Ok(()));
        }
        assert_eq!(rates.take(at("10.0.0.1"), 1, start), Err(Duration::from_millis(500)));
        assert_eq!(rates.take(at("10.0.0.2"), 1, start), Ok(()), "another one has its own");
        #[cfg(unix)]
        assert_eq!(rates.take(Who::Socket, 1, start), Ok(()));
        let later = start + Duration::from_millis(500);
        assert_eq!(rates.take(at("10.0.0.1"), 1, later), Ok(()));
        assert!(rates.take(at("10.0.0.1"), 1, later).is_err());
        let much_later = start + Duration::from_hours(1);
        assert_eq!(rates.take(at("10.0.0.1"), 4, much_later), Ok(()), "no more is saved up than fits");
        assert!(rates.take(at("10.0.0.1"), 1, much_later).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn many_at_once_cost_as_many_and_more_than_fits_comes_from_a_full_one() {
        let rates = Rates::new(Some(Rate { per_second: 1, burst: 3 }));
        let start = Instant::now();
        assert_eq!(rates.take(at("10.0.0.1"), 9, start), Ok(()));
        assert!(
            rates.take(at("10.0.0.1"), 1, start + Duration::from_secs(6)).is_err(),
            "it is paid for later"
        );
        assert_eq!(rates.take(at("10.0.0.1"), 1, start + Duration::from_secs(7)), Ok(()));
        assert_eq!(Rates::new(None).take(at("10.0.0.1"), u32::MAX, start), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn strangers_without_end_share_a_bucket_and_take_no_more_memory() {
        let rates = Rates::new(Some(Rate { per_second: 1, burst: 2 }));
        let start = Instant::now();
        let address = |n: u32| Who::at(std::net::Ipv4Addr::from(n).into());
        for n in 0..30_000 {
            let _taken = rates.take(address(n), 1, start);
        }
        assert_eq!(rates.buckets.lock().unwrap().len(), MOST + 1);
        assert!(rates.take(address(40_000), 1, start).is_err());
        let later = start + Duration::from_mins(1);
        assert_eq!(rates.take(address(40_001), 1, later), Ok(()));
        assert_eq!(rates.buckets.lock().unwrap().len(), 1);
    }

    #[test]
    fn neighbours_of_one_network_are_one() {
        assert_eq!(at("2001:db8::1"), at("2001:db8::ffff:1"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
        assert_eq!(at("::ffff:10.0.0.1"), at("10.0.0.1"));
    }
}
