//! A write that fails half-way leaves the file as it was.

use switchboard::config::write::{Privacy, WriteError, update};
use testkit::Sandbox;

#[test]
fn an_error_in_the_change_changes_nothing() {
    let sandbox = Sandbox::new();
    let path = sandbox.write("file.json", "old");
    let refused = || WriteError::Busy { path: path.clone() };
    assert!(update::<WriteError>(&path, Privacy::Shared, |_| Err(refused())).is_err());
    assert_eq!(sandbox.read("file.json"), "old");
}

#[test]
fn someone_elses_edit_in_between_is_kept() {
    let sandbox = Sandbox::new();
    let path = sandbox.write("file.json", "one");
    let first = std::cell::Cell::new(true);
    update::<WriteError>(&path, Privacy::Shared, |old| {
        let new = format!("{} ours", old.unwrap_or_default());
        // An editor that does not know our lock saves just now.
        if first.replace(false) {
            std::fs::write(&path, "two").unwrap();
        }
        Ok(new)
    })
    .unwrap();
    assert_eq!(sandbox.read("file.json"), "two ours");
}

#[test]
fn a_file_that_never_rests_is_given_up() {
    let sandbox = Sandbox::new();
    let path = sandbox.write("file.json", "0");
    let count = std::cell::Cell::new(0);
    let error = update::<WriteError>(&path, Privacy::Shared, |old| {
        count.set(count.get() + 1);
        std::fs::write(&path, count.get().to_string()).unwrap();
        Ok(format!("{} ours", old.unwrap_or_default()))
    })
    .unwrap_err();
    assert!(matches!(error, WriteError::Busy { .. }), "{error}");
    assert_eq!(sandbox.read("file.json"), count.get().to_string());
}
