//! Tells when a file that discovery looks at, or would look at, appears, changes or goes.
//!
//! In: the environment. Out: what changed, in one go when several files change together. It only tells; whoever listens
//! decides whether to read anything again. Directories are watched one by one, never the trees below them. The system
//! only wakes us: what changed is found by comparing the files with how they were, so that an editor that renames over a
//! file, a directory that comes later and writes to anything else beside them need no rules of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout_at};

use super::places::{self, Place, Project, Spot};
use super::read;
use crate::env::Env;

/// It is told when nothing more happened for so long.
const QUIET: Duration = Duration::from_millis(150);
/// But not later than this, however much happens.
const LATEST: Duration = Duration::from_millis(1500);
/// How often files are looked at where the system tells nothing.
const POLL: Duration = Duration::from_secs(2);
/// How often where it does: a directory that is moved as a whole, with all above it, may go unnoticed.
const CHECK: Duration = Duration::from_secs(30);
/// Most directories below one place that are looked into.
const MOST_CHILDREN: usize = 100;

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is new.
    Appeared,
    /// It is not what it was.
    Changed,
    /// It is no longer there.
    Gone,
}

/// A file that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The file.
    pub path: PathBuf,
    /// What became of it.
    pub fate: Fate,
}

/// Changes of files, one after the other. Nothing is watched any more when it is dropped.
#[derive(Debug)]
pub struct FilesChanged {
    env: Env,
    wake: Arc<Notify>,
    /// None where the system cannot tell.
    watcher: Option<RecommendedWatcher>,
    /// The directories that are watched, each as it was.
    armed: BTreeMap<PathBuf, Option<Stamp>>,
    /// Whether some directory cannot be watched.
    is_blind: bool,
    seen: Seen,
    /// Something may have happened that was not looked at yet.
    is_due: bool,
}

/// The files that are there, each as it is.
type Seen = BTreeMap<PathBuf, Stamp>;

/// What tells one state of a file from another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    /// The file itself, where that can be told: one that was renamed into place is another one.
    file: (u64, u64),
}

impl FilesChanged {
    /// Starts to watch. What happens from now on is told.
    pub fn new(env: &Env) -> Self {
        let wake: Arc<Notify> = Arc::default();
        let tell = Arc::clone(&wake);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| is_worth_a_look(event.kind)) {
                tell.notify_one();
            }
        });
        Self::with(env, wake, watcher.ok())
    }

    fn with(env: &Env, wake: Arc<Notify>, watcher: Option<RecommendedWatcher>) -> Self {
        let mut files = Self {
            env: env.clone(),
            wake,
            is_blind: watcher.is_none(),
            watcher,
            armed: BTreeMap::new(),
            seen: BTreeMap::new(),
            is_due: false,
        };
        let places = files.places();
        files.arm(&places);
        files.seen = seen(&places);
        files
    }

    /// Waits until files changed, and tells which, sorted by path. May be given up and called again: nothing is lost.
    pub async fn next(&mut self) -> Vec<FileChange> {
        loop {
            if !self.is_due {
                let pause = if self.is_blind { POLL } else { CHECK };
                tokio::select! {
                    () = self.wake.notified() => {}
                    () = sleep(pause) => {}
                }
                self.is_due = true;
            }
            self.settle().await;
            let places = self.places();
            // First: what happens while we look is told by the next look.
            self.arm(&places);
            let now = seen(&places);
            self.is_due = false;
            let changes = differences(&self.seen, &now);
            self.seen = now;
            if !changes.is_empty() {
                return changes;
            }
        }
    }

    /// Waits until it is quiet.
    async fn settle(&self) {
        let latest = Instant::now() + LATEST;
        loop {
            let quiet = (Instant::now() + QUIET).min(latest);
            if timeout_at(quiet, self.wake.notified()).await.is_err() {
                return;
            }
        }
    }

    fn places(&self) -> Vec<Spot> {
        let project = Project::find(&self.env);
        let places = places::places(&self.env, &project);
        let approvals = self.env.join(&self.env.switchboard_home(), "approvals.json");
        let spots = places.into_iter().map(|Place { spot, .. }| spot);
        spots.chain(std::iter::once(Spot::File(approvals))).collect()
    }

    /// Watches the directories that matter now, and no others.
    fn arm(&mut self, spots: &[Spot]) {
        let Some(watcher) = &mut self.watcher else { return };
        let wanted = points(spots);
        let stamped: BTreeMap<PathBuf, Option<Stamp>> =
            wanted.into_iter().map(|dir| (dir.clone(), identity(&dir))).collect();
        for (dir, before) in &self.armed {
            // One that was made anew is watched no longer, although it has the same name.
            if stamped.get(dir) != Some(before) {
                let _gone_with_it = watcher.unwatch(dir);
            }
        }
        self.is_blind = false;
        for (dir, now) in &stamped {
            if self.armed.get(dir) != Some(now) && watcher.watch(dir, RecursiveMode::NonRecursive).is_err() {
                self.is_blind = true;
            }
        }
        self.armed = stamped;
    }
}

