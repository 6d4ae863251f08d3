//! What is counted, and how it is told in the text format of Prometheus.
//!
//! Labels are few and known beforehand: methods of the protocol, outcomes, states, names of servers. Nothing that a client
//! or a server says becomes one: no tool, no argument, no address.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use switchboard::json::Json;
use tokio::time::Instant;

use crate::client::Caller;
use crate::hub::Hub;
use crate::route;
use crate::rpc::{Request, RpcError};

/// Methods that are counted by name. Whatever else is asked for is `other`.
const METHODS: [&str; 20] = [
    "completion/complete",
    "initialize",
    "logging/setLevel",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "server/discover",
    "subscriptions/listen",
    "tasks/cancel",
    "tasks/get",
    "tasks/update",
    "tools/call",
    "tools/list",
    "skills/get",
    "other",
];

/// Upper ends of the times requests take, in microseconds, with how they are written.
const TIMES: [(u64, &str); 13] = [
    (1_000, "0.001"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (5_000_000, "5"),
    (10_000_000, "10"),
    (60_000_000, "60"),
];

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Ok,
    Error,
    /// Nobody wanted to know any more.
    Cancelled,
}

const OUTCOMES: [&str; 3] = ["ok", "error", "cancelled"];

/// Why somebody was not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Another user at our socket.
    Stranger,
    Connections,
    Slow,
    Host,
    Origin,
    Token,
    Rate,
    Requests,
    Sessions,
    Size,
}

const REFUSED: [&str; 10] =
    ["stranger", "connections", "slow", "host", "origin", "token", "rate", "requests", "sessions", "size"];

/// Words for where a server stands, as in reports.
const STATES: [&str; 6] = ["connected", "connecting", "disconnected", "failed", "needs login", "suspended"];

#[derive(Debug, Default)]
struct Method {
    outcomes: [AtomicU64; OUTCOMES.len()],
    /// Requests that took up to that time, and longer than the one before it; the last is for all that took longer.
    times: [AtomicU64; TIMES.len() + 1],
    micros: AtomicU64,
}

/// What is counted. Numbers only go up, but for those that say how many there are now.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    methods: [Method; METHODS.len()],
    refused: [AtomicU64; REFUSED.len()],
    n_under_way: AtomicUsize,
    n_connections: AtomicUsize,
    received: AtomicU64,
    sent: AtomicU64,
    /// How often each server came up, as far as we saw.
    // Written when a server comes up, never held across a wait.
    starts: Mutex<BTreeMap<String, u64>>,
}

fn up(counter: &AtomicU64, by: usize) {
    counter.fetch_add(by as u64, Ordering::Relaxed);
}

