//! A child process as a transport: one message a line, out on its input, in from its output.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;

use super::child::Process;
use super::error::{Cause, Exit};
use super::frame::{Frame as Line, Lines};
use super::peer::Frame;
use super::router::{Router, Via};
use crate::resolve::Child as Launch;

/// Messages that wait for the server to read.
const QUEUE: usize = 256;
/// As much is written in one go when several messages wait.
const BUNDLE: usize = 64 * 1024;
/// So many messages that nobody waits for are looked at before others have their turn.
const TURN: usize = 32;
/// For the exit code, after the output was closed.
const EXIT_GRACE: Duration = Duration::from_millis(500);

/// Connects the streams of a process with the ledger. The tasks end with the process or with the set.
pub(crate) fn attach(
    process: &Arc<Process>,
    (input, output): (ChildStdin, ChildStdout),
    launch: &Launch,
    (router, limit): (&Arc<Router>, usize),
    tasks: &mut JoinSet<()>,
) -> (mpsc::Sender<Frame>, oneshot::Receiver<()>) {
    let (queue, frames) = mpsc::channel(QUEUE);
    let (tell, written) = oneshot::channel();
    let writing = write(input, frames, Arc::clone(router));
    tasks.spawn(async move {
        writing.await;
        let _nobody_waits = tell.send(());
    });
    let (process, launch, router) = (Arc::clone(process), launch.clone(), Arc::clone(router));
    tasks.spawn(async move {
        read(output, limit, &router).await;
        let exit = process.ended(EXIT_GRACE).await;
        router.lose(&exit.map_or(Cause::Closed, |exit: Exit| process.cause(exit, &launch)));
    });
    (queue, written)
}

/// Writes until the connection is given up or the server stops listening. What is queued then still goes out, such as the
/// word that a call is no longer needed. Dropping the input tells the server to end.
async fn write(mut input: ChildStdin, mut frames: mpsc::Receiver<Frame>, router: Arc<Router>) {
    let mut bundle = BytesMut::with_capacity(BUNDLE);
    let given_up = router.lost();
    tokio::pin!(given_up);
    loop {
        let frame = tokio::select! {
            biased;
            frame = frames.recv() => frame,
            _ = &mut given_up => None,
        };
        let Some(frame) = frame else { return };
        append(&mut bundle, &frame, &router);
        while bundle.len() < BUNDLE {
            let Ok(frame) = frames.try_recv() else { break };
            append(&mut bundle, &frame, &router);
        }
        if input.write_all(&bundle).await.is_err() || input.flush().await.is_err() {
            // Why the server stopped listening is for the reader to find out; but one that only closed its input is
            // of no use either.
            let _still_there = timeout(2 * EXIT_GRACE, router.lost()).await;
            router.lose(&Cause::Closed);
            return;
        }
        bundle.clear();
    }
}

fn append(bundle: &mut BytesMut, frame: &Frame, router: &Router) {
    if frame.stage.leave() {
        if let Some(trace) = &router.trace {
            trace.sent(&frame.text);
        }
        bundle.extend_from_slice(&frame.text);
        bundle.extend_from_slice(b"\n");
    }
}

async fn read(mut output: ChildStdout, limit: usize, router: &Router) {
    let mut lines = Lines::new(limit);
    let mut n_unasked = 0;
    loop {
        router.pace.rest().await;
        let read = output.read_buf(lines.buffer()).await;
        let is_over = !matches!(read, Ok(1..));
        let next =
            |lines: &mut Lines| if is_over { lines.next().or_else(|| lines.finish()) } else { lines.next() };
        while let Some(line) = next(&mut lines) {
            match line {
                Line::Line(text) if router.deliver(&text, Via::Common) => {}
                Line::Line(_) => {
                    n_unasked += 1;
                    if n_unasked % TURN == 0 {
                        yield_now().await;
                    }
                }
                Line::Overflow { head } => router.overflow(&head, limit),
                Line::Skipped { .. } => {}
            }
        }
        if is_over {
            return;
        }
    }
}
