//! Questions with numbers: approvals, forms of servers, pages to log in at.

use serde_json::{Map, Value};
use switchboard::calls::arguments;
use switchboard::host::{Answer, Elicitation, Page, Permission, Permit, Visited, Why, Wish};
use switchboard::json::Json;
use switchboard::visible::{excerpt, visible};
use tokio::sync::oneshot;

use super::super::Question;
use super::super::signature::parameters;
use crate::commands::{Context, connection};
use crate::printer::harmless;
use crate::visitor::{again, opened};

/// More of the arguments of a call is not shown; how much is missing is.
const MOST: usize = 8000;

/// Asks, and hands the answer back. Whoever no longer waits for it, or presses Ctrl-C, ends the question.
pub(super) async fn answer(context: &Context, question: Question) {
    match question {
        Question::Permit { question, mut reply } => {
            let reason = "the user stopped the question".to_owned();
            let answer = until_closed(context, &mut reply, permit(context, &question)).await;
            let _gone = reply.send(answer.unwrap_or(Permit::Deny { reason }));
        }
        Question::Elicit { question, mut reply } => {
            let answer = until_closed(context, &mut reply, elicit(context, &question)).await;
            let _gone = reply.send(answer.unwrap_or(Answer::Cancel));
        }
        Question::Visit { page, mut reply } => {
            let answer = until_closed(context, &mut reply, visit(context, &page)).await;
            let _gone = reply.send(answer.unwrap_or(Visited::Declined));
        }
        Question::Sample { server, params, mut reply } => {
            let answer = until_closed(context, &mut reply, sample(context, &server, &params)).await;
            let _gone = reply.send(answer.unwrap_or(false));
        }
    }
}

async fn until_closed<T>(
    context: &Context,
    reply: &mut oneshot::Sender<T>,
    asking: impl Future<Output = Option<T>>,
) -> Option<T> {
    tokio::select! {
        answer = asking => answer,
        () = reply.closed() => {
            say(context, "\n(the question is no longer open)\n");
            None
        }
        () = connection::ctrl_c() => {
            say(context, "\n");
            None
        }
    }
}

fn say(context: &Context, text: &str) {
    // Nobody is left to tell.
    drop(context.printer.styled(text));
}

/// One of several, by its number or its letter; `None` when there are no more lines.
async fn choose(context: &Context, options: &[(&str, &str)]) -> Option<usize> {
    for (index, (letter, option)) in options.iter().enumerate() {
        say(context, &format!("  {}/{letter} {option}\n", index + 1));
    }
    loop {
        say(context, &format!("Number [{}]: ", options.len()));
        let line = context.lines.next().await?;
        let line = line.trim();
        if line.is_empty() {
            return Some(options.len() - 1);
        }
        if let Some(index) = options.iter().position(|(letter, _)| letter.eq_ignore_ascii_case(line)) {
            return Some(index);
        }
        match line.parse::<usize>() {
            Ok(number @ 1..) if number <= options.len() => return Some(number - 1),
            _ => say(context, &format!("A number from 1 to {}\n", options.len())),
        }
    }
}

async fn permit(context: &Context, question: &Permission) -> Option<Permit> {
    let (server, tool) = (excerpt(&question.server, 60), excerpt(&question.tool, 100));
    let mut text = format!("May `{tool}` of \"{server}\" be called?\n");
    if question.why == Why::Changed {
        text.push_str("  You approved it for good, and it or its server is not what it was then.\n");
    }
    if let Some(words) = question.description.as_deref().and_then(|words| words.lines().next()) {
        text.push_str(&format!("  {}\n", excerpt(words, 200)));
    }
    text.push_str(&shown(&question.arguments));
    say(context, &text);
    let options = [
        ("y", "yes, this once"),
        ("s", "yes, for the rest of the session"),
        ("a", "yes, for good, as long as the tool and its server stay what they are"),
        ("n", "no"),
    ];
    Some(match choose(context, &options).await? {
        0 => Permit::Once,
        1 => Permit::Session,
        2 => Permit::Always,
        _ => {
            say(context, "Why not? The model is told (empty: no reason): ");
            let why = context.lines.next().await.unwrap_or_default();
            let why = why.trim();
            let reason = if why.is_empty() {
                "the user declined".to_owned()
            } else {
                format!("the user declined: {why}")
            };
            Permit::Deny { reason }
        }
    })
}

