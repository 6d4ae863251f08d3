//! The store against people, other processes, full disks and its own death.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::kept::{Hidden, Login, example};
use super::*;
use crate::config::settings;
use crate::env::{Os, SWITCHBOARD_HOME};
use crate::problem::Explain as _;

const LONG: Duration = Duration::from_mins(1);

pub(super) fn store() -> (TempDir, Store) {
    let home = tempfile::tempdir().unwrap();
    let store = at(home.path());
    (home, store)
}

fn at(home: &Path) -> Store {
    let env = Env::new(Os::current(), home, home).with_var(SWITCHBOARD_HOME, &home.to_string_lossy());
    Store::of(&env, Keyring::of(&env, settings::Keyring::Auto))
}

/// The login that counts.
fn login_of(kept: &mut Kept) -> &mut Login {
    let issuer = kept.current.clone().unwrap();
    kept.logins.get_mut(&issuer).unwrap()
}

/// A credential whose parts tell whether they were written together.
pub(super) fn numbered(generation: u64) -> Kept {
    let mut kept = example::kept();
    let login = login_of(&mut kept);
    login.generation = generation;
    login.access = Some(Hidden::new(generation.to_string().repeat(2000)));
    kept
}

/// The number of a credential that is whole.
fn number(kept: &Kept) -> u64 {
    let generation = kept.login().unwrap().generation;
    assert_eq!(*kept, numbered(generation), "torn");
    generation
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().mode() & 0o7777
}

pub(super) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn names(store: &Store) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(&store.dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.contains(".lock"))
        .collect();
    names.sort();
    names
}

#[test]
fn what_is_written_is_read_and_removed_again() {
    let (_home, store) = store();
    let kept = example::kept();
    assert_eq!(store.read(&kept.id).unwrap(), None);
    assert!(!store.remove(&kept.id).unwrap());
    assert!(!store.dir.exists(), "asking makes no directory");
    store.write(&kept).unwrap();
    assert_eq!(store.read(&kept.id).unwrap(), Some(kept.clone()));
    assert_eq!(names(&store), [format!("{}.json", kept.id.key())]);
    assert_eq!(store.read(&CredentialId::named("other")).unwrap(), None);
    assert!(store.remove(&kept.id).unwrap());
    assert!(!store.remove(&kept.id).unwrap());
    assert_eq!(store.read(&kept.id).unwrap(), None);
}

#[test]
fn only_the_user_can_read_it() {
    let (_home, store) = store();
    let kept = example::kept();
    let lock = store.lock(&kept.id, Duration::ZERO).unwrap();
    store.write(&kept).unwrap();
    assert_eq!(mode(&store.dir), 0o700);
    for entry in fs::read_dir(&store.dir).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    drop(lock);
}

#[test]
fn what_others_can_read_or_own_is_not_used() {
    let (_home, store) = store();
    let kept = example::kept();
    store.write(&kept).unwrap();
    let path = store.path(&kept.id);
    let before = fs::read(&path).unwrap();
    for bits in [0o640, 0o604, 0o620, 0o601, 0o644, 0o666] {
        set_mode(&path, bits);
        let errors = [
            store.read(&kept.id).unwrap_err(),
            store.write(&numbered(9)).unwrap_err(),
            store.remove(&kept.id).unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.code(), "credential-unreadable");
            assert_eq!(error.hint().unwrap(), format!("close it to others: chmod 600 {}", path.display()));
        }
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    set_mode(&path, 0o600);
    for bits in [0o770, 0o720, 0o702] {
        set_mode(&store.dir, bits);
        let error = store.read(&kept.id).unwrap_err();
        assert!(error.hint().unwrap().ends_with(&format!("chmod 700 {}", store.dir.display())));
        assert!(matches!(store.write(&kept), Err(StoreError::DirTooOpen { .. })));
        assert!(matches!(store.lock(&kept.id, Duration::ZERO), Err(StoreError::DirTooOpen { .. })));
        assert!(matches!(store.all()[..], [Listed { found: Found::Unusable(_), .. }]));
    }
    set_mode(&store.dir, 0o700);
    // Only root can give a file away.
    if std::os::unix::fs::chown(&path, Some(12345), None).is_ok() {
        assert!(matches!(store.read(&kept.id), Err(StoreError::Foreign { .. })));
        assert!(matches!(store.write(&kept), Err(StoreError::Foreign { .. })));
        std::os::unix::fs::chown(&path, Some(0), None).unwrap();
        std::os::unix::fs::chown(&store.dir, Some(12345), None).unwrap();
        assert!(matches!(store.read(&kept.id), Err(StoreError::Foreign { .. })));
        assert!(matches!(store.write(&kept), Err(StoreError::Foreign { .. })));
        std::os::unix::fs::chown(&store.dir, Some(0), None).unwrap();
    } else {
        // Whoever is not root finds enough that is root's.
        let foreign = Store { dir: PathBuf::from("/etc"), ..store.clone() };
        assert!(matches!(foreign.read(&kept.id), Err(StoreError::Foreign { .. })));
        assert!(matches!(foreign.write(&kept), Err(StoreError::Foreign { .. })));
        assert!(matches!(file::read(Path::new("/etc/passwd"), 1), Err(StoreError::Foreign { .. })));
    }
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(store.read(&kept.id).unwrap(), Some(kept));
}

