//! What is done with a login: more rights, programs that run beside it, and being stopped in the middle.

#[cfg(target_os = "linux")]
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::eventually_blocking;
use testkit::logins::Peer;

use super::World;
use crate::switchboard;

#[test]
fn a_tool_that_needs_more_rights_says_how_to_get_them() {
    let mut world = World::new(Peer::oidc(&[]));
    world.login(&[]);
    let hint = "hint: log in for the rights it needs: switchboard reauth tracker --scope 'mcp:write'";
    let why = "HTTP 403: the login is there, but lacks the rights for this";
    world.run(&["call", "tracker/write"]).failed(3, &[why, hint]);
    world.call();
    let ran = world.login(&["--scope", "mcp:write"]);
    assert!(ran.err.contains("It asks for these rights: mcp:write\n"), "{}", ran.err);
    let ran = world.run(&["call", "tracker/write"]);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(told["scopes"], json!(["mcp:read", "mcp:write"]));
    world.call();
    world.ends_clean();
}

#[test]
fn programs_do_not_get_a_login_that_is_not_theirs() {
    let mut world = World::new(Peer::oidc(&[]));
    world.login(&[]);
    let script = "env > [PROJECT]/environment; cat /proc/self/cmdline > [PROJECT]/line; exit 1";
    let script = script.replace("[PROJECT]", world.sandbox.project().to_str().unwrap());
    let file = json!({"mcpServers": {
        "tracker": {"url": world.peer.url(), "approval": "never"},
        "program": {"command": "sh", "args": ["-c", script]},
    }});
    world.sandbox.write("~/.switchboard/mcp.json", file.to_string());
    world.run(&["tools", "-v"]);
    world.call();
    let environment = world.sandbox.read("environment");
    assert!(environment.contains("PATH=") && !environment.contains("OAUTH_ACCESS_TOKEN"), "{environment}");
    world.ends_clean();
}

/// Stopped between the login server's answer and ours.
#[test]
fn stopped_in_a_renewal() {
    let mut world = World::new(Peer::oidc(&[("TOKEN_DELAY_MS", "1000")]));
    world.login(&[]);
    world.call();
    for (n_refreshes, line) in [(1, &["call", "tracker/echo"][..]), (2, &["test", "tracker"])] {
        world.peer.expire();
        let mut command = switchboard(&world.sandbox);
        let child = command.args(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        renewing(&world, n_refreshes);
        stop(&child);
        let output = child.wait_with_output().unwrap();
        world.ran(output.status.code(), output.stdout, output.stderr).failed(130, &["stopped"]);
        world.call();
        assert_eq!((world.peer.count("refreshes"), world.peer.count("refused")), (n_refreshes, 0));
    }
    world.ends_clean();
}

/// It crashes in the middle of a renewal, where somebody wants images of crashes.
#[cfg(target_os = "linux")]
#[test]
fn a_crash_leaves_no_secret_behind() {
    let mut world = World::new(Peer::oidc(&[("TOKEN_DELAY_MS", "1000")]));
    world.login(&[]);
    world.peer.expire();
    let plain = switchboard(&world.sandbox);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -c unlimited; exec \"$0\" \"$@\""]).arg(plain.get_program());
    command.args(["call", "tracker/echo"]).current_dir(world.sandbox.project()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    renewing(&world, 1);
    kill_process(Pid::from_child(&child), Signal::ABORT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(Signal::ABORT.as_raw()), "{output:?}");
    assert!(!output.status.core_dumped(), "its memory was written to disk");
    world.ran(None, output.stdout, output.stderr);
    world.ends_clean();
}

/// Waits until the login server is asked for the nth time.
#[track_caller]
fn renewing(world: &World, n_refreshes: u64) {
    eventually_blocking("it is renewed", || world.peer.count("refreshes"), |n| *n >= n_refreshes);
}

fn stop(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}
