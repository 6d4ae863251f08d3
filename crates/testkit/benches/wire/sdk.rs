//! The official SDK, `rmcp`, used as its documentation has it.

use std::sync::Arc;

use rmcp::model::{CallToolRequestParams, CallToolResponse, ContentBlock};
use rmcp::service::{RoleClient, RunningService, ServiceExt};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use tokio::process::Command;

use crate::decode::Reader;
use crate::load::Client;
use crate::ours::HttpServer;

/// How many threads a runtime has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Threads {
    One,
    Two,
}

#[derive(Debug, Clone)]
pub(crate) struct Sdk {
    service: Arc<RunningService<RoleClient, ()>>,
    _server: Option<Arc<HttpServer>>,
}

impl Sdk {
    pub(crate) async fn stdio(args: &[&str]) -> Self {
        let mut command = Command::new(crate::server());
        command.args(args);
        let transport = TokioChildProcess::new(command).unwrap();
        Self { service: Arc::new(().serve(transport).await.unwrap()), _server: None }
    }

    /// By itself it opens a connection for each call; with a pool it does not, and may have 64 calls at once.
    pub(crate) async fn http(with_pool: bool) -> Self {
        let server = HttpServer::start(&[]);
        let service = if with_pool {
            let config = StreamableHttpClientTransportConfig::with_uri(server.url.as_str());
            let config = config.max_concurrent_requests(64);
            let client = reqwest::Client::new();
            ().serve(StreamableHttpClientTransport::with_client(client, config)).await.unwrap()
        } else {
            ().serve(StreamableHttpClientTransport::from_uri(server.url.as_str())).await.unwrap()
        };
        Self { service: Arc::new(service), _server: Some(Arc::new(server)) }
    }

    async fn called(&self, params: CallToolRequestParams) -> rmcp::model::CallToolResult {
        let CallToolResponse::Complete(result) = self.service.peer().call_tool_once(params).await.unwrap()
        else {
            panic!("a result");
        };
        result
    }
}

impl Client for Sdk {
    async fn call(&self) {
        self.called(CallToolRequestParams::new("echo").with_arguments(serde_json::Map::new())).await;
    }

    async fn stop(self) {
        if let Ok(service) = Arc::try_unwrap(self.service) {
            service.cancel().await.unwrap();
        }
    }
}

impl Reader for Sdk {
    async fn list(&self) -> usize {
        self.service.peer().list_all_tools().await.unwrap().len()
    }

    async fn text(&self, bytes: usize) -> usize {
        let arguments = serde_json::Map::from_iter([("bytes".to_owned(), bytes.into())]);
        let result = self.called(CallToolRequestParams::new("text").with_arguments(arguments)).await;
        let ContentBlock::Text(text) = &result.content[0] else { panic!("a text") };
        text.text.len()
    }
}
