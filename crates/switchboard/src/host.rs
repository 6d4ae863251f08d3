//! What an embedding agent answers for us when a server asks: the user, the model, the folders.
//!
//! A server's question travels forward to the host with everything it needs to know, and the answer comes back on
//! the slot the question came with. Who has nobody to ask uses [`Headless`], which declines politely, or [`Ruled`], which
//! also has rules for calls.

mod ruled;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use crate::json::Json;

pub use ruled::{Answered, Judgement, Ruled, Rules, Tally};

/// An answer that may take its time, as a person does.
pub type Reply<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Answers the questions of servers. A host says what it can answer; everything else is declined for it.
pub trait Host: Send + Sync + 'static {
    /// What servers may ask; it is told to them, and anything else is refused without asking.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    /// The folders the user works in.
    fn roots(&self) -> Vec<Root> {
        Vec::new()
    }

    /// A question to the user. Without anybody to ask, it is declined.
    fn elicit(&self, _question: Elicitation) -> Reply<'_, Answer> {
        Box::pin(std::future::ready(Answer::Decline))
    }

    /// Whether a call may be made. Without anybody to ask, it may not.
    fn permit(&self, question: Permission) -> Reply<'_, Permit> {
        Box::pin(std::future::ready(nobody(&question)))
    }

    /// Why a tool may not be called whatever the rules for it say, if so. It is asked about every call, so it must be
    /// quick. The name is that of the catalog; server and tool are what it stands for.
    fn forbids(&self, _name: &str, _server: &str, _tool: &str) -> Option<String> {
        None
    }

    /// A page to log in at. Whoever shows it must show the whole address and open nothing without consent. Without anybody
    /// to show it to, nobody logs in.
    fn visit(&self, _page: Page) -> Reply<'_, Visited> {
        Box::pin(std::future::ready(Visited::Declined))
    }

    /// A question as it came, for a host that passes it on to somebody who speaks the protocol; nothing if it is to be
    /// taken apart and asked with the other methods.
    fn pass(&self, _question: Passed) -> Option<Reply<'_, Result<Json, Refusal>>> {
        None
    }

    /// What servers with a handshake are told may be asked, in the words of the protocol, for a host that passes questions
    /// on to somebody who said so; nothing if it follows from the abilities.
    fn declared(&self) -> Option<Json> {
        None
    }

    /// A question to the model: the parameters of `sampling/createMessage`, and its result or why not.
    fn sample(&self, _server: String, _params: Json) -> Reply<'_, Result<Json, String>> {
        Box::pin(std::future::ready(Err("no model is there to ask".to_owned())))
    }
}

/// A question of a server, as it came.
#[derive(Debug, Clone)]
pub struct Passed {
    /// The server, by its configured name.
    pub server: String,
    /// What it asks.
    pub method: String,
    /// Its parameters.
    pub params: Option<Json>,
}

/// Why a question gets no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The number of the protocol for it.
    pub code: i64,
    /// In words.
    pub message: String,
}

/// On whose behalf a request is made: who answers what the server asks about it.
#[derive(Clone)]
pub struct Behalf {
    /// Requests of the same owner may answer for each other, where a server does not say which one it asks about.
    pub owner: u64,
    /// Who answers.
    pub host: Arc<dyn Host>,
}

impl std::fmt::Debug for Behalf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Behalf").field("owner", &self.owner).finish_non_exhaustive()
    }
}

/// A page to log in at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The server, by its configured name.
    pub server: String,
    /// Who is logged in at.
    pub issuer: String,
    /// The page.
    pub url: String,
    /// Where the browser is sent back to.
    pub redirect: String,
    /// The rights that are asked for.
    pub scopes: Vec<String>,
    /// Those that were not asked for before.
    pub new_scopes: Vec<String>,
}

/// What became of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Visited {
    /// It is open; the browser comes back by itself.
    Opened,
    /// The user gives the address the browser was sent back to.
    Pasted(String),
    /// Nobody looks at it.
    Declined,
}

