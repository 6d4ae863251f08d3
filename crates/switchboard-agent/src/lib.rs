//! The turn loop: a model, the tools of a session, approvals. No terminal, no printing, no look at the environment.
//!
//! ```text
//! Env, Settings -> choose    -> Choice    which model, where it is, with which key; or what to set
//! Choice        -> providers -> Model     one request in, a stream of pieces out, whoever the provider is
//! Catalog       -> block     -> Block     the tools as the model sees them, byte for byte the same each time
//! input         -> turn      -> Turn      asks, calls tools, asks again, until the model is done
//! ```
//!
//! An [`Agent`] holds a [`Session`](switchboard::session::Session), a [`Model`] and a [`History`]. Each
//! [`Agent::turn`] tells what happens as [`Event`]s and leaves a history that can go on, also when it is cancelled.
//! Calls go through the session, so that approval, deadlines and shaping are the session's; whoever answers for the user is
//! the session's host.
//! Examples are in the guide, `docs/agent.md`.

// Words.
pub mod clean;
pub mod error;
pub mod event;
pub mod message;
pub mod usage;

// From settings to a model.
pub mod choose;
pub mod model;
pub mod providers;

// What the model is told.
pub mod block;
pub mod prompt;

// The conversation.
pub mod history;
pub mod sampling;
pub mod turn;

pub use choose::Chosen;
pub use error::Error;
pub use event::{Event, Fate};
pub use history::History;
pub use message::{Message, Part};
pub use model::{Choice, Model, Request};
pub use turn::{Agent, Input, Settings, Stop, ToolCall, Turn};
pub use usage::Usage;

/// The guide, so that its examples compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/agent.md")]
pub struct AgentGuide;
