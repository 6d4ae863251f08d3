//! The traffic of a connection as a file of JSON lines, for whoever looks for a fault. Secrets are out of it.

use std::fmt;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use crate::redact;
use crate::secret::Secrets;

/// Writes what goes out and what comes in.
pub struct Trace {
    // Lines must not mix; the file is written by whoever has a message in hand.
    out: Mutex<Box<dyn Write + Send>>,
    secrets: Mutex<Secrets>,
    started: Instant,
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trace")
    }
}

impl Trace {
    /// A trace into a file or anything else that can be written.
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Self { out: Mutex::new(out), secrets: Mutex::default(), started: Instant::now() }
    }

    /// From now on these values are hidden.
    pub(crate) fn hide(&self, secrets: &Secrets) {
        *self.secrets.lock().unwrap_or_else(PoisonError::into_inner) = secrets.clone();
    }

    pub(crate) fn sent(&self, text: &[u8]) {
        self.message("sent", text);
    }

    pub(crate) fn received(&self, text: &[u8]) {
        self.message("received", text);
    }

    /// Something that is no message: a step of the transport.
    pub(crate) fn step(&self, what: &str) {
        self.line(&json!({"ms": self.elapsed(), "step": what}));
    }

    fn message(&self, direction: &str, text: &[u8]) {
        let shown = match serde_json::from_slice::<Value>(text) {
            Ok(value) => hidden(value),
            Err(_) => Value::String(String::from_utf8_lossy(text).into_owned()),
        };
        self.line(&json!({"ms": self.elapsed(), direction: shown}));
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn line(&self, line: &Value) {
        let text = line.to_string();
        let text = self.secrets.lock().unwrap_or_else(PoisonError::into_inner).scrub(&text).into_owned();
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // A full disk must not end a conversation; the trace then simply stops.
        let _unwritable = writeln!(out, "{text}").and_then(|()| out.flush());
    }
}

/// The value with stars in place of what is called a secret.
fn hidden(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| {
                let is_secret = redact::is_telling(&name) && value.is_string();
                let value = if is_secret { Value::from(redact::STARS) } else { hidden(value) };
                (name, value)
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.into_iter().map(hidden).collect(),
        other => other,
    }
}
