//! A difference of two texts, with the secrets hidden on both sides.

use similar::{ChangeTag, TextDiff};
use switchboard::config::edit::{holds_secrets, redacted};
use switchboard::redact::{STARS, args, is_telling, word};
use switchboard::sources::syntax::Format;
use switchboard::template::Template;
use switchboard::visible::visible;

use crate::printer::{BAD, FAINT, GOOD};

/// The lines that differ, with a little around them.
pub(super) fn difference(format: Format, old: &str, new: &str, path: &str) -> Vec<String> {
    let hidden = |text: &str| match format {
        Format::Json => redacted(text),
        Format::Toml | Format::Yaml => by_line(format, text),
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

/// A text of TOML or YAML, line by line. Keys, headers, arguments and a few harmless values stay; nobody knows what the
/// others are.
fn by_line(format: Format, text: &str) -> String {
    let lines: Vec<Line<'_>> = text.split_inclusive('\n').map(Line::of).collect();
    let mut shown = String::with_capacity(text.len());
    let mut secrets = Secrets::default();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let is_secret = secrets.are_in(format, line);
        let list = if is_secret { None } else { arguments(&lines[at..]) };
        let new = list.unwrap_or_else(|| vec![line.redacted(format, is_secret)]);
        at += new.len();
        shown.extend(new);
    }
    shown
}

/// Where values are secrets, whatever they are called: those of variables and headers.
#[derive(Default)]
struct Secrets {
    /// In TOML, up to the next header.
    in_table: bool,
    /// In YAML, as long as lines begin further in than here.
    below: Option<usize>,
}

impl Secrets {
    /// Whether this line is one of those.
    fn are_in(&mut self, format: Format, line: &Line<'_>) -> bool {
        if format == Format::Toml {
            if let Some((_, keys)) = line.header() {
                self.in_table = keys.iter().any(|key| holds_secrets(key));
                return false;
            }
            // What cannot be made out may be the header of a table of variables, or a key in one.
            self.in_table |= line.body.starts_with('[');
            let is_inside = |keys: &[&str]| keys.iter().rev().skip(1).any(|key| holds_secrets(key));
            return self.in_table || dotted(line.body).is_none_or(|(keys, _)| is_inside(&keys));
        }
        let unquoted = |key: &str| key.trim().trim_matches(['"', '\'']).to_owned();
        let is_silent = line.body.trim().is_empty() || line.body.starts_with('#');
        if is_silent || self.below.is_some_and(|column| line.column() > column) {
            return self.below.is_some();
        }
        let key = line.body.split(':').next().map(unquoted).unwrap_or_default();
        self.below = holds_secrets(&key).then(|| line.column());
        false
    }
}

/// A line, taken apart.
struct Line<'t> {
    blanks: &'t str,
    /// The mark of a list of YAML.
    dash: &'t str,
    body: &'t str,
    end: &'t str,
}

impl<'t> Line<'t> {
    fn of(line: &'t str) -> Self {
        let text = line.trim_end_matches(['\n', '\r']);
        let end = &line[text.len()..];
        let body = text.trim_start();
        let blanks = &text[..text.len() - body.len()];
        let (dash, body) = if body.starts_with("- ") { body.split_at(2) } else { ("", body) };
        Self { blanks, dash, body, end }
    }

    /// Where what it says begins.
    fn column(&self) -> usize {
        self.blanks.len() + self.dash.len()
    }

    /// The header of a table, without a comment, and its keys. A list inside a list may look like one, but not one that
    /// begins with a letter, or with a quoted word and a dot.
    fn header(&self) -> Option<(&'t str, Vec<&'t str>)> {
        let (inner, end) = match self.body.strip_prefix("[[") {
            Some(inner) => (inner, "]]"),
            None => (self.body.strip_prefix('[')?, "]"),
        };
        let (keys, rest) = dotted(inner)?;
        let rest = rest.strip_prefix(end)?.trim_start();
        let first = inner.trim_start().chars().next()?;
        let is_key = first.is_ascii_alphabetic() || first == '_' || (!is_bare(first) && keys.len() > 1);
        let is_header = is_key && self.dash.is_empty() && (rest.is_empty() || rest.starts_with('#'));
        is_header.then(|| (self.body[..self.body.len() - rest.len()].trim_end(), keys))
    }

