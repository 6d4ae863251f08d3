//! Opening scripted servers, and waiting for what they were told.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard::json::Json;
use switchboard::offer::CallResult;
use switchboard::wire::{self, CallOptions, Error, Failure, Link, Terms};
use testkit::connect::{command, stdio, terms};
use testkit::{Fake, FakeScript, Mark, eventually, fake_server};

/// A server with the usual terms.
pub(crate) async fn open(script: Value) -> (FakeScript, Link) {
    open_on(script, &terms()).await
}

/// A server with other terms.
pub(crate) async fn open_on(script: Value, terms: &Terms) -> (FakeScript, Link) {
    let (script, link) = stdio(script, terms).await;
    (script, link.unwrap())
}

/// A server that must not open.
pub(crate) async fn refused(script: Value, terms: &Terms) -> (FakeScript, Failure) {
    let (script, link) = stdio(script, terms).await;
    (script, *link.unwrap_err())
}

/// The usual terms, with so long for each request.
pub(crate) fn patient_for(ms: u64) -> Terms {
    Terms { timeout: Some(Duration::from_millis(ms)), ..terms() }
}

pub(crate) fn args(arguments: Value) -> Json {
    Json::from(arguments)
}

/// Calls a tool with the usual options.
pub(crate) async fn call(link: &Link, tool: &str, arguments: Value) -> Result<CallResult, Error> {
    link.call(tool, &args(arguments), CallOptions::default()).await
}

/// What the first block of a result says.
pub(crate) fn text(result: &CallResult) -> &str {
    result.content.first().and_then(|content| content.text.as_deref()).unwrap_or_default()
}

/// The link still does its work.
pub(crate) async fn assert_works(link: &Link) {
    let result = call(link, "add", json!({"a": 2, "b": 3})).await.unwrap();
    assert_eq!(text(&result), "5");
}

/// A script in which the tool `name` of a server that is good otherwise plays these actions.
pub(crate) fn on_call(actions: Value) -> Value {
    on("tools/call", actions)
}

/// A script with a reaction to one method.
pub(crate) fn on(method: &str, actions: Value) -> Value {
    json!({"on": {method: actions}})
}

/// Waits until the server has received a message with this method.
pub(crate) async fn heard(script: &FakeScript, method: &str) -> Value {
    heard_that(script, |message| message["method"] == method).await
}

/// Waits until the server has received such a message.
pub(crate) async fn heard_that(script: &FakeScript, wanted: impl Fn(&Value) -> bool) -> Value {
    let messages = || -> Vec<Value> {
        let lines = script.log().into_iter();
        lines.map(|mut line| line["message"].take()).collect()
    };
    let heard = eventually("such a message", messages, |messages| messages.iter().any(&wanted)).await;
    heard.into_iter().find(wanted).unwrap()
}

/// The parameters of the requests with this method, in order.
pub(crate) fn params(script: &FakeScript, method: &str) -> Vec<Value> {
    let lines = script.log();
    let of = lines.iter().map(|line| &line["message"]).filter(|message| message["method"] == method);
    of.map(|message| message["params"].clone()).collect()
}

/// A server whose processes carry the mark, to be opened.
pub(crate) async fn launch(mark: &Mark, script: &FakeScript) -> switchboard::resolve::Launch {
    command(&fake_server(), &[&script.path().to_string_lossy()], &[(Mark::NAME, mark.value())]).await
}

/// Opens a server whose processes carry the mark, directly or in a shell.
pub(crate) async fn open_marked(mark: &Mark, script: Value, wrapper: Wrapper) -> (FakeScript, Link) {
    let script = Fake::script(script);
    let (program, path) = (fake_server(), script.path());
    let (program_text, path_text) = (program.to_string_lossy(), path.to_string_lossy());
    let env = [(Mark::NAME, mark.value())];
    let launch = match wrapper {
        Wrapper::None => launch(mark, &script).await,
        Wrapper::Shell => {
            // The command after it keeps the shell from becoming the server.
            let line = "\"$0\" \"$1\"; exit $?";
            command(Path::new("/bin/sh"), &["-c", line, &program_text, &path_text], &env).await
        }
    };
    let link = wire::open(&launch, &terms()).await.unwrap();
    (script, link)
}

pub(crate) enum Wrapper {
    None,
    Shell,
}
