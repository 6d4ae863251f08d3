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
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use switchboard::{Env, session::{self, Options}};
//! use switchboard_agent::{Agent, Event, Settings, choose, providers};
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let env = Env::capture()?;
//! let loaded = session::load(Options::headless(env.clone())).await;
//! let settings = &loaded.session.discovery().settings;
//! let chosen = choose::choose(Some("ollama/qwen3"), &settings.chat, &env)?;
//! let model = Arc::new(providers::connect(&chosen)?);
//! let mut agent = Agent::new(loaded.session.clone(), model, Settings::of(&settings.chat, &chosen));
//! let mut on_event = |event: Event| {
//!     if let Event::Text { text } = event {
//!         print!("{text}");
//!     }
//! };
//! let turn = agent.turn("What time is it in Tokyo?".into(), &mut on_event, &CancellationToken::new()).await?;
//! println!("{}", turn.stop.as_str());
//! # Ok(())
//! # }
//! ```

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
pub mod search;

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
