//! What to type instead, for a line that cannot be understood. Takes the error and what was typed, gives a tip.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use switchboard::redact;
use switchboard::template::Template;
use switchboard::visible::shell_word;

use super::command;

/// More words of a command than this are left out of a tip.
const MOST_WORDS: usize = 3;
/// Programs that servers are started with, and that no server is called like.
const STARTERS: &[&str] = &[
    "bun", "bunx", "deno", "docker", "node", "npm", "npx", "pnpm", "podman", "python", "python3", "uv", "uvx",
];

/// Puts what to type instead into the error of a line, if that is known, and takes the key out of a word it repeats.
pub(crate) fn advise(error: &mut clap::Error, typed: &[String]) {
    if let Some(tip) = tip(error, typed) {
        let tip = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        drop(error.insert(ContextKind::Suggested, tip));
        // An option that only sounds alike leads astray.
        drop(error.remove(ContextKind::SuggestedArg));
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
        (ErrorKind::UnknownArgument, ContextValue::String(word)) => unknown(&verb, word, typed),
        _ => None,
    }
}

/// What to type instead of a word or an option that a command does not have.
fn unknown(verb: &str, word: &str, typed: &[String]) -> Option<String> {
    let words = behind(verb, typed);
    let tip = match verb {
        "add" => behind_dashes(word, &words),
        "test" => command_to_test(&words),
        "call" | "prompt" => argument(word, &words),
        "tools" | "resources" | "prompts" | "status" => named_alone(verb, word, &words),
        "chat" => prompt_option(word, &words).map(str::to_owned),
        _ => None,
    };
    tip.or_else(|| two_dashes(verb, word, typed))
}

/// What was typed behind the command.
fn behind<'t>(verb: &str, typed: &'t [String]) -> Vec<&'t str> {
    let typed = typed.iter().map(String::as_str);
    typed.skip_while(|word| word.trim_start_matches('/') != verb).skip(1).collect()
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
fn behind_dashes(word: &str, typed: &[&str]) -> Option<String> {
    // The first word may be the same: the name.
    let at = (1..typed.len()).find(|at| typed[*at] == word)?;
    if word.starts_with('-') || typed[at..].contains(&"--") {
        return None;
    }
    // All words at once, and before any is left out: an option tells that a key follows.
    let shown = shown(typed);
    let (before, command) = shown.split_at(at);
    let name = match before {
        [name] if !name.starts_with('-') && name == typed[0] => shell_word(name),
        _ => "NAME".to_owned(),
    };
    if ["http://", "https://"].iter().any(|scheme| word.starts_with(scheme)) {
        return Some(format!("an address needs --url: switchboard add {name} --url URL"));
    }
    Some(format!("a command goes behind `--`: switchboard add {name} -- {}", start(command)))
}

/// A command to try that was typed without the word that goes before it. Whatever else comes first is a server's name.
fn command_to_test(typed: &[&str]) -> Option<String> {
    let (program, args) = typed.split_first()?;
    let is_path = program.contains('/') && !program.contains("://");
    let is_program = STARTERS.contains(program) || (is_path && !program.starts_with('-'));
    if !is_program || args.contains(&"--") {
        return None;
    }
    Some(format!("a command goes behind `--`: switchboard test -- {}", start(&shown(typed))))
}

/// An argument of a tool or a prompt that was typed like an option of ours.
fn argument(word: &str, typed: &[&str]) -> Option<String> {
    let name = word.strip_prefix("--").filter(|name| !name.is_empty())?;
    let has_tool =
        typed.iter().take_while(|typed| !is_option(typed, word)).any(|word| !word.starts_with('-'));
    has_tool.then(|| format!("arguments are written NAME=VALUE: {}=...", redact::word(name)))
}

/// Servers that were typed behind an option that other commands have for them.
fn named_alone(verb: &str, word: &str, typed: &[&str]) -> Option<String> {
    if !matches!(word, "--only" | "--server" | "--servers") {
        return None;
    }
    let at = typed.iter().position(|typed| is_option(typed, word))?;
    let name = match typed[at].split_once('=') {
        Some((_, name)) => Some(name),
        None => typed.get(at + 1).copied(),
    };
    let name = name.filter(|name| !name.is_empty() && !name.starts_with('-'));
    let name = name.map_or_else(|| "NAME".to_owned(), |name| shell_word(&redact::word(name)));
    Some(format!("servers are named without an option: switchboard {verb} {name}"))
}

