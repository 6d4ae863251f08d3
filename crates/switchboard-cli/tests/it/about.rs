//! What the program says of itself: version, manual pages, the report for whoever helps.

use std::path::Path;
use std::process::Command;

use testkit::{Sandbox, workspace};

use crate::{run, switchboard, verbs, world};

#[test]
fn the_version_tells_all_one_needs_for_a_report() {
    let sandbox = Sandbox::new();
    for line in [["--version", "--verbose"], ["--verbose", "--version"], ["-V", "-v"]] {
        let text = run(&sandbox, &line);
        for word in
            ["switchboard 0.", "target ", "features ", "2026-07-28 2025-11-25", "system ", "~/.switchboard"]
        {
            assert!(text.contains(word), "{line:?} without {word}: {text}");
        }
    }
    let output = switchboard(&sandbox).args(["--version", "--verbose", "--json"]).output().unwrap();
    let about: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(about["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        run(&sandbox, &["--version"]).matches('\n').count(),
        run(&sandbox, &["-V"]).matches('\n').count()
    );
}

#[test]
fn every_command_has_a_manual_page() {
    let sandbox = Sandbox::new();
    let page = |line: &[&str]| {
        let output = switchboard(&sandbox).args(line).output().unwrap();
        assert!(output.status.success(), "{line:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(page(&["man"]).contains(".TH switchboard 1"));
    let help = page(&["help"]);
    for verb in verbs(&help) {
        let text = page(&["man", verb]);
        assert!(
            text.contains(&format!("switchboard\\-{verb}")) && text.contains(".SH SYNOPSIS"),
            "{verb}: {text}"
        );
    }
    let refused = run(&sandbox, &["man", "builtin"]);
    assert!(refused.contains("there is no command `builtin`"), "{refused}");
}

#[test]
fn a_report_holds_everything_but_secrets() {
    let sandbox = world();
    sandbox.write(
        "~/.switchboard/mcp.json",
        r#"{"mcpServers": {"db": {"command": "db", "env": {"API_TOKEN": "hunter2"}, "args": ["--api-key", "hunter2"]}}}"#,
    );
    let told = run(&sandbox, &["doctor", "--report"]);
    assert!(told.contains("Wrote") && told.contains("switchboard-report.json"), "{told}");
    let path = sandbox.project().join("switchboard-report.json");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    assert!(!text.contains(sandbox.home().to_str().unwrap()), "{text}");
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    for part in ["about", "servers", "status", "problems", "read", "variables", "files"] {
        assert!(!report[part].is_null(), "{part} is missing: {text}");
    }
    assert!(text.contains("\"db\""));
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o777,
        0o600
    );
    let again = run(&sandbox, &["doctor", "--report"]);
    assert!(again.contains("is there already") && again.contains("--report FILE"), "{again}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

/// Installs the packages as npm would, and starts the program through them.
#[test]
fn it_runs_from_npm() {
    let sandbox = Sandbox::new();
    let (out, at) = (sandbox.project().join("out"), sandbox.project().join("app"));
    std::fs::create_dir_all(&out).unwrap();
    std::fs::create_dir_all(&at).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let done = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let pack = workspace().join("release/npm/pack");
    // As it is published: what debuggers want is most of a build for tests.
    let programs = sandbox.project().join("programs");
    std::fs::create_dir(&programs).unwrap();
    for built in [env!("CARGO_BIN_EXE_switchboard"), env!("CARGO_BIN_EXE_switchboard-guard")] {
        let stripped = programs.join(Path::new(built).file_name().unwrap());
        done(Command::new("strip").arg("-o").arg(stripped).arg(built));
    }
    done(Command::new(&pack).args([version, &target]).args([&programs, &out]));
    done(Command::new(&pack).args([version, "any", "-"]).arg(&out));
    let packages: Vec<_> = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(packages.len(), 2, "{packages:?}");
    std::fs::write(at.join("package.json"), "{}").unwrap();
    let npm = ["install", "--offline", "--no-audit", "--no-fund", "--silent"];
    done(Command::new("npm").args(npm).args(&packages).current_dir(&at));
    let started = at.join("node_modules/.bin/switchboard");
    assert_eq!(done(Command::new(&started).arg("--version")), format!("switchboard {version}\n"));
    let guard = at.join(format!("node_modules/@switchboard-mcp/linux-{}/bin/switchboard-guard", node_name()));
    assert!(guard.is_file(), "{guard:?}");
    let code = Command::new(&started).args(["call", "nothing"]).env("HOME", sandbox.home()).output().unwrap();
    assert_eq!(code.status.code(), Some(2), "{code:?}");
    let refused =
        Command::new(&pack).args([version, "sparc-sun-solaris"]).args([&programs, &out]).output().unwrap();
    assert!(
        !refused.status.success()
            && String::from_utf8_lossy(&refused.stderr).contains("no name for the target")
    );
}

/// How Node calls this kind of processor.
fn node_name() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" }
}
