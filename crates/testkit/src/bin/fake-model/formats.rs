//! One turn in the wire format of each provider. Pure: a turn in, the pieces of the body out.

use serde_json::{Value, json};

use crate::script::Turn;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Anthropic,
    Chat,
    Responses,
    Gemini,
    Ollama,
}

impl Format {
    pub(crate) fn of(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        [
            ("/messages", Self::Anthropic),
            ("/chat/completions", Self::Chat),
            ("/responses", Self::Responses),
            (":streamGenerateContent", Self::Gemini),
            ("/api/chat", Self::Ollama),
        ]
        .into_iter()
        .find_map(|(end, format)| path.ends_with(end).then_some(format))
    }
}

/// Everything but the end.
pub(crate) fn body(format: Format, turn: &Turn) -> Vec<String> {
    let mut frames = match format {
        Format::Anthropic => vec![event(&json!({"type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "fake",
            "usage": {"input_tokens": 6, "cache_read_input_tokens": 4, "output_tokens": 1}}}))],
        Format::Responses => vec![data(&json!({"type": "response.created", "response": {"id": "resp_1"}}))],
        Format::Chat | Format::Gemini | Format::Ollama => Vec::new(),
    };
    frames.extend(words(format, turn));
    frames.extend(turn.raw.clone());
    for (index, (name, arguments)) in turn.calls.iter().enumerate() {
        frames.extend(call(format, index, name, arguments));
    }
    if let Some(kind) = &turn.error {
        frames.push(match format {
            Format::Anthropic => event(&json!({"type": "error", "error": {"type": kind, "message": kind}})),
            Format::Responses => data(&json!({"type": "error", "code": kind, "message": kind})),
            Format::Ollama => format!("{}\n", json!({"error": kind})),
            Format::Chat | Format::Gemini => data(&json!({"error": {"type": kind, "message": kind}})),
        });
    }
    frames
}

fn words(format: Format, turn: &Turn) -> Vec<String> {
    let mut frames = Vec::new();
    let is_refusal = turn.stop.as_deref() == Some("refusal");
    if format == Format::Anthropic && !turn.text.is_empty() {
        frames.push(event(&json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})));
    }
    for text in &turn.text {
        frames.push(match format {
            Format::Anthropic => event(&json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})),
            Format::Chat if is_refusal => chat(&json!({"refusal": text}), &Value::Null),
            Format::Chat => chat(&json!({"content": text}), &Value::Null),
            Format::Responses if is_refusal => data(&json!({"type": "response.refusal.delta", "delta": text})),
            Format::Responses => data(&json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text})),
            Format::Gemini => data(&json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]})),
            Format::Ollama => format!("{}\n", json!({"message": {"role": "assistant", "content": text}, "done": false})),
        });
    }
    if format == Format::Anthropic && !turn.text.is_empty() {
        frames.push(event(&json!({"type": "content_block_stop", "index": 0})));
    }
    frames
}

fn call(format: Format, index: usize, name: &str, arguments: &Value) -> Vec<String> {
    // A text is sent as it is: it need not be JSON.
    let text = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    let halves = text.split_at(middle);
    match format {
        Format::Anthropic => {
            let at = index + 1;
            let delta = |part: &str| {
                event(
                    &json!({"type": "content_block_delta", "index": at, "delta": {"type": "input_json_delta", "partial_json": part}}),
                )
            };
            let block =
                json!({"type": "tool_use", "id": format!("toolu_{index}"), "name": name, "input": {}});
            vec![
                event(&json!({"type": "content_block_start", "index": at, "content_block": block})),
                delta(halves.0),
                delta(halves.1),
                event(&json!({"type": "content_block_stop", "index": at})),
            ]
        }
        Format::Chat => {
            let more = |part: &str| {
                chat(
                    &json!({"tool_calls": [{"index": index, "function": {"arguments": part}}]}),
                    &Value::Null,
                )
            };
            let first = json!({"index": index, "id": format!("call_{index}"), "type": "function", "function": {"name": name, "arguments": ""}});
            vec![chat(&json!({"tool_calls": [first]}), &Value::Null), more(halves.0), more(halves.1)]
        }
        Format::Responses => {
            let item = |arguments: &str| json!({"type": "function_call", "id": format!("fc_{index}"), "call_id": format!("call_{index}"), "name": name, "arguments": arguments});
            let delta = |part: &str| {
                data(
                    &json!({"type": "response.function_call_arguments.delta", "output_index": index, "delta": part}),
                )
            };
            vec![
                data(&json!({"type": "response.output_item.added", "output_index": index, "item": item("")})),
                delta(halves.0),
                delta(halves.1),
                data(
                    &json!({"type": "response.output_item.done", "output_index": index, "item": item(&text)}),
                ),
            ]
        }
        Format::Gemini => vec![data(
            &json!({"candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"name": name, "args": arguments}}]}}]}),
        )],
        Format::Ollama => {
            let call = json!({"function": {"name": name, "arguments": arguments}});
            vec![format!(
                "{}\n",
                json!({"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": false})
            )]
        }
    }
}

/// The end of an answer, with what it took: 10 tokens read, 4 of them known before, 7 written.
pub(crate) fn end(format: Format, turn: &Turn) -> Vec<String> {
    let has_calls = !turn.calls.is_empty();
    let pick =
        |done: &'static str, calls: &'static str, length: &'static str, refusal: &'static str| match turn
            .stop
            .as_deref()
        {
            Some("length") => length,
            Some(_) => refusal,
            None if has_calls => calls,
            None => done,
        };
    match format {
        Format::Anthropic => {
            let reason = pick("end_turn", "tool_use", "max_tokens", "refusal");
            vec![
                event(
                    &json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}}),
                ),
                event(&json!({"type": "message_stop"})),
            ]
        }
        Format::Chat => {
            let reason = pick("stop", "tool_calls", "length", "stop");
            let usage = json!({"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17, "prompt_tokens_details": {"cached_tokens": 4}});
            vec![
                chat(&json!({}), &json!(reason)),
                data(&json!({"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": usage})),
                "data: [DONE]\n\n".to_owned(),
            ]
        }
        Format::Responses => {
            let status = pick("completed", "completed", "incomplete", "completed");
            let usage = json!({"input_tokens": 10, "output_tokens": 7, "total_tokens": 17, "input_tokens_details": {"cached_tokens": 4}});
            let response = json!({"id": "resp_1", "object": "response", "created_at": 1, "model": "fake", "status": status, "output": [], "usage": usage});
            vec![data(&json!({"type": format!("response.{status}"), "response": response}))]
        }
        Format::Gemini => {
            let reason = pick("STOP", "STOP", "MAX_TOKENS", "SAFETY");
            let usage = json!({"promptTokenCount": 10, "candidatesTokenCount": 7, "totalTokenCount": 17, "cachedContentTokenCount": 4});
            vec![data(&json!({"candidates": [{"finishReason": reason}], "usageMetadata": usage}))]
        }
        Format::Ollama => {
            let reason = pick("stop", "stop", "length", "stop");
            let line = json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
                "prompt_eval_count": 10, "prompt_eval_cached_count": 4, "eval_count": 7});
            vec![format!("{line}\n")]
        }
    }
}

fn chat(delta: &Value, finish: &Value) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    data(&json!({"id": "c", "object": "chat.completion.chunk", "model": "fake", "choices": [choice]}))
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// An event with the name of its type.
fn event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or_default())
}