/// A prompt that was typed as it is.
fn prompt_option(word: &str, typed: &[&str]) -> Option<&'static str> {
    let has_prompt = typed.iter().any(|typed| typed.starts_with("-p") || typed.starts_with("--prompt"));
    (!word.starts_with('-') && !has_prompt).then_some("a prompt is given with -p: switchboard chat -p PROMPT")
}

/// A long option that was typed with one dash, and so taken for several short ones. A session has options of its own.
fn two_dashes(verb: &str, word: &str, typed: &[String]) -> Option<String> {
    let letter = word.strip_prefix('-').filter(|letter| letter.chars().count() == 1)?;
    if typed.first()?.starts_with('/') {
        return None;
    }
    let typed = typed.iter().take_while(|word| *word != "--").filter_map(|word| word.strip_prefix('-'));
    let mut names = typed.map(|word| word.split_once('=').map_or(word, |(name, _)| name));
    let name = names.find(|name| name.len() > 1 && name.contains(letter) && !name.starts_with('-'))?;
    let program = command();
    let has = |command: &clap::Command| command.get_arguments().any(|arg| arg.get_long() == Some(name));
    let is_option = has(&program) || program.find_subcommand(verb).is_some_and(has);
    is_option.then(|| format!("did you mean --{name}?"))
}

/// Whether it is this option, with or without a value.
fn is_option(typed: &str, option: &str) -> bool {
    typed.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

/// Words without the keys in them.
fn shown(typed: &[&str]) -> Vec<String> {
    let words: Vec<_> = typed.iter().map(|word| Template::plain(*word)).collect();
    redact::args(&words)
}

/// The first words of a command.
fn start(command: &[String]) -> String {
    let words: Vec<String> = command.iter().take(MOST_WORDS).map(|word| plain_word(word)).collect();
    let rest = if command.len() > MOST_WORDS { " ..." } else { "" };
    format!("{}{rest}", words.join(" "))
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

    fn check(line: &str, expected: Option<&str>) {
        let typed: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let words = std::iter::once("switchboard").chain(line.split(' '));
        let mut error = command().try_get_matches_from(words).unwrap_err();
        assert_eq!(tip(&error, &typed).as_deref(), expected, "{line}");
        advise(&mut error, &typed);
        let told = error.to_string();
        assert!(!told.contains("hunter2"), "{told}");
        assert!(expected.is_none() || !told.contains("similar"), "{told}");
    }

    #[test]
    fn the_mistakes_that_are_made_most_come_with_what_to_type() {
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

    #[test]
    fn a_command_to_try_is_shown_behind_its_dashes() {
        let behind = "a command goes behind `--`: switchboard test --";
        check("test npx -y foo", Some(&format!("{behind} npx -y foo")));
        check("-q test npx foo", Some(&format!("{behind} npx foo")));
        check("test ./server --port 1", Some(&format!("{behind} ./server --port 1")));
        check("test npx -y x --key hunter2", Some(&format!("{behind} npx -y x ...")));
        check("test uvx x --token hunter2", Some(&format!("{behind} uvx x --token ...")));
        check("test npx --token hunter2", Some(&format!("{behind} npx --token '***'")));
        // So may servers be called.
        check("test one two", None);
        check("test one --nonsense", None);
    }

    #[test]
    fn what_looks_like_an_option_is_told_for_what_it_is() {
        let written = |name: &str| format!("arguments are written NAME=VALUE: {name}=...");
        check("call time/get_current_time --timezone Asia/Tokyo", Some(&written("timezone")));
        check("call login --token=hunter2", Some(&written("token")));
        check("prompt greet --servant hunter2", Some(&written("servant")));
        check("call --nonsense x", None);
        let alone = "servers are named without an option: switchboard";
        check("tools --only time", Some(&format!("{alone} tools time")));
        check("resources --server=time", Some(&format!("{alone} resources time")));
        check("status --only", Some(&format!("{alone} status NAME")));
        check("tools --onlyy time", None);
        check("status -json", Some("did you mean --json?"));
        check("-json list", Some("did you mean --json?"));
        check("chat -model=x", Some("did you mean --model?"));
        check("status -jasmine", None);
    }

    #[test]
    fn a_prompt_without_its_option_is_told_where_it_goes() {
        check("chat hello", Some("a prompt is given with -p: switchboard chat -p PROMPT"));
        check("chat --json what is new", Some("a prompt is given with -p: switchboard chat -p PROMPT"));
        check("chat -p what is new", None);
    }
}
