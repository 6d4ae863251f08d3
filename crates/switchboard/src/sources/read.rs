//! Opens configuration files, carefully: regular files only, bounded size, UTF-8.
//!
//! In: a path. Out: its text, nothing if there is no such file, or why it cannot be used.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::places::Spot;
use super::syntax::Format;
use crate::problem::{Code, Problem};
use crate::replace::again;

/// Larger files are not read: 16 MiB.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// What some editors put before a text.
pub const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The text of a file, without a byte order mark; `None` when there is no such file.
pub fn text(path: &Path) -> Result<Option<String>, Problem> {
    let text = whole(path)?;
    Ok(text.map(|text| match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => rest.to_owned(),
        None => text,
    }))
}

/// The text of a file as it is; `None` when there is no such file.
pub fn whole(path: &Path) -> Result<Option<String>, Problem> {
    let Some(bytes) = bytes(path)? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = String::from_utf8_lossy(&error.as_bytes()[..at]).lines().count().max(1);
        let what = match error.as_bytes() {
            [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => "it is UTF-16".to_owned(),
            _ => format!("line {line} has bytes that are not UTF-8"),
        };
        Problem::new(Code::FileNotText, format!("the file is not UTF-8 text: {what}"))
            .hint("save it as UTF-8 without changing its content")
    })
}

fn bytes(path: &Path) -> Result<Option<Vec<u8>>, Problem> {
    // Looked at before it is opened: opening a pipe would wait for a writer. Most files are not there, and then
    // one look is enough.
    let metadata = match again(|| path.symlink_metadata()) {
        Ok(link) if link.is_symlink() => again(|| path.metadata()).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                Problem::new(Code::FileUnreadable, "the link points to a file that does not exist")
            }
            _ => unreadable(&error),
        })?,
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(unreadable(&error)),
    };
    if !metadata.is_file() {
        return Err(not_regular(&metadata));
    }
    check_size(metadata.len())?;
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(unreadable(&error)),
    };
    // The path may have become something else since we looked.
    match file.metadata() {
        Ok(opened) if !opened.is_file() => return Err(not_regular(&opened)),
        Ok(_) | Err(_) => {}
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    // One byte over the limit tells that a file grew while it was read.
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    check_size(bytes.len() as u64)?;
    Ok(Some(bytes))
}

fn check_size(bytes: u64) -> Result<(), Problem> {
    if bytes <= MAX_FILE_BYTES {
        return Ok(());
    }
    let limit = MAX_FILE_BYTES / 1024 / 1024;
    Err(Problem::new(Code::FileTooLarge, format!("the file is larger than {limit} MiB and was not read")))
}

fn not_regular(metadata: &Metadata) -> Problem {
    let what = if metadata.is_dir() { "a directory" } else { "a pipe, socket or device" };
    Problem::new(Code::FileNotRegular, format!("this is {what}, not a file"))
}

fn unreadable(error: &io::Error) -> Problem {
    let what = match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    let problem = Problem::new(Code::FileUnreadable, format!("cannot read the file: {what}"));
    match error.kind() {
        io::ErrorKind::PermissionDenied => problem.hint("check its permissions with `ls -l`"),
        _ => problem,
    }
}

fn is_absent(error: &io::Error) -> bool {
    // A file where a directory should be means that ours cannot be there.
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The files of a spot and their formats, sorted by name.
pub fn files(spot: &Spot, format: Format) -> Result<Vec<(PathBuf, Format)>, Problem> {
    Ok(match spot {
        Spot::File(path) => vec![(path.clone(), format)],
        Spot::FilesIn(dir) => {
            children(dir)?.into_iter().filter_map(|path| Some((path.clone(), by_extension(&path)?))).collect()
        }
        Spot::InEach(dir, name) => {
            children(dir)?.into_iter().map(|child| (child.join(name), format)).collect()
        }
    })
}

fn by_extension(path: &Path) -> Option<Format> {
    match path.extension()?.to_str()? {
        "yaml" | "yml" => Some(Format::Yaml),
        "json" => Some(Format::Json),
        _ => None,
    }
}

/// A directory that is not there has no children.
fn children(dir: &Path) -> Result<Vec<PathBuf>, Problem> {
    let entries = match dir.read_dir() {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(&error)),
    };
    let mut children: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    children.sort();
    Ok(children)
}
