//! One command, each of its calls, each fault; and what must hold afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use testkit::Sandbox;
use testkit::faults::{self, Call, Fault, Kind, Run};
use testkit::tree::{Node, Tree};

/// A command that writes.
pub(crate) struct Trial<'a> {
    pub(crate) name: &'static str,
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) line: &'a [&'a str],
    /// What to type when it went wrong: it leads to where the command would have led.
    pub(crate) again: &'a [&'a str],
    /// What can be made again, by the start of its path below the root: the command works without it.
    pub(crate) hints: &'a [&'a str],
    /// What must never be seen.
    pub(crate) secrets: &'a [&'a str],
    /// A file without what differs from run to run.
    pub(crate) normal: fn(&Path, Vec<u8>) -> Vec<u8>,
    /// What holds after each fault, beside the promise; what is wrong otherwise.
    pub(crate) holds: fn(&Tree) -> Result<(), String>,
    /// Whether what is printed is as good as what is printed when nothing fails, if it says that it worked.
    pub(crate) is_good: fn(&str, &str) -> bool,
}

/// A file as it is.
pub(crate) fn as_it_is(_path: &Path, bytes: Vec<u8>) -> Vec<u8> {
    bytes
}

/// A call, and what happened there.
struct Point<'a> {
    call: &'a Call,
    fault: Fault,
}

/// What it is measured by: all as it was, the same without what differs, as it is when nothing fails, and that run.
struct Healthy {
    start: Tree,
    before: Tree,
    after: Tree,
    run: Run,
}

/// How often a call is waited for.
const TIMES: usize = 3;

enum Tried {
    Hit,
    /// The call was not made this time.
    Missed,
}

