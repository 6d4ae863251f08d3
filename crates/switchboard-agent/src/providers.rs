//! Models over the network, through the crate `genai`: the only files that name it are this one and those below it.
//!
//! In: a request in our words. Out: pieces of the answer in our words, and errors that say what kind they are. What
//! the crate cannot do is made up for here: an answer that ends without its end broke off, a refusal that it skips is
//! read from the frames, the key never stands in an error.

mod failure;
mod wire;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatStreamEvent, MessageContent, ReasoningEffort, StopReason, StreamEnd};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget, WebConfig};
use serde_json::Value;

use crate::choose::{Chosen, Provider};
use crate::error::Error;
use crate::message::{Call, Thought};
use crate::model::{Answer, Choice, Ending, Model, Piece, Request};
use crate::usage::Usage;

const CONNECT: Duration = Duration::from_secs(30);
/// A model may think for long before the first word, and between words.
const SILENCE: Duration = Duration::from_mins(10);
/// More text than any model writes: an endless answer is cut here.
const LONGEST_ANSWER: usize = 8 << 20;

/// A model over the network.
#[derive(Debug, Clone)]
pub struct Remote {
    client: Client,
    chosen: Chosen,
    name: String,
}

/// A model, ready to be asked. Nothing is sent yet.
pub fn connect(chosen: &Chosen) -> Result<Remote, Error> {
    let name = chosen.full_name();
    let web = WebConfig::default().with_connect_timeout(CONNECT);
    let built = Client::builder().with_web_config(web).build();
    let failed = |error: genai::Error| Error::Unreachable { model: name.clone(), message: error.to_string() };
    Ok(Remote { client: built.map_err(failed)?, chosen: chosen.clone(), name })
}

impl Model for Remote {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Piece, Error>> {
        let this = self.clone();
        let refusal = Refusal::default();
        let options = this.options(&request, &refusal);
        let opened = async move {
            let chat = wire::request(&this.chosen, request);
            let opened = this.client.exec_chat_stream(this.target(), chat, Some(&options)).await;
            let reader = Reader { chosen: this.chosen, refusal, n_bytes: 0, is_over: false };
            match opened {
                Ok(response) => pieces(reader, response.stream).boxed(),
                Err(error) => {
                    let error = failure::read(&reader.chosen, &error);
                    stream::once(async { Err(error) }).boxed()
                }
            }
        };
        stream::once(opened).flatten().boxed()
    }
}

impl Remote {
    fn target(&self) -> ServiceTarget {
        let kind = match self.chosen.provider {
            Provider::Anthropic => AdapterKind::Anthropic,
            Provider::OpenAi => AdapterKind::OpenAI,
            Provider::OpenAiResponses => AdapterKind::OpenAIResp,
            Provider::Gemini => AdapterKind::Gemini,
            Provider::Ollama => AdapterKind::Ollama,
        };
        // The crate takes `a::b` for a name with a namespace; an empty one in front keeps the whole name.
        let whole = &self.chosen.name;
        let name = if whole.contains("::") { format!("::{whole}") } else { whole.clone() };
        ServiceTarget {
            endpoint: Endpoint::from_owned(self.chosen.base_url.clone()),
            auth: AuthData::from_single(self.chosen.key.clone().unwrap_or_else(|| "none".to_owned())),
            model: ModelIden::new(kind, name),
        }
    }

    fn options(&self, request: &Request, refusal: &Refusal) -> ChatOptions {
        let mut options = ChatOptions::default()
            .with_capture_usage(true)
            .with_capture_content(true)
            .with_capture_tool_calls(true)
            .with_capture_reasoning_content(true)
            .with_stream_header_timeout(SILENCE)
            .with_stream_read_timeout(SILENCE);
        options.max_tokens = request.max_tokens;
        if !request.tools.is_empty() {
            options.tool_choice = match &request.choice {
                Choice::Auto => None,
                Choice::Required => Some(genai::chat::ToolChoice::Required),
                Choice::Never => Some(genai::chat::ToolChoice::None),
                Choice::Tool(name) => Some(genai::chat::ToolChoice::tool(name)),
            };
        }
        if matches!(self.chosen.provider, Provider::OpenAi | Provider::OpenAiResponses) {
            // Otherwise the crate takes `-low` or `-medium` off the end of a name and makes it a wish of its own. A
            // budget is a wish that these providers have no word for, so nothing is sent.
            options.reasoning_effort = Some(ReasoningEffort::Budget(0));
            let refusal = refusal.clone();
            options = options.with_raw_frame_fn(move |_, frame| refusal.hear(frame.data));
        }
        options
    }
}

/// What a model says instead of an answer. The crate skips it.
#[derive(Debug, Clone, Default)]
struct Refusal(Arc<Mutex<String>>);

