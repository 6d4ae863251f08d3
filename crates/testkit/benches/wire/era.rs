//! A server that ignores the question which protocol it speaks: what the first contact costs, and the next.

use std::time::{Duration, Instant};

use rmcp::service::{ClientLifecycleMode, ClientServiceExt, ServiceExt};
use rmcp::transport::TokioChildProcess;
use switchboard::wire::{self, Era, Memory, Terms};
use testkit::{Sandbox, connect};
use tokio::process::Command;

use crate::goal::{Goal, median};
use crate::on;
use crate::sdk::Threads;

/// From the start to the list of tools.
async fn ours(terms: Terms, memory: Option<Memory>) -> Duration {
    let launch = connect::command(crate::server().as_ref(), &["--mute"], &[]).await;
    let started = Instant::now();
    let mut terms = terms;
    if let Some(memory) = &memory {
        terms.remembered = memory.recall(launch.identity.key());
    }
    let link = wire::open(&launch, &terms).await.unwrap();
    if let Some(memory) = &memory {
        memory.remember(launch.identity.key(), link.facts().era);
    }
    assert_eq!(link.tools().await.unwrap().items.len(), 1);
    let elapsed = started.elapsed();
    link.stop().await;
    elapsed
}

async fn sdk(lifecycle: Option<ClientLifecycleMode>) -> Duration {
    let started = Instant::now();
    let mut command = Command::new(crate::server());
    command.arg("--mute");
    let transport = TokioChildProcess::new(command).unwrap();
    let service = match lifecycle {
        Some(lifecycle) => ().serve_with_lifecycle(transport, lifecycle).await.unwrap(),
        None => ().serve(transport).await.unwrap(),
    };
    assert_eq!(service.peer().list_all_tools().await.unwrap().len(), 1);
    let elapsed = started.elapsed();
    service.cancel().await.unwrap();
    elapsed
}

/// One contact of one contender. All but `first` know what there is to know from a contact before.
pub(crate) fn one(who: &str) -> Duration {
    let sandbox = Sandbox::new();
    let memory = Memory::of(&sandbox.env());
    let mut terms = connect::terms();
    match who {
        "plain" => terms.remembered = Some(Era::Handshake),
        "unguarded" => terms.guard = None,
        "rmcp" => return on(Threads::One, sdk(None)),
        _ => {}
    }
    if matches!(who, "plain" | "first") {
        let memory = (who == "first").then_some(memory);
        return on(Threads::One, ours(terms, memory));
    }
    let before = connect::terms();
    on(Threads::One, async move {
        ours(before, Some(memory.clone())).await;
        ours(terms, Some(memory)).await
    })
}

pub(crate) fn measure() -> Vec<Goal> {
    let mut times: [Vec<Duration>; 5] = Default::default();
    for _ in 0..crate::ROUNDS * 3 {
        for (times, who) in times.iter_mut().zip(["plain", "first", "second", "unguarded", "rmcp"]) {
            times.push(one(who));
        }
    }
    let [plain, first, second, unguarded, rmcp] = times.map(median);
    let preferred_versions = vec![rmcp::model::ProtocolVersion::LATEST];
    let auto = ClientLifecycleMode::Auto { preferred_versions, legacy_version: None };
    let auto = on(Threads::One, sdk(Some(auto)));
    println!("\nFrom start to tools, server ignores the question of the era");
    println!("  ours, plain handshake:            {plain:.2?}");
    println!("  ours, first contact:              {first:.2?}");
    println!("  ours, second contact:             {second:.2?}");
    println!("  ours, second, without the guard:  {unguarded:.2?}");
    println!("  rmcp, plain handshake:            {rmcp:.2?}");
    println!("  rmcp, `Auto`, one run:            {auto:.2?}");
    let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
    vec![
        Goal::at_most(
            "silent server, first contact, extra seconds",
            0.5,
            first.saturating_sub(plain).as_secs_f64(),
        ),
        Goal::at_most("silent server, second contact, to our plain handshake", 1.1, ratio(second, plain)),
        Goal::at_most("silent server, second contact, to rmcp's plain handshake", 1.1, ratio(second, rmcp)),
        Goal::at_most("the same without the guard process", 1.1, ratio(unguarded, rmcp)),
    ]
}
