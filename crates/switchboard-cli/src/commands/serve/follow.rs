//! Files that change under a gateway: the configuration is read again by itself, since nobody sits there to say so. What is
//! not approved is not started by that either.

use switchboard::session::Session;
use switchboard::sources::watch::FilesChanged;
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
        spoilt = None;
        let changes: Changes = gateway.reload().await.into();
        if !changes.is_empty() {
            context.printer.remark(&format!("the configuration changed: {}", changes.words()));
        } else if changes.waiting != waiting {
            online::say_who_waits(context, &session.discovery());
        }
        waiting = changes.waiting;
    }
}
