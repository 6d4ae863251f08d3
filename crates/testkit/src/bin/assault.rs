//! Opens a server over HTTP, makes one call, and says how it went and how much memory that took at most:
//! `assault URL`. One line of JSON comes out: `{"opened", "code", "message", "grown", "notices"}`, `grown` in bytes.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard::declared::Remote;
use switchboard::host::Headless;
use switchboard::json::Json;
use switchboard::problem::Explain;
use switchboard::wire::{self, CallOptions, Error, Limits, Steps, Terms, Web};
use testkit::connect::address;

fn main() -> ExitCode {
    let Some(url) = std::env::args().nth(1) else { return ExitCode::from(2) };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return ExitCode::FAILURE;
    };
    let line = runtime.block_on(assault(&url));
    match writeln!(std::io::stdout(), "{line}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The usual limits, and patience for a machine that has other things to do.
fn terms() -> Terms {
    let limit = Some(Duration::from_secs(30));
    Terms {
        server: "test".to_owned(),
        host: Arc::new(Headless::default()),
        web: Arc::new(Web::default()),
        pass: None,
        guard: None,
        startup: limit,
        timeout: limit,
        // All of it is to be read.
        limits: Limits { unasked: None, ..Limits::default() },
        remembered: None,
        trace: None,
        steps: Arc::new(Steps::new(None)),
        log: Arc::default(),
        context: None,
    }
}

async fn assault(url: &str) -> serde_json::Value {
    let launch = address(url, Remote::Http, &[]).await;
    // What a connection costs by itself, TLS set-up and all, is not the server's doing.
    drop(wire::open(&address("http://127.0.0.1:1/", Remote::Http, &[]).await, &terms()).await);
    let before = peak();
    let (opened, error) = match wire::open(&launch, &terms()).await {
        Ok(link) => {
            let arguments = Json::from(json!({"text": "x"}));
            let answer = link.call("echo", &arguments, CallOptions::default()).await;
            let notices = std::iter::from_fn(|| link.take_notice()).count();
            (Some(notices), answer.err())
        }
        Err(failure) => (None, Some(failure.error)),
    };
    json!({
        "opened": opened.is_some(),
        "code": error.as_ref().map(Explain::code),
        "message": error.as_ref().map(Error::to_string),
        "grown": peak().saturating_sub(before),
        "notices": opened,
    })
}

/// The most memory this process ever had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap_or(0) * 1024
}
