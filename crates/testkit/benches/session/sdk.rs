//! The official SDK, `rmcp`: all servers at the same time, each in a task of its own.

use std::process::Stdio;

use rmcp::service::{RoleClient, RunningService, ServiceExt};
use rmcp::transport::TokioChildProcess;
use tokio::process::Command;

use crate::world::server;

/// A server that gave its tools.
pub(crate) struct Service {
    connection: RunningService<RoleClient, ()>,
    /// Kept as whoever offers them keeps them.
    _tools: Vec<rmcp::model::Tool>,
}

/// Starts all and gets the tools of each.
pub(crate) async fn start(commands: Vec<Vec<String>>) -> Vec<Service> {
    let opening: Vec<_> = commands.into_iter().map(|args| tokio::spawn(open(args))).collect();
    let mut services = Vec::new();
    for service in opening {
        services.push(service.await.unwrap());
    }
    services
}

async fn open(args: Vec<String>) -> Service {
    let mut command = Command::new(server());
    command.args(args).stderr(Stdio::inherit());
    let connection = ().serve(TokioChildProcess::new(command).unwrap()).await.unwrap();
    let tools = connection.peer().list_all_tools().await.unwrap();
    assert!(!tools.is_empty());
    Service { connection, _tools: tools }
}

pub(crate) async fn stop(services: Vec<Service>) {
    let closing = services.into_iter().map(|service| tokio::spawn(service.connection.cancel()));
    let closing: Vec<_> = closing.collect();
    for service in closing {
        service.await.unwrap().unwrap();
    }
}
