//! What can be told about logins without asking anybody: nothing is run, fetched or changed.

use std::collections::BTreeSet;

use super::kept::CredentialId;
use super::keys::{Facts, Keys};
use super::place::Place;
use super::store::{Found, Listed, StoreError};
use crate::config::Transport;
use crate::declared::Auth;
use crate::env::Env;
use crate::problem::{Code, Explain, Problem};
use crate::redact;
use crate::resolve::{Subject, glimpse};
use crate::visible::{excerpt, shell_word};

/// Who is logged in to a server, as far as can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The server takes no login of ours, or where it is cannot be told without running something.
    Unknown,
    /// Nobody is.
    Out {
        /// Its entry says that there must be a login.
        is_wanted: bool,
    },
    /// Somebody is, or was.
    In(Facts),
    /// There is a login that cannot be used.
    Unusable(Problem),
}

impl Keys {
    /// Who is logged in to a server.
    pub fn standing(&self, server: &Subject<'_>, env: &Env) -> Standing {
        let Some(id) = id(server, env) else { return Standing::Unknown };
        match self.store.peek(&id) {
            Ok(outline) => match outline.as_ref().and_then(Facts::of) {
                // A program that logs in as itself does so again.
                Some(facts) if !facts.works && is_alone(server) => Standing::Out { is_wanted: false },
                Some(facts) => Standing::In(facts),
                None => Standing::Out { is_wanted: is_wanted(server) && !is_alone(server) },
            },
            Err(error) => Standing::Unusable(unusable(&error).server(server.name)),
        }
    }

    /// What is wrong with the login of a server. What is wrong with its file is told by [`Keys::store_problems`].
    pub fn login_problem(&self, server: &Subject<'_>, env: &Env) -> Option<Problem> {
        let name = server.name;
        let clear = glimpse(server, env)
            .and_then(|address| Place::of(name, &address))
            .filter(|_| is_wanted(server))
            .and_then(|place| place.check_encrypted().err());
        let problem = if let Some(error) = clear {
            let problem = Problem::new(Code::ClearTextLogin, format!("`{name}`: {error}"));
            problem.hint(error.hint().unwrap_or_default())
        } else {
            let hint = format!("switchboard reauth {}", shell_word(name));
            match self.standing(server, env) {
                Standing::In(facts) if !facts.works => {
                    let issuer = excerpt(&facts.issuer, 200);
                    let message = format!("the login of `{name}` at {issuer} was refused or is over");
                    Problem::new(Code::LoginOver, message).hint(hint)
                }
                // A program says itself what it misses, when it is started.
                Standing::Out { is_wanted: true } if is_remote(server) => {
                    let message = format!("nobody is logged in to `{name}`, and its entry wants a login");
                    Problem::new(Code::LoginMissing, message).hint(hint)
                }
                Standing::In(_) | Standing::Out { .. } | Standing::Unknown | Standing::Unusable(_) => {
                    return None;
                }
            }
        };
        Some(problem.server(name).origin(server.origin.clone()))
    }

    /// What is wrong with the files of logins, given every server there is.
    pub fn store_problems(&self, servers: &[Subject<'_>], env: &Env) -> Vec<Problem> {
        let used: BTreeSet<CredentialId> = servers.iter().filter_map(|server| id(server, env)).collect();
        // Where a server is that needs a command to say so is not known: any of the logins may be its own.
        let knows_all = servers.iter().all(|server| !is_remote(server) || glimpse(server, env).is_some());
        let problem = |listed: Listed| {
            let path = listed.path.display();
            match listed.found {
                Found::Unusable(error) => Some(unusable(&error)),
                Found::Kept(outline) if knows_all && !used.contains(&outline.kept.id) => {
                    let server = excerpt(&redact::url(&outline.kept.server), 200);
                    let message = format!("there is a login for {server}, which no server here uses");
                    let hint = format!("if no other project uses it either: rm {path}");
                    Some(Problem::new(Code::CredentialUnused, message).hint(hint))
                }
                Found::Kept(_) => None,
                Found::SetAside => {
                    let message = format!("{path} is a login that could not be read, and was put aside");
                    Some(Problem::new(Code::CredentialUnused, message).hint(format!("rm {path}")))
                }
            }
        };
        let files = self.store.all().into_iter().filter_map(problem);
        files.chain(self.store.check_seals().as_ref().map(unusable)).collect()
    }
}

/// Which login a server would use.
fn id(server: &Subject<'_>, env: &Env) -> Option<CredentialId> {
    match (&server.spec.transport, &server.spec.conduct.auth) {
        (_, Some(Auth::OAuth { credential_id: Some(name) })) => Some(CredentialId::named(name)),
        (Transport::Stdio(_), _) => None,
        (Transport::Remote(_), _) => Some(Place::of(server.name, &glimpse(server, env)?)?.id),
    }
}

const fn is_wanted(server: &Subject<'_>) -> bool {
    matches!(server.spec.conduct.auth, Some(Auth::OAuth { .. }))
}

fn is_alone(server: &Subject<'_>) -> bool {
    server.spec.conduct.oauth.as_ref().is_some_and(|oauth| oauth.is_alone())
}

const fn is_remote(server: &Subject<'_>) -> bool {
    matches!(server.spec.transport, Transport::Remote(_))
}

fn unusable(error: &StoreError) -> Problem {
    let problem = Problem::new(Code::CredentialUnreadable, error.message());
    match error.hint() {
        Some(hint) => problem.hint(hint),
        None => problem,
    }
}
