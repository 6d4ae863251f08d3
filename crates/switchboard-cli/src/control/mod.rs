//! How commands reach sessions and gateways that run: a socket each, below our home, for processes of the same user. One
//! line with what is wanted, one line with what came of it, both JSON.
//!
//! `listen` is the end of whoever runs, `ask` that of the command; `unheard` stands for them where there are no such
//! sockets. Here: what is said.

#[cfg(unix)]
mod ask;
#[cfg(unix)]
mod listen;
#[cfg(not(unix))]
mod unheard;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use switchboard::connect;
use switchboard::problem::Problem;
use switchboard::session::ServerReport;
use switchboard::visible::excerpt;
use switchboard::{Discovery, Env};

#[cfg(unix)]
pub(crate) use ask::all;
#[cfg(unix)]
pub(crate) use listen::{Control, Served, open};
#[cfg(not(unix))]
pub(crate) use unheard::{Control, Served, open};

/// The longest line.
#[cfg(unix)]
const LONGEST: u64 = 1024 * 1024;

/// Where the sockets are.
#[cfg(unix)]
fn dir(env: &Env) -> PathBuf {
    env.switchboard_home().join("run")
}

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub(crate) enum Request {
    Status,
    Reload,
    Reconnect { server: String },
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Who {
    pub(crate) pid: u32,
    /// `session` or `gateway`.
    pub(crate) kind: String,
    pub(crate) directory: String,
    /// Where a gateway listens.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) address: Option<String>,
    pub(crate) version: String,
}

impl Who {
    /// In words, safe to show.
    pub(crate) fn words(&self, env: &Env) -> String {
        let place = self.address.clone().unwrap_or_else(|| env.display(&PathBuf::from(&self.directory)));
        format!("{} {} ({})", excerpt(&self.kind, 20), self.pid, excerpt(&place, 200))
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reply {
    Status(Standing),
    Reload(Changes),
    Reconnect(Row),
    Refused(Refusal),
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) who: Who,
    pub(crate) reply: Reply,
}

/// How things stand there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Standing {
    pub(crate) servers: Vec<Row>,
    /// How many clients a gateway has.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) clients: Option<usize>,
}

/// One server there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) tools: usize,
    /// Why it does not work.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) detail: Option<String>,
}

impl From<ServerReport> for Row {
    fn from(report: ServerReport) -> Self {
        Self {
            status: report.status.as_str().to_owned(),
            tools: report.n_tools,
            detail: report.status.fault().map(|fault| fault.message.clone()),
            name: report.name,
        }
    }
}

/// What a reload did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Changes {
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
    pub(crate) changed: Vec<String>,
    pub(crate) kept: Vec<String>,
    pub(crate) waiting: Vec<String>,
    /// Files that could not be used.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) lost: Vec<Lost>,
}

/// A file that could not be used, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lost {
    /// As text, since JSON holds no other paths.
    pub(crate) path: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) line: Option<u32>,
    pub(crate) message: String,
    /// Whether it is Switchboard's own.
    #[serde(default)]
    pub(crate) own: bool,
}

impl Lost {
    fn of(problem: &Problem) -> Option<Self> {
        let origin = problem.origin.as_ref()?;
        let path = origin.path.as_deref()?.to_string_lossy().into_owned();
        let own = origin.provider.is_ours();
        Some(Self { path, line: origin.line, message: problem.message.clone(), own })
    }

    fn words(&self, env: &Env) -> String {
        let line = self.line.map_or_else(String::new, |line| format!(" line {line}"));
        let path = env.display(Path::new(&self.path));
        format!("{path}{line} cannot be used: {}", excerpt(&self.message, 300))
    }
}

impl From<connect::Changes> for Changes {
    fn from(changes: connect::Changes) -> Self {
        let connect::Changes { added, removed, changed, kept, waiting } = changes;
        Self { added, removed, changed, kept, waiting, lost: Vec::new() }
    }
}

impl Changes {
    /// Whether nothing starts or stops.
    pub(crate) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    /// With the files that could not be used.
    pub(crate) fn beside(self, discovery: &Discovery) -> Self {
        Self { lost: discovery.lost_files().filter_map(Lost::of).collect(), ..self }
    }

    /// In words, on one line, safe to show.
    pub(crate) fn words(&self, env: &Env) -> String {
        let named =
            |names: &[String]| names.iter().map(|name| excerpt(name, 60)).collect::<Vec<_>>().join(", ");
        let groups = [
            ("added", &self.added),
            ("removed", &self.removed),
            ("changed", &self.changed),
            ("waiting for your approval:", &self.waiting),
        ];
        let mut parts: Vec<String> = groups
            .iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(what, names)| format!("{what} {}", named(names)))
            .collect();
        if self.is_empty() {
            parts.insert(0, "nothing changed".to_owned());
        }
        parts.extend(self.lost.iter().map(|lost| lost.words(env)));
        parts.join("; ")
    }
}

/// Why nothing came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refusal {
    /// The exit code it means.
    pub(crate) exit: u8,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) hint: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reload_is_told_in_one_line() {
        let env = Env::new(switchboard::env::Os::Linux, "/home/x", "/work");
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let changes = |added: &[&str], waiting: &[&str]| Changes {
            added: list(added),
            removed: Vec::new(),
            changed: Vec::new(),
            kept: list(&["k"]),
            waiting: list(waiting),
            lost: Vec::new(),
        };
        let words = |changes: &Changes| changes.words(&env);
        assert_eq!(words(&changes(&[], &[])), "nothing changed");
        assert_eq!(words(&changes(&["a", "b"], &[])), "added a, b");
        assert_eq!(words(&changes(&[], &["w\n"])), "nothing changed; waiting for your approval: w\\n");
        let (path, message) = ("/home/x/mcp.json".to_owned(), "torn\n".to_owned());
        let file = Lost { path, line: Some(2), message, own: true };
        let torn = Changes { lost: vec![file], ..changes(&[], &[]) };
        assert_eq!(words(&torn), "nothing changed; ~/mcp.json line 2 cannot be used: torn\\n");
    }

    #[test]
    #[cfg(unix)]
    fn a_path_that_is_no_text_can_be_said() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        use switchboard::{Code, Origin, Provider, Scope};

        let path = Path::new(OsStr::from_bytes(b"/home/\xff.json"));
        let origin =
            Origin { provider: Provider::Native, scope: Scope::User, path: Some(path.into()), line: None };
        let lost = Lost::of(&Problem::new(Code::SyntaxError, "torn").origin(origin)).unwrap();
        assert_eq!(serde_json::to_value(&lost).unwrap()["path"], "/home/\u{fffd}.json");
    }

    #[test]
    fn what_is_said_is_read_again_and_may_say_more() {
        let request = Request::Reconnect { server: "a\"b".to_owned() };
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(text, r#"{"do":"reconnect","server":"a\"b"}"#);
        assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request);
        let newer = r#"{"who":{"pid":1,"kind":"gateway","directory":"/","version":"9","mood":"good"},
            "reply":{"status":{"servers":[],"weather":1}}}"#;
        let answer: Answer = serde_json::from_str(newer).unwrap();
        assert_eq!(answer.reply, Reply::Status(Standing { servers: Vec::new(), clients: None }));
    }
}
