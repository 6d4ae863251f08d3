//! Rules for calls in the user's `settings.json`: `approval`, by server, then by tool.
//!
//! In: a rule to set or to take away. Out: the same file with that rule changed and every other byte as it was.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::splice::{Document, Edit, Refusal};
use crate::config::settings::Rule;
use crate::config::write::{self, Privacy, WriteError};
use crate::env::Env;

/// Every tool of a server.
const ALL: &str = "*";

/// The user's settings.
#[derive(Debug, Clone)]
pub struct SettingsFile {
    path: PathBuf,
}

impl SettingsFile {
    /// The user's own: rules of a project's file do not count.
    pub fn of(env: &Env) -> Self {
        Self { path: env.join(&env.switchboard_home(), "settings.json") }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets the rule for a tool of a server, or with `*` for all that have none of their own.
    pub fn set_rule(&self, server: &str, tool: &str, rule: Rule) -> Result<(), WriteError> {
        write::update(&self.path, Privacy::Private, |text| {
            self.with(text.unwrap_or_default(), |document| Some(set(document, server, tool, rule)))
        })
    }

    /// Takes away the rule for a tool of a server, or with `*` that for all. False if there is none.
    pub fn remove_rule(&self, server: &str, tool: &str) -> Result<bool, WriteError> {
        let had_it = std::cell::Cell::new(false);
        write::update(&self.path, Privacy::Private, |text| {
            self.with(text.unwrap_or_default(), |document| {
                let edit = remove(document, server, tool);
                had_it.set(edit.is_some());
                edit
            })
        })?;
        Ok(had_it.get())
    }

    fn with(&self, text: &str, edit: impl Fn(&Document<'_>) -> Option<Edit>) -> Result<String, WriteError> {
        let refused = |refusal: Refusal| WriteError::Content {
            path: self.path.clone(),
            line: refusal.line,
            what: refusal.what,
        };
        let document = Document::read(text).map_err(refused)?;
        match edit(&document) {
            Some(edit) => document.edit(&[edit]).map_err(refused),
            None => Ok(text.to_owned()),
        }
    }
}

fn path(keys: &[&str]) -> Vec<String> {
    std::iter::once("approval").chain(keys.iter().copied()).map(str::to_owned).collect()
}

fn set(document: &Document<'_>, server: &str, tool: &str, rule: Rule) -> Edit {
    let word = json!(rule.as_str());
    match document.at(&path(&[server])) {
        // One word stands for all tools: it stays what it is for the others.
        Some(Value::String(_)) if tool == ALL => Edit::Set(path(&[server]), word),
        Some(Value::String(all)) => Edit::Set(path(&[server]), json!({ ALL: all, tool: word })),
        Some(_) | None => Edit::Set(path(&[server, tool]), word),
    }
}

fn remove(document: &Document<'_>, server: &str, tool: &str) -> Option<Edit> {
    let is_alone = |keys: &[&str]| {
        document.at(&path(keys)).and_then(Value::as_object).is_some_and(|object| object.len() == 1)
    };
    let whole_server = || if is_alone(&[]) { path(&[]) } else { path(&[server]) };
    match document.at(&path(&[server]))? {
        Value::String(_) if tool == ALL => Some(Edit::Remove(whole_server())),
        Value::Object(rules) if rules.contains_key(tool) => {
            // What would be left empty goes as well.
            Some(Edit::Remove(if rules.len() == 1 { whole_server() } else { path(&[server, tool]) }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::config::settings::{self, Settings};
    use crate::env::Os;
    use crate::sources;
    use crate::sources::places::Project;

    /// A home, its settings, and what they come to.
    struct World {
        dir: tempfile::TempDir,
        env: Env,
        file: SettingsFile,
    }

    impl World {
        fn new(text: Option<&str>) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let env = Env::new(Os::current(), dir.path(), dir.path().join("project"));
            let file = SettingsFile::of(&env);
            if let Some(text) = text {
                std::fs::create_dir_all(file.path().parent().unwrap()).unwrap();
                std::fs::write(file.path(), text).unwrap();
            }
            Self { dir, env, file }
        }

        fn text(&self) -> String {
            std::fs::read_to_string(self.file.path()).unwrap()
        }

        fn settings(&self) -> Settings {
            assert!(self.dir.path().is_dir());
            let found = sources::find(&self.env, &Project::find(&self.env));
            settings::read(&found.settings, &self.env).0
        }
    }

    fn check_set(before: Option<&str>, (server, tool, rule): (&str, &str, Rule), after: &str) {
        let world = World::new(before);
        world.file.set_rule(server, tool, rule).unwrap();
        assert_eq!(world.text(), after);
        assert_eq!(world.settings().approval[server][tool], rule);
    }

    fn check_remove(before: &str, (server, tool): (&str, &str), after: &str) {
        let world = World::new(Some(before));
        let had_it = world.settings().approval.get(server).is_some_and(|rules| rules.contains_key(tool));
        assert_eq!(world.file.remove_rule(server, tool).unwrap(), had_it);
        assert_eq!(world.text(), after);
        assert!(world.settings().approval.get(server).is_none_or(|rules| !rules.contains_key(tool)));
    }

    #[test]
    fn a_rule_is_set_and_nothing_else_changes() {
        check_set(
            None,
            ("s", "t", Rule::Never),
            "{\n  \"approval\": {\n    \"s\": {\n      \"t\": \"never\"\n    }\n  }\n}\n",
        );
        let head = "{\n  // mine\n  \"defaults\": false,\n";
        check_set(
            Some(&format!("{head}  \"approval\": {{\n    \"s\": {{ \"t\": \"auto\" }}, // why\n  }},\n}}")),
            ("s", "t", Rule::Deny),
            &format!("{head}  \"approval\": {{\n    \"s\": {{ \"t\": \"deny\" }}, // why\n  }},\n}}"),
        );
        check_set(
            Some(&format!("{head}  \"approval\": {{\n    \"s\": {{ \"t\": \"auto\" }}\n  }}\n}}\n")),
            ("s", "*", Rule::Writes),
            &format!(
                "{head}  \"approval\": {{\n    \"s\": {{ \"t\": \"auto\", \"*\": \"writes\" }}\n  }}\n}}\n"
            ),
        );
        // One word for all tools.
        check_set(
            Some("{\"approval\": {\"s\": \"never\"}}"),
            ("s", "*", Rule::Auto),
            "{\"approval\": {\"s\": \"auto\"}}",
        );
        let world = World::new(Some("{\"approval\": {\"s\": \"never\"}}"));
        world.file.set_rule("s", "t", Rule::Deny).unwrap();
        let rules = BTreeMap::from([("*".to_owned(), Rule::Never), ("t".to_owned(), Rule::Deny)]);
        assert_eq!(world.settings().approval["s"], rules);
    }

    #[test]
    fn a_rule_is_taken_away_with_what_would_be_empty() {
        let two = "{ \"approval\": { \"s\": { \"t\": \"auto\", \"u\": \"deny\" }, \"r\": \"never\" } }";
        check_remove(two, ("s", "t"), "{ \"approval\": { \"s\": { \"u\": \"deny\" }, \"r\": \"never\" } }");
        check_remove(two, ("r", "*"), "{ \"approval\": { \"s\": { \"t\": \"auto\", \"u\": \"deny\" } } }");
        check_remove(two, ("s", "*"), two);
        check_remove(two, ("r", "t"), two);
        check_remove(two, ("x", "t"), two);
        let last = "{\n  \"defaults\": false,\n  \"approval\": {\n    \"s\": { \"t\": \"auto\" }\n  }\n}\n";
        check_remove(last, ("s", "t"), "{\n  \"defaults\": false\n}\n");
        let world = World::new(None);
        assert!(!world.file.remove_rule("s", "t").unwrap());
        assert!(!world.file.path().exists(), "nothing was there to change");
    }

    #[test]
    fn what_is_no_object_of_rules_is_not_touched() {
        for text in ["{\"approval\": 5}", "{\"approval\": {\"s\": [1]}}", "{ torn"] {
            let world = World::new(Some(text));
            assert!(world.file.set_rule("s", "t", Rule::Deny).is_err(), "{text}");
            assert_eq!(world.text(), text);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// Any edits, one after the other, come to the same as on a map.
        #[test]
        fn edits_mean_what_they_say(edits in prop::collection::vec(("[ab./]", "[xy*]", prop::option::of(0..4_usize)), 1..12)) {
            let world = World::new(Some("{\n  // first\n  \"defaults\": false // last\n}\n"));
            let mut model: BTreeMap<String, BTreeMap<String, Rule>> = BTreeMap::new();
            for (server, tool, rule) in edits {
                if let Some(index) = rule {
                    let rule = [Rule::Auto, Rule::Writes, Rule::Never, Rule::Deny][index];
                    world.file.set_rule(&server, &tool, rule).unwrap();
                    model.entry(server).or_default().insert(tool, rule);
                } else {
                    let had_it = model.get_mut(&server).and_then(|rules| rules.remove(&tool)).is_some();
                    prop_assert_eq!(world.file.remove_rule(&server, &tool).unwrap(), had_it);
                    model.retain(|_, rules| !rules.is_empty());
                }
                prop_assert_eq!(&world.settings().approval, &model);
                let text = world.text();
                prop_assert!(text.contains("// first") && text.contains("// last"), "{}", text);
            }
        }
    }
}
