//! Hearing of changes: of lists, and of single resources. The notices come through the link like all others.

use serde_json::{Map, Value, json};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::era::Era;
use super::error::{Cause, Error};
use super::ledger::{Beat, Wants};
use super::link::{Asking, Link};
use super::message::{self, Params};
use super::peer::Patience;
use crate::json::Json;

/// What to hear of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interest {
    /// Changes of the list of tools.
    pub tools: bool,
    /// Changes of the list of prompts.
    pub prompts: bool,
    /// Changes of the list of resources.
    pub resources: bool,
    /// Changes of these resources.
    pub uris: Vec<String>,
    /// Changes of these tasks. Only servers of the modern protocol can be asked for them.
    pub tasks: Vec<String>,
}

/// A subscription; dropping it ends it.
#[derive(Debug)]
pub struct Subscription {
    /// What the server agreed to, as it said so; it may be less than was asked for.
    pub granted: Json,
    held: Held,
}

#[derive(Debug)]
enum Held {
    /// The server tells of lists by itself; resources are unsubscribed one by one.
    Handshake { link: Link, uris: Vec<String> },
    /// An open request.
    Modern { task: JoinHandle<()>, ended: watch::Receiver<bool> },
}

impl Subscription {
    /// Resolves when the server ended it. One under the handshake rules lasts as long as the connection.
    pub async fn ended(&mut self) {
        match &mut self.held {
            Held::Handshake { link, .. } => drop(link.lost().await),
            Held::Modern { ended, .. } => drop(ended.wait_for(|ended| *ended).await.map(|ended| *ended)),
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        match &self.held {
            Held::Handshake { link, uris } => {
                for uri in uris {
                    let params = Params::new().with("uri", json!(uri));
                    link.shared.ask_and_forget("resources/unsubscribe", params, uri);
                }
            }
            Held::Modern { task, .. } => task.abort(),
        }
    }
}

impl Link {
    /// Subscribes. What the server cannot tell of is left out; compare what was granted.
    pub async fn subscribe(&self, interest: &Interest) -> Result<Subscription, Error> {
        match self.facts().era {
            Era::Handshake => self.subscribe_each(interest).await,
            Era::Modern => self.listen(interest).await,
        }
    }

    async fn subscribe_each(&self, interest: &Interest) -> Result<Subscription, Error> {
        let mut granted = Map::new();
        let lists = [
            ("toolsListChanged", "tools", interest.tools),
            ("promptsListChanged", "prompts", interest.prompts),
            ("resourcesListChanged", "resources", interest.resources),
        ];
        for (name, capability, is_wanted) in lists {
            if is_wanted && self.facts().can_also(capability, "listChanged") {
                granted.insert(name.to_owned(), Value::Bool(true));
            }
        }
        let held = Held::Handshake { link: self.clone(), uris: Vec::new() };
        // Made first: when one resource is refused, those before it are given back.
        let mut subscription = Subscription { granted: Json::null(), held };
        if self.facts().can_also("resources", "subscribe") {
            for uri in &interest.uris {
                let params = Params::new().with("uri", json!(uri));
                self.shared.ask(self.shared.plain("resources/subscribe", params), &mut |_| {}).await?;
                if let Held::Handshake { uris, .. } = &mut subscription.held {
                    uris.push(uri.clone());
                }
            }
            if !interest.uris.is_empty() {
                granted.insert("resourceSubscriptions".to_owned(), json!(interest.uris));
            }
        }
        subscription.granted = Value::Object(granted).into();
        Ok(subscription)
    }

    async fn listen(&self, interest: &Interest) -> Result<Subscription, Error> {
        let mut wanted = Map::new();
        for (name, is_wanted) in [
            ("toolsListChanged", interest.tools),
            ("promptsListChanged", interest.prompts),
            ("resourcesListChanged", interest.resources),
        ] {
            if is_wanted {
                wanted.insert(name.to_owned(), Value::Bool(true));
            }
        }
        if !interest.uris.is_empty() {
            wanted.insert("resourceSubscriptions".to_owned(), json!(interest.uris));
        }
        if !interest.tasks.is_empty() {
            wanted.insert("taskIds".to_owned(), json!(interest.tasks));
        }
        let (grant, granted) = oneshot::channel();
        let (tell, ended) = watch::channel(false);
        let shared = std::sync::Arc::clone(&self.shared);
        let task = tokio::spawn(async move {
            let mut grant = Some(grant);
            let asking = Asking {
                method: "subscriptions/listen",
                params: Params::new().with("notifications", Value::Object(wanted)),
                name: None,
                headers: Vec::new(),
                wants: Wants::Subscription,
                patience: Patience::of(None),
                errand: None,
            };
            let outcome = shared
                .ask(asking, &mut |beat| {
                    if let (Beat::Granted(params), Some(grant)) = (beat, grant.take()) {
                        let _gone = grant.send(Ok(params));
                    }
                })
                .await;
            if let (Err(error), Some(grant)) = (outcome, grant.take()) {
                let _gone = grant.send(Err(error));
            }
            tell.send_replace(true);
        });
        let limit = self.shared.timeout().unwrap_or(self.shared.limits.longest_call);
        let held = Held::Modern { task, ended };
        let mut subscription = Subscription { granted: Json::null(), held };
        let timeout = || Cause::Timeout { waiting_for: "subscriptions/listen".to_owned(), after: limit };
        let params = tokio::time::timeout(limit, granted)
            .await
            .map_err(|_| Error::maybe(timeout()))?
            .unwrap_or_else(|_| Err(Error::maybe(Cause::Closed)))?;
        let agreed = message::fields(&params).into_iter().find(|(name, _)| name == "notifications");
        subscription.granted = agreed.map_or_else(Json::null, |(_, agreed)| agreed);
        Ok(subscription)
    }
}
