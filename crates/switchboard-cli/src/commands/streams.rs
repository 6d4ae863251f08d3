//! The standard streams for a program that waits for many things at once.
//!
//! A pipe or a socket, which is what agents give to a server, can be waited for as such. Anything else is read and written
//! by threads, which costs each message two of their turns.

use tokio::io::{AsyncRead, AsyncWrite};

/// Standard input and output.
pub(super) struct Streams {
    pub(super) input: Box<dyn AsyncRead + Send + Unpin>,
    pub(super) output: Box<dyn AsyncWrite + Send + Unpin>,
    /// Put back when we are done: others may go on with the same streams.
    pub(super) modes: Vec<Mode>,
}

#[cfg(not(unix))]
pub(super) struct Mode;

#[cfg(not(unix))]
pub(super) fn standard() -> Streams {
    Streams { input: Box::new(tokio::io::stdin()), output: Box::new(tokio::io::stdout()), modes: Vec::new() }
}

#[cfg(unix)]
pub(super) use self::unix::{Mode, standard};

#[cfg(unix)]
mod unix {
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
    use std::os::unix::net::UnixStream as StdUnixStream;

    use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
    use tokio::io::{AsyncRead, AsyncWrite};
    use tokio::net::UnixStream;
    use tokio::net::unix::pipe::{Receiver, Sender};

    use super::Streams;

    /// How a stream was before.
    pub(crate) struct Mode {
        stream: OwnedFd,
        flags: OFlags,
    }

    impl Drop for Mode {
        fn drop(&mut self) {
            // Whoever reads it next may not expect that it does not wait.
            let _closed = fcntl_setfl(&self.stream, self.flags);
        }
    }

    pub(crate) fn standard() -> Streams {
        let (stdin, stdout) = (std::io::stdin(), std::io::stdout());
        let mut modes = Vec::new();
        let input: Option<Box<dyn AsyncRead + Send + Unpin>> = match taken(stdin.as_fd(), &mut modes) {
            Some((FileType::Fifo, fd)) => Receiver::from_owned_fd(fd).ok().map(|pipe| Box::new(pipe) as _),
            Some((FileType::Socket, fd)) => socket(fd).map(|socket| Box::new(socket) as _),
            _ => None,
        };
        let output: Option<Box<dyn AsyncWrite + Send + Unpin>> = match taken(stdout.as_fd(), &mut modes) {
            Some((FileType::Fifo, fd)) => Sender::from_owned_fd(fd).ok().map(|pipe| Box::new(pipe) as _),
            Some((FileType::Socket, fd)) => socket(fd).map(|socket| Box::new(socket) as _),
            _ => None,
        };
        Streams {
            input: input.unwrap_or_else(|| Box::new(tokio::io::stdin())),
            output: output.unwrap_or_else(|| Box::new(tokio::io::stdout())),
            modes,
        }
    }

    /// What kind of stream it is, and the stream.
    fn taken(stream: BorrowedFd<'_>, modes: &mut Vec<Mode>) -> Option<(FileType, OwnedFd)> {
        let kind = FileType::from_raw_mode(fstat(stream).ok()?.st_mode);
        let flags = fcntl_getfl(stream).ok()?;
        if !matches!(kind, FileType::Fifo | FileType::Socket) {
            return None;
        }
        modes.push(Mode { stream: stream.try_clone_to_owned().ok()?, flags });
        Some((kind, stream.try_clone_to_owned().ok()?))
    }

    fn socket(stream: OwnedFd) -> Option<UnixStream> {
        let stream = StdUnixStream::from(stream);
        stream.set_nonblocking(true).ok()?;
        UnixStream::from_std(stream).ok()
    }
}
