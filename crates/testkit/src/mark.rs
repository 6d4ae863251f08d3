//! A value in the environment by which the processes of one test are found again.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

/// A mark that no other test uses.
#[derive(Debug, Clone)]
pub struct Mark(String);

impl Default for Mark {
    fn default() -> Self {
        Self::new()
    }
}

impl Mark {
    /// The variable that carries it.
    pub const NAME: &str = "SWITCHBOARD_TEST_MARK";

    /// A new one.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self(format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// The one with this value.
    pub fn of(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value of the variable.
    pub fn value(&self) -> &str {
        &self.0
    }

    /// The processes that carry it. Linux only; elsewhere there are none.
    pub fn alive(&self) -> Vec<u32> {
        let wanted = format!("{}={}", Self::NAME, self.0);
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            // What has ended has no environment any more.
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            if environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes()) {
                found.push(pid);
            }
        }
        found
    }
}
