//! What clients are told of how to use all this: the words of each server under its name, within bounds; who is not there,
//! and why, so that nobody wonders where the tools went. Pure.

use switchboard::catalog::Of;
use switchboard::connect::Status;
use switchboard::visible::{excerpt, shell_word};

/// Characters of the words of all servers.
const LONGEST: usize = 20_000;
/// No server gets fewer.
const LEAST: usize = 200;
/// Servers that are named as not there.
const MOST_ABSENT: usize = 50;

/// A server that cannot be used now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Absent {
    pub(crate) server: String,
    /// Why, and what to do.
    pub(crate) why: String,
}

/// Why a server cannot be used, if it cannot. One that is still starting is not yet absent.
pub(crate) fn absent(server: &str, status: &Status) -> Option<Absent> {
    let fault = status.fault()?;
    let state = match status {
        Status::NeedsLogin(_) => "needs a login",
        _ => "does not work",
    };
    let hint = fault.hint.as_deref().map(|hint| format!(" ({})", excerpt(hint, 300))).unwrap_or_default();
    let why = format!("{state}: {}{hint}", excerpt(&fault.message, 300));
    Some(Absent { server: excerpt(server, 100), why })
}

/// A server that waits for consent.
pub(crate) fn unapproved(server: &str) -> Absent {
    let why = format!("waits for the user's approval (switchboard trust {})", shell_word(server));
    Absent { server: excerpt(server, 100), why }
}

/// The words of the servers, each under its name. All have the same room.
pub(crate) fn merged(parts: &[&Of<String>]) -> String {
    let share = (LONGEST / parts.len().max(1)).max(LEAST);
    let part = |of: &&Of<String>| {
        let text: String = of.item.chars().take(share).collect();
        let cut = if text.len() < of.item.len() { "\n[cut off]" } else { "" };
        format!("## {}\n\n{text}{cut}", of.server)
    };
    let most = LONGEST / LEAST;
    let mut shown: Vec<String> = parts.iter().take(most).map(part).collect();
    if parts.len() > most {
        shown.push(format!("[the words of {} more servers are left out]", parts.len() - most));
    }
    shown.join("\n\n")
}

/// Who is not there.
pub(crate) fn absence(absent: &[Absent]) -> String {
    if absent.is_empty() {
        return String::new();
    }
    let mut lines: Vec<String> = absent
        .iter()
        .take(MOST_ABSENT)
        .map(|absent| format!("- {}: {}", absent.server, absent.why))
        .collect();
    if absent.len() > MOST_ABSENT {
        lines.push(format!("- and {} more", absent.len() - MOST_ABSENT));
    }
    format!(
        "# Not available now\n\nThe tools of these servers are missing or fail. Tell the user instead of working around it.\n\n{}",
        lines.join("\n")
    )
}

/// What belongs together, with what is empty left out.
pub(crate) fn together(parts: [&str; 3]) -> Option<String> {
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_all_servers_have_a_bound_and_each_has_its_share() {
        let of = |n: usize, length: usize| Of { server: format!("s{n}"), item: "x".repeat(length) };
        let few = [of(1, 10), of(2, 20)];
        assert_eq!(
            merged(&few.iter().collect::<Vec<_>>()),
            format!("## s1\n\n{}\n\n## s2\n\n{}", "x".repeat(10), "x".repeat(20))
        );
        for n in [1, 7, 100, 300] {
            let many: Vec<_> = (0..n).map(|i| of(i, 30_000)).collect();
            let text = merged(&many.iter().collect::<Vec<_>>());
            assert!(text.len() < LONGEST + n.min(101) * 40, "{n}: {}", text.len());
            assert!(text.contains("## s0\n"));
        }
        assert_eq!(merged(&[]), "");
    }

    #[test]
    fn who_is_not_there_is_named_with_what_to_do() {
        assert_eq!(absent("db", &Status::Connecting), None);
        let text = absence(&[unapproved("my db")]);
        assert!(
            text.contains("- my db: waits for the user's approval (switchboard trust 'my db')"),
            "{text}"
        );
        assert_eq!(absence(&[]), "");
        assert_eq!(together(["", "a", "b"]).as_deref(), Some("a\n\nb"));
        assert_eq!(together(["", "", ""]), None);
        let many: Vec<_> = (0..60).map(|n| unapproved(&n.to_string())).collect();
        assert!(absence(&many).ends_with("- and 10 more"));
    }
}
