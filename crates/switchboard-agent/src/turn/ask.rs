//! One answer of the model, asked for again where that can help.

use std::time::Duration;

use futures_util::StreamExt;
use switchboard::catalog::Catalog;
use tokio_util::sync::CancellationToken;

use super::{Agent, OnEvent, Stop};
use crate::block::{Block, tokens};
use crate::error::Error;
use crate::event::Event;
use crate::message::{Message, Part};
use crate::model::{Answer, Choice, Piece, Request};
use crate::prompt;

/// Room for an answer, where nobody says how long it may be.
const ROOM: u64 = 4_096;
/// Nobody waits longer between two tries.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// What asking brought.
pub(super) enum Asked {
    /// The answer.
    Whole(Answer),
    /// What there is of it.
    Partial {
        /// The words so far.
        text: String,
        /// Why there is no more.
        stop: Stop,
    },
}

/// One try.
enum Tried {
    Whole(Answer),
    Failed { error: Error, text: String, has_output: bool },
    Interrupted { text: String },
}

impl Agent {
    pub(super) async fn ask(
        &mut self,
        catalog: &Catalog,
        choice: Choice,
        on_event: &mut OnEvent<'_>,
        cancel: &CancellationToken,
    ) -> Result<Asked, Error> {
        let block = Block::build(catalog, &self.settings.rules, &self.found);
        let system = prompt::system(&self.settings.system, catalog);
        let taken = block.tokens + tokens(system.len()) + self.settings.max_tokens.map_or(ROOM, u64::from);
        let mut room = self.settings.context_tokens.saturating_sub(taken);
        self.trim(room, on_event);
        let mut attempt = 1;
        loop {
            let request = Request {
                system: system.clone(),
                messages: self.history.messages().to_vec(),
                tools: block.tools.clone(),
                choice: choice.clone(),
                max_tokens: self.settings.max_tokens,
            };
            let (error, text, has_output) = match self.try_once(request, on_event, cancel).await {
                Tried::Whole(mut answer) => {
                    answer.usage = answer.usage.priced(self.settings.price);
                    on_event(Event::Usage { usage: answer.usage });
                    return Ok(Asked::Whole(answer));
                }
                Tried::Interrupted { text } => return Ok(Asked::Partial { text, stop: Stop::Interrupted }),
                Tried::Failed { error, text, has_output } => (error, text, has_output),
            };
            let is_mended = match &error {
                // The model knows better how much it can look at.
                Error::TooLong { .. } => {
                    room = room.min(self.history.tokens()) / 2;
                    self.trim(room, on_event)
                }
                Error::Rejected { status: 400 | 415 | 422, .. } => self.drop_pictures(on_event),
                _ => false,
            };
            if is_mended {
                continue;
            }
            if !error.is_retryable() {
                return Err(error);
            }
            // Where nobody is, somebody rarely comes; where somebody is busy, it passes.
            let most = match &error {
                Error::Unreachable { .. } => self.settings.retries.min(1),
                _ => self.settings.retries,
            };
            if attempt > most {
                return give_up(error, text);
            }
            let wait = wait(&error, self.settings.backoff, attempt);
            attempt += 1;
            on_event(Event::Retry { reason: error.to_string(), attempt, wait, discards: has_output });
            tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    return Ok(Asked::Partial { text: String::new(), stop: Stop::Interrupted });
                }
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    async fn try_once(
        &self,
        request: Request,
        on_event: &mut OnEvent<'_>,
        cancel: &CancellationToken,
    ) -> Tried {
        let mut pieces = self.model.stream(request);
        let mut text = String::new();
        let mut has_output = false;
        loop {
            let piece = tokio::select! {
                biased;
                () = cancel.cancelled() => return Tried::Interrupted { text },
                piece = pieces.next() => piece,
            };
            match piece {
                Some(Ok(Piece::Text(words))) => {
                    has_output = true;
                    text.push_str(&words);
                    on_event(Event::Text { text: words });
                }
                Some(Ok(Piece::Thinking(words))) => {
                    has_output = true;
                    on_event(Event::Thinking { text: words });
                }
                Some(Ok(Piece::Calling)) => has_output = true,
                Some(Ok(Piece::End(answer))) => {
                    // What came only with the end, such as a refusal.
                    if let Some(rest) =
                        answer.text.strip_prefix(text.as_str()).filter(|rest| !rest.is_empty())
                    {
                        on_event(Event::Text { text: rest.to_owned() });
                    }
                    return Tried::Whole(answer);
                }
                Some(Err(error)) => return Tried::Failed { error, text, has_output },
                None => {
                    let error = Error::Cut { model: self.model.name().to_owned() };
                    return Tried::Failed { error, text, has_output };
                }
            }
        }
    }

    fn trim(&mut self, most: u64, on_event: &mut OnEvent<'_>) -> bool {
        let results = self.history.trim(most);
        if results > 0 {
            on_event(Event::Trimmed { results });
        }
        results > 0
    }

    /// Some models take no pictures, and say so by refusing the request.
    fn drop_pictures(&mut self, on_event: &mut OnEvent<'_>) -> bool {
        let is_picture = |part: &Part| matches!(part, Part::Image(_));
        let has_some = self.history.messages().iter().any(|message| match message {
            Message::User { parts } => parts.iter().any(is_picture),
            Message::Tool { results } => results.iter().any(|result| !result.images.is_empty()),
            Message::Assistant { .. } => false,
        });
        if has_some {
            let n = self.history.drop_pictures();
            let text = format!(
                "{} refused the request; it is sent again without its {n} pictures",
                self.model.name()
            );
            on_event(Event::Notice { text });
        }
        has_some
    }
}

/// What there is of an answer that breaks off again and again is better than nothing.
fn give_up(error: Error, text: String) -> Result<Asked, Error> {
    match error {
        Error::Cut { .. } | Error::Garbled { .. } if !text.is_empty() => {
            Ok(Asked::Partial { text, stop: Stop::Cut })
        }
        error => Err(error),
    }
}

/// How long to wait: as the provider says, else twice as long each time.
fn wait(error: &Error, first: Duration, attempt: u32) -> Duration {
    let said = match error {
        Error::Busy { retry_after, .. } => *retry_after,
        _ => None,
    };
    let doubled = first.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1))).min(LONGEST_WAIT);
    said.unwrap_or(doubled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_unless_the_provider_says_how_long() {
        let busy = |retry_after| Error::Busy {
            model: String::new(),
            status: 429,
            message: String::new(),
            retry_after,
        };
        let second = Duration::from_secs(1);
        let waits: Vec<u64> = (1..8).map(|attempt| wait(&busy(None), second, attempt).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60]);
        assert_eq!(wait(&busy(Some(Duration::ZERO)), second, 5), Duration::ZERO);
    }
}
