//! What the word being typed could become. The deciding part is pure, over what the session knows; only arguments of
//! prompts and templates are asked of their server, within a moment.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::CommandFactory;
use serde_json::json;
use switchboard::Env;
use switchboard::catalog::{Catalog, Of};
use switchboard::json::Json;
use switchboard::offer::Prompt;
use switchboard::session::Session;
use switchboard::visible::{excerpt, is_hidden};

use super::line::{
    ApproveLine, COMMANDS, CallLine, ModelLine, PromptLine, ReadLine, SaveLine, ToolsLine, mcp_command,
};
use crate::complete::completed;
use crate::complete::line::{BashLine, Typed};
use crate::complete::offers::{Asked, Known, Live, attach, attach_verb};

/// A server that has not answered by then is not waited for.
const PATIENCE: Duration = Duration::from_millis(800);
/// What a server said is believed for so long.
const FRESH: Duration = Duration::from_secs(20);
/// So many answers are kept.
const MOST_KEPT: usize = 64;
/// Longer lists help nobody.
const MOST: usize = 200;

/// What could stand in the place of some bytes of the line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Completion {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) candidates: Vec<Candidate>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// What to put there.
    pub(crate) insert: String,
    /// What to show.
    pub(crate) shown: String,
    /// A few words about it.
    pub(crate) note: Option<String>,
}

/// A question to a server: what an argument of one of its prompts or templates could be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Inquiry {
    server: String,
    /// A prompt by name, or a template by its text.
    subject: Subject,
    argument: String,
    value: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Prompt(String),
    Template(String),
}

impl Subject {
    fn reference(&self) -> Json {
        match self {
            Self::Prompt(name) => json!({"type": "ref/prompt", "name": name}).into(),
            Self::Template(uri) => json!({"type": "ref/resource", "uri": uri}).into(),
        }
    }
}

/// What is offered right away, and whom to ask for more.
#[derive(Debug, Default)]
struct Offered {
    /// Where the word begins.
    start: usize,
    candidates: Vec<Candidate>,
    /// The question, what stands before the value in the word, and what after it.
    inquiry: Option<(Inquiry, String, String)>,
    /// How a word is put into the line.
    style: Style,
}

/// How a word is put into the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Style {
    /// With quotes where it needs them.
    #[default]
    Quoted,
    /// As it is.
    Plain,
}

/// Answers of servers, with the time they came.
type Answers = BTreeMap<Inquiry, (Instant, Vec<String>)>;

/// Completes what is being typed. Clones share what servers said.
#[derive(Debug, Clone)]
pub(crate) struct Completer {
    session: Session,
    env: Env,
    answers: Arc<Mutex<Answers>>,
}

impl Completer {
    pub(super) fn new(session: Session, env: Env) -> Self {
        Self { session, env, answers: Arc::default() }
    }

    /// What the word at the cursor could become.
    pub(crate) async fn complete(&self, text: &str, cursor: usize) -> Completion {
        let Some(head) = text.get(..cursor) else { return Completion::default() };
        let live = Live {
            env: self.env.clone(),
            discovery: self.session.discovery(),
            catalog: self.session.catalog(),
        };
        let mut offered = offered(&live, head);
        if let Some((inquiry, before, after)) = offered.inquiry.take() {
            let values = self.inquire(inquiry).await;
            let words = values.iter().map(|value| format!("{before}{value}{after}"));
            let more: Vec<Candidate> = words.filter_map(|word| candidate(&word, "", offered.style)).collect();
            if !more.is_empty() {
                offered.candidates = more;
            }
        }
        offered.candidates.truncate(MOST);
        Completion { start: offered.start, end: cursor, candidates: offered.candidates }
    }

    async fn inquire(&self, inquiry: Inquiry) -> Vec<String> {
        let known = {
            let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            answers.retain(|_, (at, _)| at.elapsed() < FRESH);
            answers.get(&inquiry).map(|(_, values)| values.clone())
        };
        if let Some(values) = known {
            return values;
        }
        let (reference, argument) =
            (inquiry.subject.reference(), (inquiry.argument.as_str(), inquiry.value.as_str()));
        let asked = self.session.complete(&inquiry.server, &reference, argument);
        // A server that does not know the question answers with an error: then there is nothing to offer.
        let Ok(Ok(answer)) = tokio::time::timeout(PATIENCE, asked).await else { return Vec::new() };
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() < MOST_KEPT {
            answers.insert(inquiry, (Instant::now(), answer.values.clone()));
        }
        answer.values
    }
}

