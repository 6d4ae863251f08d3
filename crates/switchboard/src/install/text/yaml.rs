//! Entries in YAML: in a block of the top level line by line, in flow style before the closing bracket.

use serde_json::{Value, json};

use super::{Shape, Slot, refusal};
use crate::config::edit::Refusal;
use crate::sources::syntax::{Format, parse};

/// Where the servers stand in the text, by lines counted from 0.
#[derive(Debug)]
enum Place {
    /// Nowhere yet.
    Nowhere,
    /// Under a key that has nothing, or an empty pair of brackets, after it.
    Empty { line: usize },
    /// In brackets, from this position on.
    Flow { start: usize },
    /// As lines of their own.
    Block(Vec<Entry>),
}

/// One entry of a block.
#[derive(Debug)]
struct Entry {
    name: String,
    first: usize,
    /// After its last line that says something.
    end: usize,
}

pub(super) fn insert(text: &str, slot: &Slot, name: &str, entry: &Value) -> Result<String, Refusal> {
    let key = slot.keys.first().map_or("", String::as_str);
    match place(text, slot)? {
        Place::Nowhere => {
            let block = format!("{key}:\n{}", rendered(slot.shape, name, entry, 2));
            Ok(at_end(text, &block))
        }
        Place::Empty { line } => {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let head = lines[line].trim_end();
            let head =
                ["{}", "[]", "~", "null"].iter().find_map(|empty| head.strip_suffix(empty)).unwrap_or(head);
            let block = format!("{}\n{}", head.trim_end(), rendered(slot.shape, name, entry, 2));
            Ok(spliced(&lines, line..line + 1, &like(text, &block)))
        }
        Place::Flow { start } => flow(text, start, slot.shape, name, entry),
        Place::Block(entries) => {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
                return Err(refusal("its servers cannot be told apart"));
            };
            let block = rendered(slot.shape, name, entry, indent(lines[first.first]));
            Ok(spliced(&lines, last.end..last.end, &like(text, &block)))
        }
    }
}

pub(super) fn cut(text: &str, slot: &Slot, name: &str) -> Result<(String, String), Refusal> {
    let Place::Block(entries) = place(text, slot)? else {
        return Err(refusal("the entry stands on one line with others"));
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut named = entries.iter().filter(|entry| entry.name == name);
    let (Some(entry), None) = (named.next(), named.next()) else {
        return Err(refusal("the entry cannot be told from others"));
    };
    let piece = lines[entry.first..entry.end].concat();
    if entries.len() > 1 {
        return Ok((spliced(&lines, entry.first..entry.end, ""), piece));
    }
    // A key with nothing below it means something else than one without servers.
    let empty = if slot.shape == Shape::Map { "{}" } else { "[]" };
    let head = lines[..entry.first].iter().rposition(|line| says_something(line));
    let head = head.ok_or_else(|| refusal("its servers have no key"))?;
    let kept = format!("{} {empty}\n{}", lines[head].trim_end(), lines[head + 1..entry.first].concat());
    Ok((spliced(&lines, head..entry.end, &like(text, &kept)), piece))
}

pub(super) fn paste(text: &str, slot: &Slot, piece: &str) -> Result<String, Refusal> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (at, wanted, head) = match place(text, slot)? {
        Place::Block(entries) => match (entries.first(), entries.last()) {
            (Some(first), Some(last)) => (last.end..last.end, indent(lines[first.first]), String::new()),
            _ => return Err(refusal("its servers cannot be told apart")),
        },
        Place::Empty { line } => {
            let head = lines[line].trim_end();
            let head =
                ["{}", "[]", "~", "null"].iter().find_map(|empty| head.strip_suffix(empty)).unwrap_or(head);
            (line..line + 1, 2, format!("{}\n", head.trim_end()))
        }
        Place::Nowhere => {
            let key = slot.keys.first().map_or("", String::as_str);
            return Ok(at_end(text, &format!("{key}:\n{}", shifted(piece, 2))));
        }
        Place::Flow { .. } => return Err(refusal("its servers stand on one line")),
    };
    Ok(spliced(&lines, at, &like(text, &format!("{head}{}", shifted(piece, wanted)))))
}

