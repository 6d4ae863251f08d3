//! Logins sealed with a key of a real keyring, and what becomes of them without it.

use std::fs;
use std::os::unix::net::UnixListener;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::keyring::Keyring;
use testkit::logins::{Canaries, Peer};

use super::World;
use crate::switchboard;

const BUS: &str = "DBUS_SESSION_BUS_ADDRESS";

impl World {
    /// A world with a keyring that is open.
    fn with_keyring(vars: &[(&str, &str)]) -> (Self, Keyring) {
        let mut world = Self::new(Peer::oidc(vars));
        let keyring = Keyring::start(&world.sandbox.home());
        world.set(BUS, &keyring.address);
        (world, keyring)
    }

    /// How the login is kept: its version, and where `why` says it is. A sealed one has no secret in it.
    fn how_kept(&mut self) -> (Value, Value) {
        let kept = self.kept().unwrap();
        let mut canaries = Canaries::default();
        self.peer.seen().iter().for_each(|secret| canaries.add(secret));
        let found = canaries.find(kept.to_string().as_bytes());
        assert_eq!(found.is_none(), kept["version"] == 2, "{found:?} in {kept}");
        let told: Value = serde_json::from_str(&self.run(&["why", "tracker", "--json"]).out).unwrap();
        (kept["version"].clone(), told["login"]["keptIn"].clone())
    }
}

#[test]
fn a_login_is_sealed_used_renewed_and_forgotten() {
    let (mut world, _keyring) = World::with_keyring(&[]);
    let ran = world.login(&[]);
    assert!(ran.err.contains("sealed with a key of the keyring"), "{}", ran.err);
    assert_eq!(world.how_kept(), (json!(2), json!("keyring")));
    world.call();
    for n_refreshes in 1..=2 {
        world.peer.expire();
        // Many at once, each a process of its own.
        let line = ["call", "tracker/echo"];
        let spawn = || {
            let mut command = switchboard(&world.sandbox);
            command.args(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let children: Vec<_> = (0..6).map(|_| spawn()).collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            let ran = world.ran(output.status.code(), output.stdout, output.stderr);
            assert_eq!(ran.code, Some(0), "{}", ran.err);
        }
        assert_eq!((world.peer.count("refreshes"), world.peer.count("refused")), (n_refreshes, 0));
    }
    assert_eq!(world.how_kept(), (json!(2), json!("keyring")));
    for line in [&["status"][..], &["why", "tracker"]] {
        let ran = world.run(line);
        assert!(ran.out.contains("sealed with a key of the keyring"), "{line:?}: {}", ran.out);
    }
    assert_eq!(world.run(&["doctor"]).code, Some(0));
    assert_eq!(world.run(&["unauth", "tracker"]).code, Some(0));
    assert!(world.kept().is_none() && world.peer.count("revocations") >= 1);
    world.ends_clean();
}

#[test]
fn without_the_keyring_it_is_told_and_nothing_is_lost() {
    let (mut world, keyring) = World::with_keyring(&[]);
    world.login(&[]);
    let before = world.kept();
    let bus = keyring.address.clone();
    world.set(BUS, "");
    world.run(&["call", "tracker/echo"]).failed(
        3,
        &[
            "is sealed with a key of the keyring, which is not to be had: there is no keyring here",
            "log in again",
        ],
    );
    let ran = world.run(&["doctor"]);
    assert!(ran.out.contains("there is no keyring here"), "{}", ran.out);
    // What can be seen without it still is.
    let ran = world.run(&["status"]);
    assert!(ran.out.contains("sealed with a key of the keyring"), "{}", ran.out);
    world.set(BUS, &bus);
    world.call();
    keyring.lock();
    world.run(&["call", "tracker/echo"]).failed(3, &["the keyring is locked", "unlock the keyring"]);
    assert_eq!(world.kept(), before);

    // Whoever logs in again is in, with what there is.
    world.login(&[]);
    assert_eq!(world.how_kept(), (json!(1), json!("file")));
    world.call();
    let files = fs::read_dir(world.sandbox.path("~/.switchboard/credentials")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.ends_with(".json.broken-1")).count(), 1);
    world.ends_clean();
}

#[test]
fn a_login_of_before_is_sealed_at_its_next_renewal() {
    let mut world = World::new(Peer::oidc(&[]));
    world.login(&[]);
    assert_eq!(world.how_kept(), (json!(1), json!("file")));
    let keyring = Keyring::start(&world.sandbox.home());
    world.set(BUS, &keyring.address);
    world.call();
    assert_eq!(world.how_kept(), (json!(1), json!("file")));
    world.peer.expire();
    world.call();
    assert_eq!(world.how_kept(), (json!(2), json!("keyring")));
    world.call();
    assert_eq!((world.peer.count("refreshes"), world.peer.count("logins")), (1, 1));
    world.ends_clean();
}

#[test]
fn the_keyring_can_be_switched_off() {
    let (mut world, _keyring) = World::with_keyring(&[]);
    let settings = r#"{"defaults": false, "login": {"keyring": "off"}}"#;
    world.sandbox.write("~/.switchboard/settings.json", settings);
    world.login(&[]);
    assert_eq!(world.how_kept(), (json!(1), json!("file")));
    world.call();
    world.ends_clean();
}

#[test]
fn a_bus_without_a_keyring_is_none() {
    let mut world = World::new(Peer::oidc(&[]));
    let bus = Keyring::bus(&world.sandbox.home());
    world.set(BUS, &bus.address);
    let ran = world.login(&[]);
    assert!(ran.err.contains("kept in a private file"), "{}", ran.err);
    assert_eq!(world.how_kept(), (json!(1), json!("file")));
    world.call();
    world.ends_clean();
}

#[test]
fn nobody_waits_for_a_keyring_that_says_nothing() {
    let mut world = World::new(Peer::oidc(&[]));
    let socket = world.sandbox.home().join("bus");
    let _listener = UnixListener::bind(&socket).unwrap();
    world.set(BUS, &format!("unix:path={}", socket.display()));
    world.login(&[]);
    assert_eq!(world.how_kept(), (json!(1), json!("file")));
    world.call();
    world.ends_clean();
}
