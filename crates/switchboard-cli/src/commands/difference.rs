//! A difference of two texts, with the secrets hidden on both sides.

use similar::{ChangeTag, TextDiff};
use switchboard::config::edit::redacted;
use switchboard::sources::syntax::Format;
use switchboard::visible::visible;

use crate::printer::{BAD, FAINT, GOOD};

/// The lines that differ, with a little around them.
pub(super) fn difference(format: Format, old: &str, new: &str, path: &str) -> Vec<String> {
    let hidden = |text: &str| match format {
        Format::Json => redacted(text),
        Format::Toml | Format::Yaml => text.split_inclusive('\n').map(line_redacted).collect(),
    };
    let (old, new) = (hidden(old), hidden(new));
    let diff = TextDiff::from_lines(&old, &new);
    let mut lines = vec![format!("{FAINT}--- {path}{FAINT:#}"), format!("{FAINT}+++ {path}{FAINT:#}")];
    for group in diff.grouped_ops(2) {
        for op in group {
            for change in diff.iter_changes(&op) {
                let text = visible(change.value().trim_end_matches(['\n', '\r'])).into_owned();
                lines.push(match change.tag() {
                    ChangeTag::Insert => format!("{GOOD}+{text}{GOOD:#}"),
                    ChangeTag::Delete => format!("{BAD}-{text}{BAD:#}"),
                    ChangeTag::Equal => format!(" {text}"),
                });
            }
        }
    }
    lines
}

/// A line of TOML or YAML. Keys, headers and a few harmless values stay; nobody knows what the others are.
fn line_redacted(line: &str) -> String {
    const HARMLESS: &[&str] = &["command", "cmd", "type", "name", "enabled", "disabled", "timeout", "args"];
    const KNOWN: &[&str] = &["", "serve", "[\"serve\"]", "{}", "[]", "true", "false"];
    let text = line.trim_end_matches(['\n', '\r']);
    let end = &line[text.len()..];
    let body = text.trim_start();
    let blanks = &text[..text.len() - body.len()];
    let (dash, body) = body.strip_prefix("- ").map_or(("", body), |rest| ("- ", rest));
    if body.is_empty() || body.starts_with('#') || (body.starts_with('[') && dash.is_empty()) {
        let shown = if body.starts_with('#') { "#" } else { body };
        return format!("{blanks}{dash}{shown}{end}");
    }
    let Some(at) = body.find(['=', ':']) else {
        let shown = if KNOWN.contains(&body) { body } else { "***" };
        return format!("{blanks}{dash}{shown}{end}");
    };
    let (key, value) = (body[..at].trim(), body[at + 1..].trim());
    let is_word = !key.is_empty() && key.len() <= 60 && !key.contains(['"', '\'', ' ', '{', '[']);
    // What stands on several lines has no key on the others.
    if !is_word {
        return format!("{blanks}{dash}***{end}");
    }
    let is_plain = KNOWN.contains(&value)
        || (HARMLESS.contains(&key) && key != "args")
        || value.bytes().all(|byte| byte.is_ascii_digit());
    let shown = if is_plain { &body[at + 1..] } else { " ***" };
    format!("{blanks}{dash}{}{shown}{end}", &body[..=at])
}

#[cfg(test)]
mod tests {
    use super::line_redacted;

    #[test]
    fn only_keys_and_harmless_values_stay() {
        let check = |line: &str, shown: &str| assert_eq!(line_redacted(line), shown);
        check("[mcp_servers.a]\n", "[mcp_servers.a]\n");
        check("command = \"npx\"\r\n", "command = \"npx\"\r\n");
        check("args = [\"serve\"]", "args = [\"serve\"]");
        check("args = [\"--token\", \"hunter2\"]", "args = ***");
        check("  K = \"hunter2\"", "  K = ***");
        check("      - hunter2", "      - ***");
        check("    TOKEN: hunter2", "    TOKEN: ***");
        check("# hunter2", "#");
        check("  \"hunter2\",", "  ***");
        check("  - name: a", "  - name: a");
        check("a = {k = \"hunter2\"}", "a = ***");
    }
}