fn nobody(question: &Permission) -> Permit {
    Permit::Refuse { reason: format!("`{}` needs approval and nobody is there to ask", question.name) }
}

/// A call that needs the user's yes.
#[derive(Debug, Clone)]
pub struct Permission {
    /// The name of the tool.
    pub name: String,
    /// The server, by its configured name.
    pub server: String,
    /// The server's own name for the tool.
    pub tool: String,
    /// What the server says of it.
    pub description: Option<String>,
    /// What it would be called with.
    pub arguments: Json,
    /// What the server says the tool does, such as that it only reads. Nobody checks it.
    pub annotations: Option<Json>,
    /// Why the user is asked.
    pub why: Why,
}

/// Why the user is asked about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The rules for this tool say so.
    Rule,
    /// It was approved before, and it or its server is not what it was then.
    Changed,
}

/// The user's answer to that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permit {
    /// Yes, this once.
    Once,
    /// Yes, for the rest of the session, as long as the tool stays what it is.
    Session,
    /// Yes, for good, as long as the tool and its server stay what they are.
    Always,
    /// No, says the user.
    Deny {
        /// Why, for the model.
        reason: String,
    },
    /// No, and no person said so: nobody is there to ask, and no rule allows it.
    Refuse {
        /// Why, for the model.
        reason: String,
    },
    /// Nobody can say now: the call is not made, and is handed back so that it can be asked for later.
    Defer,
}

impl Permit {
    /// The word in reports.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Always => "always",
            Self::Deny { .. } => "denied",
            Self::Refuse { .. } => "refused",
            Self::Defer => "deferred",
        }
    }
}

/// What a host can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Abilities {
    /// It names folders.
    pub roots: bool,
    /// It shows forms to a person.
    pub forms: bool,
    /// It shows addresses to a person.
    pub urls: bool,
    /// It lets servers use the model.
    pub sampling: bool,
}

/// A folder the user works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Where it is.
    pub path: PathBuf,
    /// What to call it.
    pub name: String,
}

impl Root {
    /// A folder named after its last part.
    pub fn new(path: &Path) -> Self {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Self { path: path.to_owned(), name }
    }
}

/// A question to the user.
#[derive(Debug, Clone)]
pub struct Elicitation {
    /// The server that asks, by its configured name: what it calls itself proves nothing.
    pub server: String,
    /// Its words.
    pub message: String,
    /// What it wants.
    pub wish: Wish,
}

/// What a server wants from the user.
#[derive(Debug, Clone)]
pub enum Wish {
    /// Values for a flat form.
    Form {
        /// The JSON Schema of the form.
        schema: Json,
    },
    /// A visit to an address. Whoever answers must show the whole address and open nothing without consent.
    Visit {
        /// The address, as sent.
        url: String,
    },
}

/// The user's answer.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Yes, with the values of the form. Values left out take the form's defaults.
    Accept(Json),
    /// No.
    Decline,
    /// The question was closed without an answer.
    Cancel,
}

/// Nobody is there to ask: folders are named, everything else is declined.
#[derive(Debug, Clone, Default)]
pub struct Headless {
    /// The folders to name; none means servers are not told that they may ask.
    pub folders: Vec<PathBuf>,
    /// What becomes of a call that needs the user's yes.
    pub unasked: Unasked,
}

/// What becomes of a call that needs a yes when nobody is there to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unasked {
    /// It is denied.
    #[default]
    Deny,
    /// It waits: whoever made it gets it back and can ask later.
    Defer,
}

impl Host for Headless {
    fn abilities(&self) -> Abilities {
        Abilities { roots: !self.folders.is_empty(), ..Abilities::default() }
    }

    fn roots(&self) -> Vec<Root> {
        self.folders.iter().map(|folder| Root::new(folder)).collect()
    }

    fn permit(&self, question: Permission) -> Reply<'_, Permit> {
        Box::pin(std::future::ready(match self.unasked {
            Unasked::Deny => nobody(&question),
            Unasked::Defer => Permit::Defer,
        }))
    }
}
