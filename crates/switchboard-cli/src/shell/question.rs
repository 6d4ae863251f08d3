//! What is asked of the person at the terminal, each with the slot for its answer.

use switchboard::host::{Answer, Elicitation, Page, Permission, Permit, Visited};
use switchboard::json::Json;
use tokio::sync::oneshot;

/// A question. Whoever asked may lose interest: then the slot is closed.
#[derive(Debug)]
pub(crate) enum Question {
    Permit { question: Permission, reply: oneshot::Sender<Permit> },
    Elicit { question: Elicitation, reply: oneshot::Sender<Answer> },
    Visit { page: Page, reply: oneshot::Sender<Visited> },
    Sample { server: String, params: Json, reply: oneshot::Sender<bool> },
}
