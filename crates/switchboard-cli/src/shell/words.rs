//! The words of the session: how commands are called in it, and what somebody may have meant. Pure.

use std::borrow::Cow;

/// What a session says first.
pub(crate) const GREETING: &str =
    concat!("Switchboard ", env!("CARGO_PKG_VERSION"), ". /help for help, Ctrl-D to leave.");

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
    // Nobody means a command by so long a word.
    if word.len() > 40 {
        return None;
    }
    let is_near = |(distance, name): &(usize, &str)| *distance <= (name.len().max(word.len()) / 3).max(1);
    let starts = |name: &str| word.len() > 1 && name.starts_with(word);
    let measured = names.into_iter().map(|name| (if starts(name) { 0 } else { distance(word, name) }, name));
    measured.filter(is_near).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// How many letters must change, come, go, or change places with the next to make one word the other.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut table = vec![vec![0; other.len() + 1]; one.len() + 1];
    for (i, row) in table.iter_mut().enumerate() {
        row[0] = i;
    }
    table[0] = (0..=other.len()).collect();
    for i in 1..=one.len() {
        for j in 1..=other.len() {
            let is_same = one[i - 1] == other[j - 1];
            let mut least = (table[i - 1][j - 1] + usize::from(!is_same))
                .min(table[i - 1][j] + 1)
                .min(table[i][j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                least = least.min(table[i - 2][j - 2] + 1);
            }
            table[i][j] = least;
        }
    }
    table[one.len()][other.len()]
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
        check("quti", Some("quit"));
        check("app", Some("approve"));
        check("mpc", Some("mcp"));
        check("cal", Some("call"));
        check("xyz", None);
        check("", None);
    }
}
