//! The end of a command: finds who runs, and asks all of them at once. Nobody is waited for longer than said.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::join_all;
use switchboard::Env;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::{Answer, LONGEST, Request, dir};
use crate::socket;

/// Somebody is there and does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Silent {
    pub(crate) pid: u32,
}

/// Asks everybody who runs but ourselves, in the order of their ids.
pub(crate) async fn all(env: &Env, request: &Request, limit: Duration) -> Vec<Result<Answer, Silent>> {
    let dir = dir(env);
    // What others could put there is not asked.
    if socket::check_dir(&dir).is_err() {
        return Vec::new();
    }
    let peers = sockets(&dir).into_iter().filter(|(pid, _)| *pid != std::process::id());
    let asked = peers.map(|(pid, path)| async move {
        match timeout(limit, ask(&path, request)).await {
            Ok(Ok(answer)) => Some(Ok(answer)),
            // It went away, or was gone all the time.
            Ok(Err(_)) if !is_there(&path, limit).await => {
                drop(fs::remove_file(&path));
                None
            }
            Ok(Err(_)) | Err(_) => Some(Err(Silent { pid })),
        }
    });
    join_all(asked).await.into_iter().flatten().collect()
}

/// Removes what those who are gone left behind.
pub(super) async fn sweep(dir: &Path) {
    for (_, path) in sockets(dir) {
        if !is_there(&path, Duration::from_secs(1)).await {
            drop(fs::remove_file(&path));
        }
    }
}

async fn is_there(path: &Path, limit: Duration) -> bool {
    timeout(limit, socket::is_live(path)).await.unwrap_or(true)
}

/// Sockets with the process that made them.
fn sockets(dir: &Path) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let pid = name.to_str()?.strip_suffix(".sock")?.parse().ok()?;
            Some((pid, entry.path()))
        })
        .collect();
    found.sort();
    found
}

async fn ask(path: &Path, request: &Request) -> std::io::Result<Answer> {
    let mut stream = UnixStream::connect(path).await?;
    let (input, mut output) = stream.split();
    let mut text = serde_json::to_vec(request)?;
    text.push(b'\n');
    output.write_all(&text).await?;
    let mut line = String::new();
    BufReader::new(input.take(LONGEST)).read_line(&mut line).await?;
    Ok(serde_json::from_str(&line)?)
}
