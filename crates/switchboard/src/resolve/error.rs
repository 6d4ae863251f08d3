//! Why a server cannot be launched at all.

use std::path::Path;

use super::address::UrlFault;
use crate::origin::Origin;
use crate::problem::{Code, Explain, Problem};

/// What a launch was about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The server.
    pub server: String,
    /// Where its definition stands.
    pub origin: Origin,
    /// What could not be filled in.
    pub problems: Vec<Problem>,
}

/// Why a server cannot be launched.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither the path nor any directory of `PATH` has the program.
    #[error("the program `{command}` is not found")]
    ProgramNotFound {
        /// The launch.
        about: Box<About>,
        /// The program, without secrets.
        command: String,
        /// What to do about it where it is a whole command line, without secrets.
        line_hint: Option<String>,
    },
    /// The address cannot be dialled.
    #[error("its `url` {fault}")]
    BadUrl {
        /// The launch.
        about: Box<About>,
        /// The address as written, without secrets.
        url: String,
        /// What is wrong with it.
        fault: UrlFault,
    },
    /// The directory to run in is not there, or is no directory.
    #[error("there is no directory {directory}")]
    NoDirectory {
        /// The launch.
        about: Box<About>,
        /// The directory, without secrets.
        directory: String,
    },
    /// The file with more variables cannot be used.
    #[error("its `envFile` {path} cannot be used: {reason}")]
    EnvFile {
        /// The launch.
        about: Box<About>,
        /// The file, without secrets.
        path: String,
        /// What is wrong with it; nothing of its text.
        reason: String,
    },
}

impl Error {
    /// What the launch was about.
    pub fn about(&self) -> &About {
        match self {
            Self::ProgramNotFound { about, .. }
            | Self::BadUrl { about, .. }
            | Self::NoDirectory { about, .. }
            | Self::EnvFile { about, .. } => about,
        }
    }

    /// What could not be filled in before, and may be the reason.
    pub fn likely_causes(&self) -> &[Problem] {
        &self.about().problems
    }
}

/// Every code of its own an error of this room can have, with what it means. The reference page is made from it.
pub const CODES: &[(&str, &str)] = &[
    ("bad-url", "The address is none that can be dialled."),
    ("no-directory", "The directory the server is to run in is not there."),
    ("env-file-unusable", "The file with more variables cannot be read."),
];

impl Explain for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::ProgramNotFound { .. } => Code::CommandNotFound.as_str(),
            Self::BadUrl { .. } => "bad-url",
            Self::NoDirectory { .. } => "no-directory",
            Self::EnvFile { .. } => "env-file-unusable",
        }
    }

    fn message(&self) -> String {
        self.to_string()
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::ProgramNotFound { line_hint: Some(hint), .. } => hint.clone(),
            Self::ProgramNotFound { line_hint: None, .. } => {
                "install it, or write its whole path as `command`; `PATH` is searched".to_owned()
            }
            Self::BadUrl { url, .. } => {
                format!("it is written as `{url}`; see `switchboard why` for what its placeholders become")
            }
            Self::NoDirectory { .. } => "make the directory, or change `cwd`".to_owned(),
            Self::EnvFile { .. } => "correct the file, or take `envFile` out of the entry".to_owned(),
        })
    }

    fn server(&self) -> Option<&str> {
        Some(&self.about().server)
    }

    fn place(&self) -> Option<(&Path, Option<u32>)> {
        let origin = &self.about().origin;
        origin.path.as_deref().map(|path| (path, origin.line))
    }
}
