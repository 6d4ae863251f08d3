//! Answers for calls by rules, where nobody is there to ask: patterns over the names of tools.
//!
//! [`Rules::judge`] decides and is pure. [`Ruled`] answers by it, keeps what it was asked and what it said, and declines
//! everything else as [`Headless`](super::Headless) does.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::{Abilities, Answer, Elicitation, Headless, Host, Permission, Permit, Reply, Root, Why};
use crate::glob::matches_glob;
use crate::json::Json;

/// Answers that are kept one by one; more are only counted.
const MOST_ANSWERS: usize = 10_000;

/// Which tools may be called, and which may not. `*` stands for any text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// These may: by the name in the catalog, or as `server/tool`.
    pub allow: Vec<String>,
    /// These may not, whatever is allowed: the same, also by the tool's own name, and whatever the case.
    pub deny: Vec<String>,
}

/// What the rules say of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement<'r> {
    /// This pattern denies it.
    Denied(&'r str),
    /// This pattern allows it, and none denies it.
    Allowed(&'r str),
    /// Nothing.
    Unsaid,
}

impl Rules {
    /// Decides. A no counts more than a yes, and is understood more generously: it must hold however it is spelled.
    pub fn judge(&self, name: &str, server: &str, tool: &str) -> Judgement<'_> {
        let whole = format!("{server}/{tool}");
        let (name_, whole_, tool_) = (name.to_lowercase(), whole.to_lowercase(), tool.to_lowercase());
        let denies = |pattern: &&String| {
            let pattern = pattern.to_lowercase();
            [&name_, &whole_, &tool_].into_iter().any(|text| matches_glob(&pattern, text))
        };
        let allows = |pattern: &&String| matches_glob(pattern, name) || matches_glob(pattern, &whole);
        if let Some(pattern) = self.deny.iter().find(denies) {
            return Judgement::Denied(pattern);
        }
        self.allow.iter().find(allows).map_or(Judgement::Unsaid, |pattern| Judgement::Allowed(pattern))
    }
}

/// One question about a call, and what was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The name of the tool.
    pub name: String,
    /// The server, by its configured name.
    pub server: String,
    /// The server's own name for the tool.
    pub tool: String,
    /// Why it was asked.
    pub why: Why,
    /// The answer.
    pub permit: Permit,
}

/// How many questions were answered in which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// With yes.
    pub n_allowed: usize,
    /// With no.
    pub n_denied: usize,
}

/// Nobody is there to ask, and rules decide on calls.
#[derive(Debug, Default)]
pub struct Ruled {
    rules: Rules,
    rest: Headless,
    // Written once a question, read at the end; never held across a wait.
    answers: Mutex<(Tally, Vec<Answered>)>,
}

impl Ruled {
    /// A host that names these folders and answers by these rules.
    pub fn new(rules: Rules, folders: Vec<PathBuf>) -> Self {
        let rest = Headless { folders, ..Headless::default() };
        Self { rules, rest, answers: Mutex::default() }
    }

    /// What was asked and answered so far, in order; the first ten thousand.
    pub fn answers(&self) -> Vec<Answered> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    /// How often it was yes and no, of all.
    pub fn tally(&self) -> Tally {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    fn answer(&self, question: &Permission) -> Permit {
        let name = &question.name;
        match self.rules.judge(name, &question.server, &question.tool) {
            Judgement::Allowed(_) => Permit::Once,
            Judgement::Denied(pattern) => Permit::Refuse { reason: denied(name, pattern) },
            Judgement::Unsaid => {
                let why = match question.why {
                    Why::Rule => "",
                    Why::Changed => " again, since it is not what was approved",
                };
                let reason =
                    format!("`{name}` needs approval{why}, no rule allows it, and nobody is there to ask");
                Permit::Refuse { reason }
            }
        }
    }

    fn keep(&self, question: Permission, permit: &Permit) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let (tally, list) = &mut *answers;
        let count = if *permit == Permit::Once { &mut tally.n_allowed } else { &mut tally.n_denied };
        *count += 1;
        if list.len() < MOST_ANSWERS {
            let Permission { name, server, tool, why, .. } = question;
            list.push(Answered { name, server, tool, why, permit: permit.clone() });
        }
    }
}

fn denied(name: &str, pattern: &str) -> String {
    format!("the rule `{pattern}` of this run denies `{name}`")
}

impl Host for Ruled {
    fn abilities(&self) -> Abilities {
        self.rest.abilities()
    }

    fn roots(&self) -> Vec<Root> {
        self.rest.roots()
    }