/// What is known of the word at the end of the line.
fn offered(live: &Live, head: &str) -> Offered {
    let blank = head.len() - head.trim_start().len();
    let Some(rest) = head[blank..].strip_prefix('/') else { return attachments(live, head) };
    let Some(end) = rest.find(char::is_whitespace) else { return commands(live, rest, blank) };
    let (name, tail) = (&rest[..end], &rest[end..]);
    let shift = blank + 1 + end;
    if name == "call" && tail.split_whitespace().any(|word| word.starts_with('{')) {
        return Offered::default();
    }
    let read = BashLine::read(tail, "");
    let start = shift + read.start;
    let typed_word = read.words.last().cloned().unwrap_or_default();
    let inquiry = inquiry(live, name, &read.words);
    let words = if name.contains(':') {
        [&["/prompt".to_owned(), name.to_owned()], read.words.as_slice()].concat()
    } else {
        [&[format!("/{name}")], read.words.as_slice()].concat()
    };
    let found = by_command(live, &words);
    let candidates =
        found.into_iter().filter_map(|(value, note)| candidate(&value, &note, Style::Quoted)).collect();
    let inquiry = inquiry.or_else(|| template(live, name, &typed_word));
    Offered { start, candidates, inquiry, style: Style::Quoted }
}

/// Names of commands, and prompts by their names.
fn commands(live: &Live, typed: &str, start: usize) -> Offered {
    let own = COMMANDS.iter().map(|(name, does)| ((*name).to_owned(), (*does).to_owned()));
    let prompts = live.catalog.prompts.iter().map(|of| {
        let words = of.item.description.as_deref().or(of.item.title.as_deref()).unwrap_or_default();
        (format!("{}:{}", of.server, of.item.name), words.to_owned())
    });
    let candidates = own
        .chain(prompts)
        .filter(|(name, _)| name.starts_with(typed) && !name.contains(char::is_whitespace))
        .filter_map(|(name, note)| candidate(&format!("/{name}"), &note, Style::Plain))
        .map(|candidate| Candidate { insert: format!("{} ", candidate.insert), ..candidate })
        .collect();
    Offered { start, candidates, ..Offered::default() }
}

/// What the command's own grammar and the session know.
fn by_command(live: &Live, words: &[String]) -> Vec<(String, String)> {
    let Some((_, before)) = words.split_last() else { return Vec::new() };
    let name = words[0].trim_start_matches('/');
    let command = match name {
        "mcp" => mcp_command(),
        "tools" => ToolsLine::command(),
        "call" => CallLine::command(),
        "read" => ReadLine::command(),
        "prompt" => PromptLine::command(),
        "approve" => ApproveLine::command(),
        "model" => ModelLine::command(),
        "save" => SaveLine::command(),
        _ => return Vec::new(),
    };
    let typed = Typed::read(command.clone(), before);
    let asked = Arc::new(Asked { typed, known: Known::Live(live.clone()) });
    let command = if name == "mcp" { attach(command, &asked) } else { attach_verb(command, name, &asked) };
    let mut found = completed(command, words, Some(live.env.cwd())).unwrap_or_default();
    // A rule follows what it is for.
    if name == "approve" && words.len() > 2 {
        found.retain(|(value, _)| value != "forget");
    }
    found
}

/// The question to a server about the value of a prompt's argument.
fn inquiry(live: &Live, name: &str, words: &[String]) -> Option<(Inquiry, String, String)> {
    let (argument, value) = words.last()?.split_once('=')?;
    let mut names = words.iter().filter(|word| !word.starts_with('-') && !word.contains('='));
    let prompt = match name {
        "prompt" => names.next()?.as_str(),
        "mcp" if names.next()? == "prompt" => names.next()?.as_str(),
        name if name.contains(':') => name,
        _ => return None,
    };
    let is_it =
        |of: &&Of<Prompt>| of.item.name == prompt || format!("{}:{}", of.server, of.item.name) == prompt;
    let of = live.catalog.prompts.iter().find(is_it)?;
    of.item.arguments.iter().find(|known| known.name == argument)?;
    let inquiry = Inquiry {
        server: of.server.clone(),
        subject: Subject::Prompt(of.item.name.clone()),
        argument: argument.to_owned(),
        value: value.to_owned(),
    };
    Some((inquiry, format!("{argument}="), String::new()))
}

