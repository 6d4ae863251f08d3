//! From a command or an address to what the wire takes, the way the product does it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use switchboard::config::{ServerSpec, validate};
use switchboard::declared::{Declared, Remote, TransportName};
use switchboard::host::Headless;
use switchboard::resolve::{self, Commands, Launch, Subject};
use switchboard::sources::places::Project;
use switchboard::template::Template;
use switchboard::wire::{self, Failure, Guard, Limits, Link, Steps, Terms, Web};
use switchboard::{Origin, Provider, Scope};

use crate::programs::{fake_server, guard};
use crate::{Fake, FakeScript, Sandbox};

/// A command, ready to be started with these variables and the safe ones of a sandbox.
///
/// # Panics
///
/// When the command is not there.
pub async fn command(program: &Path, args: &[&str], env: &[(&str, &str)]) -> Launch {
    let mut declared = Declared::empty(Remote::Http);
    declared.command = Some(Template::plain(program.to_string_lossy()));
    declared.args = args.iter().map(|arg| Template::plain(*arg)).collect();
    declared.env = env.iter().map(|(name, value)| ((*name).to_owned(), Template::plain(*value))).collect();
    launch(declared).await
}

/// An address, ready to be dialled.
///
/// # Panics
///
/// When the address makes no sense.
pub async fn address(url: &str, kind: Remote, headers: &[(&str, &str)]) -> Launch {
    let mut declared = Declared::empty(kind);
    declared.transport = Some(TransportName::Remote(kind));
    declared.url = Some(Template::plain(url));
    declared.headers =
        headers.iter().map(|(name, value)| ((*name).to_owned(), Template::plain(*value))).collect();
    launch(declared).await
}

#[expect(clippy::expect_used, reason = "a test that cannot start its server must stop")]
async fn launch(declared: Declared) -> Launch {
    let sandbox = Sandbox::new();
    // Programs are found where they are found otherwise.
    let env = sandbox.env().with_var("PATH", path().as_str());
    let spec: ServerSpec = validate::server("test", declared).expect("a server that can be");
    let origin = Origin { provider: Provider::Native, scope: Scope::User, path: None, line: None };
    let project = Project::find(&env);
    let subject = Subject { name: "test", spec: &spec, origin: &origin, project: &project, token: None };
    let mut launch = resolve::launch(&subject, &env, &Commands::default()).await.expect("values");
    if let resolve::Target::Child(child) = &mut launch.target {
        // The sandbox goes away before the process is started.
        child.cwd = std::env::temp_dir();
    }
    launch
}

#[expect(clippy::disallowed_methods, reason = "the programs of the machine that runs the tests")]
fn path() -> String {
    std::env::var("PATH").unwrap_or_default()
}

/// Terms as the product has them, with a guard, nobody to ask, and ten seconds for everything.
pub fn terms() -> Terms {
    let limit = Some(Duration::from_secs(10));
    Terms {
        server: "test".to_owned(),
        host: Arc::new(Headless::default()),
        web: Arc::new(Web::default()),
        pass: None,
        guard: Some(Guard { program: guard(), args: Vec::new() }),
        startup: limit,
        timeout: limit,
        limits: Limits::default(),
        remembered: None,
        trace: None,
        steps: Arc::new(Steps::new(None)),
        log: Arc::default(),
        context: None,
    }
}

/// The same with ten minutes for everything. What must not wait for one of these limits is over long before, on any
/// machine; what does wait is ended by whoever runs the tests.
pub fn patient() -> Terms {
    let limit = Some(Duration::from_mins(10));
    Terms { startup: limit, timeout: limit, ..terms() }
}

/// A scripted server on stdio, opened or not. The script must be kept as long as the link.
pub async fn stdio(script: Value, terms: &Terms) -> (FakeScript, Result<Link, Box<Failure>>) {
    let script = Fake::script(script);
    let path = script.path();
    let launch = command(&fake_server(), &[&path.to_string_lossy()], &[]).await;
    let link = wire::open(&launch, terms).await;
    (script, link)
}

/// A scripted server over HTTP, opened or not, as Streamable HTTP unless its address says otherwise.
pub async fn http(script: Value, terms: &Terms) -> (Fake, Result<Link, Box<Failure>>) {
    let fake = Fake::http(script);
    let launch = address(fake.url(), Remote::Http, &[]).await;
    let link = wire::open(&launch, terms).await;
    (fake, link)
}
