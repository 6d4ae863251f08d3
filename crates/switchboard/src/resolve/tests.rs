//! One server at a time, from its definition to its launch.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::config::{Endpoint, ServerSpec, Stdio, Transport};
use crate::declared::{Approval, Auth, Conduct, InheritEnv, Remote};
use crate::env::{Env, Os};
use crate::origin::{Origin, Scope};
use crate::problem::{Code, Explain};
use crate::provider::Provider;
use crate::sources::places::Project;
use crate::template::{Syntax, Template};

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A project with one server in it.
struct World {
    home: TempDir,
    env: Env,
    spec: ServerSpec,
    token: Option<String>,
    commands: Commands,
}

impl World {
    fn new(transport: Transport) -> Self {
        let home = TempDir::new().unwrap();
        let env = Env::new(Os::current(), home.path(), home.path()).with_var("PATH", PATH);
        let spec = ServerSpec { transport, conduct: Conduct::default() };
        Self { home, env, spec, token: None, commands: Commands::default() }
    }

    fn stdio(env: &[(&str, &str)]) -> Self {
        let command = Template::plain("sh");
        Self::new(Transport::Stdio(Stdio {
            command,
            args: Vec::new(),
            env: pairs(env, Syntax::Braced),
            env_file: None,
            cwd: None,
            inherit_env: InheritEnv::Safe,
        }))
    }

    fn remote(url: &str, headers: &[(&str, &str)]) -> Self {
        let url = Template::parse(url, Syntax::Braced);
        let headers = pairs(headers, Syntax::Braced);
        Self::new(Transport::Remote(Endpoint { kind: Remote::Http, url, headers }))
    }

    fn var(mut self, name: &str, value: &str) -> Self {
        self.env = self.env.with_var(name, value);
        self
    }

    fn file(self, name: &str, text: &str) -> Self {
        fs::write(self.home.path().join(name), text).unwrap();
        self
    }

    fn edit(mut self, change: impl FnOnce(&mut Stdio)) -> Self {
        if let Transport::Stdio(stdio) = &mut self.spec.transport {
            change(stdio);
        }
        self
    }

    fn path(&self) -> &Path {
        self.home.path()
    }

    async fn launch(&self) -> Result<Launch, Error> {
        let project = Project { dir: self.path().to_owned(), ancestors: vec![self.path().to_owned()] };
        let path = Some(Arc::from(self.path().join("mcp.json")));
        let origin = Origin { provider: Provider::Native, scope: Scope::Project, path, line: Some(3) };
        let subject = Subject {
            name: "box",
            spec: &self.spec,
            origin: &origin,
            project: &project,
            token: self.token.as_deref(),
        };
        launch(&subject, &self.env, &self.commands).await
    }

    /// The launch of a server that can be launched.
    async fn launched(&self) -> Launch {
        self.launch().await.unwrap()
    }
}

fn pairs(pairs: &[(&str, &str)], syntax: Syntax) -> Vec<(String, Template)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), Template::parse(*value, syntax))).collect()
}

fn child(launch: &Launch) -> &Child {
    match &launch.target {
        Target::Child(child) => child,
        Target::Remote(address) => panic!("{address:?}"),
    }
}

fn address(launch: &Launch) -> &Address {
    match &launch.target {
        Target::Remote(address) => address,
        Target::Child(child) => panic!("{child:?}"),
    }
}

fn value<'a>(launch: &'a Launch, name: &str) -> Option<&'a str> {
    let pairs = match &launch.target {
        Target::Child(child) => &child.env,
        Target::Remote(address) => &address.headers,
    };
    pairs.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
}

fn codes(launch: &Launch) -> Vec<Code> {
    launch.problems.iter().map(|problem| problem.code).collect()
}