#[test]
fn a_link_is_not_followed_and_a_pipe_not_waited_for() {
    let (home, store) = store();
    let kept = example::kept();
    store.write(&kept).unwrap();
    let path = store.path(&kept.id);
    let lock = store.dir.join(format!("{}.lock", kept.id.key()));
    let target = home.path().join("target");
    fs::rename(&path, &target).unwrap();
    let before = fs::read(&target).unwrap();
    let refused = |what: &str| {
        let errors = [
            store.read(&kept.id).unwrap_err(),
            store.write(&kept).unwrap_err(),
            store.remove(&kept.id).unwrap_err(),
            store.lock(&kept.id, Duration::ZERO).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, StoreError::NotOurs { .. }), "{what}: {error}");
        }
    };
    let nowhere = home.path().join("nowhere");
    for leads_to in [&target, &nowhere] {
        symlink(leads_to, &path).unwrap();
        symlink(leads_to, &lock).unwrap();
        refused("link");
        fs::remove_file(&path).unwrap();
        fs::remove_file(&lock).unwrap();
    }
    assert!(!nowhere.exists());
    for path in [&path, &lock] {
        let status = Command::new("mkfifo").arg(path).status().unwrap();
        assert!(status.success());
        set_mode(path, 0o600);
    }
    refused("pipe");
    for path in [&path, &lock] {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
    }
    refused("directory");
    for path in [&path, &lock] {
        fs::remove_dir(path).unwrap();
    }
    // The directory itself.
    let moved = home.path().join("moved");
    fs::rename(&store.dir, &moved).unwrap();
    for leads_to in [&moved, &nowhere] {
        symlink(leads_to, &store.dir).unwrap();
        refused("directory");
        fs::remove_file(&store.dir).unwrap();
    }
    fs::write(&store.dir, "").unwrap();
    refused("directory");
    assert_eq!(fs::read(&target).unwrap(), before);
}