/// The question to a server about a part of an address.
fn template(live: &Live, name: &str, typed: &str) -> Option<(Inquiry, String, String)> {
    (name == "read").then(|| in_template(&live.catalog, None, typed)).flatten()
}

fn in_template(catalog: &Catalog, server: Option<&str>, typed: &str) -> Option<(Inquiry, String, String)> {
    let is_meant = |of: &&Of<switchboard::offer::Template>| server.is_none_or(|server| of.server == server);
    catalog.templates.iter().filter(is_meant).find_map(|of| {
        let open = variable(&of.item.uri_template, typed)?;
        let inquiry = Inquiry {
            server: of.server.clone(),
            subject: Subject::Template(of.item.uri_template.clone()),
            argument: open.name.to_owned(),
            value: open.value.to_owned(),
        };
        Some((inquiry, open.before.to_owned(), open.after.to_owned()))
    })
}

/// The variable of a template that is being typed.
#[derive(Debug, PartialEq, Eq)]
struct Open<'t> {
    name: &'t str,
    /// What is typed before it.
    before: &'t str,
    /// What is typed of it.
    value: &'t str,
    /// What follows it, up to the next one.
    after: &'t str,
}

fn variable<'t>(template: &'t str, typed: &'t str) -> Option<Open<'t>> {
    let (literal, mut rest) = template.split_once('{')?;
    let mut at = typed.strip_prefix(literal).map(|left| typed.len() - left.len())?;
    loop {
        let (name, after) = rest.split_once('}')?;
        let end = after.find('{').unwrap_or(after.len());
        let (literal, next) = (&after[..end], after[end..].strip_prefix('{'));
        let value = &typed[at..];
        match (value.find(literal), next) {
            (Some(found), Some(next)) if !literal.is_empty() => {
                at += found + literal.len();
                rest = next;
            }
            _ => {
                let name = name.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']).trim_end_matches('*');
                return Some(Open { name, before: &typed[..at], value, after: literal });
            }
        }
    }
}

/// Resources inside words for the model.
fn attachments(live: &Live, head: &str) -> Offered {
    let start = head
        .rfind(char::is_whitespace)
        .map_or(0, |at| at + head[at..].chars().next().map_or(1, char::len_utf8));
    let Some(typed) = head[start..].strip_prefix('@') else { return Offered::default() };
    let resources = live
        .catalog
        .resources
        .iter()
        .map(|of| (&of.server, of.item.uri.as_str(), of.item.title.as_deref().unwrap_or(&of.item.name)));
    let templates = live.catalog.templates.iter().filter_map(|of| {
        let (beginning, _) = of.item.uri_template.split_once('{')?;
        Some((&of.server, beginning, of.item.title.as_deref().unwrap_or(&of.item.name)))
    });
    let fits = |server: &str, uri: &str| {
        uri.starts_with(typed)
            || format!("{server}:{uri}").starts_with(typed)
            || (!typed.is_empty() && uri.contains(typed))
    };
    let candidates = resources
        .chain(templates)
        .filter(|(server, uri, _)| fits(server, uri))
        .filter_map(|(server, uri, note)| candidate(&format!("@{server}:{uri}"), note, Style::Plain))
        .collect();
    let (server, uri) = typed.split_once(':').unwrap_or(("", ""));
    let inquiry = in_template(&live.catalog, Some(server), uri)
        .map(|(inquiry, before, after)| (inquiry, format!("@{server}:{before}"), after));
    Offered { start, candidates, inquiry, style: Style::Plain }
}

