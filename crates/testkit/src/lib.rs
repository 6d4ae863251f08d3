//! A sealed world for tests: an empty home, an empty project, no variables but those a test sets.
//! And a server that behaves as badly as a test needs it to.

pub mod connect;
mod fake;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod faults;
pub mod front;
pub mod keyring;
mod listening;
pub mod logins;
mod mark;
mod model;
mod programs;
#[cfg(unix)]
pub mod tree;
mod waiting;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use switchboard::Env;
use switchboard::env::Os;
use tempfile::TempDir;

pub use fake::{Fake, FakeScript};
pub use listening::{Listening, SaidOn};
pub use mark::Mark;
pub use model::FakeModel;
pub use programs::{assault, attack, caller, fake_model, fake_server, guard, host, peers};
pub use waiting::{PATIENCE, eventually, eventually_blocking};

/// Compares a generated text with the file that carries it. With `UPDATE_GOLDEN=1` the file is written instead.
///
/// # Panics
///
/// When they differ.
#[expect(clippy::disallowed_methods, reason = "the one switch of the test suite")]
pub fn golden(path: &Path, text: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        drop(fs::create_dir_all(path.parent().unwrap_or(Path::new("."))));
        drop(fs::write(path, text));
    }
    let there = fs::read_to_string(path).unwrap_or_default();
    assert!(there == text, "{} is out of date; run the tests with UPDATE_GOLDEN=1", path.display());
}

/// Compares a generated text with the part of a file that carries it, between two comments with its name.
///
/// # Panics
///
/// When they differ, or the file has no such part.
pub fn golden_part(path: &Path, name: &str, text: &str) {
    // Several parts of one file may be written at the same time.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let page = fs::read_to_string(path).unwrap_or_default();
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n"));
    let parts = page.split_once(&start).and_then(|(head, rest)| Some((head, rest.split_once(&end)?.1)));
    let Some((head, tail)) = parts else { panic!("{} has no part {name}", path.display()) };
    golden(path, &format!("{head}{start}{text}{end}{tail}"));
}

/// The root of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A home and a project that exist for one test.
#[derive(Debug)]
pub struct Sandbox {
    root: TempDir,
    vars: Vec<(String, String)>,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Sandbox {
    /// An empty world.
    ///
    /// # Panics
    ///
    /// When the disk refuses, in which case no test can run.
    #[expect(clippy::expect_used, reason = "a test that cannot make its world must stop")]
    pub fn new() -> Self {
        Self::at(TempDir::new().expect("a temporary directory"))
    }

    /// One that waits for no disk, where the system has such a place: for thousands of writes.
    ///
    /// # Panics
    ///
    /// When the disk refuses, in which case no test can run.
    #[expect(clippy::expect_used, reason = "a test that cannot make its world must stop")]
    pub fn in_memory() -> Self {
        let root = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new());
        Self::at(root.expect("a temporary directory"))
    }

    #[expect(clippy::expect_used, reason = "a test that cannot make its world must stop")]
    fn at(root: TempDir) -> Self {
        let sandbox = Self { root, vars: Vec::new() };
        fs::create_dir_all(sandbox.home()).expect("a home");
        // The project is the root of a repository, so that nothing outside of it is looked at.
        fs::create_dir_all(sandbox.project().join(".git")).expect("a project");
        sandbox
    }

    /// The directory that holds the home and the project.
    pub fn root(&self) -> PathBuf {
        self.base()
    }

    /// The home directory.
    pub fn home(&self) -> PathBuf {
        self.base().join("home")
    }

    /// The project's directory, which is the working directory.
    pub fn project(&self) -> PathBuf {
        self.base().join("project")
    }

    fn base(&self) -> PathBuf {
        // Without links in it, as the program will see it.
        self.root.path().canonicalize().unwrap_or_else(|_| self.root.path().to_owned())
    }

    /// A path as tests write it: `~/` is home, anything else is in the project.
    pub fn path(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(rest) => self.home().join(rest),
            None => self.project().join(path),
        }
    }

    /// Writes a file and the directories above it. `[PROJECT]` and `[HOME]` stand for the real paths.
    ///
    /// # Panics
    ///
    /// When the disk refuses.
    #[expect(clippy::expect_used, reason = "a test that cannot make its world must stop")]
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("the directories above a file");
        let content = content.as_ref();
        let filled = std::str::from_utf8(content).ok().map(|text| {
            text.replace("[PROJECT]", &self.project().to_string_lossy())
                .replace("[HOME]", &self.home().to_string_lossy())
        });
        fs::write(&path, filled.as_deref().map_or(content, str::as_bytes)).expect("a file");
        path
    }

    /// The text of a file.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_default()
    }

    /// Sets a variable.
    #[must_use]
    pub fn with_var(mut self, name: &str, value: &str) -> Self {
        self.vars.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The variables that are set.
    pub fn vars(&self) -> impl Iterator<Item = (&str, &str)> {
        self.vars.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The world as the library sees it.
    pub fn env(&self) -> Env {
        let env = Env::new(Os::Linux, self.home(), self.project()).with_var("PATH", "/usr/bin:/bin");
        self.vars.iter().fold(env, |env, (name, value)| env.with_var(name, value))
    }

    /// A program that starts in this world.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env_clear().env("HOME", self.home()).env("PATH", "/usr/bin:/bin").current_dir(self.project());
        command.envs(self.vars.iter().map(|(name, value)| (name, value)));
        command
    }

    /// A text in which this world's paths are replaced by `[PROJECT]` and `[HOME]`.
    pub fn filter(&self, text: &str) -> String {
        text.replace(&*self.project().to_string_lossy(), "[PROJECT]")
            .replace(&*self.home().to_string_lossy(), "[HOME]")
    }
}