#[tokio::test]
async fn values_come_from_where_they_say() {
    let check = async |raw: &str, expected: Option<&str>, problems: &[Code]| {
        let world = World::stdio(&[("X", raw)]).var("FULL", "full").var("EMPTY", "").var("LOOP", "${FULL}");
        let launch = world.launched().await;
        assert_eq!(value(&launch, "X"), expected, "{raw}");
        assert_eq!(codes(&launch), problems, "{raw}: {:?}", launch.problems);
        for problem in &launch.problems {
            assert!(problem.message.contains("`env.X`") && problem.hint.is_some(), "{problem:?}");
            assert_eq!(problem.server.as_deref(), Some("box"));
            assert_eq!(problem.origin.as_ref().and_then(|origin| origin.line), Some(3));
        }
    };
    check("literal", Some("literal"), &[]).await;
    check("FULL", Some("full"), &[]).await;
    check("EMPTY", Some("EMPTY"), &[]).await;
    check("full", Some("full"), &[]).await;
    check("LOOP", Some("${FULL}"), &[]).await;
    check("${LOOP}", Some("${FULL}"), &[]).await;
    check("a ${FULL} b", Some("a full b"), &[]).await;
    check("${NONE}", Some("${NONE}"), &[Code::VariableUnset]).await;
    check("${EMPTY:-d}${NONE:-e}", Some("de"), &[]).await;
    check("${EMPTY}", None, &[Code::ValueEmpty]).await;
    check("${NONE:-}", None, &[Code::ValueEmpty]).await;
    check("", None, &[Code::ValueEmpty]).await;
    check("a\0b", None, &[Code::ValueNotAllowed]).await;
}

#[cfg(unix)]
#[tokio::test]
async fn commands_give_values() {
    let check = async |raw: &str, expected: Option<&str>, said: Option<&str>| {
        let world = World::stdio(&[("X", raw)]).var("KEY", "let me in").var("OTHER", "no").file("f", "here");
        let launch = world.launched().await;
        assert_eq!(value(&launch, "X"), expected, "{raw}");
        match said {
            Some(said) => assert!(launch.problems[0].message.contains(said), "{:?}", launch.problems),
            None => assert!(launch.problems.is_empty(), "{:?}", launch.problems),
        }
    };
    check("!cat f", Some("here"), None).await;
    check("! echo ' a  b '", Some("a  b"), None).await;
    check("!echo '${KEY}!cmd'", Some("${KEY}!cmd"), None).await;
    check("!echo \"${KEY}\"", Some("let me in"), None).await;
    check("!echo \"[$OTHER]\"", Some("[]"), None).await;
    check(
        "!exit 3",
        None,
        Some("`env.X` is left out: its command gives no value: it ended with exit code 3"),
    )
    .await;
    check("!true", None, Some("it printed nothing")).await;
    check("!", None, Some("it printed nothing")).await;
    check("!yes", None, Some("it printed more than 65536 bytes")).await;
    check("!printf 'a\\0b'", None, Some("it printed something that is not text")).await;
}

#[cfg(unix)]
#[tokio::test]
async fn commands_run_at_the_same_time() {
    // Each waits for the other, so one after the other would never end.
    let script = |mine: &str, other: &str| {
        format!("!mkfifo {mine} {other} 2>/dev/null; echo {mine} > {mine} & cat {other}; wait")
    };
    let (a, b) = (script("x", "y"), script("y", "x"));
    let launch = World::stdio(&[("A", &a), ("B", &b)]).launched().await;
    assert_eq!((value(&launch, "A"), value(&launch, "B")), (Some("y"), Some("x")), "{:?}", launch.problems);
}

