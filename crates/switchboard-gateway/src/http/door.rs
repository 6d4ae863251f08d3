//! Connections as they come in: how many there are, where they are from, and how long nothing whole comes over them.
//!
//! A connection without a request under way has so long for the next one. That ends those who say nothing, those who say a
//! letter a minute, and those who went away without a word. While a request is under way, it is not the connection's to end.

use std::future::Future as _;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep_until, timeout};

use super::rate::Who;
use crate::metrics::{Metrics, Refused};

/// Said to those for whom there is no room, before the connection is closed.
const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
/// So long it may take to say that.
const BRIEF: Duration = Duration::from_secs(1);

/// What can be listened on.
pub(crate) trait Doorway: Listener {
    /// Who is at the other end, as far as that can be told; nothing if they may not come in.
    fn who(io: &Self::Io, address: &Self::Addr) -> Option<Who>;
}

impl Doorway for TcpListener {
    fn who(io: &Self::Io, address: &Self::Addr) -> Option<Who> {
        // Answers are small and wanted now. If it cannot be had, they come all the same.
        drop(io.set_nodelay(true));
        let ip: IpAddr = address.ip();
        Some(Who::at(ip))
    }
}

#[cfg(unix)]
impl Doorway for tokio::net::UnixListener {
    /// Only whoever we are ourselves: the file is for us alone, but between its making and that there is a moment.
    fn who(io: &Self::Io, _address: &Self::Addr) -> Option<Who> {
        let peer = io.peer_cred().ok()?;
        (peer.uid() == rustix::process::geteuid().as_raw()).then_some(Who::Socket)
    }
}

/// A listener that keeps to the limits.
#[derive(Debug)]
pub(crate) struct Door<L> {
    listener: L,
    room: Arc<Semaphore>,
    patience: Duration,
    metrics: Arc<Metrics>,
}

impl<L> Door<L> {
    pub(crate) fn new(listener: L, n_connections: usize, patience: Duration, metrics: Arc<Metrics>) -> Self {
        Self { listener, room: Arc::new(Semaphore::new(n_connections)), patience, metrics }
    }
}

impl<L: Doorway> Listener for Door<L> {
    type Io = Counted<L::Io>;
    type Addr = Line;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (io, address) = self.listener.accept().await;
            let Some(who) = L::who(&io, &address) else {
                self.metrics.refused(Refused::Stranger);
                continue;
            };
            let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() else {
                self.metrics.refused(Refused::Connections);
                tokio::spawn(turn_away(io));
                continue;
            };
            let line = Line(Arc::new(State {
                who,
                n_under_way: AtomicUsize::new(0),
                quiet_since: Mutex::new(Instant::now()),
                patience: self.patience,
            }));
            let timer = Box::pin(sleep_until(Instant::now() + self.patience));
            self.metrics.connected();
            let metrics = Arc::clone(&self.metrics);
            return (Counted { io, line: line.clone(), timer, metrics, _permit: permit }, line);
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

async fn turn_away(mut io: impl AsyncWrite + Unpin) {
    let said = async {
        io.write_all(FULL).await?;
        io.shutdown().await
    };
    // Whoever does not listen does not hear it.
    drop(timeout(BRIEF, said).await);
}

/// One connection, for those who serve it. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Line(Arc<State>);

#[derive(Debug)]
struct State {
    who: Who,
    n_under_way: AtomicUsize,
    // Written at the ends of requests and by answers, never held across a wait.
    quiet_since: Mutex<Instant>,
    patience: Duration,
}

impl Line {
    pub(crate) fn who(&self) -> Who {
        self.0.who.clone()
    }

    /// A request is under way until this is dropped.
    pub(crate) fn busy(&self) -> Busy {
        self.0.n_under_way.fetch_add(1, Ordering::SeqCst);
        Busy(self.clone())
    }

