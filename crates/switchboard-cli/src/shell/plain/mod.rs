//! The front for terminals that only show lines: reads with the terminal's own editing, prints, asks with numbers. Draws
//! nothing over anything.

mod answer;

use std::convert::Infallible;
use std::time::{Duration, Instant};

use switchboard::visible::visible;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::words::GREETING;
use super::{Candidate, Completion, Front, Next, Notices, Question, Shell};
use crate::commands::{Context, connection};
use crate::error::CommandError;
use crate::printer::{FAINT, Printer};

const PROMPT: &str = "> ";
/// What is being done is said anew so often at most.
const PACE: Duration = Duration::from_secs(2);

/// Reads and obeys lines until there are no more.
pub(super) async fn run(
    context: &Context,
    mut shell: Shell,
    questions: mpsc::Receiver<Question>,
) -> Result<(), CommandError> {
    let (asking, mut is_asking) = watch::channel(false);
    let attending = attend(context, questions, asking);
    tokio::pin!(attending);
    let mut notices = shell.notices();
    let mut front = Plain { printer: context.printer.clone(), told: None };
    front.print(GREETING);
    if let Some(model) = shell.footer() {
        front.print(&format!("Model: {}", visible(&model)));
    }
    loop {
        let reading = next_line(context, &mut notices, &mut is_asking);
        let line = tokio::select! {
            line = reading => line,
            never = &mut attending => match never {},
        };
        let Some(line) = line else { break };
        // Nothing can be drawn while somebody types; so what could follow is listed after a line that ends with a tab.
        if let Some(head) = line.strip_suffix('\t') {
            let Completion { candidates, .. } = shell.completer().complete(head, head.len()).await;
            front.print(&listed(&candidates));
            continue;
        }
        let cancel = CancellationToken::new();
        let next = {
            let running = shell.run(&line, &mut front, &cancel);
            tokio::pin!(running);
            loop {
                tokio::select! {
                    next = &mut running => break next,
                    never = &mut attending => match never {},
                    () = connection::ctrl_c() => cancel.cancel(),
                }
            }
        };
        if next == Next::Leave {
            break;
        }
    }
    // A second Ctrl-C is for those who cannot wait.
    tokio::select! {
        () = shell.close() => {}
        () = connection::ctrl_c() => {}
    }
    Ok(())
}

/// What could follow, one on a line.
fn listed(candidates: &[Candidate]) -> String {
    let line = |candidate: &Candidate| {
        let note = candidate.note.as_deref().unwrap_or_default();
        format!("  {:<32} {FAINT}{note}{FAINT:#}", candidate.shown).trim_end().to_owned()
    };
    let lines: Vec<String> = candidates.iter().map(line).collect();
    if lines.is_empty() { "  (nothing is known)".to_owned() } else { lines.join("\n") }
}

/// The next line, and what happens until it is there.
async fn next_line(
    context: &Context,
    notices: &mut Notices,
    is_asking: &mut watch::Receiver<bool>,
) -> Option<String> {
    let printer = &context.printer;
    let show = |text: &str| drop(printer.styled(text));
    show(PROMPT);
    loop {
        // A question that came in between gets the next line.
        if *is_asking.borrow_and_update() {
            is_asking.wait_for(|is_asking| !is_asking).await.ok()?;
            show(PROMPT);
        }
        tokio::select! {
            line = context.lines.next() => {
                if line.is_none() {
                    show("\n");
                }
                return line;
            }
            Some(lines) = notices.next() => show(&format!("\r{}\n{PROMPT}", lines.join("\n"))),
            Ok(()) = is_asking.changed() => {}
            () = connection::ctrl_c() => show(&format!("\n{PROMPT}")),
        }
    }
}

/// Answers questions, one after the other, as long as the session lasts.
async fn attend(
    context: &Context,
    mut questions: mpsc::Receiver<Question>,
    asking: watch::Sender<bool>,
) -> Infallible {
    loop {
        let Some(question) = questions.recv().await else { return std::future::pending().await };
        asking.send_replace(true);
        answer::answer(context, question).await;
        asking.send_replace(false);
    }
}

/// Lines, one after the other.
struct Plain {
    printer: Printer,
    /// What was said last of what is being done, and when.
    told: Option<Instant>,
}

impl Front for Plain {
    fn print(&mut self, text: &str) {
        // Nobody is left to tell.
        drop(self.printer.styled(&format!("{text}\n")));
    }

    fn stream(&mut self, delta: &str) {
        drop(self.printer.styled(delta));
    }

    fn working(&mut self, words: Option<&str>) {
        let is_early = self.told.is_some_and(|at| at.elapsed() < PACE);
        match words {
            None => self.told = None,
            Some(_) if is_early => {}
            Some(words) => {
                self.told = Some(Instant::now());
                self.print(&format!("... {}", visible(words)));
            }
        }
    }

    async fn aside<T: Send + 'static>(&mut self, work: impl FnOnce() -> T + Send + 'static) -> T {
        match tokio::task::spawn_blocking(work).await {
            Ok(done) => done,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}
