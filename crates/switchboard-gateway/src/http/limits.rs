//! What clients over HTTP can take up at most. Plain numbers; who keeps to them is elsewhere.

use std::time::Duration;

use super::rate::Rate;

/// Bounds of what all clients together, and each of them, can take up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one request.
    pub body: usize,
    /// Bytes of the headers of one request.
    pub head: usize,
    /// Connections at once.
    pub connections: usize,
    /// Sessions of clients with a handshake at once.
    pub sessions: usize,
    /// Requests under way at once, of all clients.
    pub requests: usize,
    /// Requests under way at once, of one session.
    pub requests_of_one: usize,
    /// How often one client may ask; nothing means as often as it likes.
    pub rate: Option<Rate>,
    /// So long a connection may be open without a whole request on it.
    pub head_time: Duration,
    /// So long the rest of a request may take.
    pub body_time: Duration,
    /// A session nobody used for so long is over.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 16 * 1024 * 1024,
            head: 64 * 1024,
            connections: 512,
            sessions: 1000,
            requests: 4096,
            requests_of_one: 1024,
            rate: Some(Rate::default()),
            head_time: Duration::from_secs(30),
            body_time: Duration::from_mins(1),
            idle: Duration::from_mins(30),
        }
    }
}