    /// Where the key ends, the key, and the value.
    fn pair(&self) -> Option<(usize, &'t str, &'t str)> {
        let at = self.body.find(['=', ':'])?;
        let (key, value) = (self.body[..at].trim(), self.body[at + 1..].trim());
        let is_word = !key.is_empty() && key.len() <= 60 && !key.contains(['"', '\'', ' ', '{', '[']);
        // What stands on several lines has no key on the others.
        is_word.then_some((at, key, value))
    }

    /// The line with another text in it.
    fn with(&self, body: &str) -> String {
        format!("{}{}{body}{}", self.blanks, self.dash, self.end)
    }

    fn redacted(&self, format: Format, is_secret: bool) -> String {
        let body = self.body;
        if body.starts_with('#') {
            return self.with("#");
        }
        if let (Format::Toml, Some((header, _))) = (format, self.header()) {
            let comment = if body.trim_end() == header { "" } else { " #" };
            return self.with(&format!("{header}{comment}"));
        }
        if let Some((at, key, value)) = self.pair() {
            let shown = shown_value(key, value, is_secret);
            // What is shown whole keeps its blanks.
            let shown = if shown == value { body[at + 1..].to_owned() } else { format!(" {shown}") };
            return self.with(&format!("{}{shown}", &body[..=at]));
        }
        let is_known = body.is_empty() || (!is_secret && KNOWN.contains(&body));
        self.with(if is_known { body } else { STARS })
    }
}

/// The parts of a key of TOML, and what comes behind it. Nothing if they cannot be made out: an escape may stand for
/// anything.
fn dotted(text: &str) -> Option<(Vec<&str>, &str)> {
    let (mut parts, mut rest) = (Vec::new(), text);
    loop {
        rest = rest.trim_start();
        let (part, behind) = match rest.chars().next()? {
            quote @ ('"' | '\'') => rest[1..].split_once(quote)?,
            _ => rest.split_at(rest.find(|c: char| !is_bare(c)).unwrap_or(rest.len())),
        };
        if part.is_empty() || part.contains('\\') {
            return None;
        }
        parts.push(part);
        rest = behind.trim_start();
        let Some(more) = rest.strip_prefix('.') else { return Some((parts, rest)) };
        rest = more;
    }
}

/// What may stand in a key of TOML without quotes.
const fn is_bare(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

/// Values that tell nothing.
const KNOWN: &[&str] = &["", "serve", "[\"serve\"]", "{}", "[]", "true", "false"];

/// What may be seen of a value.
fn shown_value(key: &str, value: &str, is_secret: bool) -> String {
    const HARMLESS: &[&str] =
        &["command", "cmd", "type", "name", "enabled", "disabled", "timeout", "url", "uri"];
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit()) && !is_telling(key);
    match value {
        "" => String::new(),
        _ if is_secret => STARS.to_owned(),
        _ if KNOWN.contains(&value) || is_number => value.to_owned(),
        _ if HARMLESS.contains(&key) => match value.split_once(" #") {
            Some((value, _)) => format!("{} #", word(value.trim_end())),
            None => word(value),
        },
        _ => STARS.to_owned(),
    }
}

