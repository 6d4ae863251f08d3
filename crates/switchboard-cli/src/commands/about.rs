//! `--version --verbose`: what a report of a mistake has to say of the program and of where it runs.

use std::iter::once;

use serde::Serialize;
use switchboard::Env;
use switchboard::wire::{HANDSHAKES, MODERN};

/// The program, and where it runs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct About {
    version: &'static str,
    /// Of the source it was made from, where the build was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'static str>,
    target: String,
    build: &'static str,
    features: Vec<&'static str>,
    protocols: Vec<&'static str>,
    system: String,
    home: String,
}

impl About {
    pub(crate) fn of(env: &Env) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: option_env!("SWITCHBOARD_COMMIT"),
            target: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
            build: if cfg!(debug_assertions) { "debug" } else { "release" },
            features: features(),
            protocols: once(MODERN).chain(HANDSHAKES.iter().copied()).collect(),
            system: system(),
            home: env.display(&env.switchboard_home()),
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let commit = self.commit.map_or_else(String::new, |commit| format!(" ({commit})"));
        let row = |name: &str, value: &str| format!("{name:<11}{value}");
        vec![
            format!("switchboard {}{commit}", self.version),
            row("target", &format!("{}, {} build", self.target, self.build)),
            row("features", &self.features.join(" ")),
            row("protocols", &self.protocols.join(" ")),
            row("system", &self.system),
            row("home", &self.home),
        ]
    }
}

/// The parts that can be left out of a build.
fn features() -> Vec<&'static str> {
    let parts = [("keyring", cfg!(feature = "keyring")), ("otel", cfg!(feature = "otel"))];
    parts.iter().filter(|(_, is_in)| *is_in).map(|(name, _)| *name).collect()
}

/// Name of the system, and the version of its kernel where it says so in a file; not the name of the machine.
fn system() -> String {
    let os = std::env::consts::OS;
    match std::fs::read_to_string("/proc/sys/kernel/osrelease") {
        Ok(release) => format!("{os} {}", release.trim()),
        Err(_) => os.to_owned(),
    }
}