/// Reading changes nothing.
fn is_worth_a_look(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => true,
    }
}

/// The directories in which something can happen to these places: where a file is, or the nearest above that is there.
fn points(spots: &[Spot]) -> BTreeSet<PathBuf> {
    let mut points = BTreeSet::new();
    for spot in spots {
        match spot {
            Spot::File(path) => {
                points.extend(path.parent().and_then(nearest));
                // What a link leads to changes elsewhere.
                let is_link = path.symlink_metadata().is_ok_and(|there| there.is_symlink());
                let target = path.canonicalize().ok().filter(|_| is_link);
                points.extend(target.as_deref().and_then(Path::parent).and_then(nearest));
            }
            Spot::FilesIn(dir) => points.extend(nearest(dir)),
            Spot::InEach(dir, name) => {
                points.extend(nearest(dir));
                let files = read::files(&Spot::InEach(dir.clone(), name), super::Format::Json);
                let files = files.unwrap_or_default().into_iter().take(MOST_CHILDREN);
                points.extend(files.filter_map(|(file, _)| file.parent().and_then(nearest)));
            }
        }
    }
    points
}

/// The directory, or the nearest one above it that is there.
fn nearest(dir: &Path) -> Option<PathBuf> {
    dir.ancestors().find(|dir| dir.is_dir()).map(Path::to_owned)
}

/// Which directory it is, whatever happens inside.
fn identity(dir: &Path) -> Option<Stamp> {
    let metadata = dir.metadata().ok()?;
    Some(Stamp { modified: None, bytes: 0, file: file(&metadata) })
}

fn seen(spots: &[Spot]) -> Seen {
    let mut seen = Seen::new();
    for spot in spots {
        let files = read::files(spot, super::Format::Json).unwrap_or_default();
        for (path, _) in files.into_iter().take(MOST_CHILDREN) {
            if let Ok(metadata) = path.metadata() {
                seen.insert(path, stamp(&metadata));
            }
        }
    }
    seen
}

fn stamp(metadata: &Metadata) -> Stamp {
    Stamp { modified: metadata.modified().ok(), bytes: metadata.len(), file: file(metadata) }
}

