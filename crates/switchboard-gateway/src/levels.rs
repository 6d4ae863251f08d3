//! Log levels of shared servers with a handshake: such a server has one level, and clients and single requests want
//! different ones. It is told the most talkative of those, and told back when nobody wants that any more. Who hears a line
//! is decided where it is heard.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard::notice::{LEVELS, rank};

/// A level that only a request wanted is kept for so long: the next one may want it as well.
pub(crate) const LINGER: Duration = Duration::from_secs(2);
/// What a server logs when nobody wants anything. It does not matter, except that it is little.
const QUIET: &str = "warning";

/// What servers were told, and what requests under way want.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    /// Places in [`LEVELS`], by server.
    requests: Mutex<BTreeMap<String, Vec<usize>>>,
    /// What each server was told last. Held while it is told.
    told: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<Option<&'static str>>>>>,
}

impl Levels {
    fn requests(&self) -> MutexGuard<'_, BTreeMap<String, Vec<usize>>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request at this server wants lines from this level on.
    pub(crate) fn begin(&self, server: &str, level: &str) {
        self.requests().entry(server.to_owned()).or_default().push(rank(level));
    }

    /// It is over.
    pub(crate) fn end(&self, server: &str, level: &str) {
        let mut requests = self.requests();
        let Some(ranks) = requests.get_mut(server) else { return };
        if let Some(at) = ranks.iter().position(|other| *other == rank(level)) {
            ranks.swap_remove(at);
        }
        if ranks.is_empty() {
            requests.remove(server);
        }
    }

    /// What a server should be told, given what clients want and what it was told before; nothing if it is as it should be.
    pub(crate) fn due(
        &self,
        server: &str,
        clients: Option<&str>,
        told: Option<&'static str>,
    ) -> Option<&'static str> {
        let of_requests = self.requests().get(server).and_then(|ranks| ranks.iter().min().copied());
        let least = of_requests.into_iter().chain(clients.map(rank)).min();
        let wanted = least.map_or_else(|| told.map(|_| QUIET), |least| LEVELS.get(least).copied());
        wanted.filter(|wanted| Some(*wanted) != told)
    }

    /// What a server was told, to be held while it is told anew.
    pub(crate) fn told(&self, server: &str) -> Arc<tokio::sync::Mutex<Option<&'static str>>> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(told.entry(server.to_owned()).or_default())
    }

    /// A new connection was told nothing.
    pub(crate) fn forget(&self, server: &str) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).remove(server);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_talkative_wish_counts_and_goes_with_its_request() {
        let levels = Levels::default();
        assert_eq!(levels.due("s", None, None), None, "nobody wants anything");
        assert_eq!(levels.due("s", Some("error"), None), Some("error"));
        assert_eq!(levels.due("s", Some("error"), Some("error")), None);
        levels.begin("s", "debug");
        levels.begin("s", "info");
        assert_eq!(levels.due("s", Some("error"), Some("error")), Some("debug"));
        assert_eq!(levels.due("other", Some("error"), Some("error")), None);
        levels.end("s", "debug");
        assert_eq!(levels.due("s", None, Some("debug")), Some("info"));
        levels.end("s", "info");
        assert_eq!(levels.due("s", Some("error"), Some("info")), Some("error"));
        assert_eq!(levels.due("s", None, Some("info")), Some(QUIET));
        assert_eq!(levels.due("s", None, None), None);
    }
}
