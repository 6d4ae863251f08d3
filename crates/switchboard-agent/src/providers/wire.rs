//! Our request in the words of the crate `genai`. Pure.
//!
//! A tool result of that crate is text only. So pictures of results follow as words of the user, which every provider takes;
//! where the provider wants all of it in one message (Anthropic), it is one message.

use genai::chat::{
    CacheControl, ChatMessage, ChatRequest, ContentPart, MessageContent, Tool, ToolCall, ToolResponse,
};
use serde_json::{Value, json};

use crate::choose::{Chosen, Provider};
use crate::message::{Call, CallResult, Image, Message, Part, Thought};
use crate::model::{Choice, Request, ToolSpec};

pub(super) fn request(chosen: &Chosen, request: Request) -> ChatRequest {
    let provider = chosen.provider;
    let mut messages = Vec::new();
    for message in request.messages {
        messages.extend(translate(provider, message));
    }
    let is_cached = provider == Provider::Anthropic;
    let mut chat = ChatRequest::default();
    if is_cached {
        // Marks what stays the same: tools and system, and the conversation so far.
        if let Some(last) = messages.last_mut() {
            *last = last.clone().with_options(CacheControl::Ephemeral);
        }
        if !request.system.is_empty() {
            messages.insert(0, ChatMessage::system(request.system).with_options(CacheControl::Ephemeral));
        }
    } else {
        chat.system = Some(request.system).filter(|system| !system.is_empty());
    }
    chat.messages = messages;
    // Ollama has no word for "call none".
    let is_hidden = provider == Provider::Ollama && request.choice == Choice::Never;
    chat.tools =
        (!is_hidden && !request.tools.is_empty()).then(|| request.tools.into_iter().map(tool).collect());
    chat
}

fn tool(spec: ToolSpec) -> Tool {
    Tool::new(spec.name).with_description(spec.description).with_schema(spec.schema.value())
}

fn translate(provider: Provider, message: Message) -> Vec<ChatMessage> {
    match message {
        Message::User { parts } => vec![ChatMessage::user(content(parts.into_iter().map(part)))],
        Message::Assistant { text, calls, thoughts } => {
            let texts = Some(text).filter(|text| !text.is_empty()).map(ContentPart::Text);
            let calls = calls.into_iter().map(|call| ContentPart::ToolCall(tool_call(call)));
            let parts = thoughts.into_iter().flat_map(thought).chain(texts).chain(calls);
            vec![ChatMessage::assistant(content(parts))]
        }
        Message::Tool { results } => tool_results(provider, results),
    }
}

fn tool_results(provider: Provider, results: Vec<CallResult>) -> Vec<ChatMessage> {
    let mut pictures = Vec::new();
    let mut responses = Vec::new();
    for CallResult { id, name, text, images } in results {
        if !images.is_empty() {
            pictures.push(ContentPart::Text(format!("Pictures in the result of `{name}`:")));
            pictures.extend(images.into_iter().map(picture));
        }
        responses.push(ContentPart::ToolResponse(ToolResponse::new(id, text).with_fn_name(name)));
    }
    let mut messages = match provider {
        Provider::Anthropic => {
            responses.append(&mut pictures);
            return vec![ChatMessage::user(content(responses))];
        }
        Provider::Ollama => responses.into_iter().map(|part| ChatMessage::tool(content([part]))).collect(),
        Provider::OpenAi | Provider::OpenAiResponses | Provider::Gemini => {
            vec![ChatMessage::tool(content(responses))]
        }
    };
    if !pictures.is_empty() {
        messages.push(ChatMessage::user(content(pictures)));
    }
    messages
}

fn content(parts: impl IntoIterator<Item = ContentPart>) -> MessageContent {
    MessageContent::from_parts(parts.into_iter().collect::<Vec<_>>())
}

fn part(part: Part) -> ContentPart {
    match part {
        Part::Text { text } => ContentPart::Text(text),
        Part::Image(image) => picture(image),
    }
}

fn picture(image: Image) -> ContentPart {
    ContentPart::from_binary_base64(image.mime_type, image.data, None)
}

fn thought(thought: Thought) -> Vec<ContentPart> {
    let signature = ContentPart::ThoughtSignature(thought.signature);
    std::iter::once(signature).chain(thought.text.map(ContentPart::ReasoningContent)).collect()
}

fn tool_call(call: Call) -> ToolCall {
    // Providers take objects only; what was none is shown to the model as the text it wrote.
    let arguments = serde_json::from_str(&call.arguments).ok().filter(Value::is_object);
    ToolCall {
        call_id: call.id,
        fn_name: call.name,
        fn_arguments: arguments.unwrap_or_else(|| json!({"malformed": call.arguments})),
        thought_signatures: Some(call.signatures).filter(|signatures| !signatures.is_empty()),
    }
}