#[cfg(unix)]
fn file(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn file(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

/// What is not as it was, by path.
fn differences(before: &Seen, now: &Seen) -> Vec<FileChange> {
    let paths: BTreeSet<&PathBuf> = before.keys().chain(now.keys()).collect();
    let change = |path: &PathBuf| {
        let fate = match (before.get(path), now.get(path)) {
            (Some(before), Some(now)) if before == now => return None,
            (Some(_), Some(_)) => Fate::Changed,
            (None, Some(_)) => Fate::Appeared,
            (Some(_), None) => Fate::Gone,
            (None, None) => return None,
        };
        Some(FileChange { path: path.clone(), fate })
    };
    paths.into_iter().filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::future::poll_fn;
    use std::task::Poll;

    use proptest::prelude::*;

    use super::*;
    use crate::env::Os;

    struct World {
        dir: tempfile::TempDir,
        env: Env,
    }

    impl World {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let (home, project) = (dir.path().join("home"), dir.path().join("project"));
            fs::create_dir_all(&home).unwrap();
            fs::create_dir_all(project.join(".git")).unwrap();
            let env = Env::new(Os::current(), home, project);
            Self { dir, env }
        }

        fn path(&self, path: &str) -> PathBuf {
            self.dir.path().join(path)
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// The next changes, without the directory of the world.
        async fn next(&self, files: &mut FilesChanged) -> Vec<(String, Fate)> {
            let changes = tokio::time::timeout(Duration::from_secs(20), files.next()).await.unwrap();
            let short = |path: &Path| path.strip_prefix(self.dir.path()).unwrap().display().to_string();
            changes.iter().map(|change| (short(&change.path), change.fate)).collect()
        }
    }

    #[tokio::test]
    async fn a_file_that_comes_changes_and_goes_is_told_each_time() {
        let world = World::new();
        let mut files = FilesChanged::new(&world.env);
        assert!(files.watcher.is_some() && !files.is_blind, "this system tells");
        // Of the directories on its way, none is there.
        world.write("home/.config/zed/settings.json", "{}");
        assert_eq!(
            world.next(&mut files).await,
            [("home/.config/zed/settings.json".to_owned(), Fate::Appeared)]
        );
        world.write("home/.config/zed/settings.json", "{\"a\": 1}");
        assert_eq!(
            world.next(&mut files).await,
            [("home/.config/zed/settings.json".to_owned(), Fate::Changed)]
        );
        // As editors save: beside it, then into its place. The size is the same.
        world.write("home/.config/zed/settings.json~", "{\"a\": 2}");
        fs::rename(
            world.path("home/.config/zed/settings.json~"),
            world.path("home/.config/zed/settings.json"),
        )
        .unwrap();
        assert_eq!(
            world.next(&mut files).await,
            [("home/.config/zed/settings.json".to_owned(), Fate::Changed)]
        );
        fs::remove_dir_all(world.path("home/.config")).unwrap();
        assert_eq!(world.next(&mut files).await, [("home/.config/zed/settings.json".to_owned(), Fate::Gone)]);
        // And all anew.
        world.write("home/.config/zed/settings.json", "{}");
        assert_eq!(
            world.next(&mut files).await,
            [("home/.config/zed/settings.json".to_owned(), Fate::Appeared)]
        );
        world.write("home/.config/zed/settings.json", "{\"b\": 1}");
        assert_eq!(
            world.next(&mut files).await,
            [("home/.config/zed/settings.json".to_owned(), Fate::Changed)]
        );
    }

    #[tokio::test]
    async fn what_changes_together_is_told_together_and_nothing_else_is() {
        let world = World::new();
        world.write("home/.switchboard/mcp.json", "{}");
        let mut files = FilesChanged::new(&world.env);
        // Our own state, and strangers.
        for name in ["pins.json", "grants.json", "asked.json", "cache/offers/x.json", ".mcp.json.lock"] {
            world.write(&format!("home/.switchboard/{name}"), "{}");
        }
        world.write("home/notes.txt", "");
        world.write("project/src/mcp.json", "{}");
        fs::read(world.path("home/.switchboard/mcp.json")).unwrap();
        world.write("project/.mcp.json", "{}");
        world.write("home/.cursor/mcp.json", "{}");
        world.write("home/.switchboard/approvals.json", "{}");
        world.write("home/.continue/mcpServers/docs.yaml", "");
        let expected = [
            "home/.continue/mcpServers/docs.yaml",
            "home/.cursor/mcp.json",
            "home/.switchboard/approvals.json",
            "project/.mcp.json",
        ];
        let expected: Vec<_> = expected.iter().map(|path| ((*path).to_owned(), Fate::Appeared)).collect();
        assert_eq!(world.next(&mut files).await, expected);
        // The next one is the next change, not the rest of those.
        world.write("home/.switchboard/mcp.json", "{ }");
        assert_eq!(world.next(&mut files).await, [("home/.switchboard/mcp.json".to_owned(), Fate::Changed)]);
    }

    /// Begins to wait, and waits no longer.
    async fn give_up(files: &mut FilesChanged) {
        let mut next = Box::pin(files.next());
        let is_over = poll_fn(|task| Poll::Ready(next.as_mut().poll(task).is_ready())).await;
        assert!(!is_over);
    }

    #[tokio::test]
    async fn whoever_gives_up_waiting_misses_nothing() {
        let world = World::new();
        let mut files = FilesChanged::new(&world.env);
        world.write("project/.mcp.json", "{}");
        // Given up while nothing happened yet, then while it waits for quiet.
        while !files.is_due {
            give_up(&mut files).await;
            tokio::task::yield_now().await;
        }
        for _ in 0..5 {
            give_up(&mut files).await;
        }
        assert_eq!(world.next(&mut files).await, [("project/.mcp.json".to_owned(), Fate::Appeared)]);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_link_is_what_it_leads_to() {
        let world = World::new();
        world.write("dotfiles/mcp.json", "{}");
        fs::create_dir_all(world.path("home/.switchboard")).unwrap();
        std::os::unix::fs::symlink(world.path("dotfiles/mcp.json"), world.path("home/.switchboard/mcp.json"))
            .unwrap();
        let mut files = FilesChanged::new(&world.env);
        world.write("dotfiles/mcp.json", "{\"a\": 1}");
        assert_eq!(world.next(&mut files).await, [("home/.switchboard/mcp.json".to_owned(), Fate::Changed)]);
    }

    /// Some systems and file systems tell nothing, or have no room for one more watch.
    #[tokio::test(start_paused = true)]
    async fn where_nothing_is_told_the_files_are_looked_at() {
        let world = World::new();
        let mut files = FilesChanged::with(&world.env, Arc::default(), None);
        world.write("project/.mcp.json", "{}");
        let changes = files.next().await;
        assert_eq!(changes, [FileChange { path: world.path("project/.mcp.json"), fate: Fate::Appeared }]);
    }

    #[test]
    fn only_directories_that_are_there_are_watched_and_never_a_tree() {
        let world = World::new();
        fs::create_dir_all(world.path("home/a/b")).unwrap();
        let at = |path: &str| world.path(path);
        let check = |spot: Spot, expected: &[&str]| {
            let expected: BTreeSet<PathBuf> = expected.iter().map(|path| at(path)).collect();
            assert_eq!(points(&[spot]), expected);
        };
        check(Spot::File(at("home/a/b/x.json")), &["home/a/b"]);
        check(Spot::File(at("home/a/c/d/x.json")), &["home/a"]);
        check(Spot::FilesIn(at("home/a/c")), &["home/a"]);
        check(Spot::InEach(at("home/a"), "x.json"), &["home/a", "home/a/b"]);
        check(Spot::InEach(at("home/none"), "x.json"), &["home"]);
    }

    proptest! {
        /// Told is exactly what differs, and what is told twice in a row is nothing.
        #[test]
        fn exactly_what_differs_is_told(before in prop::collection::btree_map("[a-e]", 0..3_u64, 0..5), now in prop::collection::btree_map("[a-e]", 0..3_u64, 0..5)) {
            let seen = |files: &BTreeMap<String, u64>| -> Seen {
                let stamp = |bytes: u64| Stamp { modified: None, bytes, file: (0, 0) };
                files.iter().map(|(path, bytes)| (PathBuf::from(path), stamp(*bytes))).collect()
            };
            let changes = differences(&seen(&before), &seen(&now));
            let told: BTreeMap<String, Fate> =
                changes.iter().map(|change| (change.path.display().to_string(), change.fate)).collect();
            prop_assert_eq!(told.len(), changes.len());
            for path in ["a", "b", "c", "d", "e"] {
                let expected = match (before.get(path), now.get(path)) {
                    (None, Some(_)) => Some(Fate::Appeared),
                    (Some(_), None) => Some(Fate::Gone),
                    (before, now) if before != now => Some(Fate::Changed),
                    _ => None,
                };
                prop_assert_eq!(told.get(path).copied(), expected);
            }
            prop_assert!(differences(&seen(&now), &seen(&now)).is_empty());
        }
    }
}
