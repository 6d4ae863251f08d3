//! The hash an approval is bound to: everything that decides what runs and what it is given.
//!
//! Names, limits and descriptions are left out; formatting and the order of keys make no difference. An entry of
//! a project also counts the directory it belongs to, because `./server` is another program in another place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::spec::{ServerSpec, Transport};
use crate::declared::{Approval, Auth, InheritEnv};
use crate::origin::{Origin, Scope};
use crate::sources::places::Project;
use crate::template::Template;

/// The hash of a definition, as 64 hexadecimal digits.
pub fn hash(spec: &ServerSpec, origin: &Origin, project: &Project) -> String {
    let mut fields: BTreeMap<&str, Value> = BTreeMap::new();
    fields.insert("type", json!(spec.transport.as_str()));
    match &spec.transport {
        Transport::Stdio(stdio) => {
            fields.insert("command", json!(stdio.command.canonical()));
            fields.insert("args", json!(stdio.args.iter().map(Template::canonical).collect::<Vec<_>>()));
            fields.insert("env", pairs(&stdio.env));
            fields.insert("cwd", json!(stdio.cwd.as_ref().map(Template::canonical)));
            fields.insert("envFile", json!(stdio.env_file.as_ref().map(Template::canonical)));
            let inherited = match &stdio.inherit_env {
                InheritEnv::Safe => json!(false),
                InheritEnv::All => json!(true),
                InheritEnv::Names(names) => json!(names),
            };
            fields.insert("inheritEnv", inherited);
            if origin.scope == Scope::Project {
                fields.insert("project", json!(directory(origin, project).to_string_lossy()));
            }
        }
        Transport::Remote(endpoint) => {
            fields.insert("url", json!(endpoint.url.canonical()));
            fields.insert("headers", pairs(&endpoint.headers));
        }
    }
    let conduct = &spec.conduct;
    if let Some(Auth::Bearer { token_env }) = &conduct.auth {
        fields.insert("tokenEnv", json!(token_env));
    }
    // Consent to a server that asks is no consent to one that does not.
    if conduct.approval != Approval::Auto {
        fields.insert("approval", json!(conduct.approval.as_str()));
    }
    let tools: BTreeMap<_, _> =
        conduct.tools.approval.iter().map(|(tool, mode)| (tool, mode.as_str())).collect();
    if !tools.is_empty() {
        fields.insert("toolApproval", json!(tools));
    }
    // A map sorted by key serialises to the same bytes every time.
    let canonical = serde_json::to_vec(&fields).unwrap_or_default();
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or_default();
    Sha256::digest(&canonical).iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The directory an entry belongs to: the nearest that holds its file, else the root of the repository.
fn directory<'p>(origin: &Origin, project: &'p Project) -> &'p Path {
    let holds = |dir: &&PathBuf| origin.path.as_deref().is_some_and(|path| path.starts_with(dir));
    let root = project.ancestors.last().unwrap_or(&project.dir);
    project.ancestors.iter().find(holds).unwrap_or(root)
}

fn pairs(pairs: &[(String, Template)]) -> Value {
    let sorted: BTreeMap<_, _> = pairs.iter().map(|(name, value)| (name, value.canonical())).collect();
    json!(sorted)
}
