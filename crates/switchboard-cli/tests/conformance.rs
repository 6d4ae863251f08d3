//! The official conformance suite against the program: each scenario for clients in each revision that has
//! it. In: the suite, which `peers/install` provides. Out: one test for each pair.
//!
//! Stricter than the suite itself. A client that does nothing passes some scenarios, so each one has a number
//! of checks that must succeed. A warning counts as a failure, and so does an exit code the suite would
//! forgive; where a scenario is about refusing to go on, the program must say so with its exit code. The program is
//! not told which revision to speak: it has to find out. Extensions belong to no revision, so they run in two.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use serde_json::Value;

macro_rules! scenarios {
    ($($test:ident: $scenario:literal in $revision:literal, $successes:literal checks $(, $end:ident)?;)*) => {
        /// Every scenario with its revision.
        const TESTED: &[(&str, &str)] = &[$(($scenario, $revision)),*];

        $(
            #[test]
            fn $test() {
                let end = *[End::Done, $(End::$end)?].last().unwrap();
                Run::new($scenario, $revision).passes($successes, end);
            }
        )*
    };
}

scenarios! {
    initialize_2025_06_18: "initialize" in "2025-06-18", 1 checks;
    initialize_2025_11_25: "initialize" in "2025-11-25", 1 checks;
    tools_call_2025_06_18: "tools_call" in "2025-06-18", 2 checks;
    tools_call_2025_11_25: "tools_call" in "2025-11-25", 2 checks;
    tools_call_2026_07_28: "tools_call" in "2026-07-28", 2 checks;
    elicitation_defaults_2025_11_25: "elicitation-sep1034-client-defaults" in "2025-11-25", 5 checks;
    sse_retry_2025_11_25: "sse-retry" in "2025-11-25", 3 checks;
    request_metadata_2026_07_28: "request-metadata" in "2026-07-28", 8 checks;
    request_state_2026_07_28: "sep-2322-client-request-state" in "2026-07-28", 5 checks;
    standard_headers_2026_07_28: "http-standard-headers" in "2026-07-28", 9 checks;
    custom_headers_2026_07_28: "http-custom-headers" in "2026-07-28", 18 checks;
    invalid_tool_headers_2026_07_28: "http-invalid-tool-headers" in "2026-07-28", 12 checks;
    schema_references_2026_07_28: "json-schema-ref-no-deref" in "2026-07-28", 1 checks;
    schema_keywords_2025_11_25: "json-schema-2020-12-preservation" in "2025-11-25", 9 checks;
    schema_keywords_2026_07_28: "json-schema-2020-12-preservation" in "2026-07-28", 9 checks;
    login_metadata_default_2025_11_25: "auth/metadata-default" in "2025-11-25", 19 checks;
    login_metadata_default_2026_07_28: "auth/metadata-default" in "2026-07-28", 18 checks;
    login_metadata_var1_2025_11_25: "auth/metadata-var1" in "2025-11-25", 19 checks;
    login_metadata_var1_2026_07_28: "auth/metadata-var1" in "2026-07-28", 18 checks;
    login_metadata_var2_2025_11_25: "auth/metadata-var2" in "2025-11-25", 19 checks;
    login_metadata_var2_2026_07_28: "auth/metadata-var2" in "2026-07-28", 18 checks;
    login_metadata_var3_2025_11_25: "auth/metadata-var3" in "2025-11-25", 19 checks;
    login_metadata_var3_2026_07_28: "auth/metadata-var3" in "2026-07-28", 18 checks;
    login_basic_cimd_2025_11_25: "auth/basic-cimd" in "2025-11-25", 14 checks;
    login_basic_cimd_2026_07_28: "auth/basic-cimd" in "2026-07-28", 12 checks;
    login_scope_from_www_authenticate_2025_11_25: "auth/scope-from-www-authenticate" in "2025-11-25", 15 checks;
    login_scope_from_www_authenticate_2026_07_28: "auth/scope-from-www-authenticate" in "2026-07-28", 14 checks;
    login_scope_from_scopes_supported_2025_11_25: "auth/scope-from-scopes-supported" in "2025-11-25", 15 checks;
    login_scope_from_scopes_supported_2026_07_28: "auth/scope-from-scopes-supported" in "2026-07-28", 14 checks;
    login_scope_omitted_when_undefined_2025_11_25: "auth/scope-omitted-when-undefined" in "2025-11-25", 15 checks;
    login_scope_omitted_when_undefined_2026_07_28: "auth/scope-omitted-when-undefined" in "2026-07-28", 14 checks;
    login_scope_step_up_2025_11_25: "auth/scope-step-up" in "2025-11-25", 23 checks;
    login_scope_step_up_2026_07_28: "auth/scope-step-up" in "2026-07-28", 25 checks;
    login_pre_registration_2025_11_25: "auth/pre-registration" in "2025-11-25", 14 checks;
    login_pre_registration_2026_07_28: "auth/pre-registration" in "2026-07-28", 12 checks;
    login_scope_retry_limit_2025_11_25: "auth/scope-retry-limit" in "2025-11-25", 12 checks, Refused;
    login_scope_retry_limit_2026_07_28: "auth/scope-retry-limit" in "2026-07-28", 13 checks, Refused;
    login_token_endpoint_auth_basic_2025_06_18: "auth/token-endpoint-auth-basic" in "2025-06-18", 20 checks;
    login_token_endpoint_auth_basic_2025_11_25: "auth/token-endpoint-auth-basic" in "2025-11-25", 20 checks;
    login_token_endpoint_auth_basic_2026_07_28: "auth/token-endpoint-auth-basic" in "2026-07-28", 19 checks;
    login_token_endpoint_auth_post_2025_06_18: "auth/token-endpoint-auth-post" in "2025-06-18", 20 checks;
    login_token_endpoint_auth_post_2025_11_25: "auth/token-endpoint-auth-post" in "2025-11-25", 20 checks;
    login_token_endpoint_auth_post_2026_07_28: "auth/token-endpoint-auth-post" in "2026-07-28", 19 checks;
    login_token_endpoint_auth_none_2025_06_18: "auth/token-endpoint-auth-none" in "2025-06-18", 20 checks;
    login_token_endpoint_auth_none_2025_11_25: "auth/token-endpoint-auth-none" in "2025-11-25", 20 checks;
    login_token_endpoint_auth_none_2026_07_28: "auth/token-endpoint-auth-none" in "2026-07-28", 19 checks;
    login_resource_mismatch_2026_07_28: "auth/resource-mismatch" in "2026-07-28", 2 checks, Refused;
    login_offline_access_scope_2026_07_28: "auth/offline-access-scope" in "2026-07-28", 12 checks;
    login_offline_access_not_supported_2026_07_28: "auth/offline-access-not-supported" in "2026-07-28", 14 checks;
    login_authorization_server_migration_2026_07_28: "auth/authorization-server-migration" in "2026-07-28", 27 checks;
    login_iss_supported_2026_07_28: "auth/iss-supported" in "2026-07-28", 14 checks;
    login_iss_not_advertised_2026_07_28: "auth/iss-not-advertised" in "2026-07-28", 14 checks;
    login_iss_supported_missing_2026_07_28: "auth/iss-supported-missing" in "2026-07-28", 8 checks, Refused;
    login_iss_wrong_issuer_2026_07_28: "auth/iss-wrong-issuer" in "2026-07-28", 8 checks, Refused;
    login_iss_unexpected_2026_07_28: "auth/iss-unexpected" in "2026-07-28", 8 checks, Refused;
    login_iss_normalized_2026_07_28: "auth/iss-normalized" in "2026-07-28", 8 checks, Refused;
    login_metadata_issuer_mismatch_2026_07_28: "auth/metadata-issuer-mismatch" in "2026-07-28", 3 checks, Refused;
    login_2025_03_26_oauth_metadata_backcompat_2025_03_26: "auth/2025-03-26-oauth-metadata-backcompat" in "2025-03-26", 13 checks;
    login_2025_03_26_oauth_endpoint_fallback_2025_03_26: "auth/2025-03-26-oauth-endpoint-fallback" in "2025-03-26", 8 checks;
    login_client_credentials_basic_2025_11_25: "auth/client-credentials-basic" in "2025-11-25", 9 checks;
    login_client_credentials_basic_2026_07_28: "auth/client-credentials-basic" in "2026-07-28", 7 checks;
    login_client_credentials_jwt_2025_11_25: "auth/client-credentials-jwt" in "2025-11-25", 9 checks;
    login_client_credentials_jwt_2026_07_28: "auth/client-credentials-jwt" in "2026-07-28", 7 checks;
    login_enterprise_managed_authorization_2025_11_25: "auth/enterprise-managed-authorization" in "2025-11-25", 10 checks;
    login_enterprise_managed_authorization_2026_07_28: "auth/enterprise-managed-authorization" in "2026-07-28", 8 checks;
    login_wif_jwt_bearer_2025_11_25: "auth/wif-jwt-bearer" in "2025-11-25", 9 checks;
    login_wif_jwt_bearer_2026_07_28: "auth/wif-jwt-bearer" in "2026-07-28", 7 checks;
    login_dpop_2025_11_25: "auth/dpop" in "2025-11-25", 12 checks;
    login_dpop_2026_07_28: "auth/dpop" in "2026-07-28", 13 checks;
    login_dpop_nonce_2025_11_25: "auth/dpop-nonce" in "2025-11-25", 14 checks;
    login_dpop_nonce_2026_07_28: "auth/dpop-nonce" in "2026-07-28", 15 checks;
}

