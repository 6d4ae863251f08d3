//! `conformance`: the client that the official suite drives. It knows which calls a scenario wants and nothing else;
//! which protocol the server speaks it finds out like everybody.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use switchboard::declared::Limit;
use switchboard::host::{Abilities, Answer, Elicitation, Host, Reply, Root, Wish};
use switchboard::json::Json;
use switchboard::offer::CallResult;
use switchboard::resolve::Subject;
use switchboard::sources::places::Project;
use switchboard::wire::{self, CallOptions, Link, Steps};
use switchboard::{Origin, Provider, Scope};

use super::connection::{self, Wishes};
use super::{Context, Outcome, add};
use crate::args::Add;
use crate::error::{CommandError, Kind};

const SCENARIO: &str = "MCP_CONFORMANCE_SCENARIO";
const SCENARIO_DATA: &str = "MCP_CONFORMANCE_CONTEXT";
/// The suite gives up after half a minute and would then leave us behind.
const IN_ALL: Duration = Duration::from_secs(25);

pub(super) fn run(context: &Context, url: &str) -> Result<Outcome, CommandError> {
    connection::block_on(async {
        let work = tokio::time::timeout(IN_ALL, play(context, url));
        work.await.unwrap_or_else(|_| Err(failed("took too long")))
    })?
}

fn failed(why: impl std::fmt::Display) -> CommandError {
    CommandError::new(Kind::Failed, "conformance", why.to_string())
}

async fn play(context: &Context, url: &str) -> Result<Outcome, CommandError> {
    let add = Add {
        name: None,
        scope: None,
        url: Some(url.to_owned()),
        transport: None,
        token: None,
        headers: Vec::new(),
        env: Vec::new(),
        timeout: None,
        replace: false,
        command: Vec::new(),
    };
    let spec = add::spec("conformance", &add)?;
    let origin = Origin { provider: Provider::Native, scope: Scope::Environment, path: None, line: None };
    let project = Project::find(&context.env);
    let subject =
        Subject { name: "conformance", spec: &spec, origin: &origin, project: &project, token: None };
    let launch = connection::launch(context, &subject).await.map_err(failed)?;
    let wishes = Wishes {
        conduct: &spec.conduct,
        timeout: Some(Limit::After(Duration::from_secs(10))),
        host: Arc::new(Willing { root: context.env.cwd().to_owned() }),
        trace: None,
        steps: Arc::new(Steps::new(None)),
    };
    let mut terms = connection::terms(context, &launch, wishes);
    terms.remembered = None;
    let link = wire::open(&launch, &terms).await.map_err(|failure| failed(failure.error))?;
    let scenario = context.env.var(SCENARIO).unwrap_or_default();
    let data = context.env.var(SCENARIO_DATA).unwrap_or("{}");
    let played = act(&link, scenario, data).await;
    link.stop().await;
    played.map_err(failed).map(|()| Outcome::Done)
}

/// The calls of a scenario.
async fn act(link: &Link, scenario: &str, data: &str) -> Result<(), wire::Error> {
    let tools = link.tools().await?.items;
    match scenario {
        "tools_call" => drop(call(link, "add_numbers", json!({"a": 5, "b": 3})).await?),
        "elicitation-sep1034-client-defaults" => {
            call(link, "test_client_elicitation_defaults", json!({})).await?;
        }
        "sse-retry" => drop(call(link, "test_reconnection", json!({})).await?),
        "sep-2322-client-request-state" => {
            // Side by side, so that the state of one could leak into the other.
            let (stateful, unrelated) = tokio::join!(
                call(link, "test_mrtr_echo_state", json!({})),
                call(link, "test_mrtr_unrelated", json!({}))
            );
            stateful.and(unrelated)?;
            call(link, "test_mrtr_no_state", json!({})).await?;
            call(link, "test_mrtr_no_result_type", json!({})).await?;
        }
        "http-standard-headers" => {
            call(link, "test_headers", json!({})).await?;
            for resource in link.resources().await?.items {
                link.read(&resource.uri).await?;
            }
            for prompt in link.prompts().await?.items {
                link.prompt(&prompt.name, &[]).await?;
            }
        }
        "http-custom-headers" => {
            let data: Value = serde_json::from_str(data).unwrap_or_default();
            for wanted in data["toolCalls"].as_array().into_iter().flatten() {
                let name = wanted["name"].as_str().unwrap_or_default();
                call(link, name, wanted["arguments"].clone()).await?;
            }
        }
        "http-invalid-tool-headers" => {
            for tool in &tools {
                call(link, &tool.name, json!({"region": "us-west1"})).await?;
            }
        }
        "json-schema-2020-12-preservation" => {
            for tool in tools.iter().filter(|tool| tool.name == "json_schema_2020_12_tool") {
                call(link, "json_schema_echo", json!({"schema": tool.input_schema.value()})).await?;
            }
        }
        // The others look at how we greet and list.
        _ => {}
    }
    Ok(())
}

async fn call(link: &Link, tool: &str, arguments: Value) -> Result<CallResult, wire::Error> {
    link.call(tool, &Json::from(arguments), CallOptions::default()).await
}

/// Says yes to everything.
struct Willing {
    root: std::path::PathBuf,
}

impl Host for Willing {
    fn abilities(&self) -> Abilities {
        Abilities { roots: true, forms: true, urls: true, sampling: true }
    }

    fn roots(&self) -> Vec<Root> {
        vec![Root::new(&self.root)]
    }

    fn elicit(&self, question: Elicitation) -> Reply<'_, Answer> {
        let content = match question.wish {
            Wish::Form { schema } => filled_in(&schema.value()),
            Wish::Visit { .. } => json!({}),
        };
        Box::pin(std::future::ready(Answer::Accept(content.into())))
    }

    fn sample(&self, _server: String, _params: Json) -> Reply<'_, Result<Json, String>> {
        let answer = json!({
            "role": "assistant",
            "content": {"type": "text", "text": "yes"},
            "model": "none",
            "stopReason": "endTurn",
        });
        Box::pin(std::future::ready(Ok(answer.into())))
    }
}

/// A yes wherever the form has no preset.
fn filled_in(schema: &Value) -> Value {
    let fields = schema["properties"].as_object().into_iter().flatten();
    let open = fields.filter(|(_, field)| field.get("default").is_none());
    let answers = open.filter_map(|(name, field)| match field["type"].as_str() {
        Some("boolean") => Some((name.clone(), json!(true))),
        Some("string") => Some((name.clone(), json!("yes"))),
        _ => None,
    });
    Value::Object(answers.collect::<Map<_, _>>())
}
