//! Where what happens is written: into a file, and to a collector, when somebody asks for it.
//!
//! In: `--log-file` and the usual variables of OpenTelemetry. Out: a root span to run the command in, and a source of trace
//! context for servers. Without either nothing is set up. It must not fail a command: a collector that is not there costs
//! a line in the log file and at most a moment at the end.

#[cfg(feature = "otel")]
mod otlp;

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::Mutex;

use switchboard::Env;
use switchboard::context;
use switchboard::env::{
    OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER,
    SWITCHBOARD_LOG, TRACEPARENT, TRACESTATE,
};
use tracing::Span;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry};

use crate::error::{CommandError, Kind};

/// What is ours among all that is told.
const OURS: &str = "switchboard";

/// What is set up for one command.
pub(crate) struct Telemetry {
    root: Span,
    source: Option<context::Source>,
    #[cfg(feature = "otel")]
    export: Option<otlp::Export>,
}

impl Telemetry {
    /// Sets up what is asked for.
    pub(crate) fn start(
        env: &Env,
        log_file: Option<&Path>,
        verb: impl FnOnce() -> String,
    ) -> Result<Self, CommandError> {
        let endpoint = endpoint(env);
        if log_file.is_none() && endpoint.is_none() {
            return Ok(Self::nothing(env));
        }
        let file = log_file.map(|path| open(&env.absolute(path))).transpose()?;
        let (level, is_understood) = level(env);
        let log = file.map(|file| {
            tracing_subscriber::fmt::layer()
                .json()
                .with_span_events(FmtSpan::CLOSE)
                .with_span_list(false)
                .with_writer(Mutex::new(file))
                .with_filter(Targets::new().with_target(OURS, level))
        });
        let subscriber = Registry::default().with(log);
        #[cfg(feature = "otel")]
        let (export, layer) = endpoint.clone().and_then(|endpoint| otlp::start(env, endpoint)).unzip();
        #[cfg(feature = "otel")]
        let subscriber = subscriber.with(layer);
        // A second one cannot be; whoever set the first one wanted it.
        let _set_before = tracing::subscriber::set_global_default(subscriber);
        if !is_understood {
            tracing::warn!(
                target: "switchboard::telemetry",
                "{SWITCHBOARD_LOG} must be off, error, warn, info, debug or trace; info is used"
            );
        }
        let root =
            tracing::info_span!(target: "switchboard::command", "switchboard.command", command = verb());
        #[cfg(feature = "otel")]
        match (export, endpoint) {
            (Some(export), _) => {
                otlp::adopt(&root, env);
                return Ok(Self { root, source: Some(otlp::source()), export: Some(export) });
            }
            (None, Some(endpoint)) => otlp::warn(&endpoint),
            (None, None) => {}
        }
        Ok(Self { root, ..Self::nothing(env) })
    }

    /// Nobody listens. Whose work we are part of is passed on all the same.
    fn nothing(env: &Env) -> Self {
        Self {
            root: Span::none(),
            source: passed_on(env),
            #[cfg(feature = "otel")]
            export: None,
        }
    }

    /// Tells where the work stands in a trace.
    pub(crate) fn source(&self) -> Option<context::Source> {
        self.source.clone()
    }

    /// Runs the command as one piece of work.
    pub(crate) fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        self.root.in_scope(work)
    }

    /// Sends what is left, for a moment at most.
    pub(crate) fn finish(self) {
        drop(self.root);
        #[cfg(feature = "otel")]
        if let Some(export) = self.export {
            export.finish();
        }
    }
}

/// Where spans are sent, if they are.
fn endpoint(env: &Env) -> Option<String> {
    let is_off = env.var(OTEL_SDK_DISABLED).is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
        || env.var(OTEL_TRACES_EXPORTER).is_some_and(|value| value.trim() == "none");
    if is_off || !cfg!(feature = "otel") {
        return None;
    }
    let exact = env.non_empty(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT).map(str::to_owned);
    let base = || env.non_empty(OTEL_EXPORTER_OTLP_ENDPOINT);
    exact.or_else(|| base().map(|base| format!("{}/v1/traces", base.trim_end_matches('/'))))
}