/// The revisions that extensions run in.
const EXTENSIONS: &str = "2025-11-25,2026-07-28";

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Everything was done.
    Done,
    /// It had to refuse, and says so.
    Refused,
}

/// A newer suite with a new scenario fails here until the scenario is in the table.
#[test]
fn the_table_has_every_scenario_of_the_suite() {
    let output = suite().arg("list").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut listed: Vec<(&str, &str)> = text
        .lines()
        .skip_while(|line| !line.starts_with("Client scenarios"))
        .skip(1)
        .map_while(|line| line.trim().strip_prefix("- ")?.strip_suffix(']')?.split_once(" ["))
        // The other extensions are not about what a client like this one does.
        .filter(|(scenario, revisions)| scenario.starts_with("auth/") || *revisions != "extension")
        .map(|(scenario, revisions)| {
            (scenario, if revisions == "extension" { EXTENSIONS } else { revisions })
        })
        .flat_map(|(scenario, revisions)| revisions.split(',').map(move |revision| (scenario, revision)))
        .collect();
    let mut tested = TESTED.to_vec();
    listed.sort_unstable();
    tested.sort_unstable();
    assert_eq!(tested, listed);
}

/// One scenario in one revision, with a directory of its own.
struct Run {
    scenario: &'static str,
    revision: &'static str,
    dir: PathBuf,
}

