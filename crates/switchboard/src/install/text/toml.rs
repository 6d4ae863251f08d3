//! Entries in TOML, as tables with a header, as inline tables or as dotted keys.

use std::ops::Range;

use serde_json::Value;
use toml_edit::Key;

use super::refusal;
use crate::config::edit::Refusal;

/// One header, or one key with its value, with the lines it stands on.
#[derive(Debug)]
struct Statement {
    /// From the start of its line to the end of its last, the line end included.
    lines: Range<usize>,
    /// Its whole path of keys.
    path: Vec<String>,
    /// How much of the path the header above says.
    above: usize,
    /// Where its value ends.
    end: usize,
    is_header: bool,
}

pub(super) fn insert(text: &str, keys: &[String], name: &str, entry: &Value) -> Result<String, Refusal> {
    let statements = statements(text)?;
    if let Some(inline) = statements.iter().find(|statement| !statement.is_header && statement.path == keys) {
        // The servers stand on one line, and so does the new one.
        let close = text[..inline.end].rfind('}').ok_or_else(|| refusal("its servers are not a table"))?;
        let before = text[..close].trim_end();
        let comma = if before.ends_with(['{', ',']) { "" } else { "," };
        let new = format!("{comma} {} = {} ", key(name), inline_value(entry));
        return Ok(format!("{before}{new}{}", &text[close..]));
    }
    Ok(paste(text, &table(keys, name, entry, newline(text))))
}

pub(super) fn cut(
    text: &str,
    keys: &[String],
    name: &str,
    entry: &Value,
) -> Result<(String, String), Refusal> {
    let path = [keys, &[name.to_owned()]].concat();
    let statements = statements(text)?;
    let is_part = |statement: &Statement| statement.path.starts_with(&path);
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut previous = None;
    for (index, part) in statements.iter().enumerate().filter(|(_, statement)| is_part(statement)) {
        match ranges.last_mut() {
            // Comments between two parts go with them.
            Some(last) if index > 0 && previous == Some(index - 1) => last.end = part.lines.end,
            _ => ranges.push(part.lines.clone()),
        }
        previous = Some(index);
    }
    if ranges.is_empty() {
        return Err(refusal("the entry stands on one line with others"));
    }
    let stands_alone = statements
        .iter()
        .filter(|statement| is_part(statement))
        .all(|part| part.is_header || part.above >= path.len());
    let piece = if stands_alone {
        ranges.iter().map(|range| &text[range.clone()]).collect()
    } else {
        table(keys, name, entry, newline(text))
    };
    let mut new = String::with_capacity(text.len());
    let mut done = 0;
    for range in ranges {
        let before = &text[done..range.start];
        // Of the blank lines on both sides one side stays.
        let after = &text[range.end..];
        let is_gap = before.ends_with("\n\n") || before.ends_with("\r\n\r\n");
        let is_double = is_gap && (after.trim_start_matches('\r').starts_with('\n') || after.is_empty());
        let shorter = before.strip_suffix("\r\n").or_else(|| before.strip_suffix('\n'));
        let before = shorter.filter(|_| is_double).unwrap_or(before);
        new.push_str(before);
        done = range.end;
    }
    new.push_str(&text[done..]);
    Ok((new, piece))
}

/// Puts tables at the end.
pub(super) fn paste(text: &str, piece: &str) -> String {
    let newline = newline(text);
    let mut new = text.to_owned();
    if !new.is_empty() && !new.ends_with('\n') {
        new.push_str(newline);
    }
    if !new.trim().is_empty() && !new.ends_with("\n\n") && !new.ends_with("\r\n\r\n") {
        new.push_str(newline);
    }
    new.push_str(piece);
    if !new.ends_with('\n') {
        new.push_str(newline);
    }
    new
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn table(keys: &[String], name: &str, entry: &Value, newline: &str) -> String {
    let path: Vec<_> = keys.iter().map(String::as_str).chain([name]).map(key).collect();
    let mut lines = vec![format!("[{}]", path.join("."))];
    for (field, value) in entry.as_object().into_iter().flatten() {
        lines.push(format!("{} = {}", key(field), inline_value(value)));
    }
    lines.push(String::new());
    lines.join(newline)
}

fn key(text: &str) -> String {
    let is_bare =
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_bare { text.to_owned() } else { Value::String(text.to_owned()).to_string() }
}

fn inline_value(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(inline_value).collect::<Vec<_>>().join(", ")),
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let pairs: Vec<_> =
                map.iter().map(|(name, value)| format!("{} = {}", key(name), inline_value(value))).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        other => other.to_string(),
    }
}

/// Takes a text apart that is known to be TOML.
fn statements(text: &str) -> Result<Vec<Statement>, Refusal> {
    let mut statements = Vec::new();
    let mut header: Vec<String> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let line_end = text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1);
        let line = text[at..line_end].trim_start();
        if line.is_empty() || line.starts_with('#') {
            at = line_end;
            continue;
        }
        let start = line_end - line.len();
        let is_header = line.starts_with('[');
        let (equals, end) = value_end(text, start);
        let close = text[end..].find('\n').map_or(text.len(), |newline| end + newline + 1);
        let (path, above) = if is_header {
            header = keys_of(text[start..end].trim().trim_matches(['[', ']']))?;
            (header.clone(), header.len())
        } else {
            let equals = equals.ok_or_else(|| refusal("a line of it has no value"))?;
            let own = keys_of(&text[start..equals])?;
            ([header.as_slice(), &own].concat(), header.len())
        };
        statements.push(Statement { lines: at..close, path, above, end, is_header });
        at = close;
    }
    Ok(statements)
}

fn keys_of(text: &str) -> Result<Vec<String>, Refusal> {
    let keys = Key::parse(text.trim()).map_err(|_| refusal("a key of it cannot be read"))?;
    Ok(keys.iter().map(|key| key.get().to_owned()).collect())
}

/// Where the first `=` of a statement stands, and where the statement ends, its comment left out.
fn value_end(text: &str, start: usize) -> (Option<usize>, usize) {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut equals) = (start, 0_u32, None);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' | b'\'' => {
                at = string_end(text, at);
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'=' if equals.is_none() => equals = Some(at),
            b'#' | b'\n' if depth == 0 => return (equals, start + text[start..at].trim_end().len()),
            b'#' => {
                at = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    (equals, start + text[start..].trim_end().len())
}

/// The position after a string.
fn string_end(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    let quote = &rest[..1];
    let long = quote.repeat(3);
    let escapes = quote == "\"";
    let (open, close) = if rest.starts_with(&long) { (3, long.as_str()) } else { (1, quote) };
    let mut at = start + open;
    while at < text.len() {
        let rest = &text[at..];
        if escapes && rest.starts_with('\\') {
            at += 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
        } else if rest.starts_with(close) {
            at += close.len();
            // Up to two quotes may stand before the closing three.
            while open == 3 && text[at..].starts_with(quote) {
                at += 1;
            }
            return at;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}