#[test]
fn somebody_who_swaps_the_file_for_a_link_gains_nothing() {
    let (home, store) = store();
    let kept = example::kept();
    store.write(&kept).unwrap();
    let path = store.path(&kept.id);
    let target = home.path().join("target");
    fs::write(&target, "untouched").unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let link = home.path().join("link");
            while !over.load(Ordering::Relaxed) {
                symlink(&target, &link).unwrap();
                fs::rename(&link, &path).unwrap();
                drop(fs::remove_file(&path));
            }
        });
        for generation in 0..200 {
            // It lands in the store, or it is refused.
            match store.write(&numbered(generation)) {
                Ok(()) | Err(StoreError::NotOurs { .. }) => {}
                Err(error) => panic!("{error}"),
            }
            match store.read(&kept.id) {
                Ok(kept) => drop(kept.as_ref().map(number)),
                Err(StoreError::NotOurs { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read_to_string(&target).unwrap(), "untouched");
}

/// Puts any bytes in the place of a credential.
fn plant(store: &Store, id: &CredentialId, bytes: &[u8]) {
    file::make_dir(&store.dir).unwrap();
    let path = store.path(id);
    fs::write(&path, bytes).unwrap();
    set_mode(&path, 0o600);
}

#[test]
fn what_cannot_be_read_is_put_aside_and_told_of_once() {
    let whole = serde_json::to_string(&example::kept()).unwrap();
    let edited = |edit: &dyn Fn(&mut Value)| {
        let mut value: Value = serde_json::from_str(&whole).unwrap();
        edit(&mut value);
        value.to_string().into_bytes()
    };
    let mut cases = vec![
        Vec::new(),
        b"null".to_vec(),
        b"[]".to_vec(),
        b"{}".to_vec(),
        b"\xff\xfe{\0".to_vec(),
        vec![b'['; 100_000],
        vec![b' '; 1024 * 1024 + 1],
        edited(&|value| value["version"] = json!(0)),
        edited(&|value| value["version"] = json!("secret-1")),
        edited(&|value| value["id"] = json!("name:secret-other")),
        edited(&|value| value["logins"] = json!("secret-text")),
        edited(&|value| value["logins"][example::ISSUER]["generation"] = json!("secret-text")),
        edited(&|value| value["logins"][example::ISSUER]["state"] = json!("secret-state")),
    ];
    // Cut short anywhere.
    cases.extend((0..whole.len()).step_by(97).map(|end| whole.as_bytes()[..end].to_vec()));
    let (_home, store) = store();
    let id = example::kept().id;
    for (index, bytes) in cases.iter().enumerate() {
        plant(&store, &id, bytes);
        let listed = store.all();
        assert!(
            listed.iter().any(|listed| matches!(listed.found, Found::Unusable(StoreError::Broken { .. })))
        );
        let error = store.read(&id).unwrap_err();
        assert_eq!(error.code(), "credential-unreadable");
        assert!(!format!("{error} {error:?}").contains("secret-"), "{error}");
        let StoreError::Broken { aside: Some(aside), .. } = error else { panic!("{error}") };
        let name = format!("{}.json.broken-{}", id.key(), index + 1);
        assert_eq!(aside, store.dir.join(name));
        assert_eq!(fs::read(&aside).unwrap(), *bytes);
        assert_eq!(store.read(&id).unwrap(), None);
    }
    let n_aside = store.all().iter().filter(|listed| matches!(listed.found, Found::SetAside)).count();
    assert_eq!(n_aside, cases.len());
    // Nor is it overwritten by whoever did not look first.
    plant(&store, &id, b"precious");
    store.write(&example::kept()).unwrap();
    assert_eq!(store.read(&id).unwrap(), Some(example::kept()));
    let last = store.dir.join(format!("{}.json.broken-{}", id.key(), cases.len() + 1));
    assert_eq!(fs::read_to_string(last).unwrap(), "precious");
    // Forgetting forgets it too, and nothing else.
    let other = store.dir.join(format!("{}.json.backup", id.key()));
    fs::write(&other, "mine").unwrap();
    assert!(store.remove(&id).unwrap());
    assert_eq!(names(&store), [format!("{}.json.backup", id.key())]);
}

#[test]
fn a_file_of_a_newer_version_is_left_alone() {
    let (_home, store) = store();
    let id = example::kept().id;
    let newer = json!({ "version": 3, "id": { "new": id.as_str() } }).to_string();
    plant(&store, &id, newer.as_bytes());
    for error in [
        store.read(&id).unwrap_err(),
        store.write(&example::kept()).unwrap_err(),
        store.remove(&id).unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::Newer { version: 3, .. }), "{error}");
    }
    assert_eq!(fs::read_to_string(store.path(&id)).unwrap(), newer);
    assert_eq!(names(&store).len(), 1);
}

#[test]
fn a_login_that_is_too_large_is_not_written() {
    let (_home, store) = store();
    store.write(&numbered(1)).unwrap();
    let mut kept = numbered(2);
    login_of(&mut kept).refresh = Some(Hidden::new("x".repeat(1024 * 1024)));
    assert_eq!(store.write(&kept).unwrap_err().code(), "file-not-editable");
    assert_eq!(number(&store.read(&kept.id).unwrap().unwrap()), 1);
}

#[test]
fn everything_can_be_listed() {
    let (_home, store) = store();
    assert!(store.all().is_empty());
    let mut kept = example::kept();
    for name in ["a", "b", "c"] {
        kept.id = CredentialId::named(name);
        store.write(&kept).unwrap();
        drop(store.lock(&kept.id, Duration::ZERO).unwrap());
    }
    set_mode(&store.path(&CredentialId::named("b")), 0o644);
    fs::write(store.dir.join("README"), "").unwrap();
    let listed = store.all();
    assert!(listed.is_sorted_by_key(|listed| listed.path.clone()));
    let mut found: Vec<&str> = listed
        .iter()
        .map(|listed| match &listed.found {
            Found::Kept(outline) => outline.kept.id.as_str(),
            Found::Unusable(error) => error.code(),
            Found::SetAside => "aside",
        })
        .collect();
    found.sort_unstable();
    assert_eq!(found, ["credential-unreadable", "name:a", "name:c"]);
}

