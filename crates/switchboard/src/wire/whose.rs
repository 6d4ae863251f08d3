//! Whose question it is, where the stream it came on does not say. Pure.
//!
//! A guess would show one client's question to another, so it must be clear: a single client, or a single one whose
//! request is not already waiting for an answer.

/// Which of the open requests a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// None is made on somebody's behalf.
    Nobody,
    /// The one at this place.
    At(usize),
    /// It could be about requests of several.
    Unclear,
}

/// An open request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Open {
    /// Whose it is.
    pub(super) owner: u64,
    /// Its owner was asked something and has not answered yet.
    pub(super) is_asked: bool,
}

/// Chooses among the open requests, the oldest first.
pub(super) fn choose(open: &[Open]) -> Choice {
    let single = |is_candidate: &dyn Fn(&Open) -> bool| {
        let last = open.iter().rposition(is_candidate)?;
        let is_same = |other: &&Open| other.owner == open[last].owner;
        open.iter().filter(|other| is_candidate(other)).all(|other| is_same(&other)).then_some(last)
    };
    if open.is_empty() {
        return Choice::Nobody;
    }
    // Who waits for an answer has asked its question; whoever does not may be asking now.
    single(&|_| true).or_else(|| single(&|open| !open.is_asked)).map_or(Choice::Unclear, Choice::At)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn open(requests: &[(u64, bool)]) -> Vec<Open> {
        requests.iter().map(|(owner, is_asked)| Open { owner: *owner, is_asked: *is_asked }).collect()
    }

    #[test]
    fn one_client_is_asked_and_of_several_the_one_that_can_have_caused_it() {
        let (calm, asked) = (false, true);
        for (requests, expected) in [
            (vec![], Choice::Nobody),
            (vec![(1, calm)], Choice::At(0)),
            (vec![(1, asked)], Choice::At(0)),
            (vec![(1, calm), (1, asked)], Choice::At(1)),
            (vec![(1, calm), (2, calm)], Choice::Unclear),
            (vec![(1, asked), (2, calm)], Choice::At(1)),
            (vec![(2, calm), (1, asked)], Choice::At(0)),
            (vec![(1, asked), (2, asked)], Choice::Unclear),
            (vec![(1, asked), (2, calm), (2, calm), (3, calm)], Choice::Unclear),
        ] {
            assert_eq!(choose(&open(&requests)), expected, "{requests:?}");
        }
    }

    proptest! {
        /// Nobody is chosen while another one could be meant as well.
        #[test]
        fn it_is_never_a_guess(requests in prop::collection::vec((0_u64..4, any::<bool>()), 0..8)) {
            let open = open(&requests);
            if let Choice::At(at) = choose(&open) {
                let is_rival = |other: &&Open| other.owner != open[at].owner;
                prop_assert!(open.iter().filter(is_rival).all(|rival| rival.is_asked));
            }
        }
    }
}
