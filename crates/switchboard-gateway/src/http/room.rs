//! Room for requests under way. Who finds none is told so and may come again.

use std::sync::Arc;

use axum::http::HeaderValue;
use axum::http::header::RETRY_AFTER;
use axum::response::Response;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::limits::Limits;
use super::words;
use crate::hub::Hub;
use crate::metrics::Refused;

/// Room for so many requests.
#[derive(Debug)]
pub(crate) struct Room {
    places: Arc<Semaphore>,
    n_places: usize,
}

impl Room {
    pub(crate) fn new(n_places: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(n_places)), n_places }
    }

    /// Whether nothing is under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.places.available_permits() == self.n_places
    }
}

/// The right to have requests under way, in several rooms. Given back with the last clone.
#[derive(Debug, Clone)]
pub(crate) struct Ticket(#[expect(dead_code, reason = "held, not used")] Arc<Vec<OwnedSemaphorePermit>>);

impl Ticket {
    /// Room for so many in each of these, or nothing.
    pub(crate) fn take<const N: usize>(n_requests: usize, rooms: [&Room; N]) -> Option<Self> {
        let n_requests = u32::try_from(n_requests).ok()?;
        let taken = rooms.map(|room| Arc::clone(&room.places).try_acquire_many_owned(n_requests).ok());
        let taken: Option<Vec<_>> = taken.into_iter().collect();
        taken.map(|taken| Self(Arc::new(taken)))
    }
}

/// The answer to those who found no room.
pub(crate) fn too_many(hub: &Hub, limits: Limits) -> Response {
    hub.metrics.refused(Refused::Requests);
    let Limits { requests, requests_of_one, .. } = limits;
    let mut response = words(
        503,
        &format!("too many requests at once: {requests} is the limit, and {requests_of_one} for one session"),
    );
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_for_all_rooms_or_none() {
        let (large, small) = (Room::new(3), Room::new(2));
        let two = Ticket::take(2, [&large, &small]).unwrap();
        assert!(Ticket::take(1, [&large, &small]).is_none());
        assert_eq!(large.places.available_permits(), 1, "what was not needed is given back");
        let again = two.clone();
        drop(two);
        assert!(!small.is_empty());
        drop(again);
        assert!(small.is_empty() && large.is_empty());
        assert!(Ticket::take(4, [&large]).is_none());
        assert!(Ticket::take(usize::MAX, [&large]).is_none());
    }
}
