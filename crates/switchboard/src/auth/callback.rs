//! Waits on this machine for the browser to come back from a login.
//!
//! In: the state that only our browser knows. Out: what the issuer sent along. Anybody on this machine can knock, and any
//! page can make a browser knock: whoever does not know the state gets a short answer and changes nothing. What is
//! shown is fixed; nothing of a request is ever shown, kept or told. No socket outlives the [`Callback`].

mod page;
mod request;

#[cfg(test)]
mod tests;

use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Sleep, sleep, timeout};

use self::page::Answer;
pub(crate) use self::request::{Returned, parse_pasted};
use self::request::{Rules, Verdict};

/// How many may talk to us at once.
const MOST_CONNECTIONS: usize = 8;
/// A longer request is not read. Browsers send along every cookie that anything on this machine ever set.
const MOST_BYTES: usize = 32 * 1024;
/// How long somebody may take to say what they want.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same when half of the places are taken: a browser says it at once, and others wait behind.
const HASTE: Duration = Duration::from_secs(1);
/// How much of what nobody asked for is read, so that the answer is not lost with it.
const MOST_LEFT: usize = 64 * 1024;
/// How long we do not look when the system cannot give us a connection.
const REST: Duration = Duration::from_millis(100);
/// How often a free port is asked for that is free in both families.
const ATTEMPTS: u32 = 16;

/// What a redirect address is to look like.
#[derive(Debug, Clone)]
pub(crate) struct Wish {
    /// Tried in this order; 0 is any free one.
    pub(crate) ports: Vec<u16>,
    /// Exactly this path, such as `/callback`.
    pub(crate) path: String,
    pub(crate) host: Host,
}

/// What the browser calls this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    /// `127.0.0.1`.
    Ipv4,
    /// `localhost`, which may be either family.
    Localhost,
    /// Another name, with its port if it has one, from where requests are passed on to us.
    Behind(String),
}

/// Why nobody can come back to us.
#[derive(Debug, thiserror::Error)]
#[error("cannot wait for the browser on {}: {source}", named(ports))]
pub(crate) struct BindError {
    /// What was tried.
    pub(crate) ports: Vec<u16>,
    /// What the system said last.
    pub(crate) source: io::Error,
}

fn named(ports: &[u16]) -> String {
    let name = |port: &u16| if *port == 0 { "any free port".to_owned() } else { format!("port {port}") };
    ports.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// A door for the browser. It is served only while somebody waits in [`Callback::wait`] or [`Callback::during`].
pub(crate) struct Callback {
    port: u16,
    path: String,
    host: Host,
    /// What the `Host` header may say.
    authorities: Vec<String>,
    listeners: Vec<TcpListener>,
    /// Not looked at again before this is over.
    rest: Option<Pin<Box<Sleep>>>,
    connections: Vec<Connection>,
    expected: Option<String>,
    /// States that came back; each counts once.
    used: Vec<String>,
}

/// Owned, not spawned: when we go, it is gone.
type Connection = Pin<Box<dyn Future<Output = Step> + Send>>;

/// What a connection comes to.
enum Step {
    /// Somebody said what they want, or failed to.
    Heard(TcpStream, Result<Vec<u8>, Answer>),
    /// They were answered.
    Answered(Option<Returned>),
}

impl Callback {
    /// Takes the first port that can be had. Must be called inside of a runtime.
    pub(crate) fn bind(wish: &Wish) -> Result<Self, BindError> {
        let ports = if wish.ports.is_empty() { vec![0] } else { wish.ports.clone() };
        let mut source = io::Error::from(io::ErrorKind::AddrInUse);
        for port in &ports {
            match listen(*port, &wish.host) {
                Ok((port, listeners)) => return Ok(Self::new(wish, port, listeners)),
                Err(error) => source = error,
            }
        }
        Err(BindError { ports, source })
    }

    fn new(wish: &Wish, port: u16, listeners: Vec<TcpListener>) -> Self {
        Self {
            port,
            path: wish.path.clone(),
            host: wish.host.clone(),
            authorities: authorities(&wish.host, port),
            listeners,
            rest: None,
            connections: Vec::new(),
            expected: None,
            used: Vec::new(),
        }
    }

    /// The port we got.
    #[cfg(test)]
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Where the browser is to come back to, on this machine.
    pub(crate) fn redirect(&self) -> String {
        let host = match self.host {
            Host::Ipv4 | Host::Behind(_) => "127.0.0.1",
            Host::Localhost => "localhost",
        };
        format!("http://{host}:{}{}", self.port, self.path)
    }

    /// Serves until somebody comes back with this state, for as long as that takes. Whoever comes with an older state is
    /// told that it is done. May be dropped and called again.
    pub(crate) async fn wait(&mut self, state: &str) -> Returned {
        if !self.used.iter().any(|used| used == state) {
            self.expected = Some(state.to_owned());
        }
        poll_fn(|cx| self.poll_returned(cx)).await
    }

    /// Serves while some work is done, so that a browser that comes again, or late, is told that the login is done.
    pub(crate) async fn during<T>(&mut self, work: impl Future<Output = T>) -> T {
        self.used.extend(self.expected.take());
        let mut work = pin!(work);
        poll_fn(|cx| {
            // Nobody is expected any more.
            while self.poll_returned(cx).is_ready() {}
            work.as_mut().poll(cx)
        })
        .await
    }

    fn poll_returned(&mut self, cx: &mut Context<'_>) -> Poll<Returned> {
        loop {
            let mut is_moving = self.poll_accept(cx);
            let mut index = 0;
            while index < self.connections.len() {
                let Poll::Ready(step) = self.connections[index].as_mut().poll(cx) else {
                    index += 1;
                    continue;
                };
                drop(self.connections.remove(index));
                is_moving = true;
                match step {
                    Step::Heard(stream, head) => {
                        let (answer, returned) = self.judge(head);
                        self.connections.push(Box::pin(reply(stream, answer, returned)));
                    }
                    Step::Answered(Some(returned)) => return Poll::Ready(returned),
                    Step::Answered(None) => {}
                }
            }
            if !is_moving {
                return Poll::Pending;
            }
        }
    }

    /// Lets in whoever knocks while there is room. Says whether somebody came.
    fn poll_accept(&mut self, cx: &mut Context<'_>) -> bool {
        if let Some(rest) = &mut self.rest {
            if rest.as_mut().poll(cx).is_pending() {
                return false;
            }
            self.rest = None;
        }
        let mut came = false;
        for listener in &self.listeners {
            if self.connections.len() >= MOST_CONNECTIONS {
                break;
            }
            match listener.poll_accept(cx) {
                Poll::Ready(Ok((stream, _))) => {
                    let is_crowded = self.connections.len() >= MOST_CONNECTIONS / 2;
                    let patience = if is_crowded { HASTE } else { PATIENCE };
                    self.connections.push(Box::pin(hear(stream, patience)));
                    came = true;
                }
                // Somebody hung up, or there are too many open files: it may be better in a moment.
                Poll::Ready(Err(_)) => {
                    self.rest = Some(Box::pin(sleep(REST)));
                    came = true;
                }
                Poll::Pending => {}
            }
        }
        came
    }

    fn judge(&mut self, head: Result<Vec<u8>, Answer>) -> (Answer, Option<Returned>) {
        let head = match head {
            Ok(head) => head,
            Err(answer) => return (answer, None),
        };
        let rules = Rules {
            path: &self.path,
            authorities: &self.authorities,
            expected: self.expected.as_deref(),
            used: &self.used,
        };
        match request::judge(&head, &rules) {
            Verdict::Good(returned) => {
                self.used.extend(self.expected.take());
                let is_success = returned.code.is_some() && returned.error.is_none();
                (if is_success { Answer::Success } else { Answer::Failure }, Some(returned))
            }
            Verdict::Bad(answer) => (answer, None),
        }
    }
}

impl std::fmt::Debug for Callback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The states are secrets while they count.
        write!(f, "Callback({})", self.redirect())
    }
}