/// Arguments as people read them, nothing hidden in them.
fn shown(arguments: &Json) -> String {
    let text = serde_json::to_string_pretty(&arguments.value()).unwrap_or_default();
    let end = text.char_indices().nth(MOST).map_or(text.len(), |(at, _)| at);
    let mut lines = format!("  {}\n", harmless(&text[..end]).replace('\n', "\n  "));
    if end < text.len() {
        lines.push_str(&format!("  ... and {} more bytes\n", text.len() - end));
    }
    lines
}

async fn elicit(context: &Context, question: &Elicitation) -> Option<Answer> {
    let server = excerpt(&question.server, 60);
    say(context, &format!("\"{server}\" asks: {}\n", harmless(&question.message)));
    match &question.wish {
        Wish::Form { schema } => form(context, schema).await,
        Wish::Visit { url } => {
            say(context, &format!("It wants you to open this address:\n\n  {}\n\n", visible(url)));
            let options = [("y", "I opened it"), ("c", "cancel"), ("n", "no")];
            Some(match choose(context, &options).await? {
                0 => Answer::Accept(Json::from(Value::Object(Map::new()))),
                1 => Answer::Cancel,
                _ => Answer::Decline,
            })
        }
    }
}

async fn form(context: &Context, schema: &Json) -> Option<Answer> {
    match choose(context, &[("y", "answer"), ("c", "cancel"), ("n", "no")]).await? {
        0 => {}
        1 => return Some(Answer::Cancel),
        _ => return Some(Answer::Decline),
    }
    let root = schema.value();
    let mut filled = Map::new();
    let fields = root["properties"].as_object().into_iter().flatten();
    for ((name, _), parameter) in in_order(&root, fields).into_iter().zip(parameters(&root)) {
        let is_needed = !parameter.form.starts_with(&format!("{}?", visible(name)));
        loop {
            let help =
                if parameter.help.is_empty() { String::new() } else { format!(" ({})", parameter.help) };
            say(context, &format!("{}{help}: ", parameter.form));
            let line = context.lines.next().await?;
            if line.is_empty() && !is_needed {
                break;
            }
            match arguments(&[format!("{name}={line}")], schema) {
                Ok(value) => {
                    filled.extend(value);
                    break;
                }
                Err(error) => say(context, &format!("{}\n", visible(&error.to_string()))),
            }
        }
    }
    Some(Answer::Accept(Json::from(Value::Object(filled))))
}

/// Fields in the order they are shown in: what is needed first.
fn in_order<'f>(
    root: &Value,
    fields: impl Iterator<Item = (&'f String, &'f Value)>,
) -> Vec<(&'f String, &'f Value)> {
    let is_required =
        |name: &str| root["required"].as_array().is_some_and(|names| names.iter().any(|other| other == name));
    let mut fields: Vec<_> = fields.collect();
    fields.sort_by_key(|(name, _)| !is_required(name));
    fields
}

async fn visit(context: &Context, page: &Page) -> Option<Visited> {
    let mut text = format!("Log in to \"{}\" at {}\n", visible(&page.server), visible(&page.issuer));
    if !page.new_scopes.is_empty() {
        text.push_str(&format!("It asks for these rights: {}\n", visible(&page.new_scopes.join(" "))));
    }
    text.push_str(&format!("Open this address in a browser:\n\n  {}\n\n", page.url));
    text.push_str(
        "Enter opens it on this machine. Unless it comes back here by itself, paste the address the\n",
    );
    text.push_str("browser ended at. `no` gives up: ");
    say(context, &text);
    loop {
        let line = context.lines.next().await?;
        match line.trim() {
            "" if opened(&context.env, &page.url) => say(context, "Waiting for you to come back: "),
            "" => say(context, "There is no browser here to open it with: "),
            "no" | "n" => return Some(Visited::Declined),
            pasted => match page.check_pasted(pasted) {
                Ok(()) => return Some(Visited::Pasted(pasted.to_owned())),
                Err(why) => say(context, &format!("{}: ", again(&why.to_string(), page))),
            },
        }
    }
}

async fn sample(context: &Context, server: &str, params: &Json) -> Option<bool> {
    let text = format!("\"{}\" wants to use your model:\n{}", excerpt(server, 60), shown(params));
    say(context, &text);
    Some(choose(context, &[("y", "yes, this once"), ("n", "no")]).await? == 0)
}