/// A list of arguments without the keys in it, as in JSON: on one line, or one to a line. Nothing if it is laid out
/// otherwise.
fn arguments(lines: &[Line<'_>]) -> Option<Vec<String>> {
    let (head, rest) = lines.split_first()?;
    let (at, "args", value) = head.pair()? else { return None };
    if let Ok(words) = serde_json::from_str::<Vec<String>>(value) {
        let shown = without_keys(&words);
        if shown == words {
            return Some(vec![head.with(head.body)]);
        }
        let list: Vec<_> = shown.iter().map(|word| quoted(word)).collect();
        return Some(vec![head.with(&format!("{} [{}]", &head.body[..=at], list.join(", ")))]);
    }
    let is_block = value.is_empty();
    let n = match value {
        "" => rest.iter().position(|line| line.dash.is_empty()).unwrap_or(rest.len()),
        "[" => rest.iter().position(|line| line.body.trim() == "]")?,
        _ => return None,
    };
    let (items, after) = rest.split_at(n);
    if is_block && !is_flat(head, items, after.first()) {
        return None;
    }
    let word = |line: &Line<'_>| match line.dash {
        _ if is_block => plain_word(line.body.trim()),
        "" => serde_json::from_str(line.body.trim().trim_end_matches(',').trim_end()).ok(),
        _ => None,
    };
    let words: Vec<String> = items.iter().map(word).collect::<Option<_>>()?;
    let mut new = vec![head.with(head.body)];
    for ((line, word), shown) in items.iter().zip(&words).zip(without_keys(&words)) {
        let comma = if !is_block && line.body.trim_end().ends_with(',') { "," } else { "" };
        new.push(if shown == *word {
            line.with(line.body)
        } else if line.body.starts_with(['"', '\'']) {
            line.with(&format!("{}{comma}", quoted(&shown)))
        } else {
            line.with(&shown)
        });
    }
    // The bracket that ends it.
    new.extend(after.first().filter(|_| !is_block).map(|line| line.with(line.body)));
    Some(new)
}

/// Whether the lines of a list of YAML are its own, and none of them goes on in the next.
fn is_flat(head: &Line<'_>, items: &[Line<'_>], after: Option<&Line<'_>>) -> bool {
    let Some(first) = items.first() else { return false };
    let begins = first.blanks.len();
    let goes_on = after.is_some_and(|line| !line.body.trim().is_empty() && line.blanks.len() > begins);
    begins >= head.column() && items.iter().all(|line| line.blanks.len() == begins) && !goes_on
}

/// What a word of a list of YAML says; nothing if that is not plain to see.
fn plain_word(text: &str) -> Option<String> {
    if text.starts_with('"') {
        return serde_json::from_str(text).ok();
    }
    if let Some(inner) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return (!inner.contains('\'')).then(|| inner.to_owned());
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " -_./:@%+,=~${}".contains(c);
    let is_more = text.starts_with(['{', '}', ' ']) || text.starts_with("- ") || text.contains(": ");
    let is_word = !text.is_empty() && text.chars().all(is_plain) && !is_more && !text.ends_with(':');
    is_word.then(|| text.to_owned())
}

fn without_keys(words: &[String]) -> Vec<String> {
    let words: Vec<_> = words.iter().map(|word| Template::plain(word.as_str())).collect();
    args(&words)
}

fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_keys_and_harmless_values_stay() {
        let check = |line: &str, shown: &str| {
            assert_eq!(Line::of(line).redacted(Format::Toml, false), shown, "{line}");
        };
        check("[mcp_servers.a]\n", "[mcp_servers.a]\n");
        check("[[a.b]] # hunter2", "[[a.b]] #");
        check("  [\"hunter2\"]", "  ***");
        check("  [hunter2, 1]", "  ***");
        check("command = \"npx\"\r\n", "command = \"npx\"\r\n");
        check("command=\"npx\" # hunter2", "command= \"npx\" #");
        check("command = \"x --token hunter2\"", "command = \"x --token ***\"");
        check("url = \"https://a:b@x.dev/mcp?k=hunter2\"", "url = \"https://***@x.dev/mcp?k=***\"");
        check("  K = \"hunter2\"", "  K = ***");
        check("pin = 1234", "pin = ***");
        check("timeout = 1234", "timeout = 1234");
        check("      - hunter2", "      - ***");
        check("    TOKEN: hunter2", "    TOKEN: ***");
        check("# hunter2", "#");
        check("  \"hunter2\",", "  ***");
        check("  - name: a", "  - name: a");
        check("a = {k = \"hunter2\"}", "a = ***");
    }

    #[test]
    fn arguments_are_shown_as_in_json() {
        let check = |format: Format, text: &str, shown: &str| assert_eq!(by_line(format, text), shown);
        let toml = |text: &str, shown: &str| check(Format::Toml, text, shown);
        toml("args = [\"serve\", \"--only\", \"time\"]\n", "args = [\"serve\", \"--only\", \"time\"]\n");
        toml("args = [\"--token\", \"hunter2\", \"-v\"]\n", "args = [\"--token\", \"***\", \"-v\"]\n");
        toml(
            "args = [\n  \"-y\",\n  \"--api-key\",\n  \"hunter2\",\n]\nx = 1\n",
            "args = [\n  \"-y\",\n  \"--api-key\",\n  \"***\",\n]\nx = 1\n",
        );
        toml("args = ['hunter2']\n", "args = ***\n");
        toml("args = [\n  \"-y\", \"hunter2\",\n]\n", "args = ***\n  ***\n***\n");
        let yaml = |text: &str, shown: &str| check(Format::Yaml, text, shown);
        yaml(
            "a:\n  args:\n    - serve\n    - --token\n    - hunter2\n    - \"-v\"\n  cmd: x\n",
            "a:\n  args:\n    - serve\n    - --token\n    - ***\n    - \"-v\"\n  cmd: x\n",
        );
        yaml("args: [\"--key=hunter2\"]\n", "args: [\"--key=***\"]\n");
        yaml("args:\n- a\n- 'b'\n", "args:\n- a\n- 'b'\n");
        // A word that goes on in the next line, and one that is more than a word.
        yaml("args:\n  - a\n    hunter2\n", "args:\n  - ***\n    ***\n");
        yaml("args:\n  - --token\n  - |\n    hunter2\n", "args:\n  - ***\n  - ***\n    ***\n");
        // The next server is no argument.
        yaml("- args:\n- hunter2\n", "- args:\n- ***\n");
    }

    #[test]
    fn variables_and_headers_are_hidden_whatever_they_are_called() {
        let check = |format: Format, text: &str, shown: &str| assert_eq!(by_line(format, text), shown);
        check(
            Format::Toml,
            "[a.env]\nname = \"hunter2\"\nPIN = 1234\n\n[a]\nname = \"x\"\n[a.\"http_headers\"]\nurl = \"hunter2\"\n",
            "[a.env]\nname = ***\nPIN = ***\n\n[a]\nname = \"x\"\n[a.\"http_headers\"]\nurl = ***\n",
        );
        check(
            Format::Toml,
            "[\"a\".b.env]\nID = 4711\n[ a . 'env' ] # x\nID = 4711\n[\"a#b\".env]\nID = 4711\n[b]\ntimeout = 4711\n",
            "[\"a\".b.env]\nID = ***\n[ a . 'env' ] #\nID = ***\n[\"a#b\".env]\nID = ***\n[b]\ntimeout = 4711\n",
        );
        // What may be a header, and what may be a key in a table.
        check(
            Format::Toml,
            "[a]\ntimeout = 1\n[\"a.env]\ntimeout = 1\n[a]\n[\"\\u0065nv\"]\ntimeout = 1\n",
            "[a]\ntimeout = 1\n***\ntimeout = ***\n[a]\n***\ntimeout = ***\n",
        );
        check(
            Format::Toml,
            "[a]\nenv.ID = 4711\nb.env.name = \"x\"\nenv = {}\nheaders.\"X-Key\" = 4711\n\"env\" . ID = 4711\n",
            "[a]\nenv.ID = ***\nb.env.name = ***\nenv = {}\n***\n***\n",
        );
        check(
            Format::Yaml,
            "a:\n  envs:\n    name: hunter2\n# x\n    url: hunter2\n  name: x\n  \"headers\": # y\n    type: hunter2\n",
            "a:\n  envs:\n    name: ***\n#\n    url: ***\n  name: x\n  ***\n    type: ***\n",
        );
    }
}
