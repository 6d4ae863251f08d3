//! Who is asked before a call, and what is remembered of the answers.
//!
//! A yes is for a tool as it was shown. Whatever became of the tool since, by a new list or since it was only known from
//! last time, is looked at again before anything is sent.

use std::borrow::Cow;
use std::sync::PoisonError;
use std::time::SystemTime;

use tracing::Instrument;

use super::{Inner, Session};
use crate::calls::{
    Binding, By, CallError, Decision, Deferred, Denier, GrantKind, Grants, Ruling, Standing, Yes, connected,
    question, rule,
};
use crate::catalog::{Entry, pin};
use crate::config::write::WriteError;
use crate::connect::{Event, Freshness};
use crate::host::{Permit, Why};
use crate::json::Json;
use crate::problem::{Code, Explain, Problem};
use crate::spans;

/// How often a tool may turn into another one while it is asked about.
const MOST_QUESTIONS: usize = 3;

/// A yes that is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The server, by its configured name.
    pub server: String,
    /// The server's own name for the tool.
    pub tool: String,
    /// The name of the tool when it was granted.
    pub name: String,
    /// How long it holds.
    pub kind: GrantKind,
    /// When it was granted.
    pub when: SystemTime,
    /// How it stands to the tool as it is now.
    pub standing: Standing,
}

/// What an answer was given by.
enum Asked {
    /// Nobody had to be asked.
    ByRule,
    /// The user said yes, now or before, to the tool as it is shown.
    Yes,
}

impl Session {
    /// What the rules say of a call.
    pub fn decision(&self, entry: &Entry) -> Decision {
        self.explain(entry).decision
    }

    /// What the rules say of a call, and which of them.
    pub fn explain(&self, entry: &Entry) -> Ruling {
        let host = &self.inner.options.host;
        if let Some(reason) = host.forbids(&entry.name, &entry.server, &entry.tool.name) {
            return Ruling { decision: Decision::Deny { reason }, by: By::Host };
        }
        match self.handle(&entry.server) {
            Some(handle) => rule(entry, &handle.recipe().spec.conduct, &self.discovery().settings),
            None => Ruling { decision: Decision::Ask, by: By::Default },
        }
    }

    /// What was said yes to for more than one call, for the session and for good, by server and tool. Those for good are
    /// shared by all sessions of the user.
    pub fn grants(&self) -> Vec<Grant> {
        let session = self.inner.granted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (always, _told_by_discovery) = Grants::load(&self.inner.options.env);
        let catalog = self.inner.catalog.borrow().clone();
        let grant = |yes: &Yes, kind: GrantKind| {
            let Binding { server, tool, .. } = &yes.binding;
            let there =
                catalog.tools.iter().find(|entry| entry.server == *server && entry.tool.name == *tool);
            let standing = match there {
                None => Standing::Unseen,
                Some(entry) if self.binding(entry) == yes.binding => Standing::Holds,
                Some(_) => Standing::Changed,
            };
            let (server, tool, name) = (server.clone(), tool.clone(), yes.name.clone());
            Grant { server, tool, name, kind, when: yes.when(), standing }
        };
        let mut grants: Vec<Grant> = session.iter().map(|yes| grant(yes, GrantKind::Session)).collect();
        grants.extend(always.iter().map(|yes| grant(yes, GrantKind::Always)));
        grants.retain(|grant| self.scope.sees_server(&grant.server));
        grants
            .sort_by(|a, b| (&a.server, &a.tool, a.kind, a.when).cmp(&(&b.server, &b.tool, b.kind, b.when)));
        grants
    }

    /// Takes back every yes to a tool, for the session and for good; tells how many there were.
    pub async fn forget_grant(&self, server: &str, tool: &str) -> Result<usize, WriteError> {
        if !self.scope.sees_server(server) {
            return Ok(0);
        }
        let is_meant = |binding: &Binding| binding.server == server && binding.tool == tool;
        let n_of_session = self.inner.granted.lock().unwrap_or_else(PoisonError::into_inner).remove(is_meant);
        let (env, server, tool) = (self.inner.options.env.clone(), server.to_owned(), tool.to_owned());
        let write = move || Grants::take_back(&env, &server, Some(&tool));
        let n_for_good = tokio::task::spawn_blocking(write).await.unwrap_or(Ok(0))?;
        Ok(n_of_session + n_for_good)
    }

    /// The tool as a yes would be bound to it.
    pub(super) fn binding(&self, entry: &Entry) -> Binding {
        let handles = self.inner.handles.read().unwrap_or_else(PoisonError::into_inner);
        let connection =
            handles.get(&entry.server).map(|handle| handle.recipe().key.to_string()).unwrap_or_default();
        Binding::of(entry, connection)
    }

