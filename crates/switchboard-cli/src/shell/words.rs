//! The words of the session: how commands are called in it, and what somebody may have meant. Pure.

use std::borrow::Cow;

/// Verbs that are called `/mcp VERB` in a session.
const VERBS: &[&str] = &[
    "add",
    "disable",
    "doctor",
    "enable",
    "help",
    "import",
    "list",
    "prompts",
    "reauth",
    "reconnect",
    "reload",
    "remove",
    "resources",
    "rm",
    "status",
    "test",
    "trust",
    "unauth",
    "untrust",
    "why",
];
/// Verbs that are commands of their own there.
const OWN: &[&str] = &["call", "prompt", "read", "tools"];

/// Text in which every command is called as in a session: `switchboard enable x` becomes `/mcp enable x`.
pub(crate) fn in_session(text: &str) -> Cow<'_, str> {
    const PROGRAM: &str = "switchboard ";
    if !text.contains(PROGRAM) {
        return Cow::Borrowed(text);
    }
    let mut worded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(PROGRAM) {
        let (before, after) = (&rest[..at], &rest[at + PROGRAM.len()..]);
        let end = after.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(after.len());
        let verb = &after[..end];
        // Part of a longer word, such as a path, it is no command.
        let is_alone = before.chars().next_back().is_none_or(|c| c.is_whitespace() || "`'\"(".contains(c));
        let called = match is_alone {
            true if VERBS.contains(&verb) => "/mcp ",
            true if OWN.contains(&verb) => "/",
            _ => PROGRAM,
        };
        worded.push_str(before);
        worded.push_str(called);
        rest = after;
    }
    worded.push_str(rest);
    Cow::Owned(worded)
}

/// The name that comes nearest, if one comes near.
pub(crate) fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let is_near = |(distance, name): &(usize, &str)| *distance <= (name.len().max(word.len()) / 3).max(1);
    let starts = |name: &str| word.len() > 1 && name.starts_with(word);
    let measured = names.into_iter().map(|name| (if starts(name) { 0 } else { distance(word, name) }, name));
    measured.filter(is_near).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// How many letters must change to make one word the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_called_as_in_the_session() {
        let check = |text: &str, expected: &str| assert_eq!(in_session(text), expected);
        check("hint: switchboard enable x", "hint: /mcp enable x");
        check("see `switchboard list --all`", "see `/mcp list --all`");
        check("switchboard call a, then switchboard tools", "/call a, then /tools");
        check(
            "look with `switchboard why x`, then `switchboard trust x`",
            "look with `/mcp why x`, then `/mcp trust x`",
        );
        check("switchboard builtin thinking", "switchboard builtin thinking");
        check("~/.switchboard add", "~/.switchboard add");
        check("switchboard listing", "switchboard listing");
        check("nothing", "nothing");
    }

    #[test]
    fn what_was_meant_is_found() {
        let names = ["mcp", "tools", "call", "approve", "quit"];
        let check = |word: &str, expected: Option<&str>| assert_eq!(nearest(word, names), expected, "{word}");
        check("tool", Some("tools"));
        check("aprove", Some("approve"));
        check("quti", None);
        check("app", Some("approve"));
        check("qiut", None);
        check("cal", Some("call"));
        check("xyz", None);
        check("", None);
    }
}
