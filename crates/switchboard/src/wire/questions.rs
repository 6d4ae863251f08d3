//! What servers ask us, and how it is answered: by the host, by its configured name for the server, and only what it
//! said it could be asked.
//!
//! Under the handshake rules a question is a request on the wire; under the modern rules it comes inside a result. Both
//! ways end here.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout};
use url::Url;

use super::log::End;
use super::message::{self, Params};
use super::open::ask_and_forget;
use super::peer::{Peer, Rules};
use super::router::{Question, Router, Via, Whose};
use super::thoughts::Thoughts;
use crate::host::{Abilities, Answer, Behalf, Elicitation, Host, Passed, Refusal, Wish};
use crate::json::Json;

/// Questions to the same one that are worked on at the same time: who leaves them open keeps nobody else from being asked.
const AT_ONCE: usize = 16;
/// Questions to all together.
const AT_ALL: usize = 512;

/// So long a question waits until it is clear whom it is for.
const UNCLEAR: Duration = Duration::from_secs(5);

/// Who answers, and for which server.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) server: String,
    pub(crate) host: Arc<dyn Host>,
    /// Whose requests it answers for, if not everybody's.
    pub(crate) owner: Option<u64>,
    pub(crate) thinking: Arc<Thoughts>,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Desk {
    /// What may be asked, as the protocol says it.
    pub(crate) fn capabilities(&self, rules: Rules) -> Json {
        if let (Rules::Handshake, Some(declared)) = (rules, self.host.declared()) {
            return declared;
        }
        let Abilities { roots, forms, urls, sampling } = self.host.abilities();
        let mut capabilities = Map::new();
        if roots {
            let settings = match rules {
                Rules::Modern => json!({}),
                Rules::Handshake => json!({"listChanged": true}),
            };
            capabilities.insert("roots".to_owned(), settings);
        }
        if forms || urls {
            let mut modes = Map::new();
            if forms {
                modes.insert("form".to_owned(), json!({}));
            }
            if urls {
                modes.insert("url".to_owned(), json!({}));
            }
            capabilities.insert("elicitation".to_owned(), Value::Object(modes));
        }
        if sampling {
            capabilities.insert("sampling".to_owned(), json!({}));
        }
        if rules == Rules::Modern {
            capabilities.insert("extensions".to_owned(), json!({"io.modelcontextprotocol/tasks": {}}));
        }
        Json::from(Value::Object(capabilities))
    }

    /// Answers one question.
    pub(crate) async fn answer(&self, method: &str, params: Option<&Json>) -> Result<Json, Refusal> {
        if method != "ping" {
            let (server, method) = (self.server.clone(), method.to_owned());
            let passed = Passed { server, method, params: params.cloned() };
            if let Some(answer) = self.host.pass(passed) {
                let _thinking = Thinking::start(&self.thinking, self.owner);
                return answer.await;
            }
        }
        let abilities = self.host.abilities();
        match method {
            "ping" => Ok(json!({}).into()),
            "roots/list" if abilities.roots => Ok(self.roots()),
            "elicitation/create" => self.elicit(params, abilities).await,
            "sampling/createMessage" if abilities.sampling => {
                let _thinking = Thinking::start(&self.thinking, self.owner);
                let params = params.cloned().unwrap_or_else(Json::null);
                let answer = self.host.sample(self.server.clone(), params).await;
                answer.map_err(|message| Refusal { code: -1, message })
            }
            _ => Err(Refusal { code: -32601, message: format!("method not found: {method}") }),
        }
    }

    fn roots(&self) -> Json {
        let roots = self.host.roots().into_iter().filter_map(|root| {
            let uri = Url::from_directory_path(&root.path).ok()?;
            // A root is named without the slash at its end.
            Some(json!({"uri": uri.as_str().trim_end_matches('/'), "name": root.name}))
        });
        json!({"roots": roots.collect::<Vec<_>>()}).into()
    }

    async fn elicit(&self, params: Option<&Json>, abilities: Abilities) -> Result<Json, Refusal> {
        let params = params.map_or(Value::Null, Json::value);
        let text = |name: &str| params.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_url = params.get("mode").and_then(Value::as_str) == Some("url");
        let allowed = if is_url { abilities.urls } else { abilities.forms };
        if !allowed {
            // Refusing the mode as such would be an error; a person who is not there declines.
            return Ok(json!({"action": "decline"}).into());
        }
        let schema = params.get("requestedSchema").cloned().unwrap_or_else(|| json!({"type": "object"}));
        let wish = if is_url {
            Wish::Visit { url: text("url") }
        } else {
            Wish::Form { schema: schema.clone().into() }
        };
        let question = Elicitation { server: self.server.clone(), message: text("message"), wish };
        let _thinking = Thinking::start(&self.thinking, self.owner);
        Ok(match self.host.elicit(question).await {
            Answer::Accept(_) if is_url => json!({"action": "accept"}),
            Answer::Accept(content) => {
                json!({"action": "accept", "content": with_defaults(&schema, content.value())})
            }
            Answer::Decline => json!({"action": "decline"}),
            Answer::Cancel => json!({"action": "cancel"}),
        }
        .into())
    }
}

