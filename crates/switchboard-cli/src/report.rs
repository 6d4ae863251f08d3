//! What commands found, as data. Text and JSON are made from the same value.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use switchboard::auth::Facts;
use switchboard::calls::Outcome;
use switchboard::catalog::{Entry, LeftOut, Verdict};
use switchboard::config::{Because, ServerSpec, SetAside, Transport};
use switchboard::connect::Freshness;
use switchboard::examine::Counts;
use switchboard::json::Json;
use switchboard::{Explain, Origin, Problem, Server, redact};

/// `list`.
#[derive(Debug, Serialize)]
pub(crate) struct List {
    pub(crate) servers: Vec<ServerRow>,
    pub(crate) problems: Vec<ProblemRow>,
}

/// One server in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerRow {
    pub(crate) name: String,
    pub(crate) state: &'static str,
    pub(crate) transport: Option<&'static str>,
    #[serde(flatten)]
    pub(crate) origin: OriginRow,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) args: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shadowed_by: Option<ShadowedBy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
}

/// Where a definition stands.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct OriginRow {
    pub(crate) provider: &'static str,
    pub(crate) scope: &'static str,
    pub(crate) path: Option<String>,
    pub(crate) line: Option<u32>,
}

/// The definition that counts instead.
#[derive(Debug, Serialize)]
pub(crate) struct ShadowedBy {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) origin: OriginRow,
}

/// A problem.
#[derive(Debug, Serialize)]
pub(crate) struct ProblemRow {
    pub(crate) code: &'static str,
    pub(crate) severity: &'static str,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u32>,
}

/// `why`.
#[derive(Debug, Serialize)]
pub(crate) struct Why {
    pub(crate) name: String,
    pub(crate) winner: Option<ServerRow>,
    pub(crate) shadowed: Vec<ServerRow>,
    pub(crate) values: Vec<ValueRow>,
    pub(crate) consent: ConsentRow,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) login: Option<LoginRow>,
    pub(crate) problems: Vec<ProblemRow>,
}

/// `reauth`.
#[derive(Debug, Serialize)]
pub(crate) struct LoggedIn<'a> {
    pub(crate) name: &'a str,
    #[serde(flatten)]
    pub(crate) login: LoginRow,
}

/// Who is logged in where.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoginRow {
    pub(crate) issuer: String,
    /// Seconds since 1970, if it is known.
    pub(crate) expires_at: Option<u64>,
    pub(crate) scopes: Vec<String>,
    pub(crate) renewable: bool,
    pub(crate) works: bool,
    /// `keyring` if it is sealed with a key of the keyring, else `file`.
    pub(crate) kept_in: &'static str,
}

impl From<&Facts> for LoginRow {
    fn from(facts: &Facts) -> Self {
        let since = |until: SystemTime| until.duration_since(UNIX_EPOCH).ok();
        Self {
            issuer: facts.issuer.clone(),
            expires_at: facts.until.and_then(since).map(|since| since.as_secs()),
            scopes: facts.scopes.clone(),
            renewable: facts.is_renewable,
            works: facts.works,
            kept_in: if facts.is_sealed { "keyring" } else { "file" },
        }
    }
}

/// What a value is made of.
#[derive(Debug, Serialize)]
pub(crate) struct ValueRow {
    pub(crate) field: String,
    pub(crate) from: String,
    pub(crate) resolved: Option<String>,
}

/// Whether the user agreed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConsentRow {
    pub(crate) state: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) definition_hash: Option<String>,
}

/// `status`.
#[derive(Debug, Serialize)]
pub(crate) struct Status {
    pub(crate) servers: Vec<StatusRow>,
    /// Sessions and gateways that run, with how servers stand there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) running: Vec<serde_json::Value>,
    /// Files that count for nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) problems: Vec<ProblemRow>,
}

/// One server's status.
#[derive(Debug, Serialize)]
pub(crate) struct StatusRow {
    pub(crate) name: String,
    pub(crate) status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
}

/// `call`. What the server sent stays as it was written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Call<'a> {
    name: &'a str,
    server: &'a str,
    tool: &'a str,
    is_error: bool,
    content: Vec<&'a Json>,
    text: &'a str,
    elapsed_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<&'a Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    meta: Option<&'a Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    violations: Option<Vec<Violation<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unchecked: Option<&'a str>,
}

/// Where a structured result is not what the tool promises.
#[derive(Debug, Serialize)]
pub(crate) struct Violation<'a> {
    at: &'a str,
    message: &'a str,
}

impl<'a> From<&'a Outcome> for Call<'a> {
    fn from(outcome: &'a Outcome) -> Self {
        let (violations, unchecked) = match &outcome.verdict {
            None | Some(Verdict::Kept) => (None, None),
            Some(Verdict::Broken { at, what }) => (Some(vec![Violation { at, message: what }]), None),
            Some(Verdict::Unclear { reason }) => (None, Some(reason.as_str())),
        };
        Self {
            name: &outcome.name,
            server: &outcome.server,
            tool: &outcome.tool,
            is_error: outcome.is_error,
            content: outcome.content(),
            text: &outcome.shaped.text,
            elapsed_ms: u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX),
            structured_content: outcome.result.structured.as_ref(),
            meta: outcome.result.meta.as_ref(),
            violations,
            unchecked,
        }
    }
}

/// `doctor`.
#[derive(Debug, Serialize)]
pub(crate) struct Doctor {
    pub(crate) problems: Vec<ProblemRow>,
}

