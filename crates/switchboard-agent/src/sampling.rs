//! Answers a server that wants to use the model: the parameters of `sampling/createMessage` in, its result out. Whether it
//! may is asked before, by the host. Both forms are read: one block of content, and a list of them.

use futures_util::StreamExt;
use serde_json::{Value, json};
use switchboard::json::Json;

use crate::clean::clean;
use crate::error::Error;
use crate::message::{Image, Message, Part};
use crate::model::{Ending, Model, Piece, Request};

/// A server may ask for no longer answer than this, in tokens.
pub const LONGEST: u32 = 8_192;
/// A server may send no more messages than this.
const MOST_MESSAGES: usize = 200;

/// Asks the model for a server. The error is for the server.
pub async fn answer(model: &dyn Model, params: &Json) -> Result<Json, String> {
    let request = request(&params.value())?;
    let mut pieces = model.stream(request);
    while let Some(piece) = pieces.next().await {
        match piece.map_err(|error| told(&error))? {
            Piece::Text(_) | Piece::Thinking(_) | Piece::Calling => {}
            Piece::End(answer) => {
                let reason = match answer.ending {
                    Ending::Done => "endTurn",
                    Ending::Length => "maxTokens",
                    Ending::Refused => return Err("the model refused to answer".to_owned()),
                };
                let content = json!({"type": "text", "text": answer.text});
                let result = json!({"role": "assistant", "content": content, "model": model.name(), "stopReason": reason});
                return Ok(result.into());
            }
        }
    }
    Err("the answer of the model broke off".to_owned())
}

/// A server need not know where the model is or what it said of the key.
fn told(error: &Error) -> String {
    match error {
        Error::Busy { .. } => "the model is busy",
        Error::TooLong { .. } => "that is too long for the model",
        Error::Rejected { .. } => "the model does not take the request",
        _ => "the model cannot be reached",
    }
    .to_owned()
}

fn request(params: &Value) -> Result<Request, String> {
    if params.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty()) {
        return Err("tools are not offered here".to_owned());
    }
    let list = params["messages"].as_array().ok_or("`messages` must be a list")?;
    if list.is_empty() || list.len() > MOST_MESSAGES {
        return Err(format!("`messages` must be 1 to {MOST_MESSAGES}"));
    }
    let messages: Result<Vec<Message>, String> = list.iter().map(message).collect();
    let wanted = params["maxTokens"].as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(LONGEST);
    Ok(Request {
        system: clean(params["systemPrompt"].as_str().unwrap_or_default()).into_owned(),
        messages: messages?,
        max_tokens: Some(wanted.clamp(1, LONGEST)),
        ..Request::default()
    })
}

fn message(value: &Value) -> Result<Message, String> {
    let blocks: Vec<&Value> = match &value["content"] {
        Value::Array(blocks) => blocks.iter().collect(),
        one => vec![one],
    };
    let parts: Result<Vec<Part>, String> = blocks.into_iter().map(part).collect();
    let parts = parts?;
    match value["role"].as_str() {
        Some("user") => Ok(Message::User { parts }),
        Some("assistant") => {
            let texts = parts.iter().filter_map(|part| match part {
                Part::Text { text } => Some(text.as_str()),
                Part::Image(_) => None,
            });
            Ok(Message::Assistant { text: texts.collect(), calls: Vec::new(), thoughts: Vec::new() })
        }
        _ => Err("a message must be of `user` or `assistant`".to_owned()),
    }
}

fn part(block: &Value) -> Result<Part, String> {
    let text = |key: &str| block[key].as_str().unwrap_or_default();
    match text("type") {
        "text" => Ok(Part::text(clean(text("text")))),
        "image" if Image::is_usual(text("mimeType")) => {
            Ok(Part::Image(Image { mime_type: text("mimeType").to_owned(), data: text("data").to_owned() }))
        }
        other => Err(format!(
            "the model takes no content of the kind `{}`",
            switchboard::visible::excerpt(other, 40)
        )),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream::{self, BoxStream};

    use super::*;
    use crate::model::Answer;

    /// Says back what it was asked.
    struct Mirror;

    impl Model for Mirror {
        fn name(&self) -> &'static str {
            "test/mirror"
        }

        fn stream(&self, request: Request) -> BoxStream<'static, Result<Piece, Error>> {
            let text = format!("{} {:?} {:?}", request.system, request.max_tokens, request.messages);
            stream::iter([Ok(Piece::End(Answer { text, ..Answer::default() }))]).boxed()
        }
    }

    async fn ask(params: Value) -> Result<Value, String> {
        answer(&Mirror, &params.into()).await.map(|result| result.value())
    }

    #[tokio::test]
    async fn both_forms_are_answered() {
        let block = json!({"type": "text", "text": "hi\u{e0041}"});
        for content in [block.clone(), json!([block])] {
            let params = json!({"messages": [{"role": "user", "content": content}], "systemPrompt": "Be kind.", "maxTokens": 1_000_000});
            let result = ask(params).await.unwrap();
            assert_eq!(
                (&result["role"], &result["model"], &result["stopReason"]),
                (&json!("assistant"), &json!("test/mirror"), &json!("endTurn"))
            );
            let text = result["content"]["text"].as_str().unwrap();
            assert_eq!(text, "Be kind. Some(8192) [User { parts: [Text { text: \"hi\" }] }]");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_asked_is_refused() {
        let user = json!([{"role": "user", "content": {"type": "text", "text": "x"}}]);
        for (params, why) in [
            (json!({}), "list"),
            (json!({"messages": []}), "1 to 200"),
            (json!({"messages": user, "tools": [{"name": "t"}]}), "tools"),
            (json!({"messages": [{"role": "system", "content": {"type": "text", "text": "x"}}]}), "user"),
            (json!({"messages": [{"role": "user", "content": {"type": "audio"}}]}), "audio"),
        ] {
            let error = ask(params).await.unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
