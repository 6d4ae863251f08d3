//! Our client inside a session: what a host calls, with its rules, its lease and its shaped result.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard::calls::Request;
use switchboard::catalog::Entry;
use switchboard::json::Json;
use switchboard::session::{Options, Session};
use switchboard::wire::Guard;
use testkit::Sandbox;

use crate::load::Client;
use crate::ours::HttpServer;

#[derive(Debug, Clone)]
pub(crate) struct Hosted {
    session: Session,
    entry: Arc<Entry>,
    nothing: Json,
    _home: Arc<Sandbox>,
    _server: Option<Arc<HttpServer>>,
}

impl Hosted {
    pub(crate) async fn stdio() -> Self {
        Self::new(json!({"command": crate::server(), "approval": "never"}), None).await
    }

    pub(crate) async fn http() -> Self {
        let server = HttpServer::start(&[]);
        Self::new(json!({"url": server.url, "approval": "never"}), Some(Arc::new(server))).await
    }

    async fn new(entry: Value, server: Option<Arc<HttpServer>>) -> Self {
        let home = Sandbox::new();
        home.write("~/.switchboard/settings.json", r#"{"defaults": false}"#);
        home.write("~/.switchboard/mcp.json", json!({"mcpServers": {"s": entry}}).to_string());
        let mut options = Options::headless(home.env());
        options.guard = Some(Guard { program: env!("CARGO_BIN_EXE_guard").into(), args: Vec::new() });
        let session = Session::start(options).await;
        session.settled(None).await;
        session.listed().await;
        let entry = session.catalog().tools.first().cloned().unwrap();
        let nothing = Json::from_text("{}").unwrap();
        Self { session, entry: Arc::new(entry), nothing, _home: Arc::new(home), _server: server }
    }
}

impl Client for Hosted {
    async fn call(&self) {
        let outcome = self.session.call_entry(&self.entry, &self.nothing, Request::default()).await.unwrap();
        assert_eq!(outcome.shaped.text, "hello");
    }

    async fn stop(self) {
        self.session.shutdown().await;
    }
}
