//! Says when two launches are the same connection.

use std::fmt;

use sha2::{Digest, Sha256};

use super::launch::{Subject, Target};
use crate::config::{ServerSpec, definition};
use crate::declared::Conduct;
use crate::origin::Origin;
use crate::sources::places::Project;

/// What makes a connection this one and no other.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    key: String,
    /// Of the values filled in, so that another token is another connection. Never leaves the memory.
    values: [u8; 32],
}

impl Identity {
    pub(super) fn of(subject: &Subject<'_>, target: &Target) -> Self {
        let key = Self::key_of(subject.spec, subject.origin, subject.project);
        Self { key, values: digest(target) }
    }

    /// The part that may be written to disk, before anything is filled in.
    pub fn key_of(spec: &ServerSpec, origin: &Origin, project: &Project) -> String {
        // How one deals with a server is no part of the connection: another rule or limit leaves it up.
        let conduct = Conduct {
            auth: spec.conduct.auth.clone(),
            oauth: spec.conduct.oauth.clone(),
            ..Conduct::default()
        };
        let connection = ServerSpec { transport: spec.transport.clone(), conduct };
        definition::hash(&connection, origin, project)
    }

    /// The part that may be written to disk: a hash of the definition with nothing filled in, as 64 hexadecimal
    /// digits.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.key)
    }
}

fn digest(target: &Target) -> [u8; 32] {
    let mut hash = Sha256::new();
    // With its length before it, no value can pass for two.
    let mut add = |text: &[u8]| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    let pairs: &[(String, String)] = match target {
        Target::Child(child) => {
            add(child.program.as_os_str().as_encoded_bytes());
            add(child.cwd.as_os_str().as_encoded_bytes());
            child.args.iter().for_each(|arg| add(arg.as_bytes()));
            &child.env
        }
        Target::Remote(address) => {
            add(address.url.as_str().as_bytes());
            &address.headers
        }
    };
    // Marks the end of the arguments.
    add(b"pairs");
    for (name, value) in pairs {
        add(name.as_bytes());
        add(value.as_bytes());
    }
    hash.finalize().into()
}
