//! Servers at the other end of HTTP: well-behaved, odd, broken and hostile ones.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

mod attacks;
mod cancel;
mod era;
mod features;
mod headers;
mod kinds;
mod redirects;
mod refusals;
mod secrets;
mod sessions;
mod streams;

use std::time::Duration;

use serde_json::{Value, json};
use switchboard::declared::Remote;
use switchboard::json::Json;
use switchboard::offer::CallResult;
use switchboard::wire::{self, CallOptions, Cause, Error, Failure, Link, Terms};
use testkit::Fake;
use testkit::connect::{address, http, terms};

/// A scripted server that can be talked to.
async fn open(script: Value) -> (Fake, Link) {
    let (fake, link) = http(script, &terms()).await;
    (fake, link.unwrap())
}

/// A scripted server that cannot.
async fn fail(script: Value) -> (Fake, Box<Failure>) {
    let (fake, link) = http(script, &terms()).await;
    (fake, link.unwrap_err())
}

/// Opens an address.
async fn dial(url: &str, kind: Remote, terms: &Terms) -> Result<Link, Box<Failure>> {
    wire::open(&address(url, kind, &[]).await, terms).await
}

async fn call(link: &Link, tool: &str, arguments: Value) -> Result<CallResult, Error> {
    link.call(tool, &Json::from(arguments), CallOptions::default()).await
}

/// Calls the tool `echo` and gives what came back.
async fn echo(link: &Link, text: &str) -> Result<String, Error> {
    call(link, "echo", json!({"text": text})).await.map(|result| said(&result))
}

fn said(result: &CallResult) -> String {
    result.content.iter().filter_map(|content| content.text.as_deref()).collect()
}

/// Terms under which a request is given up after so many milliseconds.
fn impatient(ms: u64) -> Terms {
    Terms { timeout: Some(Duration::from_millis(ms)), ..terms() }
}

/// The lines of the log with a message of this method.
fn lines(fake: &Fake, method: &str) -> Vec<Value> {
    fake.log().into_iter().filter(|line| line["message"]["method"] == method).collect()
}

/// How many messages of this method have come.
fn count(fake: &Fake, method: &str) -> usize {
    lines(fake, method).len()
}

/// The lines of the log of requests with this verb.
fn verbs(fake: &Fake, verb: &str) -> Vec<Value> {
    fake.log().into_iter().filter(|line| line["http"]["method"] == verb).collect()
}

fn header(line: &Value, name: &str) -> Option<String> {
    line["http"]["headers"][name].as_str().map(str::to_owned)
}

/// Waits until the log has such a line, without holding up what runs in the background.
async fn eventually(fake: &Fake, wanted: impl Fn(&Value) -> bool) -> Value {
    at_last(fake, 1, wanted).await.remove(0)
}

/// Waits until the log has so many such lines.
async fn at_last(fake: &Fake, many: usize, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
    let has_them = |log: &Vec<Value>| log.iter().filter(|line| wanted(line)).count() >= many;
    let log = testkit::eventually(format!("so many such lines: {many}"), || fake.log(), has_them).await;
    log.into_iter().filter(wanted).collect()
}

/// The JSON-RPC code of an error.
fn rpc(error: &Error) -> Option<i64> {
    match &error.cause {
        Cause::Rpc(error) => Some(error.code),
        _ => None,
    }
}
