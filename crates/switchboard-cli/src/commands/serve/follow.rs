//! What happens while a gateway runs. Files that change: the configuration is read again by itself, since nobody sits there
//! to say so; what is not approved is not started by that either. Servers that stop working, and work again.

use std::collections::BTreeSet;

use switchboard::connect::{Event, Status};
use switchboard::session::{Events, ServerReport, Session};
use switchboard::sources::watch::FilesChanged;
use switchboard::visible::excerpt;
use switchboard_gateway::Gateway;

use super::super::online;
use super::Context;
use crate::control::Changes;
use crate::printer::problem_lines;

/// Reads the configuration again each time a file of it changed. A file that could be used before and cannot be now is
/// waited for: somebody is in the middle of editing it, and until then everything stays as it is.
pub(super) async fn files(
    context: &Context,
    mut files: FilesChanged,
    (session, gateway): (&Session, &Gateway),
) {
    let (mut spoilt, mut waiting) = (None, session.preview_reload().await.waiting);
    loop {
        files.next().await;
        if let Some(problem) = context.discover().spoilt_since(&session.discovery()) {
            if spoilt.as_ref() != Some(problem) {
                context.printer.show(&problem_lines(problem, &context.env));
                context
                    .printer
                    .remark("everything stays as it is until that is mended, or you say: switchboard reload");
                spoilt = Some(problem.clone());
            }
            continue;
        }
        let was_spoilt = spoilt.take().is_some();
        let changes: Changes = gateway.reload().await.into();
        if !changes.is_empty() {
            context.printer.remark(&format!("the configuration changed: {}", changes.words(&context.env)));
        } else if was_spoilt {
            context.printer.remark(&format!("read the configuration again: {}", changes.words(&context.env)));
        } else if changes.waiting != waiting {
            online::say_who_waits(context, &session.discovery());
        }
        waiting = changes.waiting;
    }
}

/// Says which servers do not work, once each until they do, and which work again.
pub(super) async fn servers(context: &Context, session: &Session, mut events: Events) {
    let mut failed = Failed { context, names: BTreeSet::new() };
    // Some may have failed before anybody listened.
    failed.look(session.servers());
    while let Some(event) = events.next().await {
        match event {
            // One that was stopped may be gone for good, and nobody knows what was missed.
            Event::Status { status: Status::Stopped, .. } | Event::Missed { .. } => {
                failed.look(session.servers());
            }
            Event::Status { server, status } => failed.hear(&server, &status),
            Event::Said { .. } | Event::TooLarge { .. } | Event::Problem { .. } => {}
        }
    }
}

/// The servers of which it was said that they do not work.
struct Failed<'c> {
    context: &'c Context,
    names: BTreeSet<String>,
}

impl Failed<'_> {
    /// How all stand that there are.
    fn look(&mut self, reports: Vec<ServerReport>) {
        self.names.retain(|name| reports.iter().any(|report| report.name == *name));
        for report in reports {
            self.hear(&report.name, &report.status);
        }
    }

    fn hear(&mut self, server: &str, status: &Status) {
        let printer = &self.context.printer;
        match status.fault() {
            Some(fault) if self.names.insert(server.to_owned()) => {
                printer.problems(&[&fault.problem()], &self.context.env, 1);
            }
            None if matches!(status, Status::Connected) && self.names.remove(server) => {
                printer.remark(&format!("{} is connected", excerpt(server, 60)));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use serde_json::{Map, Value, json};
    use switchboard::session::Options;
    use testkit::Sandbox;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::ask::Lines;
    use crate::printer::{Buffer, Printer, Sink, Volume};

    /// More than there is room for what happens to them.
    const MANY: usize = 300;

    /// Servers that do not work, and no others.
    fn declare(sandbox: &Sandbox, names: &[String]) {
        let entry = |name: &String| (name.clone(), json!({"command": "no-such-program", "args": [name]}));
        let servers: Map<String, Value> = names.iter().map(entry).collect();
        sandbox.write("~/.switchboard/mcp.json", json!({"mcpServers": servers}).to_string());
    }

    /// Lets it hear of everything that happened, and gives what it said.
    async fn catch_up(mut following: Pin<&mut impl Future<Output = ()>>, buffer: &Buffer) -> String {
        for _ in 0..100 {
            tokio::select! {
                biased;
                () = &mut following => panic!("it is over"),
                () = tokio::task::yield_now() => {}
            }
        }
        buffer.take()
    }

    #[tokio::test]
    async fn who_missed_something_looks_how_all_stand() {
        let sandbox = Sandbox::new();
        sandbox.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
        let buffer = Buffer::default();
        let context = Context {
            env: sandbox.env(),
            options: switchboard::Options::default(),
            printer: Printer { sink: Sink::Buffer(buffer.clone()), ..Printer::early(false, Volume::Normal) },
            lines: Lines::default(),
            cancel: CancellationToken::new(),
            trace: None,
        };
        let bad = "bad".to_owned();
        let mut names = vec![bad.clone()];
        declare(&sandbox, &names);
        let session = Session::start(Options::headless(sandbox.env())).await;
        session.wait_for(&bad, |status| status.fault().is_some()).await;
        let following = servers(&context, &session, session.events());
        tokio::pin!(following);
        let is_told = |said: &str| said.contains("`bad` does not work: ");
        let said = catch_up(following.as_mut(), &buffer).await;
        assert!(is_told(&said), "{said}");

        // It is gone, and so much happens after that that nobody hears of it.
        declare(&sandbox, &[]);
        let mut events = session.events();
        session.reload().await;
        while !matches!(events.next().await, Some(Event::Status { status: Status::Stopped, .. })) {}
        names = (0..MANY).map(|n| format!("other-{n}")).collect();
        declare(&sandbox, &names);
        session.reload().await;
        session.settled(None).await;
        let said = catch_up(following.as_mut(), &buffer).await;
        assert_eq!(said.matches(" does not work: ").count(), MANY, "{said}");

        names.push(bad.clone());
        declare(&sandbox, &names);
        session.reload().await;
        session.wait_for(&bad, |status| status.fault().is_some()).await;
        let said = catch_up(following.as_mut(), &buffer).await;
        assert!(is_told(&said), "{said}");
        session.shutdown().await;
    }
}
