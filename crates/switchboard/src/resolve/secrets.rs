//! Secrets that stand in clear text.

use crate::config::{Field, ServerSpec};
use crate::redact;
use crate::template::Template;

/// The first field that holds a secret in clear text: under a telling name, looking like a key, or as the password of
/// an address.
pub fn clear_secret(spec: &ServerSpec) -> Option<String> {
    let is_secret = |field: Field<'_>, value: &Template| {
        let raw = value.raw();
        let hidden = redact::word(raw) != raw && field != Field::Url;
        let literal = value.is_plain() && value.shell_command().is_none() && !raw.is_empty();
        literal && (field.name().is_some_and(redact::is_telling) || hidden || has_password(raw))
    };
    spec.values()
        .into_iter()
        .find(|(field, value)| is_secret(*field, value))
        .map(|(field, _)| field.to_string())
}

/// `scheme://user:password@host`.
fn has_password(text: &str) -> bool {
    let authority =
        text.split_once("://").map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
    authority.and_then(|authority| authority.rsplit_once('@')).is_some_and(|(user, _)| user.contains(':'))
}
