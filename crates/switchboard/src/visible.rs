//! Makes hostile text harmless to look at: what would move a cursor, turn the reading direction or stay
//! invisible is shown as its code instead.

use std::borrow::Cow;
use std::fmt::Write;

/// Text as it may be shown on a terminal or in a report.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if is_plain || !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if is_hidden(c) => {
                // Writing to a string cannot fail.
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
            }
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Visible text cut to a length, with a mark where something is missing.
pub fn excerpt(text: &str, max_chars: usize) -> String {
    let shown = visible(text);
    match shown.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown.into_owned(),
    }
}

/// A name as one types it into a shell.
pub fn shell_word(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,".contains(c);
    if !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain) {
        return name.to_owned();
    }
    if visible(name) == name {
        return format!("'{}'", name.replace('\'', "'\\''"));
    }
    // What cannot be seen cannot be typed, except as its code.
    let escaped = name.chars().map(|c| match c {
        '\'' | '\\' => format!("\\{c}"),
        c if !is_hidden(c) => c.to_string(),
        c => format!("\\U{:08x}", u32::from(c)),
    });
    format!("$'{}'", escaped.collect::<String>())
}

/// Control characters, direction marks, zero-width and tag characters.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_show_as_codes() {
        let check = |text: &str, shown: &str| assert_eq!(visible(text), shown);
        check("github", "github");
        check("Übersicht 日本 🚀", "Übersicht 日本 🚀");
        check("a\u{1b}[31mred", "a\\u{1b}[31mred");
        check("evil\u{202e}txt", "evil\\u{202e}txt");
        check("two\nlines\ttab", "two\\nlines\\ttab");
        check("zero\u{200b}width", "zero\\u{200b}width");
        check("tag\u{e0041}", "tag\\u{e0041}");
    }

    #[test]
    fn an_excerpt_says_that_it_is_one() {
        assert_eq!(excerpt("abcdef", 3), "abc…");
        assert_eq!(excerpt("abc", 3), "abc");
    }

    #[test]
    fn a_name_can_be_typed_into_a_shell() {
        assert_eq!(shell_word("my-server"), "my-server");
        assert_eq!(shell_word("a b"), "'a b'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
        assert_eq!(shell_word("-x"), "'-x'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("a\u{1b}'b"), "$'a\\U0000001b\\'b'");
    }
}
