//! How long clients may keep what they get, and whether others may have it: made of what the servers behind said. Pure.

use std::time::{Duration, Instant};

use serde_json::json;
use switchboard::connect::{Hints, Kept};
use switchboard::json::Json;

use crate::view::List;

/// What is taken for a server that said nothing. Nothing is not "not at all": whoever listens is told of changes anyway.
pub(crate) const USUAL: Duration = Duration::from_secs(30);

/// For whom something may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    Everybody,
    WhoAsked,
}

/// How long and for whom something may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hint {
    pub(crate) fresh_for: Duration,
    pub(crate) audience: Audience,
}

impl Hint {
    /// For what is made here, and may be another thing for another client.
    pub(crate) const OWN: Self = Self { fresh_for: USUAL, audience: Audience::WhoAsked };

    /// As it stands in a result.
    pub(crate) fn fields(self) -> [(&'static str, Json); 2] {
        let scope = match self.audience {
            Audience::Everybody => "public",
            Audience::WhoAsked => "private",
        };
        let milliseconds = u64::try_from(self.fresh_for.as_millis()).unwrap_or(u64::MAX);
        [("ttlMs", json!(milliseconds).into()), ("cacheScope", json!(scope).into())]
    }
}

/// What each server said of one list.
pub(crate) const fn of(hints: &Hints, list: List) -> Kept {
    match list {
        List::Tools => hints.tools,
        List::Resources => hints.resources,
        List::Templates => hints.templates,
        List::Prompts => hints.prompts,
    }
}

/// The hint of a list made of these parts: the shortest time that is left of any, and for everybody only if each of them
/// is and we show it to everybody alike.
pub(crate) fn together(parts: impl IntoIterator<Item = Kept>, ours: Audience, now: Instant) -> Hint {
    let mut hint: Option<Hint> = None;
    for part in parts {
        let fresh_for = part.left(now).unwrap_or(USUAL);
        let audience = if part.hint.is_private { Audience::WhoAsked } else { ours };
        hint = Some(match hint {
            None => Hint { fresh_for, audience },
            Some(other) => Hint {
                fresh_for: fresh_for.min(other.fresh_for),
                audience: if other.audience == Audience::WhoAsked { other.audience } else { audience },
            },
        });
    }
    hint.unwrap_or(Hint::OWN)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use switchboard::offer::CacheHint;

    use super::*;

    fn kept((fresh_ms, is_private, age_ms): (Option<u64>, bool, Option<u64>), now: Instant) -> Kept {
        let hint = CacheHint { fresh_for: fresh_ms.map(Duration::from_millis), is_private };
        Kept { hint, since: age_ms.map(|age| now.checked_sub(Duration::from_millis(age)).unwrap()) }
    }

    #[test]
    fn nothing_said_is_not_nothing() {
        let now = Instant::now() + Duration::from_hours(1);
        let hint = |parts: &[(Option<u64>, bool, Option<u64>)]| {
            let hint = together(parts.iter().map(|part| kept(*part, now)), Audience::Everybody, now);
            (hint.fresh_for.as_millis(), hint.audience)
        };
        assert_eq!(hint(&[]), (30_000, Audience::WhoAsked));
        assert_eq!(hint(&[(None, true, None)]), (30_000, Audience::WhoAsked));
        assert_eq!(hint(&[(Some(0), false, None)]), (0, Audience::Everybody));
        assert_eq!(hint(&[(Some(60_000), false, None)]), (60_000, Audience::Everybody));
        assert_eq!(
            hint(&[(Some(60_000), false, Some(20_000))]),
            (40_000, Audience::Everybody),
            "it grew old"
        );
        assert_eq!(hint(&[(Some(60_000), false, Some(90_000))]), (0, Audience::Everybody));
        assert_eq!(hint(&[(Some(60_000), false, None), (None, true, None)]), (30_000, Audience::WhoAsked));
    }

    proptest! {
        #[test]
        fn no_part_is_kept_longer_or_for_more_than_its_server_said(
            parts in prop::collection::vec(
                (prop::option::of(0_u64..100_000), any::<bool>(), prop::option::of(0_u64..50_000)), 1..8),
            is_ours_for_all: bool,
        ) {
            let now = Instant::now() + Duration::from_hours(1);
            let ours = if is_ours_for_all { Audience::Everybody } else { Audience::WhoAsked };
            let all: Vec<Kept> = parts.iter().map(|part| kept(*part, now)).collect();
            let hint = together(all.iter().copied(), ours, now);
            let turned = together(all.iter().rev().copied(), ours, now);
            prop_assert_eq!(hint, turned, "the order makes no difference");
            for part in &all {
                prop_assert!(hint.fresh_for <= part.left(now).unwrap_or(USUAL));
            }
            prop_assert!(all.iter().any(|part| part.left(now).unwrap_or(USUAL) == hint.fresh_for));
            let is_for_all = is_ours_for_all && all.iter().all(|part| !part.hint.is_private);
            prop_assert_eq!(hint.audience == Audience::Everybody, is_for_all);
        }
    }
}
