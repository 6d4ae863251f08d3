//! Keeps a directory of things that can be made again small: the old go, and the oldest when there are too many.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::replace::is_draft;

/// A draft that is older is nobody's any more.
const DRAFT: Duration = Duration::from_hours(1);

/// How much a directory may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Files not written for longer go.
    pub(crate) age: Duration,
    /// The oldest beyond this number go.
    pub(crate) n_files: usize,
    /// The oldest beyond this many bytes go.
    pub(crate) bytes: u64,
}

/// Removes what is beyond the bounds. Directories, links and what cannot be removed stay.
pub(crate) fn sweep(dir: &Path, bounds: Bounds, now: SystemTime) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    let mut files: Vec<(Duration, PathBuf, u64)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let data = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            // A time to come is as good as now.
            let age = now.duration_since(data.modified().ok()?).unwrap_or_default();
            Some((age, entry.path(), data.len()))
        })
        .collect();
    files.sort_unstable();
    let mut bytes = 0;
    for (index, (age, path, size)) in files.into_iter().enumerate() {
        bytes += size;
        let is_left = age > DRAFT && path.file_name().and_then(OsStr::to_str).is_some_and(is_draft);
        if is_left || age > bounds.age || index >= bounds.n_files || bytes > bounds.bytes {
            let _stays = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_go_and_the_oldest_when_there_are_too_many() {
        let now = SystemTime::now();
        let left = |bounds: Bounds| {
            let dir = tempfile::tempdir().unwrap();
            for day in 0..6_u64 {
                let path = dir.path().join(day.to_string());
                fs::write(&path, "1234567890").unwrap();
                let file = fs::File::options().write(true).open(path).unwrap();
                file.set_modified(now - Duration::from_hours(24 * day)).unwrap();
            }
            fs::create_dir(dir.path().join("directory")).unwrap();
            sweep(dir.path(), bounds, now);
            fs::read_dir(dir.path()).unwrap().count() - 1
        };
        let days = |days: u64| Duration::from_hours(24 * days);
        assert_eq!(left(Bounds { age: days(9), n_files: 9, bytes: 99 }), 6);
        assert_eq!(left(Bounds { age: days(3), n_files: 9, bytes: 99 }), 4);
        assert_eq!(left(Bounds { age: days(9), n_files: 2, bytes: 99 }), 2);
        assert_eq!(left(Bounds { age: days(9), n_files: 9, bytes: 55 }), 5);
        let dir = tempfile::tempdir().unwrap();
        for (name, hours) in [(".a.json.switchboard-1-0", 2), (".b.json.switchboard-1-0", 0), ("a.json", 2)] {
            let file = fs::File::create(dir.path().join(name)).unwrap();
            file.set_modified(now - Duration::from_hours(hours)).unwrap();
        }
        sweep(dir.path(), Bounds { age: days(9), n_files: 9, bytes: 99 }, now);
        assert!(!dir.path().join(".a.json.switchboard-1-0").exists(), "left by a writer that was killed");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        sweep(Path::new("/no/such/directory"), Bounds { age: days(1), n_files: 1, bytes: 1 }, now);
    }
}