/// Finds the servers with the help of the parser's lines.
fn place(text: &str, slot: &Slot) -> Result<Place, Refusal> {
    let root = parse(text, Format::Yaml).map_err(|error| Refusal { line: error.line, what: error.what })?;
    let key = slot.keys.first().map_or("", String::as_str);
    let Some(root) = root else { return Ok(Place::Nowhere) };
    let Some((at, node)) = root.entries().into_iter().flatten().find(|(other, _)| other.text == key) else {
        return Ok(Place::Nowhere);
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let line = index(at.line);
    let Some(head) = lines.get(line) else { return Err(refusal("its servers cannot be found")) };
    let colon = colon(head).ok_or_else(|| refusal("its servers cannot be found"))?;
    let after = head[colon + 1..].split(" #").next().unwrap_or_default().trim();
    let starts: Vec<(String, usize)> = match (node.entries(), node.items()) {
        (Some(entries), _) => {
            entries.iter().map(|(key, _)| (key.text.to_string(), index(key.line))).collect()
        }
        (_, Some(items)) => {
            let name = |item: &crate::sources::tree::Node<'_>| {
                item.get("name").and_then(|name| name.text()).unwrap_or_default().to_owned()
            };
            items.iter().map(|item| (name(item), index(item.line))).collect()
        }
        _ => Vec::new(),
    };
    if matches!(after, "" | "{}" | "[]" | "~" | "null") && starts.is_empty() {
        return Ok(Place::Empty { line });
    }
    if after.starts_with(['{', '[']) {
        let before: usize = lines[..line].iter().map(|line| line.len()).sum();
        let open = head[colon..].find(['{', '[']).unwrap_or_default();
        return Ok(Place::Flow { start: before + colon + open });
    }
    if !after.is_empty() {
        return Err(refusal("its servers are shared with another place of the file"));
    }
    block(&lines, line, &starts)
}

fn block(lines: &[&str], head: usize, starts: &[(String, usize)]) -> Result<Place, Refusal> {
    let depth = starts.first().and_then(|(_, first)| lines.get(*first)).map_or(0, |line| indent(line));
    let is_sound = starts.windows(2).all(|pair| pair[0].1 < pair[1].1)
        && starts
            .iter()
            .all(|(_, first)| *first > head && lines.get(*first).is_some_and(|line| indent(line) == depth));
    if !is_sound {
        return Err(refusal("its servers are laid out in an unusual way"));
    }
    let is_list = starts.first().is_some_and(|(_, first)| lines[*first].trim_start().starts_with('-'));
    let belongs = |line: &str| {
        indent(line) > depth || (indent(line) == depth && depth == 0 && is_list && line.starts_with('-'))
    };
    let mut entries = Vec::new();
    for (number, (name, first)) in starts.iter().enumerate() {
        let next = starts.get(number + 1).map_or(lines.len(), |(_, next)| *next);
        let mut end = first + 1;
        for (at, line) in lines.iter().enumerate().take(next).skip(first + 1) {
            if !says_something(line) {
                continue;
            }
            if !belongs(line) {
                break;
            }
            end = at + 1;
        }
        entries.push(Entry { name: name.clone(), first: *first, end });
    }
    Ok(Place::Block(entries))
}

