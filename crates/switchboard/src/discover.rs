//! The whole first half of the pipe in one call: files in, decisions out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::calls::Grants;
use crate::config::plan::{self, Inputs, Plan};
use crate::config::settings;
use crate::config::{Approvals, Options, Server, SetAside, Settings, State, keep};
use crate::env::{Env, SWITCHBOARD_TRUST, VARIABLES};
use crate::install;
use crate::problem::{Code, Problem, Severity};
use crate::resolve;
use crate::sources::places::Project;
use crate::sources::{self, Found};
use crate::spans;

/// Everything there is to know about a person's servers without touching one of them.
#[derive(Debug)]
pub struct Discovery {
    /// The servers that count, by name.
    pub servers: Vec<Server>,
    /// The definitions that do not count, by name, each with the reason.
    pub shadowed: Vec<SetAside>,
    /// What is wrong or worth knowing, worst first.
    pub problems: Vec<Problem>,
    /// The settings in force.
    pub settings: Settings,
    /// The directories around the working directory.
    pub project: Project,
    /// The configuration files that were read.
    pub files: Vec<Arc<Path>>,
}

impl Discovery {
    /// The server of this name that counts.
    pub fn server(&self, name: &str) -> Option<&Server> {
        let index = self.servers.binary_search_by(|server| server.name.as_str().cmp(name)).ok()?;
        self.servers.get(index)
    }

    /// The same, with what the user's own files said before they broke.
    #[must_use]
    pub(crate) fn keeping(mut self, before: &Self) -> Self {
        keep::keep(&mut self.servers, &before.servers, &self.problems);
        self
    }

    /// What is wrong with a file that cannot be used and could be before: somebody may be in the middle of editing it.
    pub fn spoilt_since(&self, before: &Self) -> Option<&Problem> {
        let was_spoilt = |problem: &Problem| before.spoilt().any(|other| file(other) == file(problem));
        self.spoilt().find(|problem| !was_spoilt(problem))
    }

    /// Why files count for nothing. An empty one is missed by nobody.
    pub fn lost_files(&self) -> impl Iterator<Item = &Problem> {
        self.spoilt().filter(|problem| problem.severity() == Severity::Error)
    }

    /// Why files count for nothing, the empty ones too.
    fn spoilt(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|problem| problem.code.spoils_the_file())
    }
}

/// The file a problem is about.
fn file(problem: &Problem) -> Option<&Path> {
    problem.origin.as_ref().and_then(|origin| origin.path.as_deref())
}

/// Finds, reads and decides. Never fails: what cannot be used is a [`Problem`].
pub fn discover(env: &Env, options: Options) -> Discovery {
    let watched = spans::discover();
    let discovery = watched.span().in_scope(|| look(env, options));
    watched.span().record("n_servers", discovery.servers.len());
    watched.span().record("n_problems", discovery.problems.len());
    watched.done(spans::OK);
    discovery
}

fn look(env: &Env, options: Options) -> Discovery {
    let project = Project::find(env);
    let mut found = sources::find(env, &project);
    let (settings, setting_problems) = settings::read(&found.settings, env);
    let (approvals, approval_problem) = Approvals::load(env);
    let trust_all = options.trust_all || env.var(SWITCHBOARD_TRUST) == Some("1");

    let mut problems = std::mem::take(&mut found.problems);
    let files = std::mem::take(&mut found.files);
    let installed = installed(&found, env);
    let inputs = Inputs {
        settings: &settings,
        approvals: &approvals,
        options: Options { trust_all, ..options },
        project: &project,
        installed: (install::NAME, &installed),
    };
    let Plan { servers, set_aside, problems: decisions } = plan::plan(found, &inputs);
    problems.extend(setting_problems);
    problems.extend(approval_problem);
    problems.extend(Grants::load(env).1);
    problems.extend(decisions);
    name_misspelled(&mut problems);
    for server in servers.iter().filter(|server| server.state() == State::Enabled) {
        if let Ok(spec) = &server.definition {
            problems.extend(resolve::unresolved(&server.name, spec, &server.origin, env));
        }
    }
    problems.extend(unreadable_variables(env));
    sort(&mut problems);
    Discovery { servers, shadowed: set_aside, problems, settings, project, files }
}

/// The files into which `install` put the gateway. Its records are looked at only if there may be such an entry.
fn installed(found: &Found, env: &Env) -> Vec<PathBuf> {
    if !found.declarations.iter().any(|declaration| declaration.name == install::NAME) {
        return Vec::new();
    }
    install::records(env).into_iter().map(|record| record.path).collect()
}

/// What an entry lacks may stand in it under another name. Then that is what to do about it.
fn name_misspelled(problems: &mut [Problem]) {
    let place = |problem: &Problem| {
        let path = problem.origin.as_ref().and_then(|origin| origin.path.clone());
        (problem.server.clone(), path)
    };
    let is_meant = |hint: &str| ["did you mean `command`?", "did you mean `url`?"].contains(&hint);
    let misspelled: Vec<_> = problems
        .iter()
        .filter(|problem| problem.code == Code::UnknownField)
        .filter_map(|problem| {
            let hint = problem.hint.as_deref().filter(|hint| is_meant(hint))?;
            Some((place(problem), format!("{}; {hint}", problem.message)))
        })
        .collect();
    if misspelled.is_empty() {
        return;
    }
    let lacks = |problem: &Problem| {
        problem.code == Code::InvalidServer
            && ["requires \"command\" field", "requires \"url\" field"]
                .iter()
                .any(|reason| problem.message.contains(reason))
    };
    for problem in problems.iter_mut().filter(|problem| lacks(problem)) {
        let at = place(problem);
        if let Some((_, hint)) = misspelled.iter().find(|(place, _)| *place == at) {
            problem.hint = Some(hint.clone());
        }
    }
}

/// Variables of ours that are set to something that is not text.
fn unreadable_variables(env: &Env) -> impl Iterator<Item = Problem> {
    VARIABLES
        .iter()
        .filter(|(name, _)| env.is_unreadable(name))
        .map(|(name, _)| Problem::new(Code::BadVariable, format!("{name} is not UTF-8 text; it is ignored")))
}

/// Worst first, then by file and line, so that the same input gives the same list.
pub fn sort(problems: &mut [Problem]) {
    problems.sort_by(|left, right| key(left).cmp(&key(right)));
}

fn key(problem: &Problem) -> impl Ord + '_ {
    let origin = problem.origin.as_ref();
    (
        problem.severity(),
        origin.map(|origin| (origin.provider, origin.scope)),
        // As bytes: comparing paths part by part is slow.
        origin.and_then(|origin| origin.path.as_deref()).map(Path::as_os_str),
        origin.and_then(|origin| origin.line),
        problem.code,
        problem.server.as_deref(),
        problem.message.as_str(),
    )
}