impl Metrics {
    pub(crate) fn connected(&self) {
        self.n_connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn disconnected(&self) {
        self.n_connections.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn received(&self, n_bytes: usize) {
        up(&self.received, n_bytes);
    }

    pub(crate) fn sent(&self, n_bytes: usize) {
        up(&self.sent, n_bytes);
    }

    pub(crate) fn refused(&self, why: Refused) {
        up(&self.refused[why as usize], 1);
    }

    /// A server came up.
    pub(crate) fn started(&self, server: &str) {
        let mut starts = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
        *starts.entry(server.to_owned()).or_default() += 1;
    }

    /// Requests under way.
    pub(crate) fn n_under_way(&self) -> usize {
        self.n_under_way.load(Ordering::Relaxed)
    }

    fn begin(self: &Arc<Self>, method: &str) -> Running {
        let index = METHODS.iter().position(|known| *known == method).unwrap_or(METHODS.len() - 1);
        self.n_under_way.fetch_add(1, Ordering::Relaxed);
        let (metrics, since) = (Arc::clone(self), Instant::now());
        Running { metrics, index, since, outcome: Outcome::Cancelled }
    }
}

/// A request being answered. One that is dropped before its end was taken back.
struct Running {
    metrics: Arc<Metrics>,
    index: usize,
    since: Instant,
    outcome: Outcome,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.metrics.n_under_way.fetch_sub(1, Ordering::Relaxed);
        let Some(method) = self.metrics.methods.get(self.index) else { return };
        up(&method.outcomes[self.outcome as usize], 1);
        let micros = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        let place = TIMES.iter().position(|(end, _)| micros <= *end).unwrap_or(TIMES.len());
        up(&method.times[place], 1);
        method.micros.fetch_add(micros, Ordering::Relaxed);
    }
}

/// Answers a request, and counts it.
pub(crate) async fn answer(hub: &Arc<Hub>, caller: &Caller, request: &Request) -> Result<Json, RpcError> {
    let mut running = hub.metrics.begin(&request.method);
    let outcome = route::answer(hub, caller, request).await;
    running.outcome = if outcome.is_ok() { Outcome::Ok } else { Outcome::Error };
    outcome
}

/// How things stand right now, beside what is counted.
#[derive(Debug, Default)]
pub(crate) struct Now {
    /// Clients with a handshake, and others.
    pub(crate) n_clients: [usize; 2],
    /// Sessions over HTTP, and clients of the oldest kind.
    pub(crate) n_sessions: [usize; 2],
    pub(crate) n_parked: usize,
    pub(crate) n_tools: usize,
    /// Servers by name, with the word for where they stand.
    pub(crate) servers: BTreeMap<String, &'static str>,
}

/// Everything, as text.
pub(crate) fn render(metrics: &Metrics, now: &Now) -> String {
    let mut page = Page::default();
    page.family("switchboard_build_info", "gauge", "Always 1; the label says which version this is.");
    page.line("switchboard_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    requests(&mut page, metrics);
    page.family("switchboard_requests_in_flight", "gauge", "Requests being answered.");
    page.line("switchboard_requests_in_flight", &[], metrics.n_under_way());
    page.family("switchboard_refused_total", "counter", "Requests and connections not let in, by reason.");
    for (reason, counter) in REFUSED.iter().zip(&metrics.refused) {
        page.line("switchboard_refused_total", &[("reason", reason)], read(counter));
    }
    page.family("switchboard_connections", "gauge", "Open connections over HTTP.");
    page.line("switchboard_connections", &[], metrics.n_connections.load(Ordering::Relaxed));
    page.family("switchboard_clients", "gauge", "Clients there are now, by protocol.");
    for (era, count) in ["handshake", "modern"].iter().zip(now.n_clients) {
        page.line("switchboard_clients", &[("era", era)], count);
    }
    page.family("switchboard_sessions", "gauge", "Sessions over HTTP, by how they began.");
    for (kind, count) in ["http", "sse"].iter().zip(now.n_sessions) {
        page.line("switchboard_sessions", &[("transport", kind)], count);
    }
    page.family("switchboard_parked_calls", "gauge", "Calls that wait for an answer of their client.");
    page.line("switchboard_parked_calls", &[], now.n_parked);
    page.family("switchboard_bytes_total", "counter", "Bytes exchanged with clients.");
    page.line("switchboard_bytes_total", &[("direction", "in")], read(&metrics.received));
    page.line("switchboard_bytes_total", &[("direction", "out")], read(&metrics.sent));
    servers(&mut page, metrics, now);
    process(&mut page);
    page.text
}

fn requests(page: &mut Page, metrics: &Metrics) {
    let used = || {
        METHODS.iter().zip(&metrics.methods).filter(|(_, method)| method.times.iter().any(|n| read(n) > 0))
    };
    page.family("switchboard_requests_total", "counter", "Requests answered, by method and outcome.");
    for (name, method) in used() {
        for (outcome, counter) in OUTCOMES.iter().zip(&method.outcomes) {
            page.line("switchboard_requests_total", &[("method", name), ("outcome", outcome)], read(counter));
        }
    }
    page.family("switchboard_request_seconds", "histogram", "How long requests took, by method.");
    for (name, method) in used() {
        let mut n_so_far = 0;
        let ends = TIMES.iter().map(|(_, end)| *end).chain(["+Inf"]);
        for (end, counter) in ends.zip(&method.times) {
            n_so_far += read(counter);
            page.line("switchboard_request_seconds_bucket", &[("method", name), ("le", end)], n_so_far);
        }
        let micros = read(&method.micros);
        let seconds = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
        page.line("switchboard_request_seconds_sum", &[("method", name)], seconds);
        page.line("switchboard_request_seconds_count", &[("method", name)], n_so_far);
    }
}

fn servers(page: &mut Page, metrics: &Metrics, now: &Now) {
    page.family("switchboard_servers", "gauge", "Servers behind the gateway, by where they stand.");
    for state in STATES {
        let count = now.servers.values().filter(|of_server| **of_server == state).count();
        page.line("switchboard_servers", &[("state", state)], count);
    }
    page.family("switchboard_server_up", "gauge", "Whether a server is connected.");
    for (server, state) in &now.servers {
        page.line("switchboard_server_up", &[("server", server)], usize::from(*state == "connected"));
    }
    page.family("switchboard_server_restarts_total", "counter", "How often a server came up again.");
    let starts = metrics.starts.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for server in now.servers.keys() {
        let n_restarts = starts.get(server).map_or(0, |n_starts| n_starts.saturating_sub(1));
        page.line("switchboard_server_restarts_total", &[("server", server)], n_restarts);
    }
    page.family("switchboard_tools", "gauge", "Tools that clients see.");
    page.line("switchboard_tools", &[], now.n_tools);
}

/// What the system tells of us, where it tells that cheaply.
fn process(page: &mut Page) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = resident.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    if let Some(kilobytes) = kilobytes {
        page.family("process_resident_memory_bytes", "gauge", "Memory of this process.");
        page.line("process_resident_memory_bytes", &[], kilobytes * 1024);
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        page.family("process_open_fds", "gauge", "Open files of this process.");
        // One of them is that of the list itself.
        page.line("process_open_fds", &[], open.count().saturating_sub(1));
    }
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[derive(Debug, Default)]
struct Page {
    text: String,
}

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a text does not fail.
        let _written = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _written = writeln!(self.text, "{name}{labels} {value}");
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_counted_by_what_became_of_it() {
        let metrics: Arc<Metrics> = Arc::default();
        metrics.begin("tools/call").outcome = Outcome::Ok;
        drop(metrics.begin("tools/call"));
        drop(metrics.begin("made/up\"\n"));
        let running = metrics.begin("ping");
        let text = render(&metrics, &Now::default());
        drop(running);
        for line in [
            "switchboard_requests_total{method=\"tools/call\",outcome=\"ok\"} 1",
            "switchboard_requests_total{method=\"tools/call\",outcome=\"cancelled\"} 1",
            "switchboard_requests_total{method=\"other\",outcome=\"cancelled\"} 1",
            "switchboard_request_seconds_bucket{method=\"tools/call\",le=\"+Inf\"} 2",
            "switchboard_request_seconds_count{method=\"tools/call\"} 2",
            "switchboard_requests_in_flight 1",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("made"), "nothing a client says becomes a label");
        assert!(!text.contains("method=\"ping\""), "what is not over is not counted");
    }

    #[test]
    fn servers_are_told_by_name_whatever_it_is() {
        let metrics = Metrics::default();
        metrics.started("a\"b\\c\nd");
        metrics.started("a\"b\\c\nd");
        metrics.started("gone");
        let servers =
            BTreeMap::from([("a\"b\\c\nd".to_owned(), "connected"), ("z".to_owned(), "needs login")]);
        let text = render(&metrics, &Now { servers, ..Now::default() });
        for line in [
            r#"switchboard_server_up{server="a\"b\\c\nd"} 1"#,
            r#"switchboard_server_up{server="z"} 0"#,
            r#"switchboard_server_restarts_total{server="a\"b\\c\nd"} 1"#,
            r#"switchboard_server_restarts_total{server="z"} 0"#,
            r#"switchboard_servers{state="needs login"} 1"#,
            r#"switchboard_servers{state="failed"} 0"#,
        ] {
            assert!(text.lines().any(|other| other == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("gone"));
    }

    #[test]
    fn the_words_for_states_are_those_of_reports() {
        use switchboard::connect::Status;
        for status in [Status::Dormant, Status::Connecting, Status::Connected, Status::Stopped] {
            assert!(STATES.contains(&status.as_str()));
        }
    }
}
