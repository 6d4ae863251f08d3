//! The programs of this crate, found for tests of other crates.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// The path of the program `fake-server`: a server that plays a script.
///
/// # Panics
///
/// When it cannot be built, in which case the test cannot run.
pub fn fake_server() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| find("fake-server", &["crates/testkit/src/bin/fake-server"])).clone()
}

/// The path of the program `fake-model`: a model that says what a script says.
///
/// # Panics
///
/// When it cannot be built, in which case the test cannot run.
pub fn fake_model() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| find("fake-model", &["crates/testkit/src/bin/fake-model"])).clone()
}

/// The path of the program `guard`: what keeps the processes of a server from outliving us.
///
/// # Panics
///
/// When it cannot be built, in which case the test cannot run.
pub fn guard() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let sources = ["crates/testkit/src/bin/guard.rs", "crates/switchboard/src/wire/guard.rs"];
    PATH.get_or_init(|| find("guard", &sources)).clone()
}

/// The directory with the real servers and the conformance suite, installed on first use by `peers/install`.
///
/// `SWITCHBOARD_PEERS` names an installation to use as it is, for a copy of the repository that shares one.
///
/// # Panics
///
/// When they cannot be installed, in which case the test cannot run.
#[expect(clippy::disallowed_methods, reason = "which installation to use is a fact of the machine")]
#[expect(clippy::expect_used, reason = "a test that cannot start its server must stop")]
pub fn peers() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    // The installer has a lock of its own, for tests in other processes.
    let install = || {
        if let Some(path) = std::env::var_os("SWITCHBOARD_PEERS") {
            return PathBuf::from(path);
        }
        let root = crate::workspace();
        let status = Command::new(root.join("peers/install")).status().expect("peers/install");
        assert!(status.success(), "peers/install ended with {status}");
        root.join("target/peers")
    };
    PATH.get_or_init(install).clone()
}

/// What programs that open servers themselves are made of.
const OWN: [&str; 5] = [
    "crates/switchboard/src",
    "crates/testkit/src/connect.rs",
    "crates/testkit/src/fake.rs",
    "crates/testkit/src/mark.rs",
    "crates/testkit/src/programs.rs",
];

/// The path of the program `attack`: opens a server and tells how much memory that took.
///
/// # Panics
///
/// When it cannot be built, in which case the test cannot run.
pub fn attack() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let sources = [&OWN[..], &["crates/testkit/src/bin/attack.rs"]].concat();
    PATH.get_or_init(|| find("attack", &sources)).clone()
}

/// The path of the program `assault`: opens a hostile server over HTTP and tells what that took.
///
/// # Panics
///
/// When it cannot be built, in which case the test cannot run.
pub fn assault() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let sources = [&OWN[..], &["crates/testkit/src/bin/assault.rs"]].concat();
    PATH.get_or_init(|| find("assault", &sources)).clone()
}

/// The path of the program `host`: opens many servers and waits to be killed.
///
/// # Panics
///
/// When it cannot be built, in which case the test cannot run.
pub fn host() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let sources = [&OWN[..], &["crates/testkit/src/bin/host.rs"]].concat();
    PATH.get_or_init(|| find("host", &sources)).clone()
}

/// The path of the program `caller`: has a session and calls when it is told to.
///
/// # Panics
///
/// When it cannot be built, in which case the test cannot run.
pub fn caller() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let sources = [&OWN[..], &["crates/testkit/src/bin/caller.rs"]].concat();
    PATH.get_or_init(|| find("caller", &sources)).clone()
}

/// Cargo tells the path of a program to the tests of its own crate only. So it is looked for beside the test that
/// runs, and built when it is missing or older than its source.
#[expect(clippy::expect_used, reason = "a test that cannot start its server must stop")]
fn find(name: &str, sources: &[&str]) -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    // Tests are one directory deeper than programs.
    let directory = test.parent().filter(|directory| !directory.ends_with("deps"));
    let directory = directory.or_else(|| test.ancestors().nth(2));
    let profile = directory.expect("the directory of the build");
    let program = profile.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let built = fs::metadata(&program).and_then(|data| data.modified()).ok();
    let changed = sources.iter().map(|source| newest(&crate::workspace().join(source))).max();
    if built >= changed {
        return program;
    }
    let profile_name = profile.file_name().unwrap_or_default().to_string_lossy();
    let profile_name = if profile_name == "debug" { "dev" } else { &*profile_name };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "-p", "testkit", "--bin", name, "--profile", profile_name]);
    cargo.arg("--target-dir").arg(profile.parent().unwrap_or(profile)).current_dir(crate::workspace());
    let status = cargo.status().expect("cargo");
    assert!(status.success() && program.exists(), "{name} was not built");
    program
}

/// When a file, or something below a directory, changed last.
fn newest(path: &Path) -> SystemTime {
    let own = fs::metadata(path).and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let below = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| newest(&entry.path()));
    below.fold(own, SystemTime::max)
}
