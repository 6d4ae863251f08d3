//! What is told to `tracing`: the names of spans and their fields, in one place, so that they stay what they are.
//!
//! A span says who, what, how it ended and how long it took. It never has arguments, results, messages of others or values
//! that were filled in. Where nobody listens, it costs a look at a flag. The fields with a dot are those of OpenTelemetry.

use std::time::Instant;

use tracing::Span;
use tracing::field::Empty;

/// The target of all of them.
pub const TARGET: &str = "switchboard";
/// Files are read and it is decided what counts: `n_servers`, `n_problems`.
pub const DISCOVER: &str = "switchboard.discover";
/// A server is opened: `server`, `transport`, `attempt`, `mcp.protocol.version`.
pub const SERVER_START: &str = "switchboard.server.start";
/// A server is ended: `server`; `outcome` is `by-itself`, `asked` or `killed`.
pub const SERVER_STOP: &str = "switchboard.server.stop";
/// A tool is called, with all questions and tries: `server`, `tool`, `call`, `attempt`.
pub const CALL: &str = "switchboard.call";
/// The host is asked whether a call may be made: `server`, `tool`; `outcome` is its answer.
pub const PERMIT: &str = "switchboard.permit";
/// Anything else is asked of a server: `server`, `mcp.method.name`.
pub const REQUEST: &str = "switchboard.request";
/// A login: `server`.
pub const LOGIN: &str = "switchboard.login";
/// The configuration is read again: `n_added`, `n_removed`, `n_changed`, `n_kept`, `n_waiting`.
pub const RELOAD: &str = "switchboard.reload";

/// Every span, for the reference. All have `outcome` and `elapsed_ms` when they end.
pub const ALL: &[&str] = &[DISCOVER, SERVER_START, SERVER_STOP, CALL, PERMIT, REQUEST, LOGIN, RELOAD];

/// The word for an end without a failure.
pub(crate) const OK: &str = "ok";
/// The word for the end of what nobody waited for any longer.
const GIVEN_UP: &str = "given-up";

/// A span with an end to be told. One that is dropped before was given up.
pub(crate) struct Watched {
    span: Span,
    started: Instant,
    is_over: bool,
}

impl Watched {
    fn new(span: Span) -> Self {
        Self { span, started: Instant::now(), is_over: false }
    }

    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    /// It went well, with a word for how.
    pub(crate) fn done(mut self, outcome: &str) {
        self.end(outcome);
    }

    /// It failed; the code says why.
    pub(crate) fn failed(mut self, code: &str) {
        self.span.record("error.type", code);
        self.span.record("otel.status_code", "ERROR");
        self.end(code);
    }

    /// One or the other.
    pub(crate) fn over<T, E>(self, result: &Result<T, E>, code: impl FnOnce(&E) -> &'static str) {
        match result {
            Ok(_) => self.done(OK),
            Err(error) => self.failed(code(error)),
        }
    }

    fn end(&mut self, outcome: &str) {
        self.is_over = true;
        if self.span.is_disabled() {
            return;
        }
        self.span.record("outcome", outcome);
        let elapsed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.span.record("elapsed_ms", elapsed);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.is_over {
            self.end(GIVEN_UP);
        }
    }
}

pub(crate) fn discover() -> Watched {
    Watched::new(tracing::info_span!(
        target: TARGET,
        DISCOVER,
        n_servers = Empty,
        n_problems = Empty,
        outcome = Empty,
        elapsed_ms = Empty,
    ))
}

pub(crate) fn server_start(parent: &Span, server: &str, transport: &str, attempt: u64) -> Watched {
    Watched::new(tracing::info_span!(
        target: TARGET,
        parent: parent,
        SERVER_START,
        server,
        transport,
        attempt,
        outcome = Empty,
        elapsed_ms = Empty,
        mcp.protocol.version = Empty,
        error.type = Empty,
        otel.status_code = Empty,
        otel.kind = "client",
    ))
}

pub(crate) fn server_stop(parent: &Span, server: &str) -> Watched {
    Watched::new(tracing::info_span!(
        target: TARGET,
        parent: parent,
        SERVER_STOP,
        server,
        outcome = Empty,
        elapsed_ms = Empty,
    ))
}

pub(crate) fn call(server: &str, tool: &str, call: u64) -> Watched {
    Watched::new(tracing::info_span!(
        target: TARGET,
        CALL,
        server,
        tool,
        call,
        attempt = Empty,
        outcome = Empty,
        elapsed_ms = Empty,
        mcp.method.name = "tools/call",
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = tool,
        error.type = Empty,
        otel.status_code = Empty,
        otel.kind = "client",
    ))
}

pub(crate) fn permit(server: &str, tool: &str) -> Watched {
    Watched::new(tracing::info_span!(
        target: TARGET,
        PERMIT,
        server,
        tool,
        outcome = Empty,
        elapsed_ms = Empty,
    ))
}

pub(crate) fn request(server: &str, method: &str) -> Watched {
    Watched::new(tracing::info_span!(
        target: TARGET,
        REQUEST,
        server,
        outcome = Empty,
        elapsed_ms = Empty,
        mcp.method.name = method,
        error.type = Empty,
        otel.status_code = Empty,
        otel.kind = "client",
    ))
}

pub(crate) fn login(server: &str) -> Watched {
    Watched::new(tracing::info_span!(
        target: TARGET,
        LOGIN,
        server,
        outcome = Empty,
        elapsed_ms = Empty,
        error.type = Empty,
        otel.status_code = Empty,
    ))
}

pub(crate) fn reload() -> Watched {
    Watched::new(tracing::info_span!(
        target: TARGET,
        RELOAD,
        n_added = Empty,
        n_removed = Empty,
        n_changed = Empty,
        n_kept = Empty,
        n_waiting = Empty,
        outcome = Empty,
        elapsed_ms = Empty,
    ))
}

/// A connection that was up is gone.
pub(crate) fn lost(parent: &Span, server: &str, code: &str) {
    tracing::warn!(target: TARGET, parent: parent, server, code, "connection lost");
}

/// So many times the call under way was sent.
pub(crate) fn attempt(number: u64) {
    Span::current().record("attempt", number);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_knows_every_span() {
        let guide = include_str!("../../../docs/library.md");
        for name in ALL {
            assert!(guide.contains(&format!("| `{name}` |")), "{name}");
        }
    }
}
