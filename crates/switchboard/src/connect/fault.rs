//! Why a server does not work, told the same way wherever it failed.

use std::fmt;
use std::path::{Path, PathBuf};

use super::machine::Gravity;
use crate::problem::{Code, Explain, Problem};
use crate::resolve;
use crate::visible::shell_word;
use crate::wire;

/// What is known about a failure of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The server.
    pub server: String,
    /// The stable code.
    pub code: &'static str,
    /// What happened, without secrets.
    pub message: String,
    /// What to type or edit.
    pub hint: Option<String>,
    /// Whether trying again later can help.
    pub is_transient: bool,
    /// The last words of its process, without secrets.
    pub stderr: String,
    /// What could not be filled in before: the likely cause.
    pub problems: Vec<Problem>,
    /// What the server says about the login it wants.
    pub challenge: Option<String>,
    place: Option<(PathBuf, Option<u32>)>,
    gravity: Gravity,
}

impl Fault {
    /// The same as a problem, for lists of them.
    pub fn problem(&self) -> Problem {
        let message = format!("`{}` does not work: {}", self.server, self.message);
        let problem = Problem::new(Code::ServerFailed, message).server(self.server.clone());
        match &self.hint {
            Some(hint) => problem.hint(hint.clone()),
            None => problem,
        }
    }

    /// Whether a login would help.
    pub fn needs_login(&self) -> bool {
        self.gravity == Gravity::Login
    }

    pub(super) const fn gravity(&self) -> Gravity {
        self.gravity
    }

    /// Its values could not be filled in.
    pub(super) fn unresolved(error: &resolve::Error) -> Self {
        Self {
            server: error.about().server.clone(),
            code: error.code(),
            message: error.message(),
            hint: error.hint(),
            is_transient: false,
            stderr: String::new(),
            problems: error.likely_causes().to_vec(),
            challenge: None,
            place: error.place().map(|(path, line)| (path.to_owned(), line)),
            gravity: Gravity::Lasting,
        }
    }

    /// It could not be opened.
    pub(super) fn not_opened(launch: &resolve::Launch, failure: wire::Failure) -> Self {
        let wire::Failure { error, stderr, problems, .. } = failure;
        let mut fault = Self::of(&launch.server, &error);
        fault.message = launch.secrets.scrub(&fault.message).into_owned();
        fault.place = launch.origin.path.as_deref().map(|path| (path.to_owned(), launch.origin.line));
        fault.stderr = stderr;
        if let Some(problem) = error.likely_cause(&problems) {
            let hint = problem.hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default();
            fault.hint = Some(format!("likely because {}{hint}", problem.message));
        }
        fault.problems = problems;
        fault
    }

    /// A connection that stood failed.
    pub(crate) fn of(server: &str, error: &wire::Error) -> Self {
        Self {
            server: server.to_owned(),
            code: error.code(),
            message: error.message(),
            hint: error.hint().map(|hint| hint.replace("NAME", &shell_word(server))),
            is_transient: error.is_transient(),
            stderr: String::new(),
            problems: Vec::new(),
            challenge: match &error.cause {
                wire::Cause::Unauthorized { challenge, .. } => challenge.clone(),
                _ => None,
            },
            place: None,
            gravity: gravity(error),
        }
    }
}

/// The last line on a standard error that tells what happened: often the reason. Advice comes after it.
pub(crate) fn last_words(stderr: &str) -> Option<&str> {
    let lines = || stderr.lines().rev().filter(|line| !line.trim().is_empty());
    lines().find(|line| !is_advice(line)).or_else(|| lines().next())
}

fn is_advice(line: &str) -> bool {
    let start = line.trim_start().get(..5).unwrap_or_default();
    ["hint:", "help:"].iter().any(|word| start.eq_ignore_ascii_case(word))
}

fn gravity(error: &wire::Error) -> Gravity {
    use wire::Cause;
    match &error.cause {
        Cause::Unauthorized { .. } => Gravity::Login,
        Cause::Start { .. } | Cause::Version { .. } | Cause::NotMcp { .. } | Cause::Redirected { .. } => {
            Gravity::Lasting
        }
        _ => Gravity::Passing,
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl Explain for Fault {
    fn code(&self) -> &'static str {
        self.code
    }

    fn message(&self) -> String {
        self.message.clone()
    }

    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }

    fn server(&self) -> Option<&str> {
        Some(&self.server)
    }

    fn place(&self) -> Option<(&Path, Option<u32>)> {
        self.place.as_ref().map(|(path, line)| (path.as_path(), *line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_not_the_last_word() {
        let check = |stderr: &str, expected: Option<&str>| assert_eq!(last_words(stderr), expected);
        check("", None);
        check(" \n\n", None);
        check("starting\ndisk full\n \n", Some("disk full"));
        check("no disk\n  hint: buy one\nHELP: see the shop\n\n", Some("no disk"));
        check("hint: buy one\nhelp: or two\n", Some("help: or two"));
        check("hint: buy one\nhints: none\n", Some("hints: none"));
        check("h\u{e4}lt\n", Some("h\u{e4}lt"));
    }
}