    /// Asks whoever must be asked. Comes back when the call may be made.
    pub(super) async fn permit(&self, entry: &Entry, arguments: &Json) -> Result<(), CallError> {
        match self.decision(entry) {
            Decision::Run => Ok(()),
            // Rare and large: every call would carry it along.
            Decision::Ask | Decision::Deny { .. } => Box::pin(self.settle(entry, arguments)).await,
        }
    }

    /// Asks until the tool that was said yes to is the tool that is there.
    async fn settle(&self, entry: &Entry, arguments: &Json) -> Result<(), CallError> {
        let mut shown = Cow::Borrowed(entry);
        let mut why = Why::Rule;
        for _ in 0..MOST_QUESTIONS {
            match self.ask(&shown, arguments, why).await? {
                Asked::ByRule => return Ok(()),
                Asked::Yes => {}
            }
            let now = self.as_it_is(&shown).await?;
            if pin(&now) == pin(&shown) {
                return Ok(());
            }
            (shown, why) = (Cow::Owned(now), Why::Changed);
        }
        let reason = format!("`{}` changes all the time", entry.name);
        Err(CallError::Outdated { server: entry.server.clone(), reason })
    }

    async fn ask(&self, entry: &Entry, arguments: &Json, why: Why) -> Result<Asked, CallError> {
        let denied =
            |reason: String, by: Denier| Err(CallError::Denied { server: entry.server.clone(), reason, by });
        let host = &self.inner.options.host;
        let Ruling { decision, by } = self.explain(entry);
        match decision {
            Decision::Run => return Ok(Asked::ByRule),
            Decision::Deny { reason } => {
                if by == By::Host {
                    // It keeps account of what it is asked; this answer makes no difference.
                    host.permit(question(entry, arguments, why)).await;
                }
                return denied(reason, Denier::Rule(by));
            }
            Decision::Ask => {}
        }
        let binding = self.binding(entry);
        let why = match self.inner.granted(&binding) {
            Some(Standing::Holds) => return Ok(Asked::Yes),
            Some(Standing::Changed) => Why::Changed,
            Some(Standing::Unseen) | None => why,
        };
        let watched = spans::permit(&entry.server, &entry.tool.name);
        let permit = host.permit(question(entry, arguments, why)).instrument(watched.span()).await;
        watched.done(permit.as_str());
        let kind = match permit {
            Permit::Once => return Ok(Asked::Yes),
            Permit::Session => GrantKind::Session,
            Permit::Always => GrantKind::Always,
            Permit::Deny { reason } => return denied(reason, Denier::User),
            Permit::Refuse { reason } => return denied(reason, Denier::Nobody),
            Permit::Defer => {
                let request = Box::new(Deferred::new(entry, &binding.connection, arguments));
                return Err(CallError::Deferred { request });
            }
        };
        self.inner.remember(kind, binding, &entry.name).await;
        Ok(Asked::Yes)
    }

    /// The tool as its server offers it now. One that was only known from last time is waited for.
    async fn as_it_is(&self, entry: &Entry) -> Result<Entry, CallError> {
        let server = &entry.server;
        if entry.freshness != Freshness::Live {
            let stopped = || CallError::Stopped { server: server.clone() };
            let handle = self.handle(server).ok_or_else(stopped)?;
            connected(&handle, server).await?;
            self.inner.rebuild();
        }
        let catalog = self.inner.catalog.borrow().clone();
        let is_it = |other: &&Entry| other.server == *server && other.tool.name == entry.tool.name;
        let gone = || {
            let reason = format!("`{server}` no longer offers `{}`", entry.tool.name);
            CallError::Outdated { server: server.clone(), reason }
        };
        catalog.tools.iter().find(is_it).cloned().ok_or_else(gone)
    }
}

impl Inner {
    /// How the tool stands to what was said yes to, in this session or for good.
    pub(super) fn granted(&self, binding: &Binding) -> Option<Standing> {
        let of_session = self.granted.lock().unwrap_or_else(PoisonError::into_inner).look(binding);
        if of_session == Some(Standing::Holds) {
            return of_session;
        }
        // Read each time: another session may have been told yes, or no longer.
        Grants::load(&self.options.env).0.look(binding).or(of_session)
    }

    /// Keeps a yes. One that cannot be written holds for the session, and that is told.
    pub(super) async fn remember(&self, kind: GrantKind, binding: Binding, name: &str) {
        let yes = Yes::new(binding, name, SystemTime::now());
        if kind == GrantKind::Always {
            let (env, kept) = (self.options.env.clone(), yes.clone());
            let written = tokio::task::spawn_blocking(move || Grants::keep(&env, &kept)).await;
            let Ok(Err(error)) = written else { return };
            let message = format!("the yes to `{name}` holds for this session only: {}", error.message());
            let mut problem = Problem::new(Code::GrantNotKept, message).server(yes.binding.server.clone());
            problem.hint = error.hint();
            // Nobody may be listening.
            let _unheard = self.events.send(Event::Problem { problem });
        }
        self.granted.lock().unwrap_or_else(PoisonError::into_inner).add(yes);
    }
}
