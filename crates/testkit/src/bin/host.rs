//! Opens many scripted servers at once and waits to be killed: `host COUNT SCRIPT MARK`.
//!
//! Out: one line for each server that is open. All processes carry the mark in their environment.

use std::io::Write;
use std::process::ExitCode;

use switchboard::wire;
use testkit::connect::{command, terms};
use testkit::{Mark, fake_server};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let count = args.next().and_then(|count| count.parse::<usize>().ok());
    let (Some(count), Some(script), Some(mark)) = (count, args.next(), args.next()) else {
        return ExitCode::from(64);
    };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return ExitCode::FAILURE;
    };
    runtime.block_on(async {
        let mut servers = tokio::task::JoinSet::new();
        for _ in 0..count {
            let launch = command(&fake_server(), &[&script], &[(Mark::NAME, &mark)]).await;
            servers.spawn(async move { wire::open(&launch, &terms()).await });
        }
        let mut open = Vec::new();
        while let Some(Ok(opened)) = servers.join_next().await {
            let Ok(link) = opened else { return ExitCode::FAILURE };
            open.push(link);
            if writeln!(std::io::stdout(), "{}", open.len()).is_err() {
                return ExitCode::FAILURE;
            }
        }
        std::future::pending().await
    })
}
