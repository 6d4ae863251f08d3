//! Requests that come back with questions: answered, and put again, until the result is complete.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::time::sleep;

use super::errand::Errand;
use super::error::{Cause, Error};
use super::link::{Asking, Shared};
use super::message::{self, Params};
use super::peer::Listener;
use super::questions::Desk;
use crate::host::Behalf;
use crate::json::Json;
use crate::visible::excerpt;

/// Before a request is repeated that the server sent back without a question; doubles each time.
const PAUSE: Duration = Duration::from_millis(100);

/// What kind of result it is.
#[derive(Debug)]
pub(super) enum Kind {
    Complete,
    InputRequired { requests: Vec<(String, Json)>, state: Option<Json> },
    Task,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Loose<'a> {
    #[serde(borrow, default)]
    result_type: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input_requests: Option<&'a RawValue>,
    #[serde(borrow, default)]
    request_state: Option<&'a RawValue>,
}

/// Judges a result of the modern protocol.
pub(super) fn kind(result: &Json) -> Result<Kind, Cause> {
    let malformed = |why: String| Cause::Malformed { why };
    let loose: Loose<'_> = result.read().map_err(|_| malformed("the result is not an object".to_owned()))?;
    let Some(word) = loose.result_type else { return Ok(Kind::Complete) };
    match word.get() {
        r#""complete""# => Ok(Kind::Complete),
        r#""task""# => Ok(Kind::Task),
        r#""input_required""# => Ok(Kind::InputRequired {
            requests: loose
                .input_requests
                .map(|requests| message::fields(&result.part(requests)))
                .unwrap_or_default(),
            state: loose.request_state.map(|state| result.part(state)),
        }),
        other => Err(malformed(format!("unknown kind of result {}", excerpt(other, 40)))),
    }
}

impl Shared {
    /// Asks until the result is complete or a task.
    pub(super) async fn ask_in_rounds(
        &self,
        mut asking: Asking<'_>,
        listener: Listener<'_>,
    ) -> Result<(Json, Kind), Error> {
        let given = asking.params.clone();
        for round in 0..self.limits.rounds {
            let copy = Asking { params: asking.params.clone(), headers: asking.headers.clone(), ..asking };
            let result = self.ask(copy, listener).await?;
            let (requests, state) = match kind(&result).map_err(Error::maybe)? {
                Kind::InputRequired { requests, state } => (requests, state),
                settled => return Ok((result, settled)),
            };
            if requests.is_empty() {
                sleep(PAUSE * 2_u32.saturating_pow(u32::try_from(round).unwrap_or(0))).await;
            }
            asking.params = self.next_round(&given, &requests, state).await?;
        }
        Err(Error::maybe(Cause::TooManyRounds { rounds: self.limits.rounds }))
    }

    /// The same parameters, with the answers and the server's own note to itself.
    async fn next_round(
        &self,
        given: &Params,
        requests: &[(String, Json)],
        state: Option<Json>,
    ) -> Result<Params, Error> {
        let mut params = given.clone();
        if !requests.is_empty() {
            params = params.with("inputResponses", self.answers(requests, None).await?);
        }
        if let Some(state) = state {
            params = params.with("requestState", state);
        }
        Ok(params)
    }

    /// Answers to questions, under the keys they came with.
    pub(super) async fn answers(
        &self,
        requests: &[(String, Json)],
        errand: Option<&Errand>,
    ) -> Result<Json, Error> {
        #[derive(Deserialize)]
        struct Question<'a> {
            method: String,
            #[serde(borrow, default)]
            params: Option<&'a RawValue>,
        }
        let desk = match errand.map(|errand| errand.behalf.clone()) {
            None => self.desk.clone(),
            Some(Behalf { owner, host }) => Desk { host, owner: Some(owner), ..self.desk.clone() },
        };
        let mut answers = Map::new();
        for (key, request) in requests {
            let question: Question<'_> = request.read().map_err(|_| {
                Error::maybe(Cause::Malformed {
                    why: "a question inside the result has no method".to_owned(),
                })
            })?;
            let params = question.params.map(|params| request.part(params));
            let answer = desk.answer(&question.method, params.as_ref()).await.map_err(|_| {
                Error::maybe(Cause::Declined {
                    what: format!("an answer to {}", excerpt(&question.method, 40)),
                })
            })?;
            answers.insert(key.clone(), answer.value());
        }
        Ok(Value::Object(answers).into())
    }
}
