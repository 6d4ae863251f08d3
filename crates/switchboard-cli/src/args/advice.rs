//! What to type instead, for a line that cannot be understood. Takes the error and what was typed, gives a tip.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use switchboard::redact;
use switchboard::template::Template;
use switchboard::visible::shell_word;

/// More words of a command than this are left out of a tip.
const MOST_WORDS: usize = 3;

/// Puts what to type instead into the error of a line, if that is known, and takes the key out of a word it repeats.
pub(crate) fn advise(error: &mut clap::Error, typed: &[String]) {
    if let Some(tip) = tip(error, typed) {
        let tip = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        drop(error.insert(ContextKind::Suggested, tip));
    }
    if let (ErrorKind::UnknownArgument, Some(ContextValue::String(word))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    {
        let shown = ContextValue::String(redact::word(word));
        drop(error.insert(ContextKind::InvalidArg, shown));
    }
}

/// What to type instead, for the mistakes that are made most.
pub(crate) fn tip(error: &clap::Error, typed: &[String]) -> Option<String> {
    let verb = verb(error)?;
    match (error.kind(), error.get(ContextKind::InvalidArg)?) {
        // What is missing is no option.
        (ErrorKind::MissingRequiredArgument, ContextValue::Strings(missing))
            if missing.iter().any(|name| name.starts_with(['<', '['])) =>
        {
            names(&verb).map(str::to_owned)
        }
        (ErrorKind::UnknownArgument, ContextValue::String(word)) if verb == "add" => {
            behind_dashes(word, typed)
        }
        _ => None,
    }
}

/// The command an error is about, on the command line as well as in a session.
fn verb(error: &clap::Error) -> Option<String> {
    let ContextValue::StyledStr(usage) = error.get(ContextKind::Usage)? else { return None };
    let usage = usage.to_string();
    let mut words = usage.split_whitespace().skip_while(|word| *word != "Usage:").skip(1);
    match words.next()? {
        "/mcp" => words.next().map(str::to_owned),
        own if own.starts_with('/') => Some(own.trim_start_matches('/').to_owned()),
        _program => words.next().map(str::to_owned),
    }
}

/// Where the names are that a command wants.
fn names(verb: &str) -> Option<&'static str> {
    Some(match verb {
        "test" => "NAME is a server, `switchboard list` shows them; or give it --url URL, or -- COMMAND",
        "why" | "remove" | "enable" | "disable" | "reauth" | "unauth" | "reconnect" => {
            "NAME is a server, `switchboard list` shows them"
        }
        "call" => "TOOL is a tool, `switchboard tools` shows them",
        "read" => "URI is a resource, `switchboard resources` shows them",
        "prompt" => "NAME is a prompt, `switchboard prompts` shows them",
        _ => return None,
    })
}

/// A server that was typed without the word that goes before what it is.
fn behind_dashes(word: &str, typed: &[String]) -> Option<String> {
    let typed = typed.iter().map(String::as_str).skip_while(|word| *word != "add").skip(1);
    let typed: Vec<&str> = typed.collect();
    // The first word may be the same: the name.
    let at = (1..typed.len()).find(|at| typed[*at] == word)?;
    if word.starts_with('-') || typed[at..].contains(&"--") {
        return None;
    }
    // All words at once, and before any is left out: an option tells that a key follows.
    let words: Vec<_> = typed.iter().map(|word| Template::plain(*word)).collect();
    let shown = redact::args(&words);
    let (before, command) = shown.split_at(at);
    let name = match before {
        [name] if !name.starts_with('-') && name == typed[0] => shell_word(name),
        _ => "NAME".to_owned(),
    };
    if ["http://", "https://"].iter().any(|scheme| word.starts_with(scheme)) {
        return Some(format!("an address needs --url: switchboard add {name} --url URL"));
    }
    let shown: Vec<String> = command.iter().take(MOST_WORDS).map(|word| plain_word(word)).collect();
    let rest = if command.len() > MOST_WORDS { " ..." } else { "" };
    Some(format!("a command goes behind `--`: switchboard add {name} -- {}{rest}", shown.join(" ")))
}

/// A word as it is typed. An option needs no quotes where a name would.
fn plain_word(word: &str) -> String {
    let dashes = word.len() - word.trim_start_matches('-').len();
    match word.split_at(dashes) {
        (dashes, "") => dashes.to_owned(),
        (dashes, rest) => format!("{dashes}{}", shell_word(rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::command;

    #[test]
    fn the_mistakes_that_are_made_most_come_with_what_to_type() {
        let check = |line: &str, expected: Option<&str>| {
            let typed: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let words = std::iter::once("switchboard").chain(line.split(' '));
            let mut error = command().try_get_matches_from(words).unwrap_err();
            assert_eq!(tip(&error, &typed).as_deref(), expected, "{line}");
            advise(&mut error, &typed);
            assert!(!error.to_string().contains("hunter2"), "{error}");
        };
        let behind = "a command goes behind `--`: switchboard add";
        check("add foo npx -y x", Some(&format!("{behind} foo -- npx -y x")));
        check("-q add npx npx", Some(&format!("{behind} npx -- npx")));
        check("add foo npx -y x --key hunter2", Some(&format!("{behind} foo -- npx -y x ...")));
        check("add foo x --token hunter2", Some(&format!("{behind} foo -- x --token '***'")));
        check("add foo x --api-key=hunter2", Some(&format!("{behind} foo -- x --'api-key=***'")));
        check(
            "add foo x https://a.dev/mcp?key=hunter2",
            Some(&format!("{behind} foo -- x 'https://a.dev/mcp?key=***'")),
        );
        check("add https://a.dev/?key=hunter2 x", Some(&format!("{behind} NAME -- x")));
        check("add --scope user foo npx", Some(&format!("{behind} NAME -- npx")));
        check(
            "add foo https://example.com/mcp?key=hunter2",
            Some("an address needs --url: switchboard add foo --url URL"),
        );
        check("add foo bar -- npx", None);
        check("add foo --nonsense", None);
        check(
            "test",
            Some("NAME is a server, `switchboard list` shows them; or give it --url URL, or -- COMMAND"),
        );
        check("why", Some("NAME is a server, `switchboard list` shows them"));
        check("rm", Some("NAME is a server, `switchboard list` shows them"));
        check("call", Some("TOOL is a tool, `switchboard tools` shows them"));
        check("prompt", Some("NAME is a prompt, `switchboard prompts` shows them"));
        check("add foo --transport sse", None);
        check("list nonsense", None);
    }
}
