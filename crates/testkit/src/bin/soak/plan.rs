//! Which faults come when: a pure function of the seed, the time and the servers there are.

use std::collections::HashMap;
use std::time::Duration;

use crate::cast::{Nature, Part};
use crate::chance::Chance;

/// So often something goes wrong.
pub(crate) const PAUSE: Duration = Duration::from_secs(5);
/// A server that is lost again and again is given up, and rightly. So each one has this long between two faults.
const MERCY: Duration = Duration::from_secs(45);

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Fault {
    Kill,
    Hang,
    Junk,
    Flood,
    Shout,
    BrokenLine,
    ShutMouth,
    Cut,
    Forget,
    Reconnect,
    Expire,
    Renewal,
    Edits,
    Editor,
    BrokenFile,
    FullDisk,
    Vanish,
    Cancel,
}

/// All of them, with the word for it and what it does.
pub(crate) const FAULTS: [(Fault, &str, &str); 18] = [
    (Fault::Kill, "kill", "SIGKILL of a server; one over HTTP comes back seconds later"),
    (Fault::Hang, "hang", "SIGSTOP of a server for some seconds"),
    (Fault::Junk, "junk", "lines that are no messages"),
    (Fault::Flood, "flood", "20,000 notifications at once"),
    (Fault::Shout, "shout", "8 MB on the standard error"),
    (Fault::BrokenLine, "broken-line", "the end in the middle of a line"),
    (Fault::ShutMouth, "shut-mouth", "a standard output that is closed, by a process that lives on"),
    (Fault::Cut, "cut", "a connection reset in the middle of an answer"),
    (Fault::Forget, "forget", "all sessions forgotten: 404"),
    (Fault::Reconnect, "reconnect", "`switchboard reconnect` in the middle of calls"),
    (Fault::Expire, "expire", "the access token is no longer good"),
    (Fault::Renewal, "renewal", "the same, and the login server answers 503 for a while"),
    (Fault::Edits, "edits", "four commands at once that add, remove, switch on and off; then a reload"),
    (Fault::Editor, "editor", "an entry changed by an editor that renames; then a reload"),
    (
        Fault::BrokenFile,
        "broken-file",
        "half a configuration file for some seconds, with a reload; then the whole one",
    ),
    (Fault::FullDisk, "full-disk", "no room where the state is kept, with an edit meanwhile"),
    (Fault::Vanish, "vanish", "ten clients that go away in the middle of a call"),
    (Fault::Cancel, "cancel", "ten calls taken back"),
];

impl Fault {
    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        FAULTS.iter().find(|(fault, ..)| *fault == self).map_or("", |(_, word, _)| word)
    }

    /// Whether it can befall such a server; nothing for those that befall no server in particular.
    fn befalls(self, nature: Nature) -> Option<bool> {
        Some(match self {
            Self::Kill => nature.is_ours() || matches!(nature, Nature::RealPipe | Nature::Asking),
            Self::Hang => nature.is_ours() && nature != Nature::Guarded,
            Self::Junk | Self::Flood | Self::Shout | Self::BrokenLine | Self::ShutMouth => {
                nature == Nature::Pipe
            }
            Self::Cut => matches!(nature, Nature::Http | Nature::Sessions),
            Self::Forget => nature == Nature::Sessions,
            Self::Reconnect => matches!(nature, Nature::Pipe | Nature::Http | Nature::Sessions | Nature::Sse),
            Self::Expire | Self::Renewal => nature == Nature::Tracker,
            Self::Editor => nature == Nature::Pipe,
            Self::Edits | Self::BrokenFile | Self::FullDisk | Self::Vanish | Self::Cancel => return None,
        })
    }
}

/// One fault of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) at: Duration,
    pub(crate) fault: Fault,
    /// Whom it befalls, as a place in the cast.
    pub(crate) whom: Option<usize>,
    /// A number to draw details from.
    pub(crate) number: u64,
}

/// The faults of so much time.
pub(crate) fn plan(seed: u64, time: Duration, cast: &[Part]) -> Vec<Planned> {
    let mut chance = Chance::new(seed, 1);
    let mut last: HashMap<usize, Duration> = HashMap::new();
    let mut bag: Vec<Fault> = Vec::new();
    let mut planned = Vec::new();
    let mut at = PAUSE;
    while at < time {
        // Each kind once in a round, so that a short run has all of them too.
        if bag.is_empty() {
            bag = FAULTS.iter().map(|(fault, ..)| *fault).collect();
        }
        let fault = bag.swap_remove(chance.below(bag.len()));
        let is_due = |who: &usize| last.get(who).is_none_or(|before| at.saturating_sub(*before) >= MERCY);
        let can = |(who, part): (usize, &Part)| (fault.befalls(part.nature)? && is_due(&who)).then_some(who);
        let whom: Vec<usize> = cast.iter().enumerate().filter_map(can).collect();
        let is_of_one = fault.befalls(Nature::Pipe).is_some();
        let chosen = chance.pick(&whom).copied();
        let number = chance.below(1 << 30) as u64;
        if is_of_one && chosen.is_none() {
            continue;
        }
        last.extend(chosen.map(|who| (who, at)));
        planned.push(Planned { at, fault, whom: chosen, number });
        at += PAUSE;
    }
    planned
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cast::cast;

    #[test]
    fn the_same_seed_gives_the_same_plan_and_every_kind() {
        let cast = cast(50, true);
        let hour = Duration::from_hours(1);
        let first = plan(7, hour, &cast);
        assert_eq!(first, plan(7, hour, &cast));
        assert_ne!(first, plan(8, hour, &cast));
        assert_eq!(first.len(), 719);
        for (fault, word, _) in FAULTS {
            assert!(first.iter().any(|planned| planned.fault == fault), "no {word}");
        }
        for (n, one) in first.iter().enumerate().filter(|(_, one)| one.whom.is_some()) {
            let again = first[n + 1..].iter().find(|other| other.whom == one.whom);
            assert!(again.is_none_or(|again| again.at >= one.at + MERCY), "{one:?}");
        }
    }
}
