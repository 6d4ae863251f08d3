//! One run of one contender, for `bench/run`: what came out goes to the standard output, as one line of JSON.
//!
//! Times are in microseconds. Rounds, order and place are for the one who starts this.

use std::time::Duration;

use serde_json::{Value, json};

use testkit::front::{Client, Protocol, Question};

use crate::load::Load;
use crate::sdk::Threads;
use crate::{Case, HTTP, Place, STDIO, decode, era, on};

/// Makes this program do one run: `--one calls WHO stdio|http IN_FLIGHT CALLS WARM_UP`,
/// `--one large WHO tools|text N TIMES`, `--one peak WHO`, `--one era WHO`, `--one front URL IN_FLIGHT CALLS TOOL BYTES` and
/// `--one lists URL CALLS TOOLS` for whatever serves over HTTP.
pub(crate) const ONE: &str = "--one";

pub(crate) fn print(wanted: &[String]) {
    let words: Vec<&str> = wanted.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<usize>().unwrap();
    let figures = match words.as_slice() {
        ["calls", who, transport, in_flight, calls, warm_up] => {
            let runners = if *transport == "http" { HTTP.as_slice() } else { STDIO.as_slice() };
            let (_, run) = runners.iter().find(|(name, _)| name == who).unwrap();
            let case = Case {
                title: "one run",
                place: Place::Anywhere,
                in_flight: number(in_flight),
                calls: number(calls),
                warm_up: number(warm_up),
            };
            of_calls(&run(case))
        }
        ["large", who, kind, n, times] => {
            let ask = decode::Ask::new(kind, number(n));
            json!({"wall": micros(decode::one(who, ask, number(times)))})
        }
        ["peak", who] => json!({"times": decode::peak_of(who)}),
        ["era", who] => json!({"wall": micros(era::one(who))}),
        ["front", url, in_flight, calls, tool, bytes] => {
            let question = match number(bytes) {
                0 => Question::call(tool, r#"{"owner":"x"}"#, "hello"),
                bytes => Question::call(
                    tool,
                    &format!("{{\"owner\":\"x\",\"bytes\":{bytes}}}"),
                    "striking thirteen",
                ),
            };
            front(url, question, number(in_flight), number(calls))
        }
        ["lists", url, calls, n_tools] => front(url, Question::list(number(n_tools)), 1, number(calls)),
        _ => panic!("unknown words {words:?}"),
    };
    println!("{figures}");
}

/// The same question to whatever serves at that address.
fn front(url: &str, question: Question, in_flight: usize, calls: usize) -> Value {
    let url = url.to_owned();
    let load = on(Threads::One, async move {
        Client::open(&url, Protocol::Handshake).await.load(&[question], calls, in_flight).await
    });
    of_times(&load.latencies, load.elapsed)
}

fn of_calls(load: &Load) -> Value {
    let mut figures = of_times(&load.latencies, load.elapsed);
    figures["cpu"] = json!(micros(load.cpu / count(&load.latencies)));
    figures
}

fn of_times(latencies: &[Duration], elapsed: Duration) -> Value {
    let at = |percent: usize| micros(latencies[(latencies.len() - 1) * percent / 100]);
    let rate = f64::from(count(latencies)) / elapsed.as_secs_f64();
    json!({"p50": at(50), "p99": at(99), "rate": rate})
}

fn count(latencies: &[Duration]) -> u32 {
    u32::try_from(latencies.len()).unwrap_or(u32::MAX)
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
