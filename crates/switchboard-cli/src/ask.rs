//! Questions to a person at the terminal: with the cursor keys where the terminal knows them, else with numbers and
//! lines. It decides nothing: whoever asks says what is right.

use std::io::BufRead;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use inquire::validator::{ErrorMessage, Validation};
use inquire::{Confirm, MultiSelect, Select, Text};
use switchboard::visible::visible;

use crate::commands::Context;
use crate::error::CommandError;
use crate::terminal;

/// How to answer a question with several answers.
const HOW_TO_MARK: &str = "space marks one, → all, ← none; type to filter; enter goes on with what is marked";
/// The same with numbers.
const HOW_TO_COUNT: &str = "Numbers with blanks between, `all`, or nothing for none:";

/// Lines from standard input, each for whoever asks next. A line that somebody asked for and no longer waits for goes to
/// the next who asks: reading from a terminal cannot be given up. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Option<Reader>>>);

#[derive(Debug)]
struct Reader {
    requests: mpsc::Sender<()>,
    // Held while a line is waited for: the next one belongs to whoever asks next.
    lines: Arc<tokio::sync::Mutex<tokio::sync::mpsc::Receiver<Option<String>>>>,
    /// A line was asked for and has not come yet.
    is_asked: Arc<Mutex<bool>>,
}

impl Lines {
    /// The next line, without its end; none when there are no more.
    pub(crate) async fn next(&self) -> Option<String> {
        let (lines, is_asked) = {
            let mut reader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let reader = reader.get_or_insert_with(start);
            let mut is_asked = reader.is_asked.lock().unwrap_or_else(PoisonError::into_inner);
            if !*is_asked {
                reader.requests.send(()).ok()?;
                *is_asked = true;
            }
            (Arc::clone(&reader.lines), Arc::clone(&reader.is_asked))
        };
        let line = lines.lock().await.recv().await.flatten();
        *is_asked.lock().unwrap_or_else(PoisonError::into_inner) = false;
        line
    }
}

/// A thread that reads one line for each request. It belongs to the terminal and ends with the program.
fn start() -> Reader {
    let (requests, asked) = mpsc::channel::<()>();
    let (sender, lines) = tokio::sync::mpsc::channel(1);
    std::thread::spawn(move || {
        while asked.recv().is_ok() {
            let mut line = String::new();
            let read = std::io::stdin().lock().read_line(&mut line);
            let line = matches!(read, Ok(1..)).then(|| line.trim_end_matches(['\n', '\r']).to_owned());
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    Reader { requests, lines: Arc::new(tokio::sync::Mutex::new(lines)), is_asked: Arc::default() }
}

/// Asks whoever sits there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'c> {
    context: &'c Context,
    is_dumb: bool,
}

impl<'c> Ask<'c> {
    pub(crate) fn new(context: &'c Context) -> Self {
        Self { context, is_dumb: terminal::is_dumb(&context.env) }
    }

    /// A text that passes the check.
    pub(crate) async fn text(
        &self,
        question: &str,
        check: impl Fn(&str) -> Result<(), String> + Clone + 'static,
    ) -> Result<String, CommandError> {
        if !self.is_dumb {
            let validator = move |text: &str| {
                Ok(match check(text) {
                    Ok(()) => Validation::Valid,
                    Err(reason) => Validation::Invalid(ErrorMessage::Custom(reason)),
                })
            };
            return Ok(Text::new(question).with_validator(validator).prompt()?);
        }
        loop {
            let answer = self.line(&format!("{question} ")).await?;
            match check(&answer) {
                Ok(()) => return Ok(answer),
                Err(reason) => self.context.printer.urge(&visible(&reason)),
            }
        }
    }

    /// One of several; the first if nothing else is said.
    pub(crate) async fn one(&self, question: &str, options: &[&str]) -> Result<usize, CommandError> {
        if !self.is_dumb {
            return Ok(Select::new(question, options.to_vec()).raw_prompt()?.index);
        }
        self.context.printer.urge(question);
        self.number(options);
        loop {
            let answer = self.line("Number [1]: ").await?;
            match picked(&answer, options.len()).as_deref() {
                Some([]) => return Ok(0),
                Some([only]) => return Ok(*only),
                _ => self.context.printer.urge(&format!("A number from 1 to {}", options.len())),
            }
        }
    }

    /// Some of several.
    pub(crate) async fn several(
        &self,
        question: &str,
        options: Vec<String>,
    ) -> Result<Vec<usize>, CommandError> {
        if !self.is_dumb {
            let picked = MultiSelect::new(question, options).with_help_message(HOW_TO_MARK).raw_prompt()?;
            return Ok(picked.into_iter().map(|option| option.index).collect());
        }
        self.context.printer.urge(question);
        self.number(&options.iter().map(String::as_str).collect::<Vec<_>>());
        loop {
            let answer = self.line(&format!("{HOW_TO_COUNT} ")).await?;
            match picked(&answer, options.len()) {
                Some(picked) => return Ok(picked),
                None => self.context.printer.urge(&format!("Numbers from 1 to {}", options.len())),
            }
        }
    }

    /// Yes or no.
    pub(crate) async fn confirm(&self, question: &str, default: bool) -> Result<bool, CommandError> {
        if !self.is_dumb {
            return Ok(Confirm::new(question).with_default(default).prompt()?);
        }
        let choice = if default { "Y/n" } else { "y/N" };
        loop {
            let answer = self.line(&format!("{question} ({choice}) ")).await?;
            match answer.trim().to_lowercase().as_str() {
                "" => return Ok(default),
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => self.context.printer.urge("y or n"),
            }
        }
    }

    fn number(&self, options: &[&str]) {
        for (index, option) in options.iter().enumerate() {
            self.context.printer.urge(&format!("  {} {option}", index + 1));
        }
    }

    /// One line of the person. No more lines, or Ctrl-C, is a no to everything.
    async fn line(&self, question: &str) -> Result<String, CommandError> {
        self.context.printer.question(question);
        let line = tokio::select! {
            line = self.context.lines.next() => line,
            () = self.context.stopped() => None,
        };
        line.ok_or_else(CommandError::interrupted)
    }
}

/// The options somebody means by numbers, from 0; none if it makes no sense.
pub(crate) fn picked(answer: &str, count: usize) -> Option<Vec<usize>> {
    if answer.trim().eq_ignore_ascii_case("all") {
        return Some((0..count).collect());
    }
    let words = answer.split([' ', ',']).filter(|word| !word.is_empty());
    let numbers = words.map(|word| word.parse::<usize>().ok()?.checked_sub(1).filter(|index| *index < count));
    let mut picked: Vec<usize> = numbers.collect::<Option<_>>()?;
    picked.sort_unstable();
    picked.dedup();
    Some(picked)
}

#[cfg(test)]
mod tests {
    use super::picked;

    #[test]
    fn numbers_mean_what_they_stand_at() {
        let check = |answer: &str, expected: Option<&[usize]>| {
            assert_eq!(picked(answer, 3).as_deref(), expected, "{answer}");
        };
        check("", Some(&[]));
        check(" 2 ", Some(&[1]));
        check("3, 1 1", Some(&[0, 2]));
        check("ALL", Some(&[0, 1, 2]));
        for wrong in ["0", "4", "x", "1 x", "-1"] {
            check(wrong, None);
        }
    }
}
