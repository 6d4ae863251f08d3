//! Opens a scripted server, does something with it, and tells how much memory that took at most.
//!
//! `attack SCRIPT call` calls a tool, and waits for the notice that its tools changed: the server is done then.
//! `attack SCRIPT think` does the same for a host that never answers a question.
//! `attack SCRIPT calls` makes many large calls at once that nobody reads.
//! Out: `{"grew_kib", "outcome", "works"}` on one line: the growth of the peak of memory since the server was open,
//! what came of the call, and whether the server could still be called afterwards.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard::host::{Abilities, Answer, Elicitation, Host, Reply};
use switchboard::json::Json;
use switchboard::notice::Notice;
use switchboard::wire::{CallOptions, Link};
use testkit::connect::{http, stdio, terms};
use tokio::time::timeout;

/// Calls that are made at once, and the size of each.
const CALLS: usize = 200;
const CALL_SIZE: usize = 64 * 1024;

/// Never comes to a conclusion.
struct Thinker;

impl Host for Thinker {
    fn abilities(&self) -> Abilities {
        Abilities { roots: false, forms: true, urls: true, sampling: true }
    }

    fn elicit(&self, question: Elicitation) -> Reply<'_, Answer> {
        Box::pin(async move {
            let _in_mind = question;
            std::future::pending().await
        })
    }

    fn sample(&self, _server: String, params: Json) -> Reply<'_, Result<Json, String>> {
        Box::pin(async move {
            let _in_mind = params;
            std::future::pending().await
        })
    }
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (Some(script), Some(action)) = (args.next(), args.next()) else { return ExitCode::from(64) };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return ExitCode::FAILURE;
    };
    match runtime.block_on(attack(Path::new(&script), &action)) {
        Ok(report) => {
            let _nobody_reads = writeln!(std::io::stdout(), "{report}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            let _nobody_reads = writeln!(std::io::stderr(), "{why}");
            ExitCode::FAILURE
        }
    }
}

async fn attack(script: &Path, action: &str) -> Result<Value, String> {
    let text = std::fs::read_to_string(script).map_err(|error| error.to_string())?;
    let script: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let mut terms = terms();
    // All of it is to be read.
    terms.limits.unasked = None;
    if action == "think" {
        terms.host = Arc::new(Thinker);
    }
    let is_http = script.get("transport").is_some_and(|transport| transport != "stdio");
    if is_http {
        let (_fake, link) = http(script, &terms).await;
        measure(&link.map_err(|failure| failure.error.to_string())?, action).await
    } else {
        let (_script, link) = stdio(script, &terms).await;
        measure(&link.map_err(|failure| failure.error.to_string())?, action).await
    }
}

async fn measure(link: &Link, action: &str) -> Result<Value, String> {
    // What is only needed the first time is not the server's doing.
    link.tools().await.map_err(|error| error.to_string())?;
    let before = peak_kib()?;
    let outcome = match action {
        "call" | "think" => {
            let outcome = echo(link, "x", Duration::from_mins(1)).await;
            let done = async { while link.notice().await != Notice::ToolsChanged {} };
            timeout(Duration::from_mins(1), done).await.map_err(|_| "it does not end".to_owned())?;
            outcome
        }
        "calls" => many(link).await,
        other => return Err(format!("no such action: {other}")),
    };
    let works = echo(link, "still there", Duration::from_secs(2)).await == "still there";
    let grew = peak_kib()? - before;
    link.stop().await;
    Ok(json!({"grew_kib": grew, "outcome": outcome, "works": works}))
}

async fn echo(link: &Link, text: &str, timeout: Duration) -> String {
    let options = CallOptions { timeout: Some(timeout), on_progress: None };
    match link.call("echo", &Json::from(json!({"text": text})), options).await {
        Ok(result) => result.content.first().and_then(|block| block.text.clone()).unwrap_or_default(),
        Err(error) => error.to_string(),
    }
}

/// Says how many of the calls ended.
async fn many(link: &Link) -> String {
    let arguments = Json::from(json!({"text": "x".repeat(CALL_SIZE)}));
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..CALLS {
        let (link, arguments) = (link.clone(), arguments.clone());
        calls.spawn(async move {
            let options = CallOptions { timeout: Some(Duration::from_secs(1)), on_progress: None };
            link.call("echo", &arguments, options).await.is_err()
        });
    }
    let failed = calls.join_all().await.into_iter().filter(|failed| *failed).count();
    format!("{failed} failed")
}

/// The most memory this process ever had.
fn peak_kib() -> Result<u64, String> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| "no VmHWM".to_owned())
}
