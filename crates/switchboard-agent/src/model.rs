//! What a model is to the turn loop: one request in, a stream of pieces out. To stop it, drop the stream.

use futures_util::stream::BoxStream;
use switchboard::json::Json;

use crate::error::Error;
use crate::message::{Call, Message, Thought};
use crate::usage::Usage;

/// Something that answers requests.
pub trait Model: Send + Sync + 'static {
    /// What it is called, as `provider/name`.
    fn name(&self) -> &str;

    /// Asks it. Nothing is sent before the stream is polled, and nothing goes on after it is dropped.
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Piece, Error>>;
}

/// What a model is asked.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// What it is to know before anything else.
    pub system: String,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The tools it may call.
    pub tools: Vec<ToolSpec>,
    /// Whether it must call one.
    pub choice: Choice,
    /// How long the answer may be, in tokens.
    pub max_tokens: Option<u32>,
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ToolSpec {
    /// The unique name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The schema of its arguments.
    pub schema: Json,
}

/// Whether a model must call a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Choice {
    /// As it likes.
    #[default]
    Auto,
    /// It must call one.
    Required,
    /// It must not.
    Never,
    /// It must call this one.
    Tool(String),
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Words.
    Text(String),
    /// Thoughts.
    Thinking(String),
    /// A call takes shape: there is output that a second try would not repeat word by word.
    Calling,
    /// The whole answer; the last piece. Without it, the answer broke off.
    End(Answer),
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// What it says.
    pub text: String,
    /// What it calls.
    pub calls: Vec<Call>,
    /// What it thought.
    pub thoughts: Vec<Thought>,
    /// Why it ends.
    pub ending: Ending,
    /// What it took.
    pub usage: Usage,
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ending {
    /// The model is done, or wants its calls made.
    #[default]
    Done,
    /// It may not be longer.
    Length,
    /// The model or its provider does not want to answer.
    Refused,
}
