//! Our client, opened as the product opens it.

use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use switchboard::declared::Remote;
use switchboard::json::Json;
use switchboard::wire::{self, CallOptions, Link};
use testkit::connect;

use crate::decode::Reader;
use crate::load::Client;

#[derive(Debug, Clone)]
pub(crate) struct Ours {
    link: Link,
    nothing: Json,
    _server: Option<Arc<HttpServer>>,
}

impl Ours {
    pub(crate) async fn stdio(args: &[&str], is_bare: bool) -> Self {
        let launch = connect::command(crate::server().as_ref(), args, &[]).await;
        let mut terms = connect::terms();
        if is_bare {
            terms.guard = None;
        }
        Self::new(wire::open(&launch, &terms).await.unwrap(), None)
    }

    pub(crate) async fn http(args: &[&str]) -> Self {
        let server = HttpServer::start(args);
        let launch = connect::address(&server.url, Remote::Http, &[]).await;
        Self::new(wire::open(&launch, &connect::terms()).await.unwrap(), Some(Arc::new(server)))
    }

    fn new(link: Link, server: Option<Arc<HttpServer>>) -> Self {
        Self { link, nothing: Json::from_text("{}").unwrap(), _server: server }
    }
}

impl Client for Ours {
    async fn call(&self) {
        self.link.call("echo", &self.nothing, CallOptions::default()).await.unwrap();
    }

    async fn stop(self) {
        self.link.stop().await;
    }
}

impl Reader for Ours {
    async fn list(&self) -> usize {
        self.link.tools().await.unwrap().items.len()
    }

    async fn text(&self, bytes: usize) -> usize {
        let arguments = Json::from_text(format!("{{\"bytes\":{bytes}}}")).unwrap();
        let result = self.link.call("text", &arguments, CallOptions::default()).await.unwrap();
        result.content[0].text.as_ref().unwrap().len()
    }
}

/// The server on a port of its own; it ends with this.
#[derive(Debug)]
pub(crate) struct HttpServer {
    pub(crate) url: String,
    child: Mutex<Child>,
}

impl HttpServer {
    pub(crate) fn start(args: &[&str]) -> Self {
        use std::io::{BufRead, BufReader};
        let mut command = Command::new(crate::server());
        command.arg("--http").args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { url: url.trim().to_owned(), child: Mutex::new(child) }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap();
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
