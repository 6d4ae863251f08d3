//! What happens while a gateway runs. Files that change: the configuration is read again by itself, since nobody sits there
//! to say so; what is not approved is not started by that either. Servers that stop working, and work again.

use std::collections::BTreeSet;

use switchboard::connect::{Event, Status};
use switchboard::session::{Events, Session};
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
    let mut failed = BTreeSet::new();
    let mut heard = |server: String, status: Status| match status.fault() {
        Some(fault) if failed.insert(server.clone()) => {
            context.printer.problems(&[&fault.problem()], &context.env, 1);
        }
        None if matches!(status, Status::Connected) && failed.remove(&server) => {
            context.printer.remark(&format!("{} is connected", excerpt(&server, 60)));
        }
        _ => {}
    };
    // Some may have failed before anybody listened.
    session.servers().into_iter().for_each(|report| heard(report.name, report.status));
    while let Some(event) = events.next().await {
        if let Event::Status { server, status } = event {
            heard(server, status);
        }
    }
}
