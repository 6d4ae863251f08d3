//! The server on its standard input and output: one line is one message.

use std::io;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::call::{Call, Port};
use crate::server::Server;

pub(crate) async fn serve(server: Arc<Server>) -> io::Result<()> {
    aside(&server).play(&server.script.start).await?;
    let mut input = BufReader::new(tokio::io::stdin());
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line).await? == 0 {
            break;
        }
        take(&server, &line).await;
    }
    aside(&server).play(&server.script.eof).await
}

/// A call for what is played without a message.
pub(crate) fn aside(server: &Arc<Server>) -> Call {
    Call::new(Arc::clone(server), &Value::Null, Port::Stdio(Arc::clone(server)), "")
}

async fn take(server: &Arc<Server>, line: &[u8]) {
    let text = String::from_utf8_lossy(line);
    if text.trim().is_empty() {
        return;
    }
    let mut port = Port::Stdio(Arc::clone(server));
    let message: Value = match serde_json::from_slice(line) {
        Ok(message) => message,
        Err(error) => {
            server.log(&json!({"text": text}));
            let error = json!({"code": -32700, "message": format!("Parse error: {error}")});
            drop(port.message(&json!({"jsonrpc": "2.0", "error": error, "id": null})).await);
            return;
        }
    };
    server.log(&json!({"message": message}));
    if message.get("method").is_none() {
        server.answered(message);
        return;
    }
    if message["method"] == "initialize" {
        server.set_ready("");
    }
    // Registered before the next line is read: it may be the cancellation of this one.
    let call = Call::new(Arc::clone(server), &message, port, "");
    tokio::spawn(call.run());
    // It starts before the next line is read: one that stops reading must not have read more before.
    tokio::task::yield_now().await;
}