/// The answer to a form, with the form's defaults where nothing was said.
fn with_defaults(schema: &Value, content: Value) -> Value {
    let mut content = match content {
        Value::Object(content) => content,
        _ => Map::new(),
    };
    let fields = schema.get("properties").and_then(Value::as_object);
    for (name, field) in fields.into_iter().flatten() {
        if let Some(default) = field.get("default")
            && !content.contains_key(name)
        {
            content.insert(name.clone(), default.clone());
        }
    }
    Value::Object(content)
}

/// While it lives, somebody thinks about a question.
struct Thinking<'a>(&'a Thoughts, Option<u64>);

impl<'a> Thinking<'a> {
    fn start(thoughts: &'a Thoughts, owner: Option<u64>) -> Self {
        thoughts.begin(owner);
        Self(thoughts, owner)
    }
}

impl Drop for Thinking<'_> {
    fn drop(&mut self) {
        self.0.end(self.1);
    }
}

/// Answers what the server asks by request, until the connection ends.
pub(crate) async fn serve(desk: Desk, peer: Peer, mut questions: mpsc::Receiver<Question>) {
    let mut running = JoinSet::new();
    let mut open: HashMap<String, (Option<u64>, AbortHandle)> = HashMap::new();
    while let Some(question) = questions.recv().await {
        while running.try_join_next().is_some() {}
        match question {
            Question::Ask { id, method, params, whose, room } => {
                open.retain(|_, (_, handle)| !handle.is_finished());
                let owner = match &whose {
                    Whose::Theirs(behalf) => Some(behalf.owner),
                    Whose::Nobody | Whose::Unclear => None,
                };
                let n_theirs = open.values().filter(|(other, _)| *other == owner).count();
                if n_theirs >= AT_ONCE || running.len() >= AT_ALL {
                    turn_away(&peer, &id).await;
                    continue;
                }
                let key = id.as_str().to_owned();
                let answer = respond((desk.clone(), whose), peer.clone(), id, (method, params));
                let handle = running.spawn(async move {
                    answer.await;
                    drop(room);
                });
                open.insert(key, (owner, handle));
            }
            Question::NoRoom { id } => turn_away(&peer, &id).await,
            Question::Withdrawn { id } => {
                if let Some((_, handle)) = open.remove(id.as_str()) {
                    handle.abort();
                }
            }
            Question::Unwanted { task, rules } => {
                let params = Params::new().with("taskId", json!(task));
                ask_and_forget(&desk, &peer, rules, ("tasks/cancel", params, &task));
            }
        }
    }
}

async fn turn_away(peer: &Peer, id: &Json) {
    let busy = message::error(id, -32000, "too many questions at once");
    peer.router.log.replied(id.as_str(), "", End::Error, (busy.len(), None));
    let _lost = peer.say(busy, Rules::Handshake).await;
}

/// Waits until it is clear which of several a question is for. Nobody's, if it stays unclear: by the next call the server
/// is known to ask, and each client has a connection of its own.
async fn cleared(router: &Router) -> Option<Behalf> {
    let clear = async {
        loop {
            let changed = router.thinking.changed();
            tokio::pin!(changed);
            changed.as_mut().enable();
            match router.whose(Via::Common) {
                Whose::Theirs(behalf) => return Some(behalf),
                // Whoever it was about is gone.
                Whose::Nobody => return None,
                Whose::Unclear => changed.await,
            }
        }
    };
    timeout(UNCLEAR, clear).await.unwrap_or(None)
}

/// Who answers a question, if anybody does.
async fn desk_for(desk: Desk, whose: Whose, router: &Router) -> Result<Desk, Refusal> {
    let behalf = match whose {
        Whose::Nobody => return Ok(desk),
        Whose::Theirs(behalf) => behalf,
        Whose::Unclear => cleared(router).await.ok_or_else(|| Refusal {
            code: -32000,
            message: "it is not clear which of several clients is asked: make the call again".to_owned(),
        })?,
    };
    Ok(Desk { host: behalf.host, owner: Some(behalf.owner), ..desk })
}

async fn respond(
    (desk, whose): (Desk, Whose),
    peer: Peer,
    id: Json,
    (method, params): (String, Option<Json>),
) {
    let started = Instant::now();
    let answer = match desk_for(desk, whose, &peer.router).await {
        Ok(desk) => desk.answer(&method, params.as_ref()).await,
        Err(refusal) => Err(refusal),
    };
    let (text, end) = match answer {
        Ok(result) => (message::result(&id, &result), End::Ok),
        Err(refusal) => (message::error(&id, refusal.code, &refusal.message), End::Error),
    };
    peer.router.log.replied(id.as_str(), &method, end, (text.len(), Some(started.elapsed())));
    // If the connection is gone, so is the one who asked.
    let _lost = peer.say(text, Rules::Handshake).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_form_presets_is_filled_in_and_nothing_else() {
        let schema = json!({"properties": {
            "a": {"type": "string", "default": "x"},
            "b": {"type": "boolean", "default": false},
            "c": {"type": "number"},
        }});
        let content = with_defaults(&schema, json!({"a": "mine", "z": 1}));
        assert_eq!(content, json!({"a": "mine", "z": 1, "b": false}));
        assert_eq!(with_defaults(&schema, Value::Null), json!({"a": "x", "b": false}));
    }
}