impl Trial<'_> {
    /// Tries it all.
    pub(crate) fn try_all(&self) {
        let root = self.sandbox.root();
        let start = Tree::of(&root);
        let run = self.traced(None);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let (before, after) = (start.map(self.normal), Tree::of(&root).map(self.normal));
        let healthy = Healthy { start, before, after, run };
        assert!(!healthy.before.differences(&healthy.after).is_empty(), "it writes nothing");
        let calls = points(&self.made_every_time(&healthy), &healthy.start);
        let mut tally: BTreeMap<Fault, usize> = BTreeMap::new();
        let (mut wrong, mut missed) = (Vec::new(), Vec::new());
        for call in &calls {
            for fault in Fault::at(call.kind) {
                let Call { name, path, nth, .. } = call;
                let place = format!("{} at {name} {path} ({nth})", fault.word());
                match self.try_one(&Point { call, fault: *fault }, &healthy) {
                    Ok(Tried::Hit) => *tally.entry(*fault).or_default() += 1,
                    Ok(Tried::Missed) => missed.push(place),
                    Err(what) => wrong.push(format!("{place}: {what}")),
                }
            }
        }
        let row: Vec<String> =
            tally.iter().map(|(fault, count)| format!("{} {count}", fault.word())).collect();
        println!("{}: {} calls; {}", self.name, calls.len(), row.join(", "));
        assert!(missed.len() * 10 <= calls.len(), "calls that were not made again: {}", missed.join(", "));
        assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
    }

    /// What a slow server, or a slow machine, makes it write once more is not made again when it is waited for.
    fn made_every_time(&self, healthy: &Healthy) -> Vec<Call> {
        let root = self.sandbox.root();
        let mut calls = healthy.run.calls.clone();
        for _ in 1..TIMES {
            healthy.start.put(&root);
            let again = self.traced(None);
            calls.retain(|call| again.calls.contains(call));
        }
        calls
    }

    fn traced(&self, fault: Option<(&Call, Fault)>) -> Run {
        let mut command = faults::command(self.sandbox, Path::new(env!("CARGO_BIN_EXE_switchboard")));
        command.args(self.line);
        faults::run(command, &self.sandbox.root(), fault)
    }

    /// Threads do things in an order of their own, so a call that was not made this time is waited for a few times more.
    fn try_one(&self, point: &Point<'_>, healthy: &Healthy) -> Result<Tried, String> {
        let root = self.sandbox.root();
        let runs = (0..TIMES).map(|_| {
            healthy.start.put(&root);
            self.traced(Some((point.call, point.fault)))
        });
        let Some(run) = runs.into_iter().find(|run| run.is_hit) else { return Ok(Tried::Missed) };
        let said = format!("{}{}", run.stdout, run.stderr);
        if let Some(secret) = self.secrets.iter().find(|secret| said.contains(**secret)) {
            return Err(format!("tells {secret}: {said}"));
        }
        let raw = Tree::of(&root);
        let found = raw.map(self.normal);
        self.check_files(point, healthy, &found)?;
        (self.holds)(&found)?;
        self.check_words(point, &run, healthy, &found)?;
        if raw == healthy.start || found == healthy.after {
            // From here the next run is the healthy one, or has nothing to do.
            return Ok(Tried::Hit);
        }
        // What was cut short keeps nobody out, and the next run leaves all as if nothing had happened.
        let again =
            self.sandbox.command(env!("CARGO_BIN_EXE_switchboard")).args(self.again).output().unwrap();
        let found = Tree::of(&root).map(self.normal);
        let is_harmless = |path: &PathBuf| is_lock(path, &found) || self.is_hint(path);
        let left: Vec<PathBuf> =
            found.differences(&healthy.after).into_iter().filter(|path| !is_harmless(path)).collect();
        if !left.is_empty() {
            let said = String::from_utf8_lossy(&again.stderr).into_owned();
            return Err(format!("the next run does not mend {left:?}: {said}"));
        }
        Ok(Tried::Hit)
    }

    /// Whoever is told that it worked has all of it; whoever is told that it did not is told what, where, and what to do.
    fn check_words(
        &self,
        point: &Point<'_>,
        run: &Run,
        healthy: &Healthy,
        found: &Tree,
    ) -> Result<(), String> {
        let (before, after) = (&healthy.before, &healthy.after);
        if point.fault.kills() {
            return run.code.map_or(Ok(()), |code| Err(format!("was killed and ended with {code}")));
        }
        let changed: Vec<PathBuf> =
            before.differences(after).into_iter().filter(|path| !self.is_hint(path)).collect();
        let missing: Vec<&PathBuf> =
            changed.iter().filter(|path| found.get(path) != after.get(path)).collect();
        let stderr = &run.stderr;
        if stderr.contains("panicked") {
            return Err(format!("panics: {stderr}"));
        }
        if run.code == Some(0) {
            if !(self.is_good)(&healthy.run.stdout, &run.stdout) {
                return Err(format!("prints something else: {}", run.stdout));
            }
            return if missing.is_empty() {
                Ok(())
            } else {
                Err(format!("says nothing of {missing:?}: {stderr}"))
            };
        }
        let names = |text: &str, path: &Path| {
            text.contains(&*self.sandbox.root().join(path).to_string_lossy())
                || path.strip_prefix("home").is_ok_and(|path| text.contains(&format!("~/{}", path.display())))
        };
        let is_named =
            |path: &PathBuf| names(stderr, path) || path.parent().is_some_and(|dir| names(stderr, dir));
        let mut links = before.iter().filter(|(_, node)| matches!(node, Node::Link(_)));
        if !changed.iter().any(is_named) && !links.any(|(path, _)| names(stderr, path)) {
            return Err(format!("fails with {:?} and names no file: {stderr}", run.code));
        }
        if !stderr.contains("hint:") {
            return Err(format!("says not what to do: {stderr}"));
        }
        for line in stderr.lines().filter(|line| line.contains("nothing was changed")) {
            let is_lie = |path: &&PathBuf| {
                matches!(after.get(path), Some(Node::File(..)))
                    && names(line, path)
                    && found.get(path) != before.get(path)
            };
            if let Some(path) = changed.iter().find(is_lie) {
                return Err(format!("{} was changed: {stderr}", path.display()));
            }
        }
        Ok(())
    }

    /// Every file is the old or the new one; what is beside them is ours, empty or as private as the file.
    fn check_files(
        &self,
        point: &Point<'_>,
        Healthy { before, after, .. }: &Healthy,
        found: &Tree,
    ) -> Result<(), String> {
        // What could not be removed stays, and so does what nobody was left to remove.
        let may_stay = point.fault.kills()
            || point.fault == Fault::ReadOnly
            || matches!(point.call.kind, Kind::Remove | Kind::Lock);
        let neither = found.differences(before).into_iter().filter(|path| found.get(path) != after.get(path));
        for path in neither {
            let is_ours = before.get(&path).is_none() && after.get(&path).is_none();
            // That a server did not work is kept, and with a fault it may not have worked.
            if (!is_ours && self.is_hint(&path)) || is_below_faults(&path) {
                continue;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match found.get(&path) {
                Some(Node::File(..)) if is_ours && may_stay && is_lock(&path, found) => {}
                Some(Node::File(mode, _)) if is_ours && may_stay && name.contains(".switchboard-") => {
                    if mode & 0o077 != 0 && is_private(&path, after) {
                        return Err(format!("{} can be read by others", path.display()));
                    }
                }
                other if is_ours => {
                    let kind = if matches!(other, Some(Node::Dir(_))) { "directory" } else { "file" };
                    return Err(format!("the {kind} {} is left behind", path.display()));
                }
                Some(Node::File(mode, bytes)) => {
                    let text = String::from_utf8_lossy(bytes);
                    return Err(format!(
                        "{} is neither the old nor the new one: {mode:o} {text}",
                        path.display()
                    ));
                }
                other => {
                    return Err(format!("{} is neither the old nor the new one: {other:?}", path.display()));
                }
            }
        }
        Ok(())
    }

    /// Whether something can be made again; a draft of it can as well.
    fn is_hint(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let target = name.split_once(".switchboard-").and_then(|(target, _)| target.strip_prefix('.'));
        let path = target.map_or(path.to_owned(), |target| path.with_file_name(target));
        self.hints.iter().any(|hint| path.starts_with(hint))
    }
}

