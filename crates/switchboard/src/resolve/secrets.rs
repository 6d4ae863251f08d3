//! Secrets that stand in clear text.

use crate::config::ServerSpec;
use crate::redact;
use crate::template::Template;

/// The first field that holds a secret in clear text: under a telling name, looking like a key, or as the password of
/// an address.
pub fn clear_secret(spec: &ServerSpec) -> Option<String> {
    let is_secret = |field: &str, value: &Template| {
        let raw = value.raw();
        let name = field.strip_prefix("env.").or_else(|| field.strip_prefix("headers."));
        let hidden = redact::word(raw) != raw && !field.starts_with("url");
        let literal = value.is_plain() && value.shell_command().is_none() && !raw.is_empty();
        literal && (name.is_some_and(redact::is_telling) || hidden || has_password(raw))
    };
    spec.transport.values().into_iter().find(|(field, value)| is_secret(field, value)).map(|(field, _)| field)
}

/// `scheme://user:password@host`.
fn has_password(text: &str) -> bool {
    let authority =
        text.split_once("://").map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
    authority.and_then(|authority| authority.rsplit_once('@')).is_some_and(|(user, _)| user.contains(':'))
}