impl From<&Origin> for OriginRow {
    fn from(origin: &Origin) -> Self {
        Self {
            provider: origin.provider.id(),
            scope: origin.scope.as_str(),
            path: origin.path.as_deref().map(text),
            line: origin.line,
        }
    }
}

impl From<&Problem> for ProblemRow {
    fn from(problem: &Problem) -> Self {
        let place = problem.place();
        Self {
            code: problem.code.as_str(),
            severity: problem.severity().as_str(),
            message: problem.message.clone(),
            hint: problem.hint.clone(),
            server: problem.server.clone(),
            path: place.map(|(path, _)| text(path)),
            line: place.and_then(|(_, line)| line),
        }
    }
}

impl From<&Server> for ServerRow {
    fn from(server: &Server) -> Self {
        Self::new(&server.name, server.state().as_str(), &server.origin, server.definition.as_deref().ok())
    }
}

impl From<&SetAside> for ServerRow {
    fn from(aside: &SetAside) -> Self {
        let mut row =
            Self::new(&aside.name, aside.because.state(), &aside.origin, aside.definition.as_deref().ok());
        row.shadowed_by = aside.because.by().map(|origin| {
            let name = match &aside.because {
                Because::Duplicate(name, _) => name.clone(),
                _ => aside.name.clone(),
            };
            ShadowedBy { name, origin: origin.into() }
        });
        row
    }
}

impl ServerRow {
    fn new(name: &str, state: &'static str, origin: &Origin, spec: Option<&ServerSpec>) -> Self {
        let mut row = Self {
            name: name.to_owned(),
            state,
            transport: spec.map(|spec| spec.transport.as_str()),
            origin: origin.into(),
            command: None,
            args: None,
            url: None,
            shadowed_by: None,
            description: spec.and_then(|spec| spec.conduct.description.clone()),
        };
        match spec.map(|spec| &spec.transport) {
            Some(Transport::Stdio(stdio)) => {
                row.command = Some(redact::word(stdio.command.raw()));
                row.args = Some(redact::args(&stdio.args));
            }
            Some(Transport::Remote(endpoint)) => row.url = Some(redact::url(endpoint.url.raw())),
            None => {}
        }
        row
    }

    /// The command line or the address, for people.
    pub(crate) fn target(&self) -> String {
        match (&self.command, &self.url) {
            (Some(command), _) => {
                let words = std::iter::once(command).chain(self.args.iter().flatten());
                words.map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
            }
            (None, Some(url)) => url.clone(),
            (None, None) => String::new(),
        }
    }
}

/// A word as one would type it, so that two words never look like one.
fn quoted(word: &str) -> String {
    if word.is_empty() || word.contains([' ', '"', '\'']) { format!("{word:?}") } else { word.to_owned() }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// `test`.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TestReport {
    pub(crate) name: String,
    pub(crate) ok: bool,
    pub(crate) transport: Option<&'static str>,
    pub(crate) era: Option<&'static str>,
    pub(crate) protocol_version: Option<String>,
    pub(crate) server_info: Option<Json>,
    pub(crate) capabilities: Option<Json>,
    pub(crate) counts: TestCounts,
    pub(crate) connect_ms: u64,
    pub(crate) list_ms: u64,
    pub(crate) steps: Vec<TestStep>,
    pub(crate) stderr_tail: String,
    pub(crate) noise: u64,
    pub(crate) oddities: Vec<String>,
    pub(crate) problems: Vec<ProblemRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ErrorRow>,
}

/// How much a server offers.
#[derive(Debug, Default, Serialize)]
pub(crate) struct TestCounts {
    pub(crate) tools: usize,
    pub(crate) resources: usize,
    pub(crate) templates: usize,
    pub(crate) prompts: usize,
}

impl From<Counts> for TestCounts {
    fn from(counts: Counts) -> Self {
        let Counts { tools, resources, templates, prompts } = counts;
        Self { tools, resources, templates, prompts }
    }
}

/// One step on the way.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TestStep {
    pub(crate) at_ms: u64,
    pub(crate) what: String,
}

/// An error of a server.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
    pub(crate) retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_words: Option<String>,
}

/// `tools`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Toolbox<'r> {
    pub(crate) tools: Vec<ToolRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_out: Vec<LeftOutRow>,
    pub(crate) errors: &'r [ErrorRow],
    pub(crate) problems: Vec<ProblemRow>,
}

/// A tool that a rule leaves out.
#[derive(Debug, Serialize)]
pub(crate) struct LeftOutRow {
    server: String,
    tool: String,
    by: &'static str,
}

impl From<&LeftOut> for LeftOutRow {
    fn from(left_out: &LeftOut) -> Self {
        let raw = left_out.raw.clone();
        Self { server: raw.server, tool: raw.tool, by: left_out.by.as_str() }
    }
}

/// One tool.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolRow {
    pub(crate) name: String,
    pub(crate) server: String,
    pub(crate) tool: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    pub(crate) input_schema: Json,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output_schema: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) annotations: Option<Json>,
    pub(crate) state: &'static str,
}

impl From<&Entry> for ToolRow {
    fn from(entry: &Entry) -> Self {
        Self {
            name: entry.name.clone(),
            server: entry.server.clone(),
            tool: entry.tool.name.clone(),
            title: entry.tool.title.clone(),
            description: entry.tool.description.clone(),
            input_schema: entry.input_schema.clone(),
            output_schema: entry.tool.output_schema.clone(),
            annotations: entry.tool.annotations.clone(),
            state: match entry.freshness {
                Freshness::Live => "live",
                Freshness::Cached { .. } => "cached",
            },
        }
    }
}
