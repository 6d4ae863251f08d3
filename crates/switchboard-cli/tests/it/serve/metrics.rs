//! `/metrics`, read by a strict reader of the text format, and `/health`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use testkit::{Fake, Mark};

use super::http::{Site, greeting, request};
use super::world;

type Series = (String, BTreeMap<String, String>);

/// A page taken apart by the rules of the format; whatever is not by the rules stops the test.
struct Page {
    kinds: BTreeMap<String, String>,
    values: BTreeMap<Series, f64>,
}

fn is_name(text: &str) -> bool {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.chars().next().is_some_and(is_first) && text.chars().all(|c| is_first(c) || c.is_ascii_digit())
}

/// The labels of a line, and what follows them.
fn labels(text: &str) -> (BTreeMap<String, String>, &str) {
    let mut found = BTreeMap::new();
    let Some(mut rest) = text.strip_prefix('{') else { return (found, text) };
    loop {
        let (name, after) = rest.split_once("=\"").unwrap();
        assert!(is_name(name) && !name.starts_with("__"), "{text}");
        let mut value = String::new();
        let mut chars = after.char_indices();
        let end = loop {
            let (at, c) = chars.next().unwrap();
            match c {
                '"' => break at,
                '\\' => value.push(match chars.next().unwrap().1 {
                    'n' => '\n',
                    c @ ('\\' | '"') => c,
                    c => panic!("\\{c} in {text}"),
                }),
                c => value.push(c),
            }
        };
        assert!(found.insert(name.to_owned(), value).is_none(), "a label twice: {text}");
        rest = &after[end + 1..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => return (found, rest.strip_prefix('}').unwrap()),
        }
    }
}

impl Page {
    fn read(text: &str) -> Self {
        assert!(text.ends_with('\n') && !text.contains('\r') && !text.contains("\n\n"));
        let mut page = Self { kinds: BTreeMap::new(), values: BTreeMap::new() };
        let (mut current, mut helped) = (String::new(), BTreeSet::new());
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').unwrap();
                assert!(is_name(name) && !help.is_empty() && helped.insert(name.to_owned()), "{line}");
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert!(helped.contains(name) && ["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert!(page.kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "twice: {line}");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                name.clone_into(&mut current);
            } else {
                let end = line.find(['{', ' ']).unwrap();
                let (labels, rest) = labels(&line[end..]);
                let name = &line[..end];
                let suffix = name.strip_prefix(current.as_str()).unwrap_or_else(|| panic!("astray: {line}"));
                let is_histogram = page.kinds[&current] == "histogram";
                assert!(suffix.is_empty() != is_histogram && is_name(name), "{line}");
                assert!(!is_histogram || ["_bucket", "_sum", "_count"].contains(&suffix), "{line}");
                let value: f64 = rest.strip_prefix(' ').unwrap().parse().unwrap();
                assert!(value >= 0.0, "{line}");
                assert!(page.values.insert((name.to_owned(), labels), value).is_none(), "twice: {line}");
            }
        }
        page.check_histograms();
        page
    }

    fn check_histograms(&self) {
        for name in self.kinds.iter().filter(|(_, kind)| *kind == "histogram").map(|(name, _)| name) {
            let mut groups: BTreeMap<BTreeMap<String, String>, Vec<(f64, f64)>> = BTreeMap::new();
            for ((series, labels), value) in &self.values {
                if *series == format!("{name}_bucket") {
                    let mut labels = labels.clone();
                    let end = labels.remove("le").unwrap();
                    let end = if end == "+Inf" { f64::INFINITY } else { end.parse().unwrap() };
                    groups.entry(labels).or_default().push((end, *value));
                }
            }
            for (labels, mut buckets) in groups {
                buckets.sort_by(|one, another| one.0.total_cmp(&another.0));
                assert!(buckets.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{buckets:?}");
                let (end, all) = *buckets.last().unwrap();
                assert!(end.is_infinite(), "{buckets:?}");
                assert_eq!(
                    self.values.get(&(format!("{name}_count"), labels.clone())),
                    Some(&all).copied().as_ref()
                );
                assert!(self.values.contains_key(&(format!("{name}_sum"), labels)));
            }
        }
    }

    fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.values.get(&(name.to_owned(), labels)).copied()
    }
}

