//! A text of ours as it may be shown: the same layout, with what may be a secret replaced by stars.

use jsonc_parser::CollectOptions;
use jsonc_parser::ast::{Object, Value as Ast};
use jsonc_parser::common::Ranged;

use crate::redact;
use crate::template::{Syntax, Template};

/// The text without its secrets; nothing at all if it cannot be read, since nobody knows then what is one.
pub fn redacted(text: &str) -> String {
    let options = &crate::sources::syntax::JSON_OPTIONS;
    let Ok(parsed) = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), options) else {
        return String::new();
    };
    let mut hidden = Vec::new();
    if let Some(value) = &parsed.value {
        walk(value, "", &mut hidden);
    }
    let mut shown = String::with_capacity(text.len());
    let mut done = 0;
    for (start, end, replacement) in hidden {
        shown.push_str(&text[done..start]);
        shown.push_str(&replacement);
        done = end;
    }
    shown.push_str(&text[done..]);
    shown
}

/// Whether variables or headers stand under this key, in the words of any tool.
pub fn holds_secrets(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    matches!(key.as_str(), "env" | "envs" | "environment") || key.ends_with("headers")
}

/// Collects what to replace, in the order of the text.
fn walk(value: &Ast<'_>, key: &str, hidden: &mut Vec<(usize, usize, String)>) {
    match value {
        Ast::Object(object) if holds_secrets(key) => pairs(object, hidden),
        Ast::Object(object) => {
            for property in &object.properties {
                walk(&property.value, property.name.as_str(), hidden);
            }
        }
        Ast::Array(array) => {
            let word = |element: &Ast<'_>| match element {
                Ast::StringLit(literal) => Template::parse(literal.value.to_string(), Syntax::Braced),
                _ => Template::plain(""),
            };
            let words: Vec<_> = array.elements.iter().map(word).collect();
            // Arguments are looked at together: an option tells what the next one is.
            for (element, shown) in array.elements.iter().zip(redact::args(&words)) {
                match element {
                    Ast::StringLit(literal) => {
                        hide(literal.start(), literal.end(), &literal.value, shown, hidden);
                    }
                    other => walk(other, "", hidden),
                }
            }
        }
        Ast::StringLit(literal) => {
            let template = Template::parse(literal.value.to_string(), Syntax::Braced);
            let shown =
                if redact::is_telling(key) { redact::value(&template) } else { redact::word(&literal.value) };
            hide(literal.start(), literal.end(), &literal.value, shown, hidden);
        }
        Ast::NumberLit(_) | Ast::BooleanLit(_) | Ast::NullKeyword(_) => {}
    }
}

/// Values of variables and headers are secrets, whatever they look like.
fn pairs(object: &Object<'_>, hidden: &mut Vec<(usize, usize, String)>) {
    for property in &object.properties {
        let shown = match &property.value {
            Ast::StringLit(literal) => {
                redact::value(&Template::parse(literal.value.to_string(), Syntax::Braced))
            }
            _ => redact::STARS.to_owned(),
        };
        let value = &property.value;
        hidden.push((value.start(), value.end(), serde_json::Value::String(shown).to_string()));
    }
}

fn hide(start: usize, end: usize, value: &str, shown: String, hidden: &mut Vec<(usize, usize, String)>) {
    if shown != value {
        hidden.push((start, end, serde_json::Value::String(shown).to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::redacted;

    #[test]
    fn secrets_go_and_the_layout_stays() {
        let check = |text: &str, shown: &str| assert_eq!(redacted(text), shown);
        check(
            "{ // mine\n  \"a\": { \"env\": { \"K\": \"hunter2\", \"P\": 80 }, \"args\": [\"--token\", \"hunter2\", \"-v\"] }\n}",
            "{ // mine\n  \"a\": { \"env\": { \"K\": \"***\", \"P\": \"***\" }, \"args\": [\"--token\", \"***\", \"-v\"] }\n}",
        );
        check("{\"oauth\": {\"clientSecret\": \"hunter2\"}}", "{\"oauth\": {\"clientSecret\": \"***\"}}");
        check("{\"url\": \"https://a:b@x.dev/?k=v\"}", "{\"url\": \"https://***@x.dev/?k=***\"}");
        check("{\"environment\": {\"K\": \"hunter2\"}}", "{\"environment\": {\"K\": \"***\"}}");
        check("{\"headers\": {\"A\": \"Bearer ${T}\"}}", "{\"headers\": {\"A\": \"Bearer ${T}\"}}");
        check("{\"env\": {\"K\": \"hunter2\"", "");
    }
}
