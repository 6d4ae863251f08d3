//! What counts while a file of the user's own is broken: what it said before.
//!
//! In: the servers of now and of before, and what is wrong now. Out: the servers that count. A file that is just being saved,
//! or that has a slip of the pen in it, stops nothing that runs, and switches nothing on. Whether something of other files may
//! go on is not for us to guess: it took consent, which may have been taken back.

use super::plan::Server;
use super::trust::Consent;
use crate::origin::{Origin, Scope};
use crate::problem::Problem;
use crate::provider::Provider;

/// Puts back what broken files said before. Both lists are sorted by name.
pub(crate) fn keep(now: &mut Vec<Server>, before: &[Server], problems: &[Problem]) {
    let broken = problems.iter().filter(|problem| problem.code.spoils_the_file());
    let broken: Vec<&Origin> = broken.filter_map(|problem| problem.origin.as_ref()).collect();
    let is_in_one = |server: &Server| broken.iter().any(|origin| origin.path == server.origin.path);
    // The one file that switches servers of other tools.
    let has_switches = |origin: &&Origin| (origin.provider, origin.scope) == (Provider::Native, Scope::User);
    let are_switches_lost = broken.iter().any(has_switches);
    for server in before {
        let place = now.binary_search_by(|other| other.name.cmp(&server.name));
        let is_own = server.consent == Consent::OwnFile && is_in_one(server);
        match place {
            Ok(at) if is_own => now[at] = server.clone(),
            Err(at) if is_own => now.insert(at, server.clone()),
            Ok(at) if are_switches_lost => now[at].switch = server.switch,
            _ => {}
        }
    }
}