#[test]
fn what_happens_is_counted_and_tells_no_secret() {
    let (good, dead) = (Fake::script(json!({})), Fake::script(json!({"start": [{"exit": 1}]})));
    let sandbox = world(&[("good", &good), ("dead", &dead)], &Mark::new());
    let mut site = Site::open(&sandbox, &["127.0.0.1:0", "--sse"]);
    site.until("switchboard_server_up{server=\"good\"}", |up| up > 0.0);
    let session = site.post(None, &greeting()).header("mcp-session-id").unwrap().to_owned();
    let echo = json!({"name": "mcp_good_echo", "arguments": {"text": "an-argument-nobody-counts"}});
    for id in 0..3 {
        assert_eq!(site.post(Some(&session), &request(id, "tools/call", &echo)).status, 200);
    }
    let unknown = json!({"name": "a-tool-nobody-has"});
    assert_eq!(site.post(Some(&session), &request(9, "tools/call", &unknown)).status, 200);
    assert_eq!(site.post(Some(&session), &request(10, "a/method-nobody-has", &json!({}))).status, 200);
    assert_eq!(site.request("GET /health", &[("Host", "evil.example")], "").status, 403);
    let answer = site.request("GET /metrics", &[], "");
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let page = Page::read(&answer.body);
    for (name, labels, expected) in [
        ("switchboard_requests_total", vec![("method", "initialize"), ("outcome", "ok")], 1.0),
        ("switchboard_requests_total", vec![("method", "tools/call"), ("outcome", "ok")], 3.0),
        ("switchboard_requests_total", vec![("method", "tools/call"), ("outcome", "error")], 1.0),
        ("switchboard_requests_total", vec![("method", "other"), ("outcome", "error")], 1.0),
        ("switchboard_request_seconds_count", vec![("method", "tools/call")], 4.0),
        ("switchboard_requests_in_flight", vec![], 0.0),
        ("switchboard_refused_total", vec![("reason", "host")], 1.0),
        ("switchboard_sessions", vec![("transport", "http")], 1.0),
        ("switchboard_clients", vec![("era", "handshake")], 1.0),
        ("switchboard_servers", vec![("state", "connected")], 1.0),
        ("switchboard_server_up", vec![("server", "dead")], 0.0),
        ("switchboard_server_restarts_total", vec![("server", "good")], 0.0),
        ("switchboard_parked_calls", vec![], 0.0),
        ("switchboard_tools", vec![], 7.0),
    ] {
        assert_eq!(page.get(name, &labels), Some(expected), "{name} {labels:?}\n{}", answer.body);
    }
    for name in ["process_resident_memory_bytes", "process_open_fds", "switchboard_connections"] {
        assert!(page.get(name, &[]).unwrap() > 0.0, "{name}");
    }
    assert!(page.get("switchboard_bytes_total", &[("direction", "in")]).unwrap() > 1000.0);
    for secret in ["nobody", "mcp_good", session.as_str()] {
        assert!(!answer.body.contains(secret), "{secret}");
    }
    let health = site.request("GET /health", &[], "").message();
    assert_eq!((&health["status"], &health["servers"]["connected"]), (&json!("ok"), &json!(1)));
    assert!(health["ready"].is_boolean(), "{health}");
    // A server that comes up again is counted.
    assert!(crate::run(&sandbox, &["reconnect", "good"]).contains("good is connected"));
    site.until("switchboard_server_restarts_total{server=\"good\"}", |n| n > 0.5);
    site.terminate();
    drop(site.child.wait());
}