fn authorities(host: &Host, port: u16) -> Vec<String> {
    let names: &[&str] = match host {
        Host::Ipv4 => &["127.0.0.1"],
        Host::Localhost | Host::Behind(_) => &["localhost", "127.0.0.1", "[::1]"],
    };
    let mut authorities: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
    if port == 80 {
        // Browsers leave out the usual port.
        authorities.extend(names.iter().map(|name| (*name).to_owned()));
    }
    if let Host::Behind(name) = host {
        authorities.push(name.clone());
    }
    authorities
}

fn listen(port: u16, host: &Host) -> io::Result<(u16, Vec<TcpListener>)> {
    let attempts = if port == 0 { ATTEMPTS } else { 1 };
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..attempts {
        let ours = open(Ipv4Addr::LOCALHOST.into(), port)?;
        let port = ours.local_addr()?.port();
        if *host != Host::Localhost {
            return Ok((port, vec![ours]));
        }
        match open(Ipv6Addr::LOCALHOST.into(), port) {
            Ok(too) => return Ok((port, vec![ours, too])),
            // The browser may try this one first: whoever has it would get what is meant for us.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = error,
            // This machine has no such address.
            Err(_) => return Ok((port, vec![ours])),
        }
    }
    Err(last)
}

fn open(address: IpAddr, port: u16) -> io::Result<TcpListener> {
    let listener = std::net::TcpListener::bind((address, port))?;
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

/// Reads until the headers are over.
async fn hear(mut stream: TcpStream, patience: Duration) -> Step {
    let head = timeout(patience, head(&mut stream)).await.unwrap_or(Err(Answer::TooSlow));
    Step::Heard(stream, head)
}

async fn head(stream: &mut TcpStream) -> Result<Vec<u8>, Answer> {
    let mut bytes = Vec::with_capacity(1024);
    let mut limited = stream.take(MOST_BYTES as u64);
    loop {
        let n_before = bytes.len();
        match limited.read_buf(&mut bytes).await {
            Ok(0) | Err(_) => return Err(Answer::Malformed),
            Ok(_) => {}
        }
        // The end may have come in two pieces.
        let from = n_before.saturating_sub(request::END.len());
        if let Some(end) = memchr::memmem::find(&bytes[from..], request::END) {
            bytes.truncate(from + end + request::END.len());
            return Ok(bytes);
        }
    }
}

/// Answers and hangs up. Whoever does not take the answer misses it.
async fn reply(mut stream: TcpStream, answer: Answer, returned: Option<Returned>) -> Step {
    let is_awaited = returned.is_some();
    let say = async {
        stream.write_all(&answer.bytes()).await?;
        stream.shutdown().await?;
        // Hanging up on somebody who still talks takes the answer away from them. Who was waited for said it all.
        let mut left = [0; 4096];
        let mut n_read = 0;
        while !is_awaited && n_read < MOST_LEFT {
            match stream.read(&mut left).await? {
                0 => break,
                n => n_read += n,
            }
        }
        io::Result::Ok(())
    };
    let _missed = timeout(HASTE, say).await;
    Step::Answered(returned)
}
