//! Whether two runs of a command show the same: without times, numbers of processes and whatever else is new each time,
//! and without what a page leaves out with `...`.

use std::sync::LazyLock;

use regex::Regex;

/// What is new each time, and the word for it.
static NEW_EACH_TIME: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)", "[TIME]"),
        (r"\b\d{1,2}:\d\d:\d\d [AP]M\b", "[TIME]"),
        (r"\b(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b", "[DAY]"),
        (r#""is_dst": (true|false)"#, "[DAY]"),
        (r"\b(\d+ (s|min|h|days?) ago|just now)\b", "[AGO]"),
        (r"\b\d+(\.\d+)? (ms|s)\b", "[MS]"),
        (r#""(elapsedMs|connectMs|listMs|at)": \d+"#, "[MS]"),
        (r"\b[0-9a-f]{16,}\b", "[HASH]"),
        (r"Bearer [A-Za-z0-9_-]{43}\b", "[TOKEN]"),
        (r"\b(gateway|session) \d+\b", "[PROCESS]"),
        (r"\bport \d+\b", "[HERE]"),
        (r"\b127\.0\.0\.1:\d+\b", "[HERE]"),
        // Columns are as wide as what is in them.
        (r" {2,}", "  "),
    ]
    .map(|(pattern, word)| (Regex::new(pattern).unwrap(), word))
    .into()
});

/// Whether what is seen is what the page shows.
pub(crate) fn same(page: &[String], seen: &[String]) -> bool {
    // A sign of life is shown only if something takes long.
    let is_lasting = |line: &&String| !line.starts_with("... connecting to ");
    let page: Vec<_> = page.iter().filter(is_lasting).map(|line| settled(line)).collect();
    let seen: Vec<_> = seen.iter().filter(is_lasting).map(|line| settled(line)).collect();
    fits(&page, &seen, |line| line == "...", |line, other| line_fits(line, other))
}

/// Whether the beginning of what is seen is what the page shows.
pub(crate) fn begins(page: &[String], seen: &[String]) -> bool {
    (0..=seen.len()).any(|n| same(page, &seen[..n]))
}

fn settled(line: &str) -> String {
    let line = NEW_EACH_TIME
        .iter()
        .fold(line.to_owned(), |line, (pattern, word)| pattern.replace_all(&line, *word).into());
    line.trim().to_owned()
}

fn line_fits(page: &str, seen: &str) -> bool {
    let parts: Vec<_> = page.split("...").collect();
    let [first, middle @ .., last] = &parts[..] else { return page == seen };
    let Some(mut rest) = seen.strip_prefix(first) else { return false };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Lines against lines, where some stand for any number of them.
fn fits<T>(page: &[T], seen: &[T], is_any: fn(&T) -> bool, one: fn(&T, &T) -> bool) -> bool {
    match (page, seen) {
        ([], seen) => seen.is_empty(),
        ([any, rest @ ..], seen) if is_any(any) => {
            (0..=seen.len()).any(|skipped| fits(rest, &seen[skipped..], is_any, one))
        }
        ([line, page @ ..], [other, seen @ ..]) => one(line, other) && fits(page, seen, is_any, one),
        (_, []) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_same(page: &str, seen: &str) -> bool {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        same(&lines(page), &lines(seen))
    }

    #[test]
    fn only_what_is_new_each_time_may_differ() {
        assert!(is_same("  12 ms  started\ndone", "1234 ms  started\ndone"));
        assert!(is_same("a\n...\nz", "a\nb\nc\nz"));
        assert!(is_same("...\nz", "z"));
        assert!(is_same("at http://x/y?z=...", "at http://x/y?z=1&b=2"));
        assert!(is_same("seen 3 h ago", "seen just now"));
        assert!(is_same("a\n... connecting to b\nb connected", "a\nb connected"));
        assert!(!is_same("2 tools", "3 tools"));
        assert!(!is_same("a\n...\nz", "a\nb"));
        assert!(!is_same("a", "a\nb"));
        assert!(!is_same("a\nb", "a"));
        assert!(!is_same("at http://x/y?z=...", "at http://x/q"));
    }
}