#[cfg(unix)]
#[tokio::test]
async fn other_tools_placeholders_are_filled_in_too() {
    let check = async |raw: &str, syntax: Syntax, becomes: Option<&str>, problems: &[Code]| {
        let world = World::stdio(&[]).var("A", "a").file("key", "k e y\n\n");
        let dir = world.path().to_str().unwrap().to_owned();
        let world = world.edit(|stdio| {
            stdio.env = pairs(&[("X", raw)], syntax);
            stdio.args = vec![Template::parse(raw, syntax)];
        });
        let launch = world.launched().await;
        let expected = becomes.map(|text| text.replace("DIR", &dir));
        assert_eq!(value(&launch, "X").map(str::to_owned), expected, "{raw}");
        let in_args = expected.unwrap_or_else(|| raw.to_owned());
        assert_eq!(child(&launch).args, [in_args], "what cannot be filled in stays as written");
        assert_eq!(codes(&launch), problems, "{raw}");
    };
    check("${workspaceFolder}/x${/}", Syntax::Editor, Some("DIR/x/"), &[]).await;
    check("${userHome}", Syntax::Editor, Some("DIR"), &[]).await;
    check("{file:key}{env:A}", Syntax::Curly, Some("k e ya"), &[]).await;
    check("{file:~/key}", Syntax::Curly, Some("k e y"), &[]).await;
    check("a$(echo b; cat key)", Syntax::Shell, Some("ab\nk e y"), &[]).await;
    check("$NONE-x", Syntax::Bare, Some("$NONE-x"), &[Code::VariableUnset; 2]).await;
    check("{file:gone}", Syntax::Curly, None, &[Code::ValueFileUnreadable; 2]).await;
    check("x$(exit 1)", Syntax::Shell, None, &[Code::ValueCommandFailed; 2]).await;
    check("${input:key}", Syntax::Editor, None, &[Code::PlaceholderUnsupported; 2]).await;
    check("${{ secrets.K }}", Syntax::Secrets, None, &[Code::PlaceholderUnsupported; 2]).await;
}

#[tokio::test]
async fn a_file_has_a_limit() {
    for (size, problems) in [(64 * 1024, 0), (64 * 1024 + 1, 1)] {
        let world = World::stdio(&[]).file("big", &"x".repeat(size));
        let world = world.edit(|stdio| stdio.env = pairs(&[("X", "{file:big}")], Syntax::Curly));
        let launch = world.launched().await;
        assert_eq!(launch.problems.len(), problems);
        assert_eq!(value(&launch, "X").is_some(), problems == 0);
    }
}

#[tokio::test]
async fn a_child_gets_its_own_variables_on_top() {
    let world = World::stdio(&[("A", "entry"), ("TERM", "mine")])
        .var("TERM", "ours")
        .var("GITHUB_TOKEN", "ghp_secret")
        .var("SWITCHBOARD_HOME", "/x")
        .file(".env", "A=file\nB=\"$GITHUB_TOKEN\"\nLANG=file\n")
        .edit(|stdio| stdio.env_file = Some(Template::plain(".env")));
    let expected =
        [("A", "entry"), ("B", "$GITHUB_TOKEN"), ("LANG", "file"), ("PATH", PATH), ("TERM", "mine")];
    let launch = world.launched().await;
    let env: Vec<_> = child(&launch).env.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(env, expected);
    assert!(launch.problems.is_empty());

    let names = ["GITHUB_TOKEN", "SWITCHBOARD_HOME", "GONE"].map(str::to_owned).to_vec();
    let world = world.edit(|stdio| stdio.inherit_env = InheritEnv::Names(names));
    let launch = world.launched().await;
    assert_eq!(value(&launch, "GITHUB_TOKEN"), Some("ghp_secret"));
    assert_eq!(value(&launch, "SWITCHBOARD_HOME"), None);
    assert_eq!(codes(&launch), [Code::BadField, Code::VariableUnset]);
    assert_eq!(launch.secrets.scrub("ghp_secret"), "***");

    let world = world.edit(|stdio| stdio.env = pairs(&[("", "x"), ("A=B", "x")], Syntax::Braced));
    let launch = world.launched().await;
    assert_eq!(codes(&launch)[2..], [Code::ValueNotAllowed; 2]);
}

