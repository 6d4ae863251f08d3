//! Which connection a request goes over: the one all share, or one of its client's own, and which. Pure.
//!
//! A server that asks its clients something must know whom it asks. So each client has a seat of its own there: a
//! connection that knows what that client said it can be asked, and asks no other. A client with a handshake has one for
//! all its requests. Requests that stand for themselves hold a seat one at a time, and the next one of the same kind takes
//! it again, so that what the server keeps between calls is still there. Where a question says which request it is about, they
//! have one together.

use std::time::Duration;

use switchboard::wire::Era;
use tokio::time::Instant;

/// So many connections of their own clients have to one server.
pub(crate) const MOST: usize = 32;
/// A seat that stands for requests of nobody in particular ends when nobody took it for so long, unless told otherwise.
pub(crate) const IDLE: Duration = Duration::from_mins(10);

/// Whose a seat is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Holder {
    /// A client with a handshake, for all its requests.
    Client(u64),
    /// Requests that stand for themselves and say the same of whose they are; those of one pipe, where there is a pipe.
    Alike {
        /// The client at the pipe.
        pipe: Option<u64>,
        /// What they say, as a hash.
        said: String,
    },
}

impl Holder {
    /// The client it goes away with, if there is one.
    pub(crate) const fn client(&self) -> Option<u64> {
        match self {
            Self::Client(id) => Some(*id),
            Self::Alike { pipe, .. } => *pipe,
        }
    }
}

/// Whether somebody uses a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// So many requests do.
    Taken(usize),
    /// Nobody does, since then.
    Free(Instant),
}

/// A seat, as far as it matters for the choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) id: u64,
    pub(crate) holder: Holder,
    pub(crate) used: Use,
}

impl Seat {
    /// Whether nobody will miss it.
    pub(crate) fn is_tired(&self, now: Instant, idle: Duration) -> bool {
        match (&self.holder, self.used) {
            (Holder::Alike { .. }, Use::Free(since)) => now.saturating_duration_since(since) >= idle,
            (Holder::Client(_), _) | (Holder::Alike { .. }, Use::Taken(_)) => false,
        }
    }
}

/// What a request needs of its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Any connection will do.
    Shared,
    /// One of the client's own.
    Own(Telling),
}

/// Whether a question of a server says which request it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Telling {
    /// It comes on the stream of that request.
    ByStream,
    /// It comes on the one stream there is.
    Not,
}

/// Whether a server has to know whom it asks. Those of the modern protocol ask by their results.
pub(crate) fn need(era: Option<Era>, is_asking: bool, telling: Telling) -> Need {
    match (era, is_asking) {
        (Some(Era::Handshake), true) => Need::Own(telling),
        (Some(Era::Handshake), false) | (Some(Era::Modern) | None, _) => Need::Shared,
    }
}

/// Where a request sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// On this seat.
    Take(u64),
    /// On a new one.
    Open,
    /// On a new one, when this one is gone, which nobody uses.
    Replace(u64),
    /// There is no room.
    Full,
}

/// Chooses among the seats at one server.
pub(crate) fn choose(seats: &[Seat], holder: &Holder, telling: Telling) -> Choice {
    let mut theirs = seats.iter().filter(|seat| seat.holder == *holder);
    let found = match (holder, telling) {
        (Holder::Client(_), _) | (Holder::Alike { .. }, Telling::ByStream) => theirs.next_back(),
        (Holder::Alike { .. }, Telling::Not) => {
            theirs.filter(|seat| since(seat).is_some()).max_by_key(|seat| since(seat))
        }
    };
    if let Some(seat) = found {
        return Choice::Take(seat.id);
    }
    if seats.len() < MOST {
        return Choice::Open;
    }
    let is_loose = |seat: &&Seat| matches!(seat.holder, Holder::Alike { .. }) && since(seat).is_some();
    let oldest = seats.iter().filter(is_loose).min_by_key(|seat| since(seat));
    oldest.map_or(Choice::Full, |seat| Choice::Replace(seat.id))
}

/// Since when nobody uses it.
fn since(seat: &Seat) -> Option<Instant> {
    match seat.used {
        Use::Free(since) => Some(since),
        Use::Taken(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(pipe: Option<u64>, said: &str) -> Holder {
        Holder::Alike { pipe, said: said.to_owned() }
    }

    fn seat(id: u64, holder: &Holder, used: Use) -> Seat {
        Seat { id, holder: holder.clone(), used }
    }

    #[test]
    fn only_servers_with_a_handshake_that_ask_are_not_shared() {
        for (era, is_asking, expected) in [
            (Some(Era::Handshake), true, Need::Own(Telling::Not)),
            (Some(Era::Handshake), false, Need::Shared),
            (Some(Era::Modern), true, Need::Shared),
            (Some(Era::Modern), false, Need::Shared),
            (None, true, Need::Shared),
        ] {
            assert_eq!(need(era, is_asking, Telling::Not), expected, "{era:?} {is_asking}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_with_a_handshake_has_one_seat_for_all_its_requests() {
        let (one, another) = (Holder::Client(1), Holder::Client(2));
        let seats = [seat(7, &one, Use::Taken(3))];
        assert_eq!(choose(&seats, &one, Telling::Not), Choice::Take(7));
        assert_eq!(choose(&seats, &another, Telling::Not), Choice::Open);
        assert!(!seat(7, &one, Use::Free(Instant::now() - IDLE)).is_tired(Instant::now(), IDLE));
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_stand_for_themselves_hold_a_seat_alone_and_find_it_again() {
        let now = Instant::now();
        tokio::time::advance(IDLE).await;
        let later = Instant::now();
        let mine = alike(None, "a");
        let seats = [
            seat(1, &mine, Use::Taken(1)),
            seat(2, &mine, Use::Free(now)),
            seat(3, &mine, Use::Free(later)),
            seat(4, &alike(None, "b"), Use::Free(later)),
        ];
        assert_eq!(choose(&seats, &mine, Telling::Not), Choice::Take(3), "the one used last");
        assert_eq!(choose(&seats[..1], &mine, Telling::Not), Choice::Open, "the other one is taken");
        assert_eq!(choose(&seats, &alike(None, "c"), Telling::Not), Choice::Open);
        assert_eq!(choose(&seats, &alike(Some(1), "a"), Telling::Not), Choice::Open, "a pipe is somebody");
        let together = choose(&seats[..1], &mine, Telling::ByStream);
        assert_eq!(together, Choice::Take(1), "it is clear whom a question is for");
        let tired: Vec<u64> =
            seats.iter().filter(|seat| seat.is_tired(later, IDLE)).map(|seat| seat.id).collect();
        assert_eq!(tired, [2]);
    }

    #[tokio::test(start_paused = true)]
    async fn when_there_is_no_room_the_one_unused_longest_makes_some() {
        let now = Instant::now();
        let others = alike(None, "other");
        let mut seats: Vec<Seat> = (0..MOST as u64).map(|id| seat(id, &others, Use::Taken(1))).collect();
        assert_eq!(choose(&seats, &Holder::Client(9), Telling::Not), Choice::Full);
        tokio::time::advance(IDLE).await;
        seats[5].used = Use::Free(Instant::now());
        seats[8].used = Use::Free(now);
        assert_eq!(choose(&seats, &Holder::Client(9), Telling::Not), Choice::Replace(8));
        seats[8].holder = Holder::Client(1);
        assert_eq!(
            choose(&seats, &Holder::Client(9), Telling::Not),
            Choice::Replace(5),
            "that of a client is its own"
        );
    }
}
