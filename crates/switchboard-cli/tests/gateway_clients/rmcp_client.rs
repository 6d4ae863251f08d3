//! rmcp's client: asks which protocol there is, and takes the modern one. The job and what is told of it are as in
//! `peers/clients/job.mjs`.

use std::sync::{Arc, Mutex};

use rmcp::model::{ElicitRequestParams, ElicitResult, ErrorData, InitializeRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RequestContext, RoleClient, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ServiceError};
use serde::Serialize;
use serde_json::{Value, json};
use testkit::Sandbox;
use tokio::sync::Notify;

/// Who is asked, and told.
#[derive(Debug, Clone, Default)]
struct Person {
    questions: Arc<Mutex<Vec<String>>>,
    told: Arc<Notify>,
}

impl ClientHandler for Person {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let request = serde_json::to_value(request).unwrap();
        self.questions.lock().unwrap().push(request["message"].as_str().unwrap().to_owned());
        let content = json!({"username": "Ada", "email": "ada@example.com"});
        Ok(serde_json::from_value(json!({"action": "accept", "content": content})).unwrap())
    }

    async fn on_tool_list_changed(&self, _: rmcp::service::NotificationContext<RoleClient>) {
        self.told.notify_one();
    }

    fn get_info(&self) -> InitializeRequestParams {
        let info = json!({"name": "rmcp", "version": "1"});
        let capabilities = json!({"elicitation": {"form": {}}});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info});
        serde_json::from_value(params).unwrap()
    }
}

type Service = RunningService<RoleClient, Person>;

pub(crate) fn run(sandbox: &Sandbox, job: &Value) -> Value {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let person = Person::default();
        let client = connect(sandbox, &job["connect"], person.clone()).await;
        let seen = perform(&client, job, &person).await;
        client.cancel().await.unwrap();
        seen
    })
}

async fn connect(sandbox: &Sandbox, connect: &Value, person: Person) -> Service {
    let auto =
        ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::LATEST], legacy_version: None };
    if let Some(url) = connect["url"].as_str() {
        let transport = StreamableHttpClientTransport::from_uri(url);
        return person.serve_with_lifecycle(transport, auto).await.unwrap();
    }
    let mut command = sandbox.command(connect["command"].as_str().unwrap());
    command.args(connect["args"].as_array().unwrap().iter().filter_map(Value::as_str));
    let transport = TokioChildProcess::new(tokio::process::Command::from(command)).unwrap();
    person.serve_with_lifecycle(transport, auto).await.unwrap()
}

/// One field of each item. A server without the list has an empty one.
fn names(items: Result<impl Serialize, ServiceError>, field: &str) -> Value {
    let items = items.map_or_else(|_| json!([]), |items| serde_json::to_value(items).unwrap());
    items.as_array().unwrap().iter().map(|item| item[field].clone()).collect()
}

fn named(pair: &Value) -> Value {
    json!({"name": pair[0], "arguments": pair[1]})
}

async fn call(client: &Service, pair: &Value) -> Value {
    let result = client.call_tool(serde_json::from_value(named(pair)).unwrap()).await.unwrap();
    serde_json::to_value(result).unwrap()["content"].take()
}

async fn perform(client: &Service, job: &Value, person: &Person) -> Value {
    let is_modern = client
        .peer()
        .peer_info()
        .is_some_and(|info| serde_json::to_value(&info.protocol_version).unwrap().as_str() >= Some("2026"));
    let mut seen = json!({
        "protocol": if is_modern { "modern" } else { "handshake" },
        "tools": names(client.list_all_tools().await, "name"),
        "resources": names(client.list_all_resources().await, "uri"),
        "prompts": names(client.list_all_prompts().await, "name"),
        "calls": [], "reads": [], "gets": [],
    });
    let list = |field: &str| job[field].as_array().unwrap().clone();
    let keep = |seen: &mut Value, field: &str, value: Value| seen[field].as_array_mut().unwrap().push(value);
    for pair in list("calls") {
        keep(&mut seen, "calls", call(client, &pair).await);
    }
    for uri in list("reads") {
        let params = serde_json::from_value(json!({ "uri": uri })).unwrap();
        let read = client.read_resource(params).await.unwrap();
        keep(&mut seen, "reads", serde_json::to_value(read).unwrap()["contents"].take());
    }
    for pair in list("gets") {
        let got = client.get_prompt(serde_json::from_value(named(&pair)).unwrap()).await.unwrap();
        keep(&mut seen, "gets", serde_json::to_value(got).unwrap()["messages"].take());
    }
    if job["asks"].is_array() {
        let content = call(client, &job["asks"]).await;
        seen["asked"] = json!({"questions": *person.questions.lock().unwrap(), "content": content});
    }
    if job["changes"].is_string() {
        let filter = serde_json::from_value(json!({"toolsListChanged": true})).unwrap();
        let ear = if is_modern { Some(client.listen(filter).await.unwrap()) } else { None };
        call(client, &json!([job["changes"], {}])).await;
        match ear {
            Some(mut ear) => drop(ear.next().await.unwrap().unwrap()),
            None => person.told.notified().await,
        }
        seen["changed"] = json!(true);
    }
    seen
}