#[tokio::test]
async fn the_token_of_a_login_counts_most() {
    let mut world = World::stdio(&[("OAUTH_ACCESS_TOKEN", "old")]);
    world.token = Some("new-token".to_owned());
    let launch = world.launched().await;
    assert_eq!(value(&launch, "OAUTH_ACCESS_TOKEN"), Some("new-token"));

    let headers = [("authorization", "Bearer old"), ("X-A", "b")];
    let mut world = World::remote("https://u:p@x.dev/", &headers).var("TOKEN", "env-token");
    world.token = Some("new-token".to_owned());
    let expected = |token: &str| {
        [("X-A", "b"), ("Authorization", token)].map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    assert_eq!(address(&world.launched().await).headers, expected("Bearer new-token"));

    world.token = None;
    world.spec.conduct.auth = Some(Auth::Bearer { token_env: "TOKEN".to_owned() });
    assert_eq!(address(&world.launched().await).headers, expected("Bearer env-token"));
    world.env = world.env.without_var("TOKEN");
    let launch = world.launched().await;
    assert_eq!(address(&launch).headers[0].1, "Bearer old");
    assert_eq!(codes(&launch), [Code::BadField, Code::VariableUnset]);

    world.token = Some("new-token".to_owned());
    world.spec.conduct.auth = Some(Auth::None);
    assert_eq!(address(&world.launched().await).headers[0].1, "Bearer old");
}

#[tokio::test]
async fn headers_that_http_does_not_allow_are_left_out() {
    let headers = [("A B", "x"), ("X-Split", "${EVIL}"), ("X-Ok", "y")];
    let world = World::remote("https://x.dev/", &headers).var("EVIL", "a\r\nAuthorization: b");
    let launch = world.launched().await;
    assert_eq!(address(&launch).headers, [("X-Ok".to_owned(), "y".to_owned())]);
    assert_eq!(codes(&launch), [Code::ValueNotAllowed; 2]);
}

#[tokio::test]
async fn a_credential_in_clear_text_is_a_problem() {
    let check = async |url: &str, headers: &[(&str, &str)], is_problem: bool| {
        let launch = World::remote(url, headers).launched().await;
        let expected: &[Code] = if is_problem { &[Code::ClearTextCredential] } else { &[] };
        assert_eq!(codes(&launch), expected, "{url} {headers:?}");
    };
    let bearer: &[_] = &[("Authorization", "Bearer abc")];
    let key: &[_] = &[("X-Api-Key", "abc")];
    for credential in [bearer, key] {
        check("http://x.dev/mcp", credential, true).await;
        check("http://192.168.0.1/mcp", credential, true).await;
        check("https://x.dev/mcp", credential, false).await;
        check("http://localhost:3000/mcp", credential, false).await;
        check("http://[::1]/mcp", credential, false).await;
    }
    check("http://x.dev/mcp?tools=a", &[("X-Team", "abc")], false).await;
    check("http://x.dev/mcp?api_key=abc", &[], true).await;
    check("http://me:pw@x.dev/mcp", &[], true).await;
    check("http://127.0.0.1/mcp?token=abc", &[], false).await;
}

#[tokio::test]
async fn what_cannot_be_launched_says_why_and_no_secret() {
    let check = async |world: World, code: &str, message: &str| {
        let error = world.launch().await.unwrap_err();
        let message = message.replace("DIR", "~");
        assert_eq!((error.code(), error.message()), (code, message));
        assert_eq!((error.server(), error.place().and_then(|place| place.1)), (Some("box"), Some(3)));
        let all = format!("{error:?} {:?}", error.hint());
        assert!(!all.contains("hunter2"), "{all}");
        error.likely_causes().len()
    };
    let command = |raw: &'static str| {
        let template = Template::parse(raw, Syntax::Braced);
        World::stdio(&[("T", "${GONE}")]).edit(|stdio| stdio.command = template).var("TOKEN", "hunter2")
    };
    let not_found = "the program";
    let n =
        check(command("no-such"), "command-not-found", &format!("{not_found} `no-such` is not found")).await;
    assert_eq!(n, 1, "what was unset is told as the likely cause");
    check(command("${TOKEN}"), "command-not-found", &format!("{not_found} `***` is not found")).await;
    check(command("./sh"), "command-not-found", &format!("{not_found} `./sh` is not found")).await;

    let cwd = |raw: &str| {
        let template = Template::parse(raw, Syntax::Braced);
        World::stdio(&[]).edit(|stdio| stdio.cwd = Some(template)).file("a-file", "").var("TOKEN", "hunter2")
    };
    check(cwd("gone/${TOKEN}"), "no-directory", "there is no directory gone/***").await;
    check(cwd("~/a-file"), "no-directory", "there is no directory a-file").await;

    let env_file = |text: &str| {
        let world = World::stdio(&[]).edit(|stdio| stdio.env_file = Some(Template::plain(".env")));
        if text.is_empty() { world } else { world.file(".env", text) }
    };
    let unusable = "its `envFile` .env cannot be used:";
    check(env_file(""), "env-file-unusable", &format!("{unusable} there is no such file")).await;
    let message = format!("{unusable} line 2 is not NAME=value");
    check(env_file("A=1\nhunter2 x\n"), "env-file-unusable", &message).await;

    let url = |raw: &str| World::remote(raw, &[]).var("TOKEN", "hunter2");
    let bad = "its `url` is not an address";
    let message = format!("{bad}: relative URL without a base");
    check(url("${TOKEN}/x"), "bad-url", &message).await;
    check(url("https://me:hunter2@[x"), "bad-url", &format!("{bad}: invalid IPv6 address")).await;
    check(url("ftp://x?key=${TOKEN}"), "bad-url", &format!("{bad} that starts with http:// or https://"))
        .await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_whole_command_line_is_told_where_its_arguments_belong() {
    let check = async |raw: &'static str, args: Option<&str>| {
        let template = Template::parse(raw, Syntax::Braced);
        let world = World::stdio(&[]).edit(|stdio| stdio.command = template).var("TOKEN", "hunter2");
        let error = world.launch().await.unwrap_err();
        assert_eq!(error.code(), "command-not-found");
        let expected = match args {
            Some(args) => format!("write the program alone as `command`, and `{args}` as `args`"),
            None => "install it, or write its whole path as `command`; `PATH` is searched".to_owned(),
        };
        assert_eq!(error.hint().unwrap(), expected, "{raw}");
    };
    check("no-such -y foo", Some("-y foo")).await;
    check(" no-such  foo ", Some("foo")).await;
    check("no-such --token hunter2 x", Some("--token *** x")).await;
    check("no-such -p ${TOKEN}", Some("-p ***")).await;
    check("/bin/sh -c true", Some("-c true")).await;
    check("/no such/program", None).await;
    check("no-such", None).await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_planted_in_the_project_is_not_run() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::stdio(&[]).file("npx", "#!/bin/sh\n").var("PATH", ".::relative:/nowhere");
    fs::set_permissions(world.path().join("npx"), fs::Permissions::from_mode(0o755)).unwrap();
    let world = world.edit(|stdio| stdio.command = Template::plain("npx"));
    assert!(matches!(world.launch().await, Err(Error::ProgramNotFound { .. })));
    let world = world.edit(|stdio| stdio.command = Template::plain("./npx"));
    assert_eq!(child(&world.launched().await).program, world.path().join("npx"));
    let world = world.edit(|stdio| stdio.command = Template::plain("~/npx"));
    assert_eq!(child(&world.launched().await).program, world.path().join("npx"));
    // A directory the server itself names counts.
    let bin = world.path().to_str().unwrap().to_owned();
    let world = world.edit(|stdio| {
        stdio.command = Template::plain("npx");
        stdio.env = pairs(&[("PATH", "${BIN}")], Syntax::Braced);
    });
    assert_eq!(child(&world.var("BIN", &bin).launched().await).cwd, Path::new(&bin));
}