#[test]
fn readers_never_see_half_of_it() {
    let (_home, store) = store();
    let id = example::kept().id;
    store.write(&numbered(0)).unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|n| {
                let store = &store;
                scope.spawn(move || (0..50).for_each(|m| store.write(&numbered(n * 1000 + m)).unwrap()))
            })
            .collect();
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    number(&store.read(&id).unwrap().unwrap());
                }
            });
        }
        for writer in writers {
            writer.join().unwrap();
        }
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(names(&store).len(), 1, "something stays behind");
}

#[test]
fn a_lock_keeps_others_out_until_it_is_dropped() {
    let (_home, store) = store();
    let id = example::kept().id;
    let held = store.lock(&id, Duration::ZERO).unwrap();
    let error = store.lock(&id, Duration::from_millis(60)).unwrap_err();
    assert_eq!(error.code(), "credential-busy");
    drop(store.lock(&CredentialId::named("other"), Duration::ZERO).unwrap());
    // Reading and writing need no lock, so whoever holds it can do both.
    store.write(&numbered(1)).unwrap();
    plant(&store, &id, b"broken");
    assert!(matches!(store.read(&id), Err(StoreError::Broken { aside: Some(_), .. })));
    let waiting = {
        let (store, id) = (store.clone(), id.clone());
        thread::spawn(move || drop(store.lock(&id, LONG).unwrap()))
    };
    drop(held);
    waiting.join().unwrap();
    assert!(store.dir.join(format!("{}.lock", id.key())).exists(), "the file stays");
}

/// This test again, as a process of its own that plays a part: see `a_process_of_its_own`.
fn process(home: &Path, part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "auth::store::tests::a_process_of_its_own", "--nocapture"])
        .env(SWITCHBOARD_HOME, home)
        .env("STORE_TEST_PART", part)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// The part of another process, when one of the tests below started it.
#[test]
fn a_process_of_its_own() {
    let env = Env::capture().unwrap();
    let Some(part) = env.var("STORE_TEST_PART") else { return };
    let store = Store::of(&env, Keyring::of(&env, settings::Keyring::Auto));
    let id = example::kept().id;
    let words: Vec<&str> = part.split(' ').collect();
    match words[..] {
        // Counts on in what is kept, each time under the lock.
        ["count", times] => {
            for _ in 0..times.parse::<u64>().unwrap() {
                let lock = store.lock(&id, LONG).unwrap();
                let last = store.read(&id).unwrap().as_ref().map_or(0, number);
                store.write(&numbered(last + 1)).unwrap();
                drop(lock);
            }
        }
        ["write", first] => {
            let first: u64 = first.parse().unwrap();
            for generation in first.. {
                store.write(&numbered(generation)).unwrap();
            }
        }
        ["hold"] => {
            let lock = store.lock(&id, LONG).unwrap();
            println!("\nheld");
            // Until we are killed or let go.
            drop(std::io::stdin().lines().next());
            drop(lock);
        }
        // The disk takes no more.
        ["fill"] => {
            store.write(&numbered(1)).unwrap();
            let ballast = store.dir.join("ballast");
            let filled = fs::write(&ballast, vec![0; 1024 * 1024]).unwrap_err();
            assert_eq!(filled.kind(), io::ErrorKind::StorageFull);
            refuses(&store, "disk-full");
            fs::remove_file(ballast).unwrap();
            store.write(&numbered(3)).unwrap();
            assert_eq!(number(&store.read(&id).unwrap().unwrap()), 3);
        }
        ["refuse", code] => refuses(&store, code),
        _ => panic!("{part}"),
    }
    println!("\ndone");
}

/// Writing fails, and nothing is lost.
fn refuses(store: &Store, code: &str) {
    let before = names(store);
    assert_eq!(store.write(&numbered(2)).unwrap_err().code(), code);
    assert_eq!(number(&store.read(&example::kept().id).unwrap().unwrap()), 1);
    assert_eq!(names(store), before, "something stays behind");
}

fn succeeds(child: Child) {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("\ndone"), "{said}");
}

