//! What a server offers, list by list: when it is asked for, what comes of it, and what the server says of changes.

use std::sync::Arc;

use tokio::time::{Instant, sleep_until};

use super::{Done, Owner, Reach};
use crate::connect::event;
use crate::connect::machine::State;
use crate::connect::offer::Offer;
use crate::connect::refresh::{Fetched, List, fetch, listen};
use crate::notice::Notice;
use crate::wire::{Era, Interest};

impl Owner {
    /// The server said something.
    pub(super) fn notice(&mut self, notice: Notice) {
        if notice == Notice::Asked {
            return self.asked();
        }
        if self.reach == Reach::Everything {
            for list in List::told_by(&notice) {
                self.refreshes.want(*list);
            }
        }
        // Nobody may be listening.
        let _unheard =
            self.outlets.events.send(event::Event::said(self.recipe.borrow().name.clone(), notice));
    }

    /// It asked a client something: that is remembered with its definition.
    fn asked(&self) {
        let is_new = self.view.send_if_modified(|view| !std::mem::replace(&mut view.has_asked, true));
        if is_new {
            let recipe = self.recipe.borrow().clone();
            // Nobody waits for the disk.
            drop(tokio::task::spawn_blocking(move || recipe.keep_asked()));
        }
    }

    /// Hears of changes where they are only told to who asks for them.
    pub(super) fn listen(&mut self) {
        let State::Ready { link } = self.machine.state() else { return };
        let interest = Interest {
            tools: link.facts().can_also("tools", "listChanged"),
            prompts: link.facts().can_also("prompts", "listChanged"),
            resources: link.facts().can_also("resources", "listChanged"),
            ..Interest::default()
        };
        let is_needed =
            link.facts().era == Era::Modern && (interest.tools || interest.prompts || interest.resources);
        if is_needed {
            let link = link.clone();
            let ears = self.jobs.spawn(async move {
                listen(&link, &interest).await;
                Done::Listened
            });
            self.ears = Some(ears);
        }
    }

    /// Asks for a list.
    pub(super) fn fetch(&mut self, list: List) {
        let State::Ready { link } = self.machine.state() else { return };
        self.refreshes.started(list);
        let (link, attempt) = (link.clone(), self.machine.attempt());
        self.jobs.spawn(async move { Done::Fetched { attempt, fetched: fetch(&link, list).await } });
    }

    /// A list came, or cannot be had.
    pub(super) fn fetched(&mut self, fetched: Fetched) {
        let Some(offer) = self.view.borrow().offer.clone() else { return };
        let mut offer = Arc::unwrap_or_clone(offer);
        let (list, ending) = fetched.put_into(&mut offer);
        self.refreshes.finished(list, Instant::now(), ending);
        self.unasked.retain(|unasked| *unasked != list);
        offer.is_complete = self.unasked.is_empty();
        self.offer(offer);
    }

    /// Tells what it offers now.
    pub(super) fn offer(&mut self, offer: Offer) {
        self.view.send_modify(|view| view.offer = Some(Arc::new(offer)));
        self.outlets.changed.notify_one();
    }
}

/// Waits until a list is due.
pub(super) async fn next_list(due: Option<(Instant, List)>) -> List {
    match due {
        Some((at, list)) => {
            sleep_until(at).await;
            list
        }
        None => std::future::pending().await,
    }
}