#[cfg(unix)]
#[tokio::test]
async fn secrets_are_known_and_never_shown() {
    let env = [("API_KEY", "canary-1"), ("PLAIN", "shown-1"), ("A", "!echo canary-2"), ("B", "pre-${V}")];
    let world = World::stdio(&[])
        .var("V", "canary-3")
        .var("W_TOKEN", "canary-4")
        .var("PASSWORD_VAR", "canary-8")
        .file("key", "canary-5\n")
        .file(".env", "FILE_SECRET=canary-6\n")
        .edit(|stdio| {
            stdio.env = pairs(&env, Syntax::Braced);
            stdio.env.extend(pairs(&[("C", "{file:key}")], Syntax::Curly));
            stdio.env.extend(pairs(&[("D", "PASSWORD_VAR"), ("USE_AUTH", "true")], Syntax::Braced));
            stdio.env_file = Some(Template::plain(".env"));
            let args = ["--token", "canary-7", "--x=${W_TOKEN}", "shown-2", "--key=canary-9"];
            stdio.args = args.map(|arg| Template::parse(arg, Syntax::Braced)).to_vec();
        });
    let launch = world.launched().await;
    for index in 1..10 {
        assert_eq!(launch.secrets.scrub(&format!("<canary-{index}>")), "<***>");
    }
    assert_eq!(launch.secrets.scrub("shown-1 shown-2 true"), "shown-1 shown-2 true");
    assert!(!format!("{launch:?}").contains("canary"), "{launch:?}");

    let headers = [("Authorization", "Bearer canary-1"), ("X-Team", "canary-2"), ("Accept", "text/shown")];
    let mut world = World::remote("https://me:canary-3@x.dev/${K_TOKEN}?key=canary-5&mode=shown", &headers)
        .var("K_TOKEN", "canary-4");
    let launch = world.launched().await;
    for index in 1..6 {
        assert_eq!(launch.secrets.scrub(&format!("<canary-{index}>")), "<***>");
    }
    assert_eq!(launch.secrets.scrub("text/shown"), "text/shown");
    assert!(!format!("{launch:?}").contains("canary"), "{launch:?}");
    world.token = Some("canary-6".to_owned());
    let launch = world.launched().await;
    assert_eq!(launch.secrets.scrub("canary-6 from x.dev"), "*** from x.dev");
    assert!(!format!("{launch:?}").contains("canary"), "{launch:?}");
}