#[test]
fn many_processes_count_without_losing_one() {
    let (home, store) = store();
    store.write(&numbered(0)).unwrap();
    let children: Vec<Child> = (0..4).map(|_| process(home.path(), "count 25").spawn().unwrap()).collect();
    children.into_iter().for_each(succeeds);
    assert_eq!(number(&store.read(&example::kept().id).unwrap().unwrap()), 100);
}

#[test]
fn a_lock_of_another_process_ends_with_it() {
    let (home, store) = store();
    let id = example::kept().id;
    for round in 0..2 {
        let mut child = process(home.path(), "hold").spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line == "held"));
        assert!(matches!(store.lock(&id, Duration::ZERO), Err(StoreError::Busy { .. })));
        if round == 0 {
            drop(child.stdin.take());
        } else {
            child.kill().unwrap();
        }
        drop(store.lock(&id, LONG).unwrap());
        child.wait().unwrap();
    }
}

#[test]
fn a_writer_that_is_killed_leaves_the_old_or_the_new() {
    let (home, store) = store();
    let id = example::kept().id;
    let mut last = 0;
    store.write(&numbered(last)).unwrap();
    for round in 0..30 {
        let mut child = process(home.path(), &format!("write {}", last + 1)).spawn().unwrap();
        // Killed after a few writes, at a point that differs from round to round.
        while number(&store.read(&id).unwrap().unwrap()) < last + 1 + round % 3 {}
        (0..round * 2000).for_each(|n| assert_ne!(std::hint::black_box(n), u64::MAX));
        child.kill().unwrap();
        child.wait().unwrap();
        let now = number(&store.read(&id).unwrap().unwrap());
        assert!(now > last);
        last = now;
    }
    store.write(&numbered(last + 1)).unwrap();
    assert_eq!(names(&store).len(), 1, "something stays behind");
}

#[test]
fn what_a_killed_writer_left_is_cleared_away() {
    let (_home, store) = store();
    let kept = example::kept();
    store.write(&kept).unwrap();
    let key = kept.id.key();
    fs::write(store.dir.join(format!(".{key}.json.switchboard-12-0")), "half").unwrap();
    let others = [format!(".{key}.json.swp"), format!("{key}.json.backup")];
    for name in &others {
        fs::write(store.dir.join(name), "mine").unwrap();
    }
    store.write(&kept).unwrap();
    assert_eq!(names(&store), [others[0].clone(), format!("{key}.json"), others[1].clone()]);
}

#[test]
fn a_write_that_fails_half_way_changes_nothing() {
    let (home, store) = store();
    store.write(&numbered(1)).unwrap();
    // The shell forbids files over 1 KiB, so that the write fails after the file was opened.
    let inner = process(home.path(), "refuse file-not-written");
    let mut outer = Command::new("sh");
    outer.args(["-c", "trap '' XFSZ; ulimit -f 2; exec \"$0\" \"$@\""]).arg(inner.get_program());
    outer.args(inner.get_args()).envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    succeeds(outer.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap());
}

/// Plays a part on a small disk of its own. Nothing happens where nobody may mount one.
#[cfg(target_os = "linux")]
fn on_a_disk(script: &str, part: &str) {
    let (home, store) = store();
    file::make_dir(&store.dir).unwrap();
    let inner = process(home.path(), part);
    let mut outer = Command::new("unshare");
    let script = format!("mount -t tmpfs -o size=64k,mode=700 none \"$1\" || exit 77; shift; {script}");
    outer.args(["-rm", "sh", "-c", &script, "sh"]).arg(&store.dir).arg(inner.get_program());
    outer.args(inner.get_args()).envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = outer.stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => {
            assert!(String::from_utf8_lossy(&output.stdout).contains("\ndone"));
        }
        Ok(output) if output.status.code() == Some(77) => eprintln!("no disk of our own here"),
        Ok(output) if String::from_utf8_lossy(&output.stderr).contains("unshare") => {
            eprintln!("no disk of our own here");
        }
        Ok(output) => panic!("{output:?}"),
        Err(error) => eprintln!("no disk of our own here: {error}"),
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_nothing() {
    on_a_disk("exec \"$@\"", "fill");
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_cannot_be_written_loses_nothing() {
    let script = "STORE_TEST_PART='count 1' \"$@\" || exit 1
        mount -o remount,ro none \"$SWITCHBOARD_HOME/credentials\" || exit 77
        exec \"$@\"";
    on_a_disk(script, "refuse file-read-only");
}
