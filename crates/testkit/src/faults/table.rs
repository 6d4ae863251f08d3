//! Which system calls touch files, how, and where they say which file they mean.

use nix::libc;

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Asks about something.
    Look,
    /// Reads, or opens to read.
    Read,
    /// Makes something, or opens it to be written.
    Make,
    /// Writes, or changes a length.
    Write,
    /// Waits for the disk.
    Sync,
    /// Puts a name on something.
    Rename,
    /// Takes something away.
    Remove,
    /// Changes who may do what.
    Mode,
    /// Takes a lock or gives it back.
    Lock,
}

impl Kind {
    /// Whether something may be another after the call.
    pub const fn is_change(self) -> bool {
        !matches!(self, Self::Look | Self::Read)
    }
}

/// One call of a program that touched something below the directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// The name of the call.
    pub name: &'static str,
    /// What it touched, below the directory, with `#` for each number: numbers of processes and files differ from run to run.
    pub path: String,
    /// How many calls of that name touched that before.
    pub nth: usize,
    /// What it does.
    pub kind: Kind,
}

/// Where a call says which file it means.
#[derive(Debug, Clone, Copy)]
pub(super) enum Where {
    /// A path, in this argument.
    Path(usize),
    /// A directory and a path from there.
    At(usize, usize),
    /// An open file.
    Open(usize),
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) number: i64,
    pub(super) name: &'static str,
    pub(super) place: Where,
    kind: Kind,
    /// The argument with the flags of an open.
    flags: Option<usize>,
}

impl Row {
    /// What the call does, with these arguments.
    pub(super) fn kind(&self, arguments: &[u64; 6]) -> Kind {
        let Some(flags) = self.flags else { return self.kind };
        let changes = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;
        let flags = i32::try_from(arguments[flags] & 0x7fff_ffff).unwrap_or_default();
        if flags & changes == 0 { Kind::Read } else { Kind::Make }
    }
}

pub(super) fn find(number: u64) -> Option<&'static Row> {
    ROWS.iter().find(|row| u64::try_from(row.number) == Ok(number))
}

const fn row(number: i64, name: &'static str, place: Where, kind: Kind) -> Row {
    Row { number, name, place, kind, flags: None }
}

const fn opens(number: i64, name: &'static str, place: Where, flags: usize) -> Row {
    Row { number, name, place, kind: Kind::Make, flags: Some(flags) }
}

const ROWS: &[Row] = &[
    row(libc::SYS_read, "read", Where::Open(0), Kind::Read),
    row(libc::SYS_pread64, "pread", Where::Open(0), Kind::Read),
    row(libc::SYS_readv, "readv", Where::Open(0), Kind::Read),
    row(libc::SYS_stat, "stat", Where::Path(0), Kind::Look),
    row(libc::SYS_lstat, "lstat", Where::Path(0), Kind::Look),
    row(libc::SYS_fstat, "fstat", Where::Open(0), Kind::Look),
    row(libc::SYS_newfstatat, "fstatat", Where::At(0, 1), Kind::Look),
    row(libc::SYS_statx, "statx", Where::At(0, 1), Kind::Look),
    row(libc::SYS_access, "access", Where::Path(0), Kind::Look),
    row(libc::SYS_faccessat, "faccessat", Where::At(0, 1), Kind::Look),
    row(libc::SYS_faccessat2, "faccessat2", Where::At(0, 1), Kind::Look),
    row(libc::SYS_readlink, "readlink", Where::Path(0), Kind::Look),
    row(libc::SYS_readlinkat, "readlinkat", Where::At(0, 1), Kind::Look),
    row(libc::SYS_getdents64, "getdents", Where::Open(0), Kind::Read),
    opens(libc::SYS_open, "open", Where::Path(0), 1),
    opens(libc::SYS_openat, "openat", Where::At(0, 1), 2),
    row(libc::SYS_creat, "creat", Where::Path(0), Kind::Make),
    row(libc::SYS_mkdir, "mkdir", Where::Path(0), Kind::Make),
    row(libc::SYS_mkdirat, "mkdirat", Where::At(0, 1), Kind::Make),
    row(libc::SYS_link, "link", Where::Path(1), Kind::Make),
    row(libc::SYS_linkat, "linkat", Where::At(2, 3), Kind::Make),
    row(libc::SYS_symlink, "symlink", Where::Path(1), Kind::Make),
    row(libc::SYS_symlinkat, "symlinkat", Where::At(1, 2), Kind::Make),
    row(libc::SYS_write, "write", Where::Open(0), Kind::Write),
    row(libc::SYS_pwrite64, "pwrite", Where::Open(0), Kind::Write),
    row(libc::SYS_writev, "writev", Where::Open(0), Kind::Write),
    row(libc::SYS_copy_file_range, "copy_file_range", Where::Open(2), Kind::Write),
    row(libc::SYS_truncate, "truncate", Where::Path(0), Kind::Write),
    row(libc::SYS_ftruncate, "ftruncate", Where::Open(0), Kind::Write),
    row(libc::SYS_fallocate, "fallocate", Where::Open(0), Kind::Write),
    row(libc::SYS_fsync, "fsync", Where::Open(0), Kind::Sync),
    row(libc::SYS_fdatasync, "fdatasync", Where::Open(0), Kind::Sync),
    row(libc::SYS_rename, "rename", Where::Path(1), Kind::Rename),
    row(libc::SYS_renameat, "renameat", Where::At(2, 3), Kind::Rename),
    row(libc::SYS_renameat2, "renameat2", Where::At(2, 3), Kind::Rename),
    row(libc::SYS_unlink, "unlink", Where::Path(0), Kind::Remove),
    row(libc::SYS_unlinkat, "unlinkat", Where::At(0, 1), Kind::Remove),
    row(libc::SYS_rmdir, "rmdir", Where::Path(0), Kind::Remove),
    row(libc::SYS_chmod, "chmod", Where::Path(0), Kind::Mode),
    row(libc::SYS_fchmod, "fchmod", Where::Open(0), Kind::Mode),
    row(libc::SYS_fchmodat, "fchmodat", Where::At(0, 1), Kind::Mode),
    row(libc::SYS_chown, "chown", Where::Path(0), Kind::Mode),
    row(libc::SYS_lchown, "lchown", Where::Path(0), Kind::Mode),
    row(libc::SYS_fchown, "fchown", Where::Open(0), Kind::Mode),
    row(libc::SYS_fchownat, "fchownat", Where::At(0, 1), Kind::Mode),
    row(libc::SYS_flock, "flock", Where::Open(0), Kind::Lock),
];