/// From which level on lines are written, and whether what is said about it makes sense.
fn level(env: &Env) -> (LevelFilter, bool) {
    match env.non_empty(SWITCHBOARD_LOG).map(|word| word.trim().parse()) {
        None => (LevelFilter::INFO, true),
        Some(Ok(level)) => (level, true),
        Some(Err(_)) => (LevelFilter::INFO, false),
    }
}

/// The context we were started in, where we follow no trace of our own.
fn passed_on(env: &Env) -> Option<context::Source> {
    let traceparent = env.non_empty(TRACEPARENT).filter(|value| is_traceparent(value))?.to_owned();
    let tracestate = env.non_empty(TRACESTATE).map(str::to_owned);
    let context = context::TraceContext { traceparent, tracestate };
    Some(std::sync::Arc::new(move || Some(context.clone())))
}

/// Version, trace, span, flags.
fn is_traceparent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_hex = |part: &str| part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_some = |part: &str| part.bytes().any(|byte| byte != b'0');
    match parts.as_slice() {
        [version, trace, span, flags] => {
            let lengths = [version.len(), trace.len(), span.len(), flags.len()];
            lengths == [2, 32, 16, 2]
                && parts.iter().all(|part| is_hex(part))
                && is_some(trace)
                && is_some(span)
        }
        _ => false,
    }
}

/// Opens the log file to write at its end. It is for the user alone.
fn open(path: &Path) -> Result<File, CommandError> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| {
        let message = format!("cannot write the log file {}: {error}", path.display());
        CommandError::new(Kind::Failed, "log-file", message).hint("name another file: --log-file FILE")
    })
}

#[cfg(test)]
mod tests {
    use switchboard::env::Os;

    use super::*;

    fn env(vars: &[(&str, &str)]) -> Env {
        vars.iter()
            .fold(Env::new(Os::Linux, "/home", "/work"), |env, (name, value)| env.with_var(name, value))
    }

    #[test]
    #[cfg(feature = "otel")]
    fn the_usual_variables_decide_where_spans_go() {
        let (base, exact) = (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT);
        let check = |vars: &[(&str, &str)], expected: Option<&str>| {
            assert_eq!(endpoint(&env(vars)).as_deref(), expected, "{vars:?}");
        };
        check(&[], None);
        check(&[(base, "")], None);
        check(&[(base, "http://c:4318")], Some("http://c:4318/v1/traces"));
        check(&[(base, "http://c:4318/x/")], Some("http://c:4318/x/v1/traces"));
        check(&[(exact, "http://c/t")], Some("http://c/t"));
        check(&[(base, "http://a"), (exact, "http://c/t")], Some("http://c/t"));
        check(&[(base, "http://a"), (OTEL_SDK_DISABLED, "TRUE")], None);
        check(&[(base, "http://a"), (OTEL_SDK_DISABLED, "false")], Some("http://a/v1/traces"));
        check(&[(base, "http://a"), (OTEL_TRACES_EXPORTER, "none")], None);
        check(&[(base, "http://a"), (OTEL_TRACES_EXPORTER, "otlp")], Some("http://a/v1/traces"));
    }

    #[test]
    fn a_level_is_one_word() {
        assert_eq!(level(&env(&[])), (LevelFilter::INFO, true));
        assert_eq!(level(&env(&[(SWITCHBOARD_LOG, "Debug ")])), (LevelFilter::DEBUG, true));
        assert_eq!(level(&env(&[(SWITCHBOARD_LOG, "off")])), (LevelFilter::OFF, true));
        assert_eq!(level(&env(&[(SWITCHBOARD_LOG, "loud")])), (LevelFilter::INFO, false));
    }

    #[test]
    fn only_a_sound_context_is_passed_on() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_eq!(passed_on(&env(&[(TRACEPARENT, good)])).unwrap()().unwrap().traceparent, good);
        for bad in [
            "",
            "x",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
        ] {
            assert!(passed_on(&env(&[(TRACEPARENT, bad)])).is_none(), "{bad}");
        }
    }
}
