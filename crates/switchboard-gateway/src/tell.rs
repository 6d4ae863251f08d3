//! What clients are told unasked: lists and resources that changed, tasks, lines of logs. Each hears only what it wants to hear
//! and can see. Whoever does not read is not waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use switchboard::json::Json;
use switchboard::wire::Era;

use crate::client::{Client, Listening};
use crate::facet::Facet;
use crate::hub::Hub;
use crate::rewrite;
use crate::rpc;
use crate::view::List;
use crate::views::Differences;

impl Hub {
    pub(crate) fn tell_changes(&self, changes: &Differences) {
        let none = BTreeSet::new();
        let of = |facet: &Facet| changes.get(facet).unwrap_or(&none);
        for client in self.present() {
            if client.greeting.get().is_some() {
                for (method, _) in told_of(of(&client.facet())) {
                    let _full = client.post.try_send(rpc::notification(method, Json::object([])));
                }
            }
            for listening in client.listening() {
                for (method, list) in told_of(of(&listening.facet)) {
                    if listening.lists.contains(&list) {
                        let text = rpc::notification(method, tagged(&listening.id, []));
                        let _full = listening.lane.try_send(text);
                    }
                }
            }
        }
    }

    pub(crate) fn tell_updated(&self, server: &str, uri: &str) {
        let key = (server.to_owned(), uri.to_owned());
        let shown: Json = serde_json::json!(self.view().outward(server, uri)).into();
        let method = "notifications/resources/updated";
        for client in self.present() {
            if client.is_subscribed(&key) && self.view_of(&client.facet()).sees(server) {
                let params = Json::object([("uri", shown.clone())]);
                let _full = client.post.try_send(rpc::notification(method, params));
            }
            let hears = |listening: &&Listening| {
                listening.uris.contains(&key) && self.view_of(&listening.facet).sees(server)
            };
            for listening in client.listening().iter().filter(hears) {
                let params = tagged(&listening.id, [("uri", shown.clone())]);
                let _full = listening.lane.try_send(rpc::notification(method, params));
            }
        }
    }

    /// A task is otherwise than before: whoever listens to it is told.
    pub(crate) fn tell_task(&self, server: &str, params: &Json) {
        let Some(id) = params.get("taskId").and_then(|id| id.text()) else { return };
        let key = (server.to_owned(), id);
        let shown = rewrite::result(&self.view(), server, params, Era::Handshake);
        for client in self.present() {
            for listening in client.listening().iter().filter(|listening| listening.tasks.contains(&key)) {
                let meta = tagged(&listening.id, []).get("_meta").unwrap_or_else(Json::null);
                let params = shown.with("_meta", meta);
                let _full = listening.lane.try_send(rpc::notification("notifications/tasks", params));
            }
        }
    }

    /// What a server logs for nobody in particular goes to whoever wants such lines.
    pub(crate) fn tell_log(&self, server: &str, (level, logger, data): (&str, Option<&str>, &Json)) {
        let params = log_params(server, (level, logger, data));
        let hears = |client: &&Arc<Client>| client.wants(level) && self.view_of(&client.facet()).sees(server);
        for client in self.present().iter().filter(hears) {
            let _full = client.post.try_send(rpc::notification("notifications/message", params.clone()));
        }
    }
}

/// What is said of changed lists, each once. Templates are told of as resources are.
fn told_of(lists: &BTreeSet<List>) -> BTreeMap<&'static str, List> {
    let told = |list: &List| match list {
        List::Tools => ("notifications/tools/list_changed", List::Tools),
        List::Resources | List::Templates => ("notifications/resources/list_changed", List::Resources),
        List::Prompts => ("notifications/prompts/list_changed", List::Prompts),
    };
    lists.iter().map(told).collect()
}

/// The parameters of a line that a server logs for nobody in particular.
pub(crate) fn log_params(server: &str, (level, logger, data): (&str, Option<&str>, &Json)) -> Json {
    let logger = logger.map_or_else(|| server.to_owned(), |logger| format!("{server}/{logger}"));
    Json::object([
        ("level", serde_json::json!(level).into()),
        ("logger", serde_json::json!(logger).into()),
        ("data", data.clone()),
    ])
}

/// Parameters that say which request to listen they belong to.
pub(crate) fn tagged<'a>(id: &Json, fields: impl IntoIterator<Item = (&'a str, Json)>) -> Json {
    let meta = Json::object([("io.modelcontextprotocol/subscriptionId", id.clone())]);
    Json::object(fields.into_iter().chain([("_meta", meta)]))
}
