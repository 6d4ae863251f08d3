//! How often a server may ask the person something of its own. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

/// So many questions of one server within this time.
const MOST: usize = 10;
const WINDOW: Duration = Duration::from_mins(1);

/// What each server asked of late.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Patience {
    servers: BTreeMap<String, Recent>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Recent {
    /// When it was let through.
    asked: Vec<Duration>,
    /// When the person was last told that it was not.
    told: Option<Duration>,
}

impl Patience {
    /// Whether a question may be shown; then it counts.
    pub(super) fn lets_through(&mut self, now: Duration, server: &str) -> bool {
        let recent = self.servers.entry(server.to_owned()).or_default();
        recent.asked.retain(|at| now.saturating_sub(*at) < WINDOW);
        let is_fine = recent.asked.len() < MOST;
        recent.asked.extend(is_fine.then_some(now));
        is_fine
    }

    /// Whether a refusal is worth a line: the first in a while is.
    pub(super) fn is_news(&mut self, now: Duration, server: &str) -> bool {
        let recent = self.servers.entry(server.to_owned()).or_default();
        let is_news = recent.told.is_none_or(|at| now.saturating_sub(at) >= WINDOW);
        if is_news {
            recent.told = Some(now);
        }
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_questions_a_minute_and_one_line_about_the_rest() {
        let mut patience = Patience::default();
        let second = Duration::from_secs;
        let n_asked = (0..60).filter(|n| patience.lets_through(second(*n), "s")).count();
        assert_eq!(n_asked, MOST);
        assert!(patience.lets_through(second(60), "s") && patience.lets_through(second(3), "other"));
        assert_eq!((0..60).filter(|n| patience.is_news(second(*n), "s")).count(), 1);
        assert!(patience.is_news(second(60), "s"));
    }
}
