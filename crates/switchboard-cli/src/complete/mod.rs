//! What a shell is told when somebody presses Tab.
//!
//! In: the words before the cursor. Out: what the last one could become. Reads configuration and what servers offered
//! last time; connects to nothing, asks nothing, writes nothing.

pub(crate) mod line;
pub(crate) mod offers;
pub(crate) mod schema;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use clap_complete::engine::{self, CompletionCandidate};
use clap_complete::env::{Elvish, EnvCompleter, Fish, Powershell, Shells};
use switchboard::visible::{excerpt, is_hidden};

use crate::args::{self, ShellArg};
use line::{BashLine, Typed};
use offers::{Asked, Known};

/// The variable by which a shell says that it asks.
pub(crate) const VARIABLE: &str = "COMPLETE";
const PROGRAM: &str = "switchboard";
/// Longer explanations make lists unreadable.
const LONGEST_HELP: usize = 80;

/// The shells we speak with.
pub(crate) const SHELLS: Shells<'static> =
    Shells(&[&ShellArg::Bash, &ShellArg::Elvish, &ShellArg::Fish, &ShellArg::Powershell, &ShellArg::Zsh]);

/// The script that makes a shell ask us.
pub(crate) fn script(shell: ShellArg) -> io::Result<String> {
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    Ok(String::from_utf8_lossy(&script).trim().to_owned())
}

impl EnvCompleter for ShellArg {
    fn name(&self) -> &'static str {
        self.as_str()
    }

    fn is(&self, name: &str) -> bool {
        name == self.as_str() || (*self == Self::Powershell && Powershell.is(name))
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self {
            // Ours know words with `=` and `:` in them, and quote what a shell would take apart.
            Self::Bash => out.write_all(include_bytes!("bash.sh")),
            Self::Zsh => out.write_all(include_bytes!("zsh.sh")),
            Self::Elvish => Elvish.write_registration(var, name, bin, completer, out),
            Self::Fish => Fish.write_registration(var, name, bin, completer, out),
            Self::Powershell => Powershell.write_registration(var, name, bin, completer, out),
        }
    }

    fn write_complete(
        &self,
        _command: &mut clap::Command,
        words: Vec<OsString>,
        current_dir: Option<&Path>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut words: Vec<String> =
            words.into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let line = words.first().map(String::as_str).unwrap_or_default();
        let breaks = words.get(1).map(String::as_str).unwrap_or_default();
        let bash = BashLine::read(line, breaks);
        if *self == Self::Bash {
            words.clone_from(&bash.words);
        }
        for (value, help) in candidates(&words, current_dir)? {
            let line = match self {
                Self::Bash => bash.insertion(&value),
                Self::Elvish => Some(value),
                Self::Fish => Some(format!("{value}\t{help}")),
                // It puts what it gets into the line as it is.
                Self::Powershell => is_one_word(&value).then(|| format!("{value}\t{help}")),
                Self::Zsh => Some(format!("{}:{}", escaped(&value), escaped(&help))),
            };
            if let Some(line) = line {
                writeln!(out, "{line}")?;
            }
        }
        Ok(())
    }
}

/// What the last word could become, each with a few words about it.
fn candidates(words: &[String], current_dir: Option<&Path>) -> io::Result<Vec<(String, String)>> {
    let Some((_, before)) = words.split_last() else { return Ok(Vec::new()) };
    let typed = Typed::read(args::command(), before);
    completed(
        offers::attach(args::command(), &Arc::new(Asked { typed, known: Known::OnDisk })),
        words,
        current_dir,
    )
}

/// What the last word could become on a command line that knows what it takes.
pub(crate) fn completed(
    mut command: clap::Command,
    words: &[String],
    current_dir: Option<&Path>,
) -> io::Result<Vec<(String, String)>> {
    let Some(last) = words.last() else { return Ok(Vec::new()) };
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let index = words.len() - 1;
    let mut found: Vec<_> =
        engine::complete(&mut command, words, index, current_dir)?.iter().filter_map(pair).collect();
    // Options are for those who begin one.
    if last.is_empty() {
        found.retain(|(value, _)| !value.starts_with('-'));
    }
    Ok(found)
}

/// A candidate as text; none that could do more than be read.
fn pair(candidate: &CompletionCandidate) -> Option<(String, String)> {
    let value = candidate.get_value().to_str().filter(|value| !value.chars().any(is_hidden))?;
    let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
    let line = help.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Some((value.to_owned(), excerpt(line.trim(), LONGEST_HELP)))
}

/// Whether every shell takes it as one word and nothing else.
fn is_one_word(value: &str) -> bool {
    value.chars().all(|c| c.is_alphanumeric() || "-_./:%+=".contains(c))
}

/// Text in which a colon is no mark between a value and what it means.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace(':', "\\:")
}
