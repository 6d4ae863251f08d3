//! Who is behind the gateway: how many servers of which nature, and what can be asked of each. Pure.

use std::time::Duration;

use serde_json::{Value, json};

/// What kind of server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nature {
    /// Scripted, on a pipe.
    Pipe,
    /// The same, started with the first call.
    Lazy,
    /// The same, and stopped when nobody calls it for a while.
    Idle,
    /// Scripted, over HTTP, without sessions.
    Http,
    /// The same, with sessions.
    Sessions,
    /// Scripted, over HTTP with SSE.
    Sse,
    /// Scripted, with a login whose token ends every few seconds.
    Guarded,
    /// Made by others, with a login whose token we can end.
    Tracker,
    /// Made by others, on a pipe.
    RealPipe,
    /// The same, and it asks its clients something, so that each has a connection of its own. They end when idle.
    Asking,
    /// Made by others, over HTTP.
    RealHttp,
}

impl Nature {
    /// Whether it follows a script of ours, and notes what ran.
    pub(crate) const fn is_ours(self) -> bool {
        !matches!(self, Self::Tracker | Self::RealPipe | Self::Asking | Self::RealHttp)
    }

    /// Whether the gateway starts it.
    pub(crate) const fn is_process(self) -> bool {
        matches!(self, Self::Pipe | Self::Lazy | Self::Idle | Self::RealPipe | Self::Asking)
    }

    /// How many processes it has at most, guards included: one that stops and one that starts.
    pub(crate) const fn most_processes(self) -> usize {
        // One for each client, and the gateway keeps 32 of them.
        if matches!(self, Self::Asking) { 2 * 34 } else { 4 }
    }

    /// Limits of connecting and of one call, which the entry says.
    pub(crate) const fn limits(self) -> (Duration, Duration) {
        if self.is_ours() {
            (Duration::from_secs(10), Duration::from_secs(5))
        } else {
            (Duration::from_secs(30), Duration::from_secs(10))
        }
    }

    /// So long a call may take at most: to connect, to be answered, to be sent once more if that does no harm; and a
    /// machine that has other things to do.
    pub(crate) fn bound(self) -> Duration {
        let (startup, call) = self.limits();
        startup + call * 2 + Duration::from_secs(10)
    }
}

/// One server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) nature: Nature,
    /// Of the era with a handshake, without one, or both.
    pub(crate) era: &'static str,
}

/// A call that can be made.
#[derive(Debug, Clone)]
pub(crate) struct Errand {
    /// The name in the gateway's list.
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    /// Whether it only looks, so that it may be sent once more.
    pub(crate) is_safe: bool,
    /// What has to be in the answer.
    pub(crate) wanted: String,
}

impl Part {
    /// A call of one of its tools with a word nobody else says.
    pub(crate) fn errand(&self, tool: &str, word: &str) -> Errand {
        let (tool, arguments, wanted) = match self.nature {
            Nature::Tracker => ("echo", json!({"text": word}), word),
            Nature::RealHttp => ("test_simple_text", json!({}), ""),
            Nature::Asking => ("echo", json!({"message": word}), word),
            Nature::RealPipe => (
                "convert_time",
                json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
                "Asia/Tokyo",
            ),
            // It says what it forgot instead.
            _ if tool == "forget" => (tool, json!({"text": word}), ""),
            _ => (tool, json!({"text": word}), word),
        };
        let is_safe = tool == "look" || !self.nature.is_ours();
        let tool = format!("mcp_{}_{tool}", self.name);
        Errand { tool, arguments, is_safe, wanted: wanted.to_owned() }
    }
}

/// So many servers, some of them real ones if there are any.
pub(crate) fn cast(n: usize, has_real: bool) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut add = |name: String, nature: Nature, era: &'static str| parts.push(Part { name, nature, era });
    if has_real {
        add("everything".to_owned(), Nature::Asking, "legacy");
        add("time".to_owned(), Nature::RealPipe, "modern");
        add("fixture".to_owned(), Nature::RealHttp, "both");
        add("tracker".to_owned(), Nature::Tracker, "legacy");
    }
    add("guarded".to_owned(), Nature::Guarded, "legacy");
    let eras = ["legacy", "modern", "both"];
    let special =
        [(Nature::Lazy, 2), (Nature::Idle, 2), (Nature::Sse, 3), (Nature::Sessions, 5), (Nature::Http, 7)];
    for (nature, many) in special {
        for k in 0..many {
            let era = match nature {
                Nature::Sse | Nature::Sessions => "legacy",
                // A server with a handshake and without sessions cannot say that it was started anew.
                Nature::Http => eras[1 + k % 2],
                _ => eras[k % 3],
            };
            add(format!("{nature:?}{k}").to_lowercase(), nature, era);
        }
    }
    for k in 0..n.saturating_sub(parts.len()) {
        parts.push(Part { name: format!("pipe{k}"), nature: Nature::Pipe, era: eras[k % 3] });
    }
    parts
}

/// What a server of ours does, but for where it keeps its notes.
pub(crate) fn script(part: &Part) -> Value {
    let tool = |name: &str| {
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        json!({"name": name, "inputSchema": schema, "annotations": {"readOnlyHint": name == "look"}})
    };
    let names = ["write", "look", "late", "junk", "flood", "shout", "broken", "shut", "cut", "forget"];
    let tools: Vec<Value> = names.iter().map(|name| tool(name)).collect();
    let mut on = json!({"tools/call late": [{"sleep_ms": 700}, {"default": true}]});
    let mut script = json!({"era": part.era, "tools": tools});
    if part.nature.is_process() {
        let note = json!({"jsonrpc": "2.0", "method": "notifications/message",
            "params": {"level": "info", "data": "so much to say"}});
        let flood = json!({"repeat": {"text": format!("{note}\n"), "times": 20_000}});
        on["tools/call junk"] =
            json!([{"raw": "Server is running!\n{\"half\":\n[1, 2\n\u{0}\n{}\n"}, {"default": true}]);
        on["tools/call flood"] = json!([flood, {"default": true}]);
        on["tools/call shout"] =
            json!([{"stderr_repeat": {"text": "nobody asked\n", "times": 640_000}}, {"default": true}]);
        on["tools/call broken"] = json!([{"raw": "{\"jsonrpc\": \"2.0\", \"id\":"}, {"exit": 3}]);
        on["tools/call shut"] = json!([{"close_stdout": true}]);
    } else {
        script["transport"] = json!(if part.nature == Nature::Sse { "sse" } else { "http" });
        script["session"] = json!(matches!(part.nature, Nature::Sessions | Nature::Guarded));
        script["answer"] = json!(if part.name.ends_with(['1', '4']) { "sse" } else { "json" });
        on["tools/call cut"] = json!([{"cut_after": {"body": 20}}]);
        on["tools/call forget"] =
            json!([{"forget": true}, {"result": {"content": [{"type": "text", "text": "who?"}]}}]);
    }
    if part.nature == Nature::Guarded {
        script["login"] = json!({"access": "soak-token", "refresh": "soak-refresh", "expires_in": 20});
    }
    script["on"] = on;
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cast_has_the_size_that_was_asked_for() {
        assert_eq!(cast(50, true).len(), 50);
        assert_eq!(cast(50, false).len(), 50);
        let mut names: Vec<_> = cast(50, true).into_iter().map(|part| part.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 50);
    }
}
