//! Three tools instead of all of them: one that finds tools by words, one that tells all about a tool, one that calls it.
//!
//! They never change, so whatever a client or a model keeps of them stays good. What came and went since is told with what
//! is found. A call passes through as if it were made directly: questions, progress and errors included.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard::catalog::{Entry, search};
use switchboard::json::Json;
use switchboard::visible::excerpt;
use switchboard::wire::Era;

use crate::call::{self, Target};
use crate::client::Caller;
use crate::hub::Hub;
use crate::instructions::Absent;
use crate::pages::Listed;
use crate::rpc::RpcError;
use crate::view::{List, View};

/// So many are found if nothing is said.
const FOUND: usize = 10;
/// So many are found at most.
const MOST_FOUND: usize = 50;
/// Names that are told of as new or gone.
const MOST_NAMES: usize = 20;
/// Characters of a description that is found.
const SUMMARY: usize = 300;

/// One of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    Search,
    Describe,
    Call,
}

impl Own {
    const ALL: [Self; 3] = [Self::Call, Self::Describe, Self::Search];

    const fn name(self) -> &'static str {
        match self {
            Self::Search => "search_tools",
            Self::Describe => "describe_tool",
            Self::Call => "call_tool",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.name() == name)
    }

    fn definition(self) -> Value {
        let name = json!({"type": "string", "description": "The name of the tool, as search_tools gives it"});
        match self {
            Self::Search => json!({
                "name": self.name(),
                "description": "Finds tools by what they do. There are many tools that are not listed here: search before you \
                    say that something cannot be done. Gives names, descriptions and scores, the best first. Then use \
                    describe_tool to see what a tool takes, and call_tool to call it.",
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "query": {"type": "string", "description": "A few words: what the tool does, and on what"},
                        "limit": {"type": "integer", "minimum": 1, "maximum": MOST_FOUND, "description": "How many to give; 10 if not said"},
                        "server": {"type": "string", "description": "Only tools of this server"},
                    },
                    "required": ["query"],
                },
                "annotations": {"title": "Search tools", "readOnlyHint": true, "openWorldHint": false},
            }),
            Self::Describe => json!({
                "name": self.name(),
                "description": "Tells all about one tool: its description, the schema of its arguments and of its result, and \
                    what its server says of its effects. Look before you call a tool for the first time.",
                "inputSchema": {"type": "object", "properties": {"name": name}, "required": ["name"]},
                "annotations": {"title": "Describe a tool", "readOnlyHint": true, "openWorldHint": false},
            }),
            Self::Call => json!({
                "name": self.name(),
                "description": "Calls a tool that search_tools found, and gives its result as it is. The arguments have to fit \
                    the schema that describe_tool gives.",
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "name": name,
                        "arguments": {"type": "object", "description": "The arguments of that tool", "additionalProperties": true},
                    },
                    "required": ["name"],
                },
                "annotations": {"title": "Call a tool"},
            }),
        }
    }
}

/// The three, as they are listed.
pub(crate) fn tools() -> Vec<Listed> {
    let listed = |own: Own| Listed { key: own.name().to_owned(), json: own.definition().into() };
    Own::ALL.into_iter().map(listed).collect()
}

/// How to go about it.
pub(crate) const INTRODUCTION: &str = "Tools are not listed one by one here. Find them with search_tools by what they do, look \
    at one with describe_tool, call it with call_tool. Search again with other words before you give up.";

/// Answers a call of one of the three.
pub(crate) async fn answer(
    hub: &Arc<Hub>,
    caller: &Caller,
    own: Own,
    params: &Json,
) -> Result<Json, RpcError> {
    hub.ready(List::Tools).await;
    let view = hub.view_of(&caller.facet);
    let arguments = params.get("arguments").unwrap_or_else(|| Json::object([]));
    let wanted = match own {
        Own::Search => arguments.get("query"),
        Own::Describe | Own::Call => arguments.get("name"),
    };
    let Some(wanted) = wanted.and_then(|wanted| wanted.text()) else {
        let what = if own == Own::Search { "query" } else { "name" };
        return Ok(problem(caller.era, &format!("`{what}` has to be a text")));
    };
    if own == Own::Search {
        let found = found(&view, &wanted, &arguments);
        let before = caller.client.searched(view.names());
        let news = before.map(|before| difference(&before, &view.names())).unwrap_or_default();
        return Ok(told(caller.era, &report(&view, &found, &news, &hub.absent(&caller.facet))));
    }
    let Some(entry) = view.held(&wanted) else {
        let was_there = caller.client.has_seen(&wanted);
        return Ok(problem(caller.era, &missing(&view, &wanted, was_there)));
    };
    if own == Own::Describe {
        return Ok(told(caller.era, &view.definition(&wanted, &entry)));
    }
    let inner = arguments.get("arguments").filter(|inner| inner.as_str() != "null");
    let inner = inner.unwrap_or_else(|| Json::object([]));
    if !inner.as_str().starts_with('{') {
        return Ok(problem(caller.era, "`arguments` has to be an object"));
    }
    let params = params.with("name", json!(entry.tool.name).into()).with("arguments", inner);
    call::relay(hub, caller, Target::Tool(entry), params).await
}

