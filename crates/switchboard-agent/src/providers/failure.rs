//! What went wrong, from the crate's words to ours. Decides by status and shape, never repeats the key.

use std::time::Duration;

use serde_json::Value;
use switchboard::visible::excerpt;

use crate::choose::Chosen;
use crate::error::Error;

/// Words of providers for "that is more than I can look at"; there is no common code for it.
const TOO_LONG: [&str; 7] = [
    "context_length_exceeded",
    "maximum context length",
    "prompt is too long",
    "exceeds the maximum number of tokens",
    "input is too long",
    "exceed_context_size_error",
    "exceeds the available context size",
];
/// Words for "come back later" in the middle of an answer.
const BUSY: [&str; 6] =
    ["overloaded", "rate_limit", "server_error", "unavailable", "resource_exhausted", "api_error"];
/// Nobody waits longer because a provider says so.
const LONGEST_WAIT: Duration = Duration::from_mins(2);

pub(super) fn read(chosen: &Chosen, error: &genai::Error) -> Error {
    let model = chosen.full_name();
    match error {
        genai::Error::WebStream { error: inner, .. } => match inner.downcast_ref::<genai::Error>() {
            Some(inner) => read(chosen, inner),
            None => connection(chosen, inner.as_ref()),
        },
        genai::Error::HttpError { status, body, headers, .. } => {
            let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
            of_status(
                chosen,
                status.as_u16(),
                body,
                retry_after(header("retry-after-ms"), header("retry-after")),
            )
        }
        genai::Error::ChatResponse { body, .. } => mid_stream(chosen, body),
        genai::Error::StreamParse { serde_error, .. } if serde_error.is_data() && serde_error.line() == 0 => {
            // How the crate tells that a response failed.
            mid_stream(chosen, &Value::String(serde_error.to_string()))
        }
        genai::Error::StreamParse { serde_error, .. } => {
            Error::Garbled { model, message: scrub(chosen, &serde_error.to_string()) }
        }
        genai::Error::JsonValueExt(error) => {
            Error::Garbled { model, message: scrub(chosen, &error.to_string()) }
        }
        other => Error::Rejected { model, status: 0, message: scrub(chosen, &other.to_string()) },
    }
}

fn of_status(chosen: &Chosen, status: u16, body: &str, retry_after: Option<Duration>) -> Error {
    let model = chosen.full_name();
    let said: Value = serde_json::from_str(body).unwrap_or(Value::String(body.to_owned()));
    let message = words(chosen, &said);
    let lower = body.to_lowercase();
    match status {
        401 | 403 => Error::Unauthorized { model, status, message },
        400 | 413 | 422 if TOO_LONG.iter().any(|words| lower.contains(words)) => {
            Error::TooLong { model, message }
        }
        // Gemini says so when a key is none.
        400 if lower.contains("api_key_invalid") => Error::Unauthorized { model, status, message },
        408 | 409 | 425 | 429 | 500..=599 => Error::Busy { model, status, message, retry_after },
        _ => Error::Rejected { model, status, message },
    }
}

/// An error in the middle of an answer.
fn mid_stream(chosen: &Chosen, body: &Value) -> Error {
    let (model, message) = (chosen.full_name(), words(chosen, body));
    let text = body.to_string().to_lowercase();
    if TOO_LONG.iter().any(|words| text.contains(words)) {
        return Error::TooLong { model, message };
    }
    if BUSY.iter().any(|words| text.contains(words)) {
        return Error::Busy { model, status: 0, message, retry_after: None };
    }
    Error::Rejected { model, status: 0, message }
}

/// The connection, rather than the provider. Once the answer began, what breaks is the answer.
fn connection(chosen: &Chosen, error: &(dyn std::error::Error + Send + Sync + 'static)) -> Error {
    let model = chosen.full_name();
    let mut causes = vec![error.to_string()];
    let mut source = error.source();
    while let Some(cause) = source {
        causes.push(cause.to_string());
        source = cause.source();
    }
    let text = causes.join(": ");
    if text.contains("body") || text.contains("decoding") {
        return Error::Cut { model };
    }
    let last = causes.last().cloned().unwrap_or_default();
    Error::Unreachable { model, message: scrub(chosen, &last) }
}

/// The message of a provider, wherever it stands.
fn words(chosen: &Chosen, body: &Value) -> String {
    let places = ["/error/message", "/message", "/error", "/detail", "/0/error/message"];
    let found = places.iter().find_map(|place| body.pointer(place).and_then(Value::as_str));
    let text = found.or(body.as_str()).map_or_else(|| body.to_string(), str::to_owned);
    scrub(chosen, &text)
}

/// Short, harmless, and without the key: some providers repeat it.
fn scrub(chosen: &Chosen, text: &str) -> String {
    let text = match &chosen.key {
        Some(key) if key.len() > 3 => text.replace(key.as_str(), "***"),
        _ => text.to_owned(),
    };
    excerpt(text.trim(), 300)
}

/// When to come back: milliseconds, or seconds. A date is not read.
fn retry_after(millis: Option<&str>, seconds: Option<&str>) -> Option<Duration> {
    let millis = millis.and_then(|text| text.trim().parse::<u64>().ok()).map(Duration::from_millis);
    let seconds = || seconds?.trim().parse::<f64>().ok().and_then(|n| Duration::try_from_secs_f64(n).ok());
    millis.or_else(seconds).map(|wait| wait.min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose::Provider;

    fn chosen() -> Chosen {
        Chosen {
            provider: Provider::OpenAi,
            name: "m".to_owned(),
            base_url: "http://h/".to_owned(),
            key: Some("hunter2".to_owned()),
        }
    }

    #[test]
    fn what_a_status_means() {
        let kind = |status: u16, body: &str| match of_status(&chosen(), status, body, None) {
            Error::Unauthorized { .. } => "key",
            Error::Busy { .. } => "busy",
            Error::TooLong { .. } => "long",
            Error::Rejected { .. } => "no",
            other => panic!("{other:?}"),
        };
        for (status, body, expected) in [
            (401, "{}", "key"),
            (403, "", "key"),
            (400, r#"{"error":{"details":[{"reason":"API_KEY_INVALID"}]}}"#, "key"),
            (400, r#"{"error":{"message":"This model's maximum context length is 8"}}"#, "long"),
            (400, r#"{"error":{"message":"bad tool"}}"#, "no"),
            (404, "not found", "no"),
            (429, "", "busy"),
            (500, "", "busy"),
            (529, r#"{"type":"error","error":{"type":"overloaded_error"}}"#, "busy"),
        ] {
            assert_eq!(kind(status, body), expected, "{status} {body}");
        }
    }

    #[test]
    fn an_error_does_not_repeat_the_key() {
        let body = r#"{"error":{"message":"Incorrect API key provided: hunter2"}}"#;
        let error = of_status(&chosen(), 401, body, None);
        assert_eq!(error.to_string(), "openai/m refuses the key (401): Incorrect API key provided: ***");
    }

    #[test]
    fn when_to_come_back() {
        assert_eq!(retry_after(Some("20"), Some("7")), Some(Duration::from_millis(20)));
        assert_eq!(retry_after(None, Some("1.5")), Some(Duration::from_millis(1500)));
        assert_eq!(retry_after(None, Some("86400")), Some(LONGEST_WAIT));
        for odd in ["-1", "soon", "Wed, 21 Oct 2026 07:28:00 GMT", "1e400"] {
            assert_eq!(retry_after(None, Some(odd)), None, "{odd}");
        }
    }
}
