//! `conformance`: the client that the official suite drives. It knows which calls a scenario wants and nothing else;
//! which protocol the server speaks it finds out like everybody.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use switchboard::auth::Wishes;
use switchboard::config::settings::Keyring;
use switchboard::connect::Persistence;
use switchboard::env::{SWITCHBOARD_HOME, SWITCHBOARD_MCP_SERVERS};
use switchboard::host::{Abilities, Answer, Elicitation, Host, Page, Reply, Root, Visited, Wish};
use switchboard::json::Json;
use switchboard::session::{Options, Session};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Context, Outcome, connection};
use crate::error::{CommandError, Kind};

const SERVER: &str = "conformance";
const SCENARIO: &str = "MCP_CONFORMANCE_SCENARIO";
const SCENARIO_DATA: &str = "MCP_CONFORMANCE_CONTEXT";
/// Where the suite believes that a document about us stands.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
const MOST_LOGINS: usize = 4;
const MOST_PAGES: usize = 8;
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
    let scenario = context.env.var(SCENARIO).unwrap_or_default();
    let data = context.env.var(SCENARIO_DATA).unwrap_or("{}");
    let given: Value = serde_json::from_str(data).unwrap_or_default();
    let mut entry = json!({"url": url, "approval": "never", "timeout": 10_000});
    if let Some(oauth) = oauth(&given) {
        entry["oauth"] = oauth;
    }
    let servers = json!({ SERVER: entry });
    // A home of its own: nothing is remembered from one scenario to the next.
    let home = std::env::temp_dir().join(format!("switchboard-conformance-{}", std::process::id()));
    let env = context
        .env
        .clone()
        .with_var(SWITCHBOARD_MCP_SERVERS, &servers.to_string())
        .with_var(SWITCHBOARD_HOME, &home.to_string_lossy());
    let mut options = Options::headless(env);
    options.host = Arc::new(Willing { root: context.env.cwd().to_owned() });
    options.persistence = Persistence::OneShot;
    options.logins.document = Some(DOCUMENT.to_owned());
    options.logins.keyring = Keyring::Off;
    let session = Session::start(options).await;
    let played = match let_in(&session).await {
        Ok(()) => act(&session, scenario, data).await,
        Err(error) => Err(error),
    };
    session.shutdown().await;
    drop(std::fs::remove_dir_all(home));
    played.map(|()| Outcome::Done)
}

/// Connects, and logs in as often as the server wants it, within reason.
async fn let_in(session: &Session) -> Result<(), CommandError> {
    for _ in 0..MOST_LOGINS {
        session.settled(None).await;
        let Some(error) = session.errors().into_iter().next() else { break };
        if !error.needs_login {
            return Err(failed(error.message));
        }
        session.login(SERVER, &Wishes::default()).await.map_err(failed)?;
    }
    session.settled(None).await;
    session.listed().await;
    match session.errors().first() {
        Some(error) => Err(failed(&error.message)),
        None => Ok(()),
    }
}

/// What the scenario gives us to prove who we are with, as an entry has it.
fn oauth(given: &Value) -> Option<Value> {
    let enterprise = json!({
        "clientId": given["idp_client_id"],
        "idToken": given["idp_id_token"],
        "endpoint": given["idp_token_endpoint"],
    });
    let oauth = json!({
        "clientId": given["client_id"],
        "clientSecret": given["client_secret"],
        "privateKey": given["private_key_pem"],
        "assertion": given["valid_jwt"],
        "enterprise": given["idp_id_token"].is_string().then_some(enterprise),
    });
    Some(without_null(oauth)).filter(|oauth| *oauth != json!({}))
}

fn without_null(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        other => other,
    }
}

/// The calls of a scenario. All lists were asked for already.
async fn act(session: &Session, scenario: &str, data: &str) -> Result<(), CommandError> {
    let catalog = session.catalog();
    match scenario {
        "tools_call" => call(session, "add_numbers", json!({"a": 5, "b": 3})).await?,
        "elicitation-sep1034-client-defaults" => {
            call(session, "test_client_elicitation_defaults", json!({})).await?;
        }
        "sse-retry" => call(session, "test_reconnection", json!({})).await?,
        "sep-2322-client-request-state" => {
            // Side by side, so that the state of one could leak into the other.
            let (stateful, unrelated) = tokio::join!(
                call(session, "test_mrtr_echo_state", json!({})),
                call(session, "test_mrtr_unrelated", json!({}))
            );
            stateful.and(unrelated)?;
            call(session, "test_mrtr_no_state", json!({})).await?;
            call(session, "test_mrtr_no_result_type", json!({})).await?;
        }
        "http-standard-headers" => {
            call(session, "test_headers", json!({})).await?;
            for of in &catalog.resources {
                session.read(&of.server, &of.item.uri).await.map_err(failed)?;
            }
            for of in &catalog.prompts {
                session.prompt(&of.server, &of.item.name, &[]).await.map_err(failed)?;
            }
        }
        "http-custom-headers" => {
            let data: Value = serde_json::from_str(data).unwrap_or_default();
            for wanted in data["toolCalls"].as_array().into_iter().flatten() {
                let name = wanted["name"].as_str().unwrap_or_default();
                call(session, name, wanted["arguments"].clone()).await?;
            }
        }
        "http-invalid-tool-headers" => {
            for entry in &catalog.tools {
                call(session, &entry.tool.name, json!({"region": "us-west1"})).await?;
            }
        }
        "json-schema-2020-12-preservation" => {
            for entry in catalog.tools.iter().filter(|entry| entry.tool.name == "json_schema_2020_12_tool") {
                call(session, "json_schema_echo", json!({"schema": entry.input_schema.value()})).await?;
            }
        }
        _ if scenario.starts_with("auth/") => {
            for entry in &catalog.tools {
                call(session, &entry.tool.name, json!({})).await?;
            }
        }
        // The others look at how we greet and list.
        _ => {}
    }
    Ok(())
}

async fn call(session: &Session, tool: &str, arguments: Value) -> Result<(), CommandError> {
    let outcome = session.call(&format!("{SERVER}/{tool}"), &Json::from(arguments)).await;
    outcome.map(drop).map_err(failed)
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

    fn visit(&self, page: Page) -> Reply<'_, Visited> {
        Box::pin(async move {
            match browse(&page.url).await {
                Ok(()) => Visited::Opened,
                Err(_) => Visited::Declined,
            }
        })
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

/// What a browser does with the pages of the suite: follows where they point.
async fn browse(url: &str) -> std::io::Result<()> {
    let mut url = url.to_owned();
    for _ in 0..MOST_PAGES {
        let rest = url.strip_prefix("http://").ok_or_else(|| std::io::Error::other("not http"))?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let mut stream = TcpStream::connect(host).await?;
        let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.take(64 * 1024).read_to_end(&mut answer).await?;
        let answer = String::from_utf8_lossy(&answer);
        let head = answer.split("\r\n\r\n").next().unwrap_or_default();
        let next = head.lines().filter_map(|line| line.split_once(':'));
        let mut next =
            next.filter(|(name, _)| name.eq_ignore_ascii_case("location")).map(|(_, at)| at.trim());
        match next.next_back() {
            Some(next) => url = next.to_owned(),
            None => return Ok(()),
        }
    }
    Ok(())
}