/// Whether it belongs to what is kept of servers that did not work.
fn is_below_faults(path: &Path) -> bool {
    path.ancestors().any(|above| above.ends_with("cache/faults"))
}

/// An empty lock that nobody holds: whoever writes next takes it away.
fn is_lock(path: &Path, found: &Tree) -> bool {
    let is_named = path.extension().is_some_and(|ending| ending == "lock");
    is_named && matches!(found.get(path), Some(Node::File(_, bytes)) if bytes.is_empty())
}

/// Whether the file that a draft is for is for the user alone.
fn is_private(draft: &Path, after: &Tree) -> bool {
    let name = draft.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let target = name.split(".switchboard-").next().and_then(|name| name.strip_prefix('.'));
    let target = target.map(|name| draft.with_file_name(name));
    !matches!(target.and_then(|target| after.get(&target)), Some(Node::File(mode, _)) if mode & 0o077 != 0)
}

/// The calls that are worth a fault: all that change something, and those that look at what is changed, or at a link.
fn points(calls: &[Call], start: &Tree) -> Vec<Call> {
    let mut near: BTreeSet<String> =
        calls.iter().filter(|call| call.kind.is_change()).map(|call| call.path.clone()).collect();
    let links = start.iter().filter(|(_, node)| matches!(node, Node::Link(_)));
    near.extend(links.map(|(path, _)| path.to_string_lossy().into_owned()));
    let is_near = |call: &&Call| call.kind.is_change() || near.contains(&call.path);
    calls.iter().filter(is_near).cloned().collect()
}