impl Refusal {
    fn hear(&self, frame: &str) {
        if !frame.contains("refusal") {
            return;
        }
        let frame: Value = serde_json::from_str(frame).unwrap_or_default();
        let of_chat = frame.pointer("/choices/0/delta/refusal");
        let of_responses = frame.get("delta").filter(|_| frame["type"] == "response.refusal.delta");
        if let Some(words) = of_chat.or(of_responses).and_then(Value::as_str) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(words);
        }
    }

    fn take(&self) -> Option<String> {
        let words = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Some(words).filter(|words| !words.is_empty())
    }
}

struct Reader {
    chosen: Chosen,
    refusal: Refusal,
    n_bytes: usize,
    is_over: bool,
}

fn pieces(
    reader: Reader,
    events: genai::chat::ChatStream,
) -> impl futures_util::Stream<Item = Result<Piece, Error>> + Send {
    stream::unfold((reader, events), |(mut reader, mut events)| async move {
        while !reader.is_over {
            let event = events.next().await;
            if let Some(piece) = reader.read(event) {
                return Some((piece, (reader, events)));
            }
        }
        None
    })
}

impl Reader {
    /// The next piece, if the event is one.
    fn read(&mut self, event: Option<Result<ChatStreamEvent, genai::Error>>) -> Option<Result<Piece, Error>> {
        let piece = match event {
            Some(Ok(ChatStreamEvent::Chunk(chunk))) => {
                self.counted(chunk.content.len(), Piece::Text(chunk.content))
            }
            Some(Ok(ChatStreamEvent::ReasoningChunk(chunk))) => {
                self.counted(chunk.content.len(), Piece::Thinking(chunk.content))
            }
            Some(Ok(ChatStreamEvent::ToolCallChunk(_))) => self.counted(0, Piece::Calling),
            Some(Ok(ChatStreamEvent::End(end))) => {
                self.is_over = true;
                self.end(end)
            }
            Some(Ok(
                ChatStreamEvent::Start
                | ChatStreamEvent::Heartbeat
                | ChatStreamEvent::ThoughtSignatureChunk(_),
            )) => return None,
            Some(Err(error)) => {
                self.is_over = true;
                Err(failure::read(&self.chosen, &error))
            }
            None => {
                self.is_over = true;
                Err(Error::Cut { model: self.chosen.full_name() })
            }
        };
        Some(piece)
    }

    fn counted(&mut self, n_bytes: usize, piece: Piece) -> Result<Piece, Error> {
        self.n_bytes += n_bytes;
        if self.n_bytes > LONGEST_ANSWER {
            self.is_over = true;
            let message = format!("it is longer than {} MiB", LONGEST_ANSWER >> 20);
            return Err(Error::Garbled { model: self.chosen.full_name(), message });
        }
        Ok(piece)
    }

    fn end(&self, end: StreamEnd) -> Result<Piece, Error> {
        let has_a_word_for_it = match self.chosen.provider {
            // These the crate ends by itself when the connection does.
            Provider::OpenAiResponses | Provider::Gemini | Provider::Ollama => {
                end.captured_stop_reason.is_some()
            }
            Provider::Anthropic | Provider::OpenAi => true,
        };
        if !has_a_word_for_it {
            return Err(Error::Cut { model: self.chosen.full_name() });
        }
        let mut answer = Answer {
            usage: usage(end.captured_usage),
            ending: match end.captured_stop_reason {
                Some(StopReason::MaxTokens(_)) => Ending::Length,
                Some(StopReason::ContentFilter(_)) => Ending::Refused,
                _ => Ending::Done,
            },
            ..Answer::default()
        };
        fill(&mut answer, end.captured_content.unwrap_or_default());
        if let Some(words) = self.refusal.take() {
            answer.text.push_str(&words);
            answer.ending = Ending::Refused;
        }
        Ok(Piece::End(answer))
    }
}

fn fill(answer: &mut Answer, content: MessageContent) {
    use genai::chat::ContentPart;
    for part in content {
        match part {
            ContentPart::Text(text) => answer.text.push_str(&text),
            ContentPart::ThoughtSignature(signature) => {
                answer.thoughts.push(Thought { signature, text: None });
            }
            ContentPart::ReasoningContent(text) => {
                if let Some(thought) = answer.thoughts.last_mut() {
                    thought.text = Some(text);
                }
            }
            ContentPart::ToolCall(call) => answer.calls.push(Call {
                id: call.call_id,
                name: call.fn_name,
                arguments: match call.fn_arguments {
                    // What could not be read as JSON comes as the text it was.
                    Value::String(text) => text,
                    Value::Null => "{}".to_owned(),
                    value => value.to_string(),
                },
                signatures: call.thought_signatures.unwrap_or_default(),
            }),
            ContentPart::Binary(_) | ContentPart::ToolResponse(_) | ContentPart::Custom(_) => {}
        }
    }
}

fn usage(usage: Option<genai::chat::Usage>) -> Usage {
    let usage = usage.unwrap_or_default();
    let count = |n: Option<i32>| n.and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    Usage {
        input_tokens: count(usage.prompt_tokens),
        cached_tokens: count(usage.prompt_tokens_details.and_then(|details| details.cached_tokens)),
        output_tokens: count(usage.completion_tokens),
        cost: None,
    }
}