    fn permit(&self, question: Permission) -> Reply<'_, Permit> {
        let permit = self.answer(&question);
        self.keep(question, &permit);
        Box::pin(std::future::ready(permit))
    }

    fn forbids(&self, name: &str, server: &str, tool: &str) -> Option<String> {
        match self.rules.judge(name, server, tool) {
            Judgement::Denied(pattern) => Some(denied(name, pattern)),
            Judgement::Allowed(_) | Judgement::Unsaid => None,
        }
    }

    fn elicit(&self, question: Elicitation) -> Reply<'_, Answer> {
        self.rest.elicit(question)
    }

    fn sample(&self, server: String, params: Json) -> Reply<'_, Result<Json, String>> {
        self.rest.sample(server, params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(allow: &[&str], deny: &[&str]) -> Rules {
        let list = |patterns: &[&str]| patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        Rules { allow: list(allow), deny: list(deny) }
    }

    #[test]
    fn the_table_of_patterns() {
        // The tool `Delete_File` of the server `Git.Hub`, as the catalog names it.
        let judge = |rules: &Rules| match rules.judge("mcp_git_hub_delete_file", "Git.Hub", "Delete_File") {
            Judgement::Denied(pattern) => format!("no {pattern}"),
            Judgement::Allowed(pattern) => format!("yes {pattern}"),
            Judgement::Unsaid => "-".to_owned(),
        };
        let check = |allow: &[&str], deny: &[&str], expected: &str| {
            assert_eq!(judge(&rules(allow, deny)), expected, "{allow:?} {deny:?}");
        };
        check(&[], &[], "-");
        for pattern in
            ["mcp_git_hub_delete_file", "mcp_git_*", "*", "*_file", "Git.Hub/Delete_File", "Git.Hub/*"]
        {
            check(&[pattern], &[], &format!("yes {pattern}"));
            check(&[pattern], &["*"], "no *");
            check(&["*"], &[pattern], &format!("no {pattern}"));
            check(&[], &[pattern], &format!("no {pattern}"));
        }
        // Only a no is understood in other ways.
        for pattern in ["Delete_File", "delete_file", "delete_*", "git.hub/*", "MCP_GIT_HUB_*"] {
            check(&[pattern], &[], "-");
            check(&["*"], &[pattern], &format!("no {pattern}"));
        }
        for pattern in
            ["", "mcp_git", "mcp_git_hub", "Git.Hub", "Git_Hub/*", "git/*", "?cp_*", "[m]cp_*", "mcp_git_*x"]
        {
            check(&[pattern], &[], "-");
            check(&["*"], &[pattern], "yes *");
        }
        check(&["x", "*_file", "*"], &["y"], "yes *_file");
        check(&["*"], &["x", "mcp_*", "*"], "no mcp_*");
    }

    fn question(name: &str, why: Why) -> Permission {
        let arguments = Json::from_text("{}").unwrap();
        let (name, server, tool) = (name.to_owned(), "s".to_owned(), name.to_owned());
        Permission { name, server, tool, description: None, arguments, annotations: None, why }
    }

    #[tokio::test]
    async fn every_answer_is_kept_and_counted() {
        let host = Ruled::new(rules(&["a*"], &["ab"]), Vec::new());
        assert_eq!(host.permit(question("a", Why::Rule)).await, Permit::Once);
        let reasons = [
            ("ab", Why::Rule, "the rule `ab` of this run denies `ab`"),
            ("b", Why::Rule, "`b` needs approval, no rule allows it, and nobody is there to ask"),
            (
                "b",
                Why::Changed,
                "`b` needs approval again, since it is not what was approved, no rule allows it, and nobody is there to ask",
            ),
        ];
        for (name, why, reason) in reasons {
            assert_eq!(host.permit(question(name, why)).await, Permit::Refuse { reason: reason.to_owned() });
        }
        assert_eq!(host.tally(), Tally { n_allowed: 1, n_denied: 3 });
        let answers = host.answers();
        assert_eq!(
            answers.iter().map(|answer| answer.name.as_str()).collect::<Vec<_>>(),
            ["a", "ab", "b", "b"]
        );
        assert_eq!((answers[0].permit.clone(), answers[3].why), (Permit::Once, Why::Changed));
        assert!(host.forbids("ab", "s", "ab").is_some() && host.forbids("b", "s", "b").is_none());
        for _ in 0..MOST_ANSWERS {
            host.permit(question("b", Why::Rule)).await;
        }
        assert_eq!((host.answers().len(), host.tally().n_denied), (MOST_ANSWERS, MOST_ANSWERS + 3));
    }
}