#[tokio::test]
async fn a_connection_is_the_same_until_something_in_it_changes() {
    let world = World::remote("https://x.dev/", &[("Authorization", "Bearer ${T}")]).var("T", "one");
    let first = world.launched().await.identity;
    assert_eq!(first, world.launched().await.identity);
    assert_eq!(first.key().len(), 64);

    let mut world = world.var("T", "two");
    let rotated = world.launched().await.identity;
    assert_ne!(first, rotated);
    assert_eq!(first.key(), rotated.key(), "what is on disk knows no values");

    world.spec.conduct.approval = Approval::Never;
    world.spec.conduct.prefix = Some("x".to_owned());
    assert_eq!(world.launched().await.identity, rotated, "policy and presentation do not count");

    world.token = Some("login".to_owned());
    assert_ne!(world.launched().await.identity, rotated);

    world.token = None;
    if let Transport::Remote(endpoint) = &mut world.spec.transport {
        endpoint.kind = Remote::Sse;
    }
    assert_ne!(world.launched().await.identity.key(), rotated.key());
}

#[test]
fn a_launch_can_move_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    let world = World::stdio(&[]);
    is_send(&world.launch());
}

/// A piece of a text: how it is written and what it becomes.
fn piece() -> impl Strategy<Value = (String, String)> {
    prop_oneof![
        "[a-z !(){}:-]{0,6}".prop_map(|text| (text.clone(), text)),
        Just(("${NASTY}".to_owned(), NASTY.to_owned())),
        Just(("${BACK}".to_owned(), "${NASTY}".to_owned())),
        Just(("${UNSET}".to_owned(), "${UNSET}".to_owned())),
        Just(("${UNSET:-$(touch x)}".to_owned(), "$(touch x)".to_owned())),
        Just(("${NASTY:-d}".to_owned(), NASTY.to_owned())),
    ]
}

const NASTY: &str = "${BACK}${BACK:-x}$BACK !touch x {env:BACK} $(touch x)";

proptest! {
    #[test]
    fn what_is_filled_in_is_never_filled_in_again(pieces in prop::collection::vec(piece(), 0..6)) {
        let raw: String = pieces.iter().map(|(raw, _)| raw.as_str()).collect();
        let expected: String = pieces.iter().map(|(_, expected)| expected.as_str()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let world = World::stdio(&[]).var("NASTY", NASTY).var("BACK", "${NASTY}").edit(|stdio| {
            stdio.args = vec![Template::parse(raw.as_str(), Syntax::Braced)];
            // Not at the start, where a `!` has a meaning.
            stdio.env = vec![("X".to_owned(), Template::parse(format!(">{raw}"), Syntax::Braced))];
        });
        let launch = runtime.block_on(world.launched());
        let in_env = format!(">{expected}");
        prop_assert_eq!(&child(&launch).args[0], &expected);
        prop_assert_eq!(value(&launch, "X"), Some(in_env.as_str()));
        prop_assert!(!world.path().join("x").exists());
    }
}
