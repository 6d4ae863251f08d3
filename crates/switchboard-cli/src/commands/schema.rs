//! `schema`: the JSON Schema of our own files.

use switchboard::config::schema;

use super::{Context, Outcome};
use crate::args::SchemaArg;
use crate::error::CommandError;

pub(super) fn run(context: &Context, file: SchemaArg) -> Result<Outcome, CommandError> {
    let schema = match file {
        SchemaArg::Mcp => schema::mcp_file(),
        SchemaArg::Settings => schema::settings_file(),
    };
    context.printer.json(&schema)?;
    Ok(Outcome::Done)
}
