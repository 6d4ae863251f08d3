//! The questions of `add` without a name.

use inquire::validator::{ErrorMessage, Validation};
use inquire::{Select, Text};
use switchboard::config::validate;

use crate::args::{Add, ScopeArg, TransportArg};
use crate::error::CommandError;

const COMMAND: &str = "a command on this machine (stdio)";
const HTTP: &str = "an address (Streamable HTTP)";
const SSE: &str = "an address (older: HTTP with SSE)";
const PROJECT: &str = "this project";
const USER: &str = "me, in every project";

/// Asks for what is needed to add a server.
pub(super) fn ask(mut add: Add) -> Result<Add, CommandError> {
    let check = |name: &str| match validate::name(name) {
        Ok(()) => Ok(Validation::Valid),
        Err(reason) => Ok(Validation::Invalid(ErrorMessage::Custom(reason.to_owned()))),
    };
    add.name = Some(Text::new("Name of the server:").with_validator(check).prompt()?);
    // What was given on the command line is not asked again.
    if add.url.is_some() || !add.command.is_empty() {
        return Ok(add);
    }
    match Select::new("What is it?", vec![COMMAND, HTTP, SSE]).prompt()? {
        COMMAND => {
            let line = Text::new("Command line:").with_validator(not_blank).prompt()?;
            add.command = words(&line)?;
            let more = several("Variable NAME=VALUE (empty to go on):", '=')?;
            add.env.extend(more);
        }
        kind => {
            add.transport = Some(if kind == SSE { TransportArg::Sse } else { TransportArg::Http });
            add.url = Some(Text::new("Address:").with_validator(not_blank).prompt()?);
            let more = several("Header NAME: VALUE (empty to go on):", ':')?;
            add.headers.extend(more);
        }
    }
    if add.scope.is_none() {
        add.scope = Some(match Select::new("For whom?", vec![PROJECT, USER]).prompt()? {
            USER => ScopeArg::User,
            _ => ScopeArg::Project,
        });
    }
    Ok(add)
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a validator")]
fn not_blank(text: &str) -> Result<Validation, inquire::CustomUserError> {
    Ok(if text.trim().is_empty() {
        Validation::Invalid(ErrorMessage::Custom("This cannot be empty".to_owned()))
    } else {
        Validation::Valid
    })
}

/// Answers until an empty one.
fn several(question: &str, separator: char) -> Result<Vec<String>, CommandError> {
    let mut answers = Vec::new();
    loop {
        let check = move |text: &str| {
            Ok(if text.is_empty() || text.contains(separator) {
                Validation::Valid
            } else {
                Validation::Invalid(ErrorMessage::Custom(format!("There must be a `{separator}` in it")))
            })
        };
        match Text::new(question).with_validator(check).prompt()? {
            answer if answer.is_empty() => return Ok(answers),
            answer => answers.push(answer),
        }
    }
}

/// Splits a command line at blanks, minding quotes.
fn words(line: &str) -> Result<Vec<String>, CommandError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (Some(_) | None, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(CommandError::usage("usage", "a quotation mark is not closed in the command line"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_command_line_is_split_as_a_shell_would() {
        let check = |line: &str, expected: &[&str]| assert_eq!(words(line).unwrap(), expected);
        check("npx -y  x", &["npx", "-y", "x"]);
        check("a 'b c' \"d 'e\" ''", &["a", "b c", "d 'e", ""]);
        check("", &[]);
        assert!(words("a 'b").is_err());
    }
}
