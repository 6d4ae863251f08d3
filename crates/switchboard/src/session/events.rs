//! What happens to servers, as far as a session may see them.

use std::sync::Arc;

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::options::Sight;
use crate::connect::Event;

/// What happens to servers, one after the other.
#[derive(Debug)]
pub struct Events {
    receiver: Receiver<Event>,
    scope: Arc<Sight>,
}

impl Events {
    pub(super) const fn new(receiver: Receiver<Event>, scope: Arc<Sight>) -> Self {
        Self { receiver, scope }
    }

    /// The next one; none when the session is gone. Whoever is too slow is told how many were missed; then
    /// [`Session::servers`](super::Session::servers) tells how everything stands.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            match self.receiver.recv().await {
                Ok(event) if event.server().is_none_or(|server| self.scope.sees_server(server)) => {
                    return Some(event);
                }
                Ok(_) => {}
                Err(RecvError::Lagged(n_events)) => return Some(Event::Missed { n_events }),
                Err(RecvError::Closed) => return None,
            }
        }
    }
}
