//! Where a declaration came from: which tool, which scope, which file and line.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::provider::Provider;

/// Whom a declaration is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Everyone who works in this project.
    Project,
    /// This user, everywhere.
    User,
    /// Whoever started this process, through a variable.
    Environment,
    /// Part of the program.
    BuiltIn,
}

impl Scope {
    /// The word used in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
            Self::Environment => "environment",
            Self::BuiltIn => "builtin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Provider, scope, file and line of a declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The tool whose file it is.
    pub provider: Provider,
    /// Project or user.
    pub scope: Scope,
    /// The file; none for a variable or a built-in.
    pub path: Option<Arc<Path>>,
    /// The line of the declaration, counted from 1.
    pub line: Option<u32>,
}

impl Origin {
    /// The same file, another line; without a file there are no lines.
    #[must_use]
    pub fn at(&self, line: u32) -> Self {
        Self { line: self.path.is_some().then_some(line), ..self.clone() }
    }
}
