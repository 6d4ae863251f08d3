//! What is judged when it is over, and how it is told: a table for people, JSON for programs.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::book::{Book, RULES, Rule};
use crate::fault::Faults;
use crate::load::{Calls, End, Record, word};
use crate::plan::FAULTS;
use crate::watch::{Sample, Watch, slope};
use crate::world::World;

/// Kilobytes memory may grow by in the second half: buffers of 50 servers fill slowly, so a short run says little.
fn allowed_growth(time: Duration) -> f64 {
    if time < Duration::from_mins(10) { 16.0 * 1024.0 } else { 4.0 * 1024.0 }
}

/// Whether each call ran as often as it may have, and as was said of it.
pub(crate) fn runs(world: &World, calls: &Calls, book: &Book) {
    let mut heard: HashMap<String, usize> = HashMap::new();
    for part in world.cast.iter().filter(|part| part.nature.is_ours()) {
        for line in fs::read_to_string(world.runs(&part.name)).unwrap_or_default().lines() {
            let line: Value = serde_json::from_str(line).unwrap_or_default();
            let text = line["arguments"]["text"].as_str().unwrap_or_default();
            *heard.entry(text.to_owned()).or_insert(0) += 1;
        }
    }
    let (mut n_checked, mut n_again) = (0, 0);
    for record in calls.records().iter().filter(|record| world.cast[record.who].nature.is_ours()) {
        let times = heard.remove(&word(record.number)).unwrap_or(0);
        n_checked += 1;
        n_again += usize::from(record.is_safe && times > 1);
        judge(record, times, &world.cast[record.who].name, book);
    }
    if let Some((word, _)) = heard.iter().next() {
        book.broken(Rule::Once, format!("{word} was heard, and nobody said it"));
    }
    book.figure(Rule::Once, format!("{n_checked} calls checked; {n_again} that only look were sent again"));
}

fn judge(record: &Record, times: usize, name: &str, book: &Book) {
    let most = if record.is_safe { 2 } else { 1 };
    let told = || format!("call {} of {name}, {:?}, ran {times} times", record.number, record.end);
    if times > most {
        book.broken(Rule::Once, told());
    }
    let is_true = match record.end {
        End::Answered => times > 0,
        End::NotSent => times == 0,
        End::Unknown | End::Refused | End::GivenUp | End::Lost => true,
    };
    if !is_true {
        book.broken(Rule::Truth, told());
    }
}

/// Whether memory grows in the second half.
pub(crate) fn memory(watch: &Watch, book: &Book, (start, time): (Duration, Duration)) -> Value {
    let samples = watch.samples();
    let from = start + time / 2;
    let second: Vec<Sample> =
        samples.iter().copied().filter(|sample| sample.at >= from && sample.at <= start + time).collect();
    let slope = slope(&second);
    let growth = slope * (time / 2).as_secs_f64();
    let allowed = allowed_growth(time);
    let first = samples.iter().find(|sample| sample.at >= start).map_or(0, |sample| sample.usage.resident);
    let last = second.last().map_or(0, |sample| sample.usage.resident);
    let most = samples.iter().map(|sample| sample.usage.resident).max().unwrap_or(0);
    let per_hour = slope * 3600.0 / 1024.0;
    let figure = format!(
        "{} MB at the start, {} MB at the end, {} MB at most; {:+.1} MB in the second half ({per_hour:+.1} MB an hour), {} MB allowed",
        first / 1024,
        last / 1024,
        most / 1024,
        growth / 1024.0,
        allowed / 1024.0
    );
    book.figure(Rule::Memory, figure.clone());
    if growth > allowed {
        book.broken(Rule::Memory, figure);
    }
    json!({"start_kb": first, "end_kb": last, "most_kb": most, "growth_kb": growth.round(), "mb_per_hour": (per_hour * 10.0).round() / 10.0})
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).copied().unwrap_or_default()
}

/// Everything that was counted.
pub(crate) fn facts(calls: &Calls, faults: &Faults, book: &Book) -> Value {
    let records = calls.records();
    let answered = records.iter().filter(|record| record.end == End::Answered);
    let mut times: Vec<Duration> = answered.map(|record| record.time).collect();
    times.sort();
    let ends: serde_json::Map<String, Value> =
        calls.by_end().into_iter().map(|(end, many)| (format!("{end:?}"), json!(many))).collect();
    let (done, skipped, mut recoveries) = faults.facts();
    recoveries.sort();
    let done: serde_json::Map<String, Value> = FAULTS
        .iter()
        .filter_map(|(fault, name, _)| Some(((*name).to_owned(), json!(done.get(fault)?))))
        .collect();
    let skipped: serde_json::Map<String, Value> =
        skipped.into_iter().map(|(fault, why)| (fault.word().to_owned(), json!(why))).collect();
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let rules: Vec<Value> = RULES
        .iter()
        .map(|(rule, name)| {
            let (figure, broken) = book.of(*rule);
            let (times, evidence) = broken.map_or((0, None), |(times, first)| (times, Some(first)));
            json!({"rule": name, "figure": figure, "broken": times, "evidence": evidence})
        })
        .collect();
    json!({
        "ok": book.n_broken() == 0,
        "rules": rules,
        "calls": {"total": records.len(), "ends": ends,
            "p50_ms": ms(percentile(&times, 50)), "p99_ms": ms(percentile(&times, 99))},
        "faults": {"total": faults.n_done(), "kinds": done, "skipped": skipped},
        "recovery": {"n": recoveries.len(), "p50_ms": ms(percentile(&recoveries, 50)),
            "most_ms": ms(recoveries.last().copied().unwrap_or_default())},
    })
}

/// The table for people.
pub(crate) fn table(facts: &Value) -> String {
    let mut text = String::new();
    for rule in facts["rules"].as_array().into_iter().flatten() {
        let is_ok = rule["evidence"].is_null();
        let word = if is_ok { "ok    " } else { "BROKEN" };
        text += &format!("  {word}  {}", rule["rule"].as_str().unwrap_or_default());
        let figure = rule["figure"].as_str().unwrap_or_default();
        text += &if figure.is_empty() { "\n".to_owned() } else { format!(": {figure}\n") };
        if let Some(evidence) = rule["evidence"].as_str() {
            text += &format!("          {} times, first: {evidence}\n", rule["broken"]);
        }
    }
    let calls = &facts["calls"];
    text += &format!(
        "  calls   {}: {}; p50 {} ms, p99 {} ms\n",
        calls["total"],
        listed(&calls["ends"]),
        calls["p50_ms"],
        calls["p99_ms"]
    );
    text += &format!("  faults  {}: {}\n", facts["faults"]["total"], listed(&facts["faults"]["kinds"]));
    for (name, why) in facts["faults"]["skipped"].as_object().into_iter().flatten() {
        text += &format!("  skipped {name}: {}\n", why.as_str().unwrap_or_default());
    }
    text += if facts["ok"] == true { "soak: clean\n" } else { "soak: broken\n" };
    text
}

/// `a 1, b 2`.
pub(crate) fn listed(map: &Value) -> String {
    let entries = map.as_object().into_iter().flatten();
    entries.map(|(name, many)| format!("{name} {many}")).collect::<Vec<_>>().join(", ")
}
