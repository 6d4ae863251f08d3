//! Finds tools by words: BM25 over what is known of them. Pure, and the same every time.

use std::collections::BTreeMap;

use serde_json::Value;

use super::build::Entry;

/// How fast more of the same word stops to count.
const K1: f64 = 1.2;
/// How much a long text counts less.
const B: f64 = 0.75;
/// A description says most at its beginning.
const SUMMARY: usize = 400;
/// Keys of a schema that are looked at.
const MOST_KEYS: usize = 200;

/// A tool that fits, and how well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked<'a> {
    /// The tool.
    pub entry: &'a Entry,
    /// More is better; it says nothing beyond one search.
    pub score: f64,
}

/// The tools that fit best, best first; equals by name.
pub fn search<'a>(tools: &[&'a Entry], query: &str, most: usize) -> Vec<Ranked<'a>> {
    let texts: Vec<BTreeMap<String, f64>> = tools.iter().map(|entry| weights(entry)).collect();
    let lengths: Vec<f64> = texts.iter().map(|text| text.values().sum()).collect();
    #[expect(clippy::cast_precision_loss, reason = "there are no 2^52 tools")]
    let n = tools.len() as f64;
    let usual = (lengths.iter().sum::<f64>() / n.max(1.0)).max(1.0);
    let mut wanted = words(query);
    wanted.sort();
    wanted.dedup();
    let mut ranked: Vec<Ranked<'a>> = Vec::new();
    for ((entry, text), length) in tools.iter().zip(&texts).zip(&lengths) {
        let score: f64 = wanted
            .iter()
            .filter_map(|word| {
                let often = *text.get(word)?;
                #[expect(clippy::cast_precision_loss, reason = "there are no 2^52 tools")]
                let having = texts.iter().filter(|text| text.contains_key(word)).count() as f64;
                let rare = ((n - having + 0.5) / (having + 0.5)).ln_1p();
                Some(rare * often * (K1 + 1.0) / (often + K1 * (1.0 - B + B * length / usual)))
            })
            .sum();
        if score > 0.0 {
            ranked.push(Ranked { entry, score });
        }
    }
    ranked.sort_by(|one, other| {
        other.score.total_cmp(&one.score).then_with(|| one.entry.name.cmp(&other.entry.name))
    });
    ranked.truncate(most);
    ranked
}

/// The words of a tool, the telling ones weighing more.
fn weights(entry: &Entry) -> BTreeMap<String, f64> {
    let mut weights = BTreeMap::new();
    let mut add = |text: &str, weight: f64| {
        for word in words(text) {
            *weights.entry(word).or_insert(0.0) += weight;
        }
    };
    add(&entry.tool.name, 6.0);
    add(entry.tool.title.as_deref().unwrap_or_default(), 4.0);
    add(&entry.server, 2.0);
    let description = entry.tool.description.as_deref().unwrap_or_default();
    add(&description.chars().take(SUMMARY).collect::<String>(), 2.0);
    let mut keys = Vec::new();
    schema_keys(&entry.input_schema.value(), &mut keys);
    for key in &keys {
        add(key, 1.0);
    }
    weights
}

/// The names of the arguments, also of those inside of others.
fn schema_keys(schema: &Value, keys: &mut Vec<String>) {
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else { return };
    for (key, below) in fields {
        if keys.len() >= MOST_KEYS {
            return;
        }
        keys.push(key.clone());
        schema_keys(below, keys);
    }
}

/// Words in lower case: split at everything that is no letter or digit, and inside `snake_case` and `camelCase`. A plural
/// is the same word.
fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut before: Option<char> = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let begins = match before {
            // `readFile`, and the last capital of `HTTPServer`.
            Some(last) if c.is_uppercase() => {
                last.is_lowercase()
                    || last.is_numeric()
                    || rest.peek().is_some_and(|next| next.is_lowercase())
            }
            _ => false,
        };
        if begins || !c.is_alphanumeric() {
            found.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = Some(c);
    }
    found.push(word);
    found.into_iter().filter(|word| !word.is_empty()).map(|word| singular(&word)).collect()
}

fn singular(word: &str) -> String {
    match word.strip_suffix("ies") {
        Some(stem) if stem.len() > 2 => format!("{stem}y"),
        _ => match word.strip_suffix('s') {
            Some(stem) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
            _ => word.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use serde_json::json;

    use super::*;
    use crate::catalog::sample::catalog;
    use crate::declared::Conduct;

    fn tool(name: &str, description: &str, keys: &[&str]) -> Value {
        let properties: serde_json::Map<String, Value> =
            keys.iter().map(|key| ((*key).to_owned(), json!({"type": "string"}))).collect();
        json!({"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}})
    }

    #[test]
    fn words_are_split_where_people_see_them() {
        let check = |text: &str, expected: &[&str]| assert_eq!(words(text), expected, "{text}");
        check("read_file", &["read", "file"]);
        check("readTextFile", &["read", "text", "file"]);
        check("parseHTTPHeadersToJson", &["parse", "http", "header", "to", "json"]);
        check("list-issues, of a repository", &["list", "issue", "of", "a", "repository"]);
        check("repositories", &["repository"]);
        check("ÄrgerLich", &["ärger", "lich"]);
        check("  ", &[]);
    }

    #[test]
    fn the_best_comes_first() {
        let of = |server: &'static str, tools: Value| (server, Conduct::default(), tools);
        let all = catalog(&[
            of(
                "github",
                json!([
                    tool("create_issue", "Opens a new issue in a repository", &["title", "body"]),
                    tool("list_issues", "Lists the issues of a repository", &["state"]),
                ]),
            ),
            of(
                "files",
                json!([
                    tool("read_text_file", "Reads a file as text", &["path"]),
                    tool("writeFile", "Writes a file", &["path", "content"]),
                ]),
            ),
            of("mail", json!([tool("send", "Sends a message to somebody", &["recipient", "subject"])])),
        ]);
        let tools: Vec<&Entry> = all.tools.iter().collect();
        let first =
            |query: &str| search(&tools, query, 5).first().map_or("", |ranked| ranked.entry.name.as_str());
        assert_eq!(first("create an issue"), "mcp_github_create_issue");
        assert_eq!(first("list all issues"), "mcp_github_list_issues");
        assert_eq!(first("read text"), "mcp_files_read_text_file");
        assert_eq!(first("write a file"), "mcp_files_writefile");
        assert_eq!(first("subject recipient"), "mcp_mail_send", "arguments count");
        assert_eq!(first("weather"), "");
        assert_eq!(search(&tools, "file", 1).len(), 1);
    }

    proptest! {
        #[test]
        fn the_order_of_the_tools_makes_no_difference(
            names in prop::collection::btree_set("[a-z]{1,4}(_[a-z]{1,4}){0,2}", 1..20),
            query in "[a-z]{1,4}( [a-z]{1,4}){0,3}",
            seed in any::<u64>(),
        ) {
            let tools: Vec<Value> = names.iter().map(|name| tool(name, name, &[])).collect();
            let tools = catalog(&[("s", Conduct::default(), json!(tools))]).tools;
            let mut shuffled: Vec<&Entry> = tools.iter().collect();
            let n = shuffled.len();
            for i in 0..n {
                let j = usize::try_from(seed.rotate_left(u32::try_from(i).unwrap()) % u64::try_from(n).unwrap()).unwrap();
                shuffled.swap(i, j);
            }
            let sorted: Vec<&Entry> = tools.iter().collect();
            prop_assert_eq!(search(&sorted, &query, 8), search(&shuffled, &query, 8));
        }
    }
}