/// A word as a candidate; none that could do more than be read.
fn candidate(word: &str, note: &str, style: Style) -> Option<Candidate> {
    if word.chars().any(is_hidden) {
        return None;
    }
    let insert = match style {
        Style::Plain => word.to_owned(),
        Style::Quoted => BashLine::read("", "").insertion(word)?,
    };
    let note = note.lines().find(|line| !line.trim().is_empty()).map(|line| excerpt(line.trim(), 80));
    Some(Candidate { insert, shown: word.to_owned(), note })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use switchboard::session::Options;
    use testkit::{Fake, FakeScript, Sandbox, fake_server};

    use super::*;

    fn world() -> (Sandbox, FakeScript) {
        let sandbox = Sandbox::new();
        sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
        sandbox.write("args.json", "{}");
        let schema = json!({"type": "object", "required": ["level"], "properties": {
            "loud": {"type": "boolean"}, "level": {"enum": ["low", "very high"]}, "file": {"type": "string"}}});
        let values = json!({"completion": {"values": ["Paris", "Passau"]}});
        let script = Fake::script(json!({
            "tools": [{"name": "say", "description": "Says it", "inputSchema": schema}, {"name": "stop"}],
            "resources": [{"uri": "note://one", "name": "The first"}],
            "templates": [{"uriTemplate": "city://{name}/map", "name": "Maps"}],
            "prompts": [{"name": "greet", "description": "Says hello", "arguments": [
                {"name": "city", "required": true}, {"name": "tone"}]}],
            "capabilities": {"tools": {}, "prompts": {}, "resources": {}, "completions": {}},
            "on": {"completion/complete": [{"result": values}]},
        }));
        let entry = json!({"command": fake_server(), "args": [script.path()]});
        let off = json!({"command": "x", "enabled": false});
        let far = json!({"url": "http://127.0.0.1:9/mcp"});
        let servers = json!({"demo": entry, "off": off, "far": far});
        sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": servers}).to_string());
        (sandbox, script)
    }

    #[tokio::test]
    async fn what_can_be_typed_next() {
        let (sandbox, script) = world();
        let session = Session::start(Options::headless(sandbox.env())).await;
        session.wait_for("demo", switchboard::connect::Status::is_settled).await;
        session.listed().await;
        let completer = Completer::new(session.clone(), sandbox.env());
        let mut shown = String::new();
        for line in [
            "/",
            "/m",
            "/de",
            "/xyz",
            "/mcp ",
            "/mcp re",
            "/mcp enable ",
            "/mcp disable ",
            "/mcp reauth ",
            "/mcp logs ",
            "/mcp add --s",
            "/mcp add --scope ",
            "/mcp remove d",
            "/tools st",
            "/tools mo_S",
            "/tools emos",
            "/call ",
            "/call demo/",
            "/call demo/say ",
            "/call demo/say l",
            "/call demo/say level=",
            "/call demo/say level='v",
            "/call demo/say loud=",
            "/call demo/say file=ar",
            "/call demo/say --args @ar",
            "/call demo/say {\"a",
            "/read ",
            "/read city://Pa",
            "/prompt ",
            "/prompt greet ",
            "/prompt greet city=P",
            "/demo:greet ",
            "/demo:greet city=P",
            "/approve d",
            "/approve demo ",
            "/save ar",
            "what is @",
            "what is @demo:n",
            "what is @demo:city://P",
            "nothing here ",
            "",
        ] {
            let Completion { start, end, candidates } = completer.complete(line, line.len()).await;
            assert!(line.is_char_boundary(start) && end == line.len(), "{line}");
            writeln!(shown, "{line}|").unwrap();
            for Candidate { insert, shown: label, note } in candidates {
                let whole = format!("{}{insert}", &line[..start]);
                let note = note.map(|note| format!("  ({note})")).unwrap_or_default();
                writeln!(shown, "    {whole}|  {label}{note}").unwrap();
            }
        }
        let asked = script.methods().iter().filter(|method| *method == "completion/complete").count();
        session.shutdown().await;
        insta::assert_snapshot!(shown);
        assert_eq!(asked, 3, "the same is asked once");
    }

    #[test]
    fn the_variable_being_typed_is_found() {
        let check = |template: &str, typed: &str, expected: Option<(&str, &str, &str, &str)>| {
            let open = variable(template, typed).map(|open| (open.name, open.before, open.value, open.after));
            assert_eq!(open, expected, "{template} {typed}");
        };
        check("a://{x}/b/{y}", "a://1", Some(("x", "a://", "1", "/b/")));
        check("a://{x}/b/{y}", "a://1/b/2", Some(("y", "a://1/b/", "2", "")));
        check("a://{x}", "a://", Some(("x", "a://", "", "")));
        check("a://{+path*}", "a://b/c", Some(("path", "a://", "b/c", "")));
        check("a://{x}", "b", None);
        check("a://x", "a://x", None);
        check("a://{x", "a://x", None);
    }

    #[tokio::test]
    async fn any_place_of_the_cursor_will_do() {
        let sandbox = Sandbox::new();
        sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
        let session = Session::start(Options::headless(sandbox.env())).await;
        let completer = Completer::new(session.clone(), sandbox.env());
        let line = "/call é 'x y=\"ü @ö:";
        for cursor in 0..=line.len() + 1 {
            let done = completer.complete(line, cursor).await;
            assert!(done.start <= done.end && done.end <= line.len());
        }
        session.shutdown().await;
    }
}
