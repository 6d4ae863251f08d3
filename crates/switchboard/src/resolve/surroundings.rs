//! The variables a child gets: what it may inherit, and what is set for it.
//!
//! In: our own environment and a server's wish. Out: the complete environment of the child. Everything not listed
//! here stays with us, because most of what is in an environment was meant for somebody else.

use std::collections::BTreeMap;

use crate::declared::InheritEnv;
use crate::env::{Env, Os};

/// Variables that say where one is, not who one is.
const SAFE: &[&str] = &["PATH", "HOME", "USER", "SHELL", "TERM", "LOGNAME", "LANG", "TZ", "TMPDIR"];
const SAFE_PREFIXES: &[&str] = &["LC_", "XDG_"];
/// Read in either case.
const PROXY: &[&str] = &["http_proxy", "https_proxy", "no_proxy", "all_proxy"];
/// Without these hardly any program starts on Windows.
const SAFE_ON_WINDOWS: &[&str] = &[
    "ALLUSERSPROFILE",
    "APPDATA",
    "COMMONPROGRAMFILES",
    "COMMONPROGRAMFILES(X86)",
    "COMMONPROGRAMW6432",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "PSMODULEPATH",
    "PUBLIC",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERDOMAIN",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];
/// Ours: what we were told is not for our children.
const OURS: &str = "SWITCHBOARD_";

/// The environment of a child in the making.
#[derive(Clone)]
pub(super) struct Variables {
    os: Os,
    by_name: BTreeMap<String, String>,
}

impl Variables {
    /// What a child inherits.
    pub(super) fn inherited(env: &Env, wish: &InheritEnv) -> Self {
        let is_named = |name: &str| match wish {
            InheritEnv::Safe => false,
            InheritEnv::All => true,
            InheritEnv::Names(names) => names.iter().any(|named| is_same(named, name, env.os())),
        };
        let is_inherited = |name: &str| !is_ours(name) && (is_safe(name, env.os()) || is_named(name));
        let inherited = env.vars().filter(|(name, _)| is_inherited(name));
        let by_name = inherited.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { os: env.os(), by_name }
    }

    /// Sets a variable, whatever it was before.
    pub(super) fn set(&mut self, name: &str, value: String) {
        let os = self.os;
        self.by_name.retain(|other, _| !is_same(other, name, os));
        self.by_name.insert(name.to_owned(), value);
    }

    /// A variable's value.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(other, _)| is_same(other, name, self.os)).map(|(_, value)| value)
    }

    /// All of them, by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.by_name.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// All of them, by name.
    pub(super) fn into_pairs(self) -> Vec<(String, String)> {
        self.by_name.into_iter().collect()
    }
}

/// Whether any child may have the variable.
pub(super) fn is_safe(name: &str, os: Os) -> bool {
    let listed = |list: &[&str]| list.iter().any(|safe| is_same(safe, name, os));
    listed(SAFE)
        || SAFE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || PROXY.iter().any(|proxy| name == *proxy || name == proxy.to_ascii_uppercase())
        || (os == Os::Windows && listed(SAFE_ON_WINDOWS))
}

/// Whether the variable is for us alone.
pub(super) fn is_ours(name: &str) -> bool {
    name.get(..OURS.len()).is_some_and(|start| start.eq_ignore_ascii_case(OURS))
}

fn is_same(left: &str, right: &str, os: Os) -> bool {
    match os {
        Os::Windows => left.eq_ignore_ascii_case(right),
        Os::Linux | Os::MacOs => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(os: Os, wish: &InheritEnv) -> Vec<String> {
        let mut env = Env::new(os, "/home/me", "/home/me");
        for name in ["PATH", "HOME", "LC_ALL", "XDG_RUNTIME_DIR", "https_proxy", "HTTPS_PROXY", "SystemRoot"]
            .iter()
            .chain(&["GITHUB_TOKEN", "NODE_OPTIONS", "SWITCHBOARD_HOME", "SWITCHBOARD_TRUST"])
        {
            env = env.with_var(name, "x");
        }
        Variables::inherited(&env, wish).iter().map(|(name, _)| name.to_owned()).collect()
    }

    #[test]
    fn a_child_inherits_what_is_harmless_and_what_it_asks_for() {
        let safe = ["HOME", "HTTPS_PROXY", "LC_ALL", "PATH", "XDG_RUNTIME_DIR", "https_proxy"];
        assert_eq!(names(Os::Linux, &InheritEnv::Safe), safe);
        let wish = InheritEnv::Names(vec!["GITHUB_TOKEN".to_owned(), "SWITCHBOARD_HOME".to_owned()]);
        let with_token =
            ["GITHUB_TOKEN", "HOME", "HTTPS_PROXY", "LC_ALL", "PATH", "XDG_RUNTIME_DIR", "https_proxy"];
        assert_eq!(names(Os::Linux, &wish), with_token);
        let all = names(Os::MacOs, &InheritEnv::All);
        assert_eq!(all.len(), 9);
        assert!(all.iter().all(|name| !name.starts_with("SWITCHBOARD_")));
    }

    #[test]
    fn names_on_windows_have_no_case() {
        assert!(names(Os::Windows, &InheritEnv::Safe).contains(&"SystemRoot".to_owned()));
        let env = Env::new(Os::Windows, "C:\\me", "C:\\me").with_var("Path", "a");
        let mut variables = Variables::inherited(&env, &InheritEnv::Safe);
        variables.set("PATH", "b".to_owned());
        assert_eq!(variables.get("path"), Some("b"));
        assert_eq!(variables.into_pairs(), [("PATH".to_owned(), "b".to_owned())]);
    }
}
