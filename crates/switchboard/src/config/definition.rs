//! The hash an approval is bound to: everything that decides what runs and what it is given.
//!
//! Names, limits and descriptions are left out; formatting and the order of keys make no difference. An entry of
//! a project also counts the directory it belongs to, because `./server` is another program in another place.

use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::spec::{ServerSpec, Transport};
use crate::declared::{Approval, Auth, Grant, InheritEnv, OAuth};
use crate::digest;
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
        }
        Transport::Remote(endpoint) => {
            fields.insert("url", json!(endpoint.url.canonical()));
            fields.insert("headers", pairs(&endpoint.headers));
        }
    }
    if origin.scope == Scope::Project || is_relative(&spec.transport) {
        fields.insert("project", json!(project.directory_of(origin).to_string_lossy()));
    }
    let conduct = &spec.conduct;
    match &conduct.auth {
        Some(Auth::Bearer { token_env }) => drop(fields.insert("tokenEnv", json!(token_env))),
        Some(Auth::OAuth { credential_id: Some(id) }) => drop(fields.insert("credentialId", json!(id))),
        Some(Auth::OAuth { credential_id: None } | Auth::None) | None => {}
    }
    if let Some(oauth) = &conduct.oauth {
        let secrets =
            [&oauth.client_id, &oauth.client_secret].map(|part| part.as_ref().map(Template::canonical));
        fields.insert("oauth", json!([json!(secrets), json!(oauth.scope), json!(oauth.redirect_uri)]));
        if oauth.is_alone() || oauth.grant.is_some() {
            fields.insert("machine", machine(oauth));
        }
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
    if !conduct.tools.allow.is_empty() || !conduct.tools.deny.is_empty() {
        fields.insert("tools", json!([conduct.tools.allow, conduct.tools.deny]));
    }
    // A map sorted by key serialises to the same bytes every time.
    let canonical = serde_json::to_vec(&fields).unwrap_or_default();
    digest::hex(&canonical)
}

/// What a program proves itself with, and where that is sent.
fn machine(oauth: &OAuth) -> Value {
    let text = |part: Option<&Template>| part.map(Template::canonical);
    let enterprise = oauth.enterprise.as_ref().map(|enterprise| {
        [&enterprise.endpoint, &enterprise.client_id, &enterprise.id_token].map(Template::canonical)
    });
    json!([
        json!(oauth.grant.map(Grant::as_str)),
        json!(text(oauth.private_key.as_ref())),
        json!(text(oauth.assertion.as_ref())),
        json!(enterprise),
    ])
}

/// Whether what runs depends on the directory it runs in.
fn is_relative(transport: &Transport) -> bool {
    let relative = |path: &Template| {
        let raw = path.raw();
        raw.starts_with('.') || (raw.contains('/') && !raw.starts_with(['/', '~', '$', '{']))
    };
    match transport {
        Transport::Stdio(stdio) => relative(&stdio.command) || stdio.cwd.as_ref().is_some_and(relative),
        Transport::Remote(_) => false,
    }
}

fn pairs(pairs: &[(String, Template)]) -> Value {
    let sorted: BTreeMap<_, _> = pairs.iter().map(|(name, value)| (name, value.canonical())).collect();
    json!(sorted)
}
