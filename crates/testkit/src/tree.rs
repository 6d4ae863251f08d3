//! All that is below a directory, to the byte: to be compared, and to be put back.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// One thing in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A directory, with who may do what.
    Dir(u32),
    /// A file, with who may do what.
    File(u32, Vec<u8>),
    /// A link, and where it leads.
    Link(PathBuf),
    /// Anything else.
    Other,
}

/// What is below a directory, by path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree {
    nodes: BTreeMap<PathBuf, Node>,
}

impl Tree {
    /// Looks.
    ///
    /// # Panics
    ///
    /// When something cannot be read.
    #[expect(clippy::expect_used, reason = "a test that cannot see its world must stop")]
    pub fn of(root: &Path) -> Self {
        let mut tree = Self::default();
        tree.add(root, Path::new("")).expect("a directory that can be read");
        tree
    }

    fn add(&mut self, root: &Path, below: &Path) -> io::Result<()> {
        for entry in fs::read_dir(root.join(below))? {
            let path = below.join(entry?.file_name());
            let whole = root.join(&path);
            let data = whole.symlink_metadata()?;
            let mode = data.permissions().mode() & 0o7777;
            if data.is_dir() {
                self.nodes.insert(path.clone(), Node::Dir(mode));
                self.add(root, &path)?;
                continue;
            }
            let node = if data.is_symlink() {
                Node::Link(fs::read_link(&whole)?)
            } else if data.is_file() {
                Node::File(mode, fs::read(&whole)?)
            } else {
                Node::Other
            };
            self.nodes.insert(path, node);
        }
        Ok(())
    }

    /// Makes a directory hold this and nothing else.
    ///
    /// # Panics
    ///
    /// When the disk refuses.
    #[expect(clippy::expect_used, reason = "a test that cannot make its world must stop")]
    pub fn put(&self, root: &Path) {
        self.try_put(root).expect("a disk that can be written");
    }

    fn try_put(&self, root: &Path) -> io::Result<()> {
        for entry in fs::read_dir(root)? {
            let path = entry?.path();
            if path.symlink_metadata()?.is_dir() {
                fs::remove_dir_all(path)?;
            } else {
                fs::remove_file(path)?;
            }
        }
        for (path, node) in &self.nodes {
            let path = root.join(path);
            match node {
                Node::Dir(mode) => {
                    fs::create_dir(&path)?;
                    fs::set_permissions(path, Permissions::from_mode(*mode))?;
                }
                Node::File(mode, bytes) => {
                    fs::write(&path, bytes)?;
                    fs::set_permissions(path, Permissions::from_mode(*mode))?;
                }
                Node::Link(target) => symlink(target, path)?,
                Node::Other => {}
            }
        }
        Ok(())
    }

    /// The same with other bytes in its files.
    #[must_use]
    pub fn map(&self, bytes: impl Fn(&Path, Vec<u8>) -> Vec<u8>) -> Self {
        let mapped = |(path, node): (&PathBuf, &Node)| match node {
            Node::File(mode, old) => (path.clone(), Node::File(*mode, bytes(path, old.clone()))),
            other => (path.clone(), other.clone()),
        };
        Self { nodes: self.nodes.iter().map(mapped).collect() }
    }

    /// What is at a path.
    pub fn get(&self, path: &Path) -> Option<&Node> {
        self.nodes.get(path)
    }

    /// Everything, by path.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &Node)> {
        self.nodes.iter().map(|(path, node)| (path.as_path(), node))
    }

    /// Where this and another differ.
    pub fn differences(&self, other: &Self) -> Vec<PathBuf> {
        let mut paths: Vec<&PathBuf> = self.nodes.keys().chain(other.nodes.keys()).collect();
        paths.sort_unstable();
        paths.dedup();
        paths.into_iter().filter(|path| self.get(path) != other.get(path)).cloned().collect()
    }
}
