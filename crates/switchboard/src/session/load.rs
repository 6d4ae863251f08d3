//! The one-call form: tools, and what went wrong, for programs that want nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use super::{Gate, Options, Session};
use crate::catalog::{Cache, Catalog, Entry, Part, build};
use crate::config::{Server, State};
use crate::connect::last_words;
use crate::discover::{Discovery, discover};
use crate::problem::{Explain, Severity};
use crate::resolve::Identity;
use crate::wire::{LastFault, Memory};

/// A session, its tools, and what went wrong.
#[derive(Debug)]
pub struct Loaded {
    /// The session, for calls and for everything that changes.
    pub session: Session,
    /// The tools, by name.
    pub tools: Vec<Entry>,
    /// What went wrong, server by server.
    pub errors: Vec<LoadError>,
}

/// What went wrong with one server, or with finding any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    /// The server; none when nothing could be found at all.
    pub server: Option<String>,
    /// The stable code.
    pub code: &'static str,
    /// What happened.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// Whether trying again later can help.
    pub retryable: bool,
    /// The server is `required`.
    pub is_required: bool,
    /// A login would help.
    pub needs_login: bool,
    /// The last line on the standard error of its process, advice aside.
    pub last_words: Option<String>,
}

/// Starts a session and waits until every server without cached tools is live or failed.
pub async fn load(options: Options) -> Loaded {
    let session = Session::start(options).await;
    session.ready(Gate::Correct).await;
    let tools = session.catalog().tools.clone();
    let errors = session.errors();
    Loaded { session, tools, errors }
}

/// What servers offered last time, without connecting to any.
pub fn cached(options: &Options) -> (Arc<Discovery>, Catalog) {
    let discovery = Arc::new(discover(&options.env, options.discovery));
    let cache = Cache::of(&options.env);
    let now = SystemTime::now();
    let mut offers = Vec::new();
    let is_wanted = |name: &str| options.only.as_ref().is_none_or(|only| only.contains(name));
    let enabled = discovery.servers.iter().filter(|server| server.state() == State::Enabled);
    for server in enabled.filter(|server| is_wanted(&server.name)) {
        let Ok(spec) = &server.definition else { continue };
        let spec = spec.run_by(options.own_program.as_deref(), &server.origin);
        let key = Identity::key_of(&spec, &server.origin, &discovery.project);
        if let Some(offer) = cache.read(&key, now) {
            offers.push((server, Arc::new(offer)));
        }
    }
    let parts: Vec<Part<'_>> = offers
        .iter()
        .filter_map(|(server, offer)| {
            let conduct = &server.definition.as_ref().ok()?.conduct;
            Some(Part { server: &server.name, origin: &server.origin, conduct, offer })
        })
        .collect();
    let catalog = build(&parts, discovery.settings.tool_names);
    (discovery, catalog)
}

/// Why servers did not work when they were last tried, by name. Nothing is connected.
pub fn last_faults(options: &Options, discovery: &Discovery) -> BTreeMap<String, LastFault> {
    let (memory, now) = (Memory::of(&options.env), SystemTime::now());
    let fault = |server: &Server| {
        let spec = server.definition.as_ref().ok()?.run_by(options.own_program.as_deref(), &server.origin);
        memory.last_fault(&Identity::key_of(&spec, &server.origin, &discovery.project), now)
    };
    let known = discovery.servers.iter().filter_map(|server| Some((server.name.clone(), fault(server)?)));
    known.collect()
}

impl Session {
    /// What went wrong so far: servers that do not work, and definitions that could not be used.
    pub fn errors(&self) -> Vec<LoadError> {
        let discovery = self.discovery();
        let is_required = |name: &str| discovery.server(name).is_some_and(|server| server.required);
        let mut errors = Vec::new();
        for report in self.servers() {
            if let Some(fault) = report.status.fault() {
                errors.push(LoadError {
                    server: Some(report.name.clone()),
                    code: fault.code,
                    message: fault.message.clone(),
                    hint: fault.hint.clone(),
                    retryable: fault.is_transient,
                    is_required: is_required(&report.name),
                    needs_login: fault.needs_login(),
                    last_words: last_words(&fault.stderr).map(str::to_owned),
                });
            }
        }
        for server in discovery.servers.iter().filter(|server| server.state() == State::Invalid) {
            if let Err(reason) = &server.definition {
                errors.push(LoadError {
                    server: Some(server.name.clone()),
                    code: "invalid-server",
                    message: reason.clone(),
                    hint: None,
                    retryable: false,
                    is_required: server.required,
                    needs_login: false,
                    last_words: None,
                });
            }
        }
        // Nothing found because nothing could be read is an error of its own.
        if discovery.servers.is_empty() {
            let broken = discovery.problems.iter().find(|problem| problem.severity() == Severity::Error);
            errors.extend(broken.map(|problem| LoadError {
                server: None,
                code: problem.code(),
                message: problem.message.clone(),
                hint: problem.hint.clone(),
                retryable: false,
                is_required: false,
                needs_login: false,
                last_words: None,
            }));
        }
        errors
    }
}
