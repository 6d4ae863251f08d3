//! Standard error for a program that must not wait for whoever reads it: hosts give us a pipe there, and many never do.
//!
//! In: text. Out: a thread of its own writes it. What finds no room is left out, and counted once there is room again.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// So many bytes wait to be written.
const ROOM: usize = 64 * 1024;
/// So long the last of them are waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// What waits to be written. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outbox(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    // Filled by whoever says something, emptied by the thread.
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    text: String,
    /// How many lines belong behind the text.
    n_left_out: usize,
    /// The thread has taken a text and is not done with it.
    is_writing: bool,
}

impl Outbox {
    /// Starts the thread, which lives as long as the program.
    pub(super) fn start(write: impl Fn(&str) + Send + 'static) -> io::Result<Self> {
        let outbox = Self::default();
        let own = outbox.clone();
        thread::Builder::new().name("stderr".to_owned()).spawn(move || own.empty(write))?;
        Ok(outbox)
    }

    pub(super) fn say(&self, text: &str) {
        let mut waiting = self.lock();
        let has_room = waiting.text.is_empty() || waiting.text.len() + text.len() <= ROOM;
        // Nothing overtakes what was left out.
        if has_room && waiting.n_left_out == 0 {
            waiting.text.push_str(text);
        } else {
            waiting.n_left_out += text.lines().count();
        }
        self.0.changed.notify_all();
    }

    /// Waits a moment for everything to be written.
    pub(super) fn flush(&self) {
        let is_busy = |waiting: &mut Waiting| waiting.is_writing || !waiting.text.is_empty();
        drop(self.0.changed.wait_timeout_while(self.lock(), PATIENCE, is_busy));
    }

    fn empty(&self, write: impl Fn(&str)) {
        let mut waiting = self.lock();
        loop {
            let is_idle = |waiting: &mut Waiting| waiting.text.is_empty();
            waiting = self.0.changed.wait_while(waiting, is_idle).unwrap_or_else(PoisonError::into_inner);
            let text = waiting.take();
            drop(waiting);
            write(&text);
            waiting = self.lock();
            waiting.is_writing = false;
            self.0.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn take(&mut self) -> String {
        self.is_writing = true;
        let mut text = std::mem::take(&mut self.text);
        let n_left_out = std::mem::take(&mut self.n_left_out);
        if n_left_out > 0 {
            text.push_str(&format!("lines left out here, since nobody read those before: {n_left_out}\n"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn what_finds_no_room_is_counted_once_there_is_room_again() {
        let (written, seen) = channel();
        let (read, wait_for_read) = channel::<()>();
        let outbox = Outbox::start(move |text| {
            written.send(text.to_owned()).unwrap();
            // Fails when the other end is gone: then nothing is in the way.
            let _gone = wait_for_read.recv();
        })
        .unwrap();
        outbox.say("first\n");
        assert_eq!(seen.recv().unwrap(), "first\n");
        let full = "x\n".repeat(ROOM / 2);
        for text in [full.as_str(), "left\nout\n", "too\n"] {
            outbox.say(text);
        }
        read.send(()).unwrap();
        let note = "lines left out here, since nobody read those before: 3\n";
        assert_eq!(seen.recv().unwrap(), format!("{full}{note}"));
        drop(read);
        outbox.flush();
        outbox.say("again\n");
        assert_eq!(seen.recv().unwrap(), "again\n");
    }
}
