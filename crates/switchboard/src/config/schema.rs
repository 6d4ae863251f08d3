//! The JSON Schemas of our files, generated from their types.

use schemars::{Schema, schema_for};

use super::file::McpFile;
use super::settings::SettingsSchema;

/// What a new file says in `$schema`: the copy that is written beside it, so that it works offline and for
/// everybody who has the project.
pub const FILE_REFERENCE: &str = "./mcp.schema.json";

/// The title by which a schema is known as ours.
pub const TITLE: &str = "Switchboard mcp.json";

/// The schema of `mcp.json`.
pub fn mcp_file() -> Schema {
    schema_for!(McpFile)
}

/// The schema of `settings.json`.
pub fn settings_file() -> Schema {
    schema_for!(SettingsSchema)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::dialect;

    #[test]
    fn the_schema_has_every_field_that_is_read() {
        let schema = mcp_file().to_value();
        let properties = schema["$defs"]["ServerEntry"]["properties"].as_object().unwrap();
        let mut fields: Vec<_> = properties.keys().map(String::as_str).collect();
        fields.sort_unstable();
        assert_eq!(fields, dialect::canonical_fields());
    }
}