impl Run {
    fn new(scenario: &'static str, revision: &'static str) -> Self {
        let dir =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("conformance").join(format!("{scenario}-{revision}"));
        if dir.exists() {
            fs::remove_dir_all(&dir).unwrap();
        }
        fs::create_dir_all(dir.join("results")).unwrap();
        Self { scenario, revision, dir }
    }

    fn passes(&self, successes: usize, end: End) {
        let status = self.finish();
        let Some(checks) = self.checks() else { panic!("no checks were made\n{}", self.told()) };
        let with = |status: &'static str| checks.iter().filter(move |check| check["status"] == status);
        let mut faults: Vec<String> = with("FAILURE").chain(with("WARNING")).map(describe).collect();
        let succeeded = with("SUCCESS").count();
        if succeeded < successes {
            faults.push(format!("{succeeded} checks succeeded, {successes} should"));
            faults.extend(with("SKIPPED").map(describe));
        }
        let code = self.read("exit").trim().to_owned();
        let is_right = if end == End::Done { code == "0" } else { code == "1" };
        if !is_right {
            faults.push(format!("the program ended with exit code {code}"));
        }
        if faults.is_empty() && !status.success() {
            faults.push(format!("the suite ended with {status}"));
        }
        assert!(faults.is_empty(), "{}\n{}", faults.join("\n"), self.told());
    }

    /// Runs the suite. It ends by itself: after 30 seconds it gives up.
    fn finish(&self) -> ExitStatus {
        let log = File::create(self.dir.join("suite")).unwrap();
        suite()
            .args(["client", "--force", "--scenario", self.scenario, "--spec-version", self.revision])
            .args(["--command", &self.client()])
            .arg("--output-dir")
            .arg(self.dir.join("results"))
            .env_clear()
            .env("HOME", &self.dir)
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .status()
            .unwrap()
    }

    /// The line the suite gives to a shell, with the address of its server at the end.
    ///
    /// The suite takes death by a signal for success, forgets the output of a program that hangs, and leaves
    /// that program running. So the shell keeps exit code and output, and ends the program when it is ended.
    fn client(&self) -> String {
        let program = quoted(Path::new(env!("CARGO_BIN_EXE_switchboard")));
        let [out, err, exit] = ["stdout", "stderr", "exit"].map(|name| quoted(&self.dir.join(name)));
        format!(
            "client() {{ env -u MCP_CONFORMANCE_PROTOCOL_VERSION {program} conformance \"$@\" \
             >{out} 2>{err} & trap \"kill -9 $!\" TERM; wait $!; code=$?; echo $code >{exit}; \
             return $code; }}; client"
        )
    }

    fn checks(&self) -> Option<Vec<Value>> {
        // A scenario with a slash in its name has a directory in a directory.
        let mut dir = self.dir.join("results");
        while !dir.join("checks.json").exists() {
            dir = fs::read_dir(dir).unwrap().next()?.unwrap().path();
        }
        let text = fs::read_to_string(dir.join("checks.json")).unwrap();
        Some(serde_json::from_str(&text).unwrap())
    }

    fn told(&self) -> String {
        let [out, err, suite] = ["stdout", "stderr", "suite"].map(|name| self.read(name));
        format!("--- stdout\n{out}\n--- stderr\n{err}\n--- suite\n{suite}")
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.dir.join(name)).unwrap_or_else(|_| "(none)".to_owned())
    }
}

fn describe(check: &Value) -> String {
    let text = |field: &str| check[field].as_str().unwrap_or_default().to_owned();
    format!(
        "{} {} {}: {}\n  {}\n  {}",
        text("status"),
        text("id"),
        text("name"),
        text("description"),
        text("errorMessage"),
        check["details"]
    )
}

/// The suite, installed on first use.
fn suite() -> Command {
    let peers = testkit::peers();
    let mut command = Command::new(peers.join("node"));
    command.arg(peers.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"));
    command
}

/// One word for a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_str().unwrap().replace('\'', r"'\''"))
}
