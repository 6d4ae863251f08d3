//! The answers that are waited for, by the number of their question.

use std::collections::BTreeMap;
use std::task::{Context, Poll};

use switchboard::host::{Answer, Permit, Visited};
use tokio::sync::oneshot::Sender;

use super::dialog::{Ask, Reply};
use crate::shell::Question;

#[derive(Debug)]
enum Slot {
    Permit(Sender<Permit>),
    Elicit(Sender<Answer>),
    Visit(Sender<Visited>),
    Sample(Sender<bool>),
}

/// Who waits for an answer.
#[derive(Debug, Default)]
pub(super) struct Slots {
    waiting: BTreeMap<u64, Slot>,
    n_asked: u64,
}

impl Slots {
    /// Keeps the slot; gives the question and its number.
    pub(super) fn take(&mut self, question: Question) -> (u64, Ask) {
        let (ask, slot) = match question {
            Question::Permit { question, reply } => (Ask::Permit(question), Slot::Permit(reply)),
            Question::Elicit { question, reply } => (Ask::Elicit(question), Slot::Elicit(reply)),
            Question::Visit { page, reply } => (Ask::Visit(page), Slot::Visit(reply)),
            Question::Sample { server, params, reply } => {
                (Ask::Sample { server, params }, Slot::Sample(reply))
            }
        };
        self.n_asked += 1;
        self.waiting.insert(self.n_asked, slot);
        (self.n_asked, ask)
    }

    /// Passes an answer on, to whoever still waits for it.
    pub(super) fn answer(&mut self, ticket: u64, reply: Reply) {
        match (self.waiting.remove(&ticket), reply) {
            (Some(Slot::Permit(slot)), Reply::Permit(permit)) => drop(slot.send(permit)),
            (Some(Slot::Elicit(slot)), Reply::Elicit(answer)) => drop(slot.send(answer)),
            (Some(Slot::Visit(slot)), Reply::Visit(visited)) => drop(slot.send(visited)),
            (Some(Slot::Sample(slot)), Reply::Sample(is_yes)) => drop(slot.send(is_yes)),
            // A slot without its answer closes, which means no.
            (Some(_) | None, _) => {}
        }
    }

    /// A question nobody waits for any longer.
    pub(super) fn poll_withdrawn(&mut self, cx: &mut Context<'_>) -> Poll<u64> {
        // All are asked, so that each of them wakes us.
        let closed: Vec<u64> = self
            .waiting
            .iter_mut()
            .filter_map(|(ticket, slot)| slot.poll_closed(cx).is_ready().then_some(*ticket))
            .collect();
        match closed.first() {
            Some(ticket) => {
                self.waiting.remove(ticket);
                Poll::Ready(*ticket)
            }
            None => Poll::Pending,
        }
    }
}

impl Slot {
    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self {
            Self::Permit(slot) => slot.poll_closed(cx),
            Self::Elicit(slot) => slot.poll_closed(cx),
            Self::Visit(slot) => slot.poll_closed(cx),
            Self::Sample(slot) => slot.poll_closed(cx),
        }
    }
}