    fn touch(&self) {
        *self.0.quiet_since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// When to give it up, if nothing changes.
    fn deadline(&self) -> Instant {
        let since = if self.0.n_under_way.load(Ordering::SeqCst) > 0 {
            Instant::now()
        } else {
            *self.0.quiet_since.lock().unwrap_or_else(PoisonError::into_inner)
        };
        since + self.0.patience
    }
}

impl<L: Doorway> Connected<IncomingStream<'_, Door<L>>> for Line {
    fn connect_info(stream: IncomingStream<'_, Door<L>>) -> Self {
        stream.remote_addr().clone()
    }
}

/// A request under way.
#[derive(Debug)]
pub(crate) struct Busy(Line);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.touch();
        self.0.0.n_under_way.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A connection whose bytes are counted, and that ends when nothing comes.
#[derive(Debug)]
pub(crate) struct Counted<Io> {
    io: Io,
    line: Line,
    timer: Pin<Box<Sleep>>,
    metrics: Arc<Metrics>,
    _permit: OwnedSemaphorePermit,
}

impl<Io> Drop for Counted<Io> {
    fn drop(&mut self) {
        self.metrics.disconnected();
    }
}

impl<Io: AsyncRead + Unpin> AsyncRead for Counted<Io> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        if let Poll::Ready(read) = Pin::new(&mut self.io).poll_read(cx, buffer) {
            self.metrics.received(buffer.filled().len() - before);
            // A letter now and then is not a request: the time goes on.
            return Poll::Ready(read);
        }
        loop {
            let deadline = self.line.deadline();
            if deadline <= Instant::now() {
                self.metrics.refused(Refused::Slow);
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.timer.as_mut().reset(deadline);
            if self.timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

impl<Io: AsyncWrite + Unpin> Counted<Io> {
    fn wrote(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(n_bytes)) = &written {
            self.metrics.sent(*n_bytes);
            self.line.touch();
        }
        written
    }
}

impl<Io: AsyncWrite + Unpin> AsyncWrite for Counted<Io> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.wrote(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, bytes);
        self.wrote(written)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, duplex};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn counted<Io>(io: Io) -> Counted<Io> {
        let state = State {
            who: Who::at(IpAddr::from([10, 0, 0, 1])),
            n_under_way: AtomicUsize::new(0),
            quiet_since: Mutex::new(Instant::now()),
            patience: PATIENCE,
        };
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let timer = Box::pin(sleep_until(Instant::now() + PATIENCE));
        let metrics: Arc<Metrics> = Arc::default();
        metrics.connected();
        Counted { io, line: Line(Arc::new(state)), timer, metrics, _permit: permit }
    }

    #[tokio::test(start_paused = true)]
    async fn a_letter_now_and_then_is_not_enough() {
        let (ours, mut theirs) = duplex(100);
        let mut connection = counted(ours);
        let start = Instant::now();
        let trickle = async {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                if theirs.write_all(b"x").await.is_err() {
                    return;
                }
            }
        };
        let reading = async {
            let mut byte = [0];
            loop {
                if let Err(error) = connection.read_exact(&mut byte).await {
                    return error.kind();
                }
            }
        };
        let ended = tokio::select! {
            () = trickle => None,
            kind = reading => Some(kind),
        };
        assert_eq!(ended, Some(io::ErrorKind::TimedOut));
        assert_eq!(start.elapsed(), PATIENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_under_way_is_not_the_connections_to_end() {
        let (ours, _theirs) = duplex(100);
        let mut connection = counted(ours);
        let line = connection.line.clone();
        let start = Instant::now();
        let busy = line.busy();
        let request = async {
            tokio::time::sleep(PATIENCE * 10).await;
            drop(busy);
            std::future::pending::<()>().await;
        };
        let mut byte = [0];
        let ended = tokio::select! {
            () = request => None,
            read = connection.read(&mut byte) => Some(read.unwrap_err().kind()),
        };
        assert_eq!(ended, Some(io::ErrorKind::TimedOut));
        assert_eq!(start.elapsed(), PATIENCE * 11, "its time begins when the request is over");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_has_time_as_long_as_it_reads() {
        let (ours, mut theirs) = duplex(1);
        let mut connection = counted(ours);
        let start = Instant::now();
        let talk = async {
            for _ in 0..10 {
                connection.write_all(b"x").await.unwrap();
            }
            let mut byte = [0];
            connection.read(&mut byte).await.unwrap_err().kind()
        };
        let slow = async {
            let mut byte = [0];
            loop {
                tokio::time::sleep(PATIENCE / 2).await;
                theirs.read_exact(&mut byte).await.unwrap();
            }
        };
        let kind = tokio::select! {
            kind = talk => kind,
            () = slow => return,
        };
        assert_eq!(kind, io::ErrorKind::TimedOut);
        assert!(start.elapsed() > PATIENCE * 5);
    }
}
