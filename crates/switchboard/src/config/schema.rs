//! The JSON Schemas of our files, generated from their types.

use schemars::{Schema, schema_for};

use super::file::McpFile;
use super::settings::SettingsSchema;

/// What a new file says in `$schema`: the copy that is written beside it, so that it works offline and for
/// everybody who has the project.
pub const FILE_REFERENCE: &str = "./mcp.schema.json";

/// The schema of `mcp.json`.
pub fn mcp_file() -> Schema {
    schema_for!(McpFile)
}

/// The schema of `settings.json`.
pub fn settings_file() -> Schema {
    schema_for!(SettingsSchema)
}