/// A tool that fits, under the name clients know.
struct Found<'a> {
    name: &'a str,
    entry: &'a Entry,
    score: f64,
}

fn found<'a>(view: &'a View, query: &str, arguments: &Json) -> Vec<Found<'a>> {
    let limit = arguments.get("limit").and_then(|limit| limit.parse::<usize>().ok());
    let limit = limit.unwrap_or(FOUND).clamp(1, MOST_FOUND);
    let server = arguments.get("server").and_then(|server| server.text());
    let seen: Vec<(&str, &Entry)> = view
        .seen()
        .filter(|(_, entry)| server.as_ref().is_none_or(|server| entry.server == *server))
        .collect();
    let entries: Vec<&Entry> = seen.iter().map(|(_, entry)| *entry).collect();
    search(&entries, query, limit)
        .into_iter()
        .filter_map(|ranked| {
            let (name, entry) = seen.iter().find(|(_, entry)| std::ptr::eq(*entry, ranked.entry))?;
            Some(Found { name, entry, score: ranked.score })
        })
        .collect()
}

/// What came and what went.
type News = (Vec<String>, Vec<String>);

/// Both lists are sorted.
fn difference(before: &[String], now: &[String]) -> News {
    let without = |one: &[String], other: &[String]| {
        let lacks = |name: &&String| other.binary_search(name).is_err();
        one.iter().filter(lacks).take(MOST_NAMES).cloned().collect::<Vec<String>>()
    };
    (without(now, before), without(before, now))
}

fn report(view: &View, found: &[Found<'_>], (new, gone): &News, absent: &[Absent]) -> Json {
    let line = |found: &Found<'_>| {
        let tool = &found.entry.tool;
        let description = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
        json!({
            "name": found.name,
            "server": found.entry.server,
            "description": excerpt(description, SUMMARY),
            "score": (found.score * 100.0).round() / 100.0,
        })
    };
    let mut report = json!({"tools": found.iter().map(line).collect::<Vec<_>>(), "of": view.names().len()});
    if found.is_empty() {
        report["hint"] = json!("none fits; try other words: what it does, or on what");
    }
    for (key, names) in [("new", new), ("gone", gone)] {
        if !names.is_empty() {
            report[key] = json!(names);
        }
    }
    if !absent.is_empty() {
        let lines = absent.iter().map(|absent| json!({"server": absent.server, "why": absent.why}));
        report["unavailable"] = lines.collect();
    }
    report.into()
}

/// Why there is no such tool, and which ones come near.
pub(crate) fn missing(view: &View, name: &str, was_there: bool) -> String {
    let seen: Vec<(&str, &Entry)> = view.seen().collect();
    let entries: Vec<&Entry> = seen.iter().map(|(_, entry)| *entry).collect();
    let near: Vec<&str> = search(&entries, name, 3)
        .iter()
        .filter_map(|ranked| seen.iter().find(|(_, entry)| std::ptr::eq(*entry, ranked.entry)))
        .map(|(name, _)| *name)
        .collect();
    let name = excerpt(name, 100);
    let what = if was_there {
        format!("the tool `{name}` is gone: its server does not offer it any more, or is not there")
    } else {
        format!("there is no tool `{name}`")
    };
    if near.is_empty() { what } else { format!("{what}; near are {}", near.join(", ")) }
}

/// A result of our own: as text, and as what it is.
fn told(era: Era, what: &Json) -> Json {
    let text = Json::object([("type", json!("text").into()), ("text", json!(what.as_str()).into())]);
    result(era, vec![("content", Json::list([&text])), ("structuredContent", what.clone())])
}

/// A result that says what is wrong, so that a model can put it right.
fn problem(era: Era, what: &str) -> Json {
    let content = json!([{"type": "text", "text": format!("Error: {what}")}]);
    result(era, vec![("content", content.into()), ("isError", json!(true).into())])
}

fn result(era: Era, mut fields: Vec<(&str, Json)>) -> Json {
    if era == Era::Modern {
        fields.insert(0, ("resultType", json!("complete").into()));
    }
    Json::object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_are_always_the_same() {
        let names: Vec<String> = tools().into_iter().map(|listed| listed.key).collect();
        assert_eq!(names, ["call_tool", "describe_tool", "search_tools"]);
        assert_eq!(tools(), tools());
        assert_eq!((Own::named("call_tool"), Own::named("call")), (Some(Own::Call), None));
    }

    #[test]
    fn what_came_and_went_is_told() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let (new, gone) = difference(&names(&["a", "b"]), &names(&["b", "c"]));
        assert_eq!((new, gone), (names(&["c"]), names(&["a"])));
        assert_eq!(difference(&names(&["a"]), &names(&["a"])), (Vec::new(), Vec::new()));
    }
}
