//! Sockets for processes of the same user: in a directory that nobody else can change, for us alone, and gone with whoever
//! made them. Decides nothing about what is said over them.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

/// Why there is no socket to be had at a path.
#[derive(Debug)]
pub(crate) enum NoSocket {
    /// Somebody listens there.
    Live,
    /// Something else is there.
    Occupied,
    /// Others could put something else in its place.
    TooOpen(PathBuf),
    /// The directory is another user's.
    Foreign(PathBuf),
    Failed(io::Error),
}

impl NoSocket {
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Live => "a gateway listens there already".to_owned(),
            Self::Occupied => "something else is there".to_owned(),
            Self::TooOpen(dir) => format!("others can change the directory {}", dir.display()),
            Self::Foreign(dir) => format!("the directory {} is another user's", dir.display()),
            Self::Failed(error) => error.to_string(),
        }
    }

    pub(crate) const fn hint(&self) -> &'static str {
        match self {
            Self::Live => "use another path, or end that one first",
            Self::Occupied => "use another path, or move it away",
            Self::TooOpen(_) | Self::Foreign(_) => {
                "use a directory of your own, which `chmod 700` closes to others"
            }
            Self::Failed(_) => "a path of about 100 characters at most, in a directory you may write to",
        }
    }
}

impl From<io::Error> for NoSocket {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// A socket of ours in the file system. It goes when this is dropped, unless somebody put another one there.
#[derive(Debug)]
pub(crate) struct Claim {
    path: PathBuf,
    identity: (u64, u64),
}

impl Drop for Claim {
    fn drop(&mut self) {
        let is_ours = self.path.symlink_metadata().is_ok_and(|there| identity(&there) == self.identity);
        if is_ours {
            drop(fs::remove_file(&self.path));
        }
    }
}

fn identity(metadata: &fs::Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Listens at a path. What a process that is gone left there is replaced.
pub(crate) async fn bind(path: &Path) -> Result<(UnixListener, Claim), NoSocket> {
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => return Err(NoSocket::Failed(io::ErrorKind::InvalidInput.into())),
    };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    check_dir(dir)?;
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
        Ok(there) if !there.file_type().is_socket() => return Err(NoSocket::Occupied),
        Ok(_) if is_live(path).await => return Err(NoSocket::Live),
        Ok(_) => {}
    }
    // Made under another name, so that nobody sees it before it is closed to others, and what was there is replaced whole.
    let fresh = dir.join(format!(".{}", std::process::id()));
    drop(fs::remove_file(&fresh));
    let listener = UnixListener::bind(&fresh)?;
    let made = || {
        fs::set_permissions(&fresh, fs::Permissions::from_mode(0o600))?;
        fs::rename(&fresh, path)?;
        path.symlink_metadata()
    };
    match made() {
        Ok(metadata) => Ok((listener, Claim { path: path.to_owned(), identity: identity(&metadata) })),
        Err(error) => {
            drop(fs::remove_file(&fresh));
            Err(error.into())
        }
    }
}

/// Whether somebody listens there: nobody does if the system says so, or if there is nothing.
pub(crate) async fn is_live(path: &Path) -> bool {
    match UnixStream::connect(path).await {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound),
    }
}

/// Whether nobody else can change what is in a directory.
pub(crate) fn check_dir(dir: &Path) -> Result<(), NoSocket> {
    let metadata = fs::metadata(dir)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(NoSocket::Foreign(dir.to_owned()));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(NoSocket::TooOpen(dir.to_owned()));
    }
    Ok(())
}

/// Whether the process at the other end is ours.
pub(crate) fn is_ours(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw())
}
