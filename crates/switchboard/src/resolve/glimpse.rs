//! Where a server is, as far as that can be told without running, reading or asking anything.

use super::account::Account;
use super::address;
use super::launch::{Address, Subject};
use super::preview::expand;
use crate::config::Transport;
use crate::declared::Auth;
use crate::env::Env;

/// The address of a server, without the values of its headers and of its `oauth`; none if it is a program, or its `url`
/// needs more than variables. Good for looking up a login, not for dialling.
pub(crate) fn glimpse(server: &Subject<'_>, env: &Env) -> Option<Address> {
    let Transport::Remote(endpoint) = &server.spec.transport else { return None };
    let text = expand(&endpoint.url, env, server.project.directory_of(server.origin))?;
    let (url, login) = address::parse(&text).ok()?;
    let has_own = login.is_some()
        || endpoint.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("Authorization"));
    let account = match &server.spec.conduct.auth {
        Some(Auth::OAuth { credential_id: Some(id) }) => {
            Some(Account { credential_id: Some(id.clone()), ..Account::default() })
        }
        Some(Auth::Bearer { .. } | Auth::None) => None,
        // Whoever writes a header of their own means that one.
        Some(Auth::OAuth { credential_id: None }) | None => (!has_own).then(Account::default),
    };
    Some(Address { kind: endpoint.kind, url, headers: Vec::new(), account })
}
