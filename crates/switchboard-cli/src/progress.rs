//! A sign of life while something takes its time: one line on a terminal, which goes away again.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use switchboard::visible::visible;

use crate::printer::{Printer, Volume};
use crate::table::cut;
use crate::terminal;

/// What takes less is not worth a word.
const WORTH_A_WORD: Duration = Duration::from_millis(500);
const BEAT: Duration = Duration::from_millis(100);
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// Longer words make a line that nobody reads.
const LONGEST: usize = 80;

/// What is going on right now, in words.
#[derive(Debug)]
pub(crate) struct Progress {
    started: Instant,
    // Set by whoever takes a step, read by the one who draws.
    words: Mutex<Words>,
    // Cleared for good when there is something better to show.
    is_shown: AtomicBool,
    is_drawn: AtomicBool,
}

#[derive(Debug, Default)]
struct Words {
    /// What is waited for.
    waiting: String,
    /// What is done; says more.
    doing: Option<String>,
}

impl Progress {
    /// Shown only where somebody looks.
    pub(crate) fn new(words: &str, printer: &Printer) -> Self {
        let is_wanted = !printer.json && printer.volume > Volume::Quiet && printer.is_direct();
        let is_shown = is_wanted && std::io::stderr().is_terminal();
        Self {
            started: Instant::now(),
            words: Mutex::new(Words { waiting: words.to_owned(), doing: None }),
            is_shown: AtomicBool::new(is_shown),
            is_drawn: AtomicBool::new(false),
        }
    }

    /// What is waited for, as long as nothing is said of what is done.
    pub(crate) fn wait(&self, words: String) {
        self.words.lock().unwrap_or_else(PoisonError::into_inner).waiting = words;
    }

    /// What is done.
    pub(crate) fn say(&self, words: String) {
        self.words.lock().unwrap_or_else(PoisonError::into_inner).doing = Some(words);
    }

    /// Makes room: what is said from now on stands on a line of its own.
    pub(crate) fn end(&self) {
        self.is_shown.store(false, Ordering::Release);
        if self.is_drawn.swap(false, Ordering::AcqRel) {
            draw("");
        }
    }

    /// Draws while the work lasts.
    pub(crate) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        if !self.is_shown.load(Ordering::Acquire) {
            return work.await;
        }
        tokio::pin!(work);
        let mut beat = tokio::time::interval(BEAT);
        loop {
            tokio::select! {
                done = &mut work => {
                    self.end();
                    return done;
                }
                _ = beat.tick() => self.draw(),
            }
        }
    }

    fn draw(&self) {
        let elapsed = self.started.elapsed();
        if elapsed < WORTH_A_WORD || !self.is_shown.load(Ordering::Acquire) {
            return;
        }
        self.is_drawn.store(true, Ordering::Release);
        let turn = usize::try_from(elapsed.as_millis() / BEAT.as_millis()).unwrap_or(0) % FRAMES.len();
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let words = visible(words.doing.as_ref().unwrap_or(&words.waiting)).into_owned();
        let (frame, time) = (FRAMES[turn], format!("  {} s", elapsed.as_secs()));
        // A line that breaks could not be taken back.
        let room = terminal::error_width().saturating_sub(time.len() + 3).min(LONGEST);
        draw(&format!("{frame} {}{time}", cut(&words, room)));
    }
}

/// One line in place of the last.
fn draw(line: &str) {
    // Nobody can be told that nobody can be told.
    let _gone = std::io::stderr().lock().write_all(format!("\r\x1b[2K{line}").as_bytes());
}
