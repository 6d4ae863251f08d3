//! `remove`: takes a server out of a file of ours. Other tools' files are never written.

use switchboard::config::edit::{EditError, OwnFile};
use switchboard::sources::places;
use switchboard::visible::shell_word;
use switchboard::{Discovery, Origin};

use super::{Context, Outcome, near_server, own_file, privacy, unread};
use crate::args::ScopeArg;
use crate::error::CommandError;

pub(super) fn run(context: &Context, name: &str, scope: Option<ScopeArg>) -> Result<Outcome, CommandError> {
    let discovery = context.discover();
    let (path, file) = match (scope, own_origin(&discovery, name)) {
        (Some(scope), _) => own_file(context, &discovery, scope),
        (None, Some(Origin { path: Some(path), scope, .. })) => {
            (path.to_path_buf(), OwnFile::new(path, privacy(*scope)))
        }
        (None, _) => return Err(not_ours(context, &discovery, name)),
    };
    file.remove(name)?;
    if context.printer.json {
        context.printer.json(&serde_json::json!({"name": name, "path": path}))?;
    }
    context.printer.remark(&format!("Removed `{name}` from {}", context.env.display(&path)));
    if let Some(left) = context.discover().server(name) {
        let place = left
            .origin
            .path
            .as_deref()
            .map_or_else(|| "built in".to_owned(), |path| context.env.display(path));
        context.printer.remark(&format!(
            "note: `{name}` is still there: {} defines it too ({place})",
            left.origin.provider
        ));
    }
    Ok(Outcome::Done)
}

/// The definition of ours that counts most.
pub(super) fn own_origin<'d>(discovery: &'d Discovery, name: &str) -> Option<&'d Origin> {
    let winner = discovery.server(name).map(|server| &server.origin);
    let aside = discovery.shadowed.iter().filter(|aside| aside.name == name).map(|aside| &aside.origin);
    winner.into_iter().chain(aside).find(|origin| origin.provider.is_ours())
}

/// Either it is nowhere, or it is not ours to remove.
fn not_ours(context: &Context, discovery: &Discovery, name: &str) -> CommandError {
    if let Some(server) = discovery.server(name) {
        let place = server.origin.path.as_deref().map(|path| context.env.display(path));
        let label = server.origin.provider.label();
        let message = match place {
            Some(place) => format!("Server \"{name}\" is defined in {place}, which belongs to {label}"),
            None => format!("Server \"{name}\" is not defined in a file ({label})"),
        };
        CommandError::usage("not-our-file", message)
            .server(name)
            .hint(format!("switch it off instead: switchboard disable {}", shell_word(name)))
    } else if let Some(error) = unread(discovery, name) {
        error
    } else {
        let path = places::project_file(&context.env, &discovery.project);
        let error = CommandError::from(EditError::Missing { name: name.to_owned(), path });
        match near_server(discovery, name) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        }
    }
}