/// Puts an entry before the closing bracket.
fn flow(text: &str, start: usize, shape: Shape, name: &str, entry: &Value) -> Result<String, Refusal> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut last) = (start, 0_u32, b'[');
    while let Some(byte) = bytes.get(at).copied() {
        match byte {
            b'"' | b'\'' => {
                let close = text[at + 1..].find(char::from(byte)).map_or(text.len(), |close| at + 1 + close);
                at = close;
            }
            b'#' if at > 0 && bytes[at - 1].is_ascii_whitespace() => {
                at = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' if depth == 1 => {
                let comma = if matches!(last, b',' | b'[' | b'{') { "" } else { ", " };
                let new = match shape {
                    Shape::Map => format!("{}: {entry}", json!(name)),
                    Shape::List => entry.to_string(),
                };
                return Ok(format!("{}{comma}{new}{}", &text[..at], &text[at..]));
            }
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            last = byte;
        }
        at += 1;
    }
    Err(refusal("its servers have no end"))
}

/// Adds lines at the end of the document.
fn at_end(text: &str, block: &str) -> String {
    let block = like(text, block);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let end = lines.iter().rposition(|line| says_something(line));
    match end {
        Some(end) if lines[end].trim_end() == "..." => spliced(&lines, end..end, &block),
        _ if text.is_empty() || text.ends_with('\n') => format!("{text}{block}"),
        _ => format!("{text}{}{block}", newline(text)),
    }
}

fn rendered(shape: Shape, name: &str, entry: &Value, depth: usize) -> String {
    let blanks = " ".repeat(depth);
    match shape {
        Shape::Map => {
            let inner = fields(entry, depth + 2);
            format!("{blanks}{}:\n{inner}", scalar(&json!(name)))
        }
        Shape::List => {
            let inner = fields(entry, depth + 2);
            format!("{blanks}- {}", inner.trim_start())
        }
    }
}

fn fields(value: &Value, depth: usize) -> String {
    let blanks = " ".repeat(depth);
    let mut text = String::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        let key = scalar(&json!(key));
        match value {
            Value::Object(map) if !map.is_empty() => {
                text.push_str(&format!("{blanks}{key}:\n{}", fields(value, depth + 2)));
            }
            Value::Array(items) if !items.is_empty() => {
                text.push_str(&format!("{blanks}{key}:\n"));
                for item in items {
                    text.push_str(&format!("{blanks}  - {}\n", scalar(item)));
                }
            }
            other => text.push_str(&format!("{blanks}{key}: {}\n", scalar(other))),
        }
    }
    text
}

/// A plain word where nobody can take it for something else.
fn scalar(value: &Value) -> String {
    let Value::String(text) = value else { return value.to_string() };
    let is_word = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .contains(&text.to_ascii_lowercase().as_str());
    if is_word { text.clone() } else { value.to_string() }
}

/// The lines moved to another depth.
fn shifted(piece: &str, depth: usize) -> String {
    let from = piece.lines().next().map_or(0, indent);
    let mut moved = String::new();
    for line in piece.lines() {
        let blanks = (indent(line) + depth).saturating_sub(from);
        if !line.trim().is_empty() {
            moved.push_str(&" ".repeat(blanks));
            moved.push_str(line.trim_start_matches(' '));
        }
        moved.push('\n');
    }
    moved
}

fn spliced(lines: &[&str], range: std::ops::Range<usize>, new: &str) -> String {
    let before = lines[..range.start].concat();
    let glue = if before.is_empty() || before.ends_with('\n') || new.is_empty() { "" } else { "\n" };
    format!("{before}{glue}{new}{}", lines[range.end..].concat())
}

/// A block with the line ends of the text.
fn like(text: &str, block: &str) -> String {
    let block = block.replace("\r\n", "\n");
    if newline(text) == "\r\n" { block.replace('\n', "\r\n") } else { block }
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn index(line: u32) -> usize {
    usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn says_something(line: &str) -> bool {
    !line.trim().is_empty() && !line.trim_start().starts_with('#')
}

/// The colon after a key at the start of a line.
fn colon(line: &str) -> Option<usize> {
    let quote = line.chars().next().filter(|first| matches!(first, '"' | '\''));
    let from = match quote {
        Some(quote) => line[1..].find(quote)? + 2,
        None => 0,
    };
    Some(from + line[from..].find(':')?)
}
