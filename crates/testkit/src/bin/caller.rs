//! A program with a session that calls when it is told to: `caller HOME PROJECT TOOL`.
//!
//! In: a line for each call. Out: a line for each result, `ok` or what is wrong. The first line is `ready`.

use std::io::{BufRead, Write};
use std::process::ExitCode;

use switchboard::Env;
use switchboard::env::Os;
use switchboard::json::Json;
use switchboard::session::{Gate, Options, Session};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (Some(home), Some(project), Some(tool)) = (args.next(), args.next(), args.next()) else {
        return ExitCode::from(64);
    };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return ExitCode::FAILURE;
    };
    runtime.block_on(async {
        let env = Env::new(Os::Linux, home, project).with_var("PATH", "/usr/bin:/bin");
        let session = Session::start(Options::headless(env)).await;
        session.ready(Gate::Correct).await;
        let mut said = say("ready");
        let lines = std::io::stdin().lock().lines();
        for _line in lines.map_while(Result::ok) {
            said = said
                && match session.call(&tool, &Json::from(serde_json::json!({}))).await {
                    Ok(outcome) if !outcome.is_error => say("ok"),
                    Ok(outcome) => say(&format!("tool: {outcome:?}")),
                    Err(error) => say(&error.to_string()),
                };
        }
        session.shutdown().await;
        if said { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    })
}

fn say(line: &str) -> bool {
    writeln!(std::io::stdout(), "{}", line.replace('\n', " ")).is_ok()
}
