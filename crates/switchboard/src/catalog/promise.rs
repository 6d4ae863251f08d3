//! What a tool promises its structured result to be, ready to be checked. Pure.
//!
//! The schema comes from a server, so nothing of it is trusted: its size, depth and patterns are bounded before it is
//! looked at closely, the work of a check is counted beforehand, nothing it refers to is fetched or opened, and one that
//! cannot be used costs a note. It is made ready at its first use and then kept.

use std::fmt;
use std::sync::OnceLock;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

use super::{check, effort};
use crate::json::Json;
use crate::visible::excerpt;

/// Patterns of a schema, and bytes of them all.
const MOST_PATTERNS: usize = 100;
const LONGEST_PATTERNS: usize = 32 * 1024;
/// Bytes of one pattern in a form that can be matched.
const LARGEST_PATTERN: usize = 512 * 1024;
/// Steps back of one match.
const MOST_STEPS_BACK: usize = 10_000;
/// References in a schema that also speaks of what is left over.
const MOST_WITH_REST: usize = 12;
/// Characters of a message.
const LONGEST: usize = 200;

/// How a value compares to what was promised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is what was promised.
    Kept,
    /// It is not.
    Broken {
        /// Where in the value, as a JSON Pointer; empty for the whole of it.
        at: String,
        /// What is wrong there.
        what: String,
    },
    /// Nobody can tell.
    Unclear {
        /// Why.
        reason: String,
    },
}

/// What a tool promises its structured result to be.
pub struct Promise {
    schema: Json,
    // Made at the first use; whoever comes meanwhile waits for it.
    ready: OnceLock<Result<Ready, String>>,
}

struct Ready {
    schema: Value,
    validator: Validator,
}

impl fmt::Debug for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Promise").field(&self.schema).finish()
    }
}

/// What was made of the schema does not count.
impl PartialEq for Promise {
    fn eq(&self, other: &Self) -> bool {
        self.schema == other.schema
    }
}

impl Eq for Promise {}

impl Promise {
    /// Keeps the schema for later.
    pub fn new(schema: Json) -> Self {
        Self { schema, ready: OnceLock::new() }
    }

    /// Holds a value against it.
    pub fn check(&self, value: &Json) -> Verdict {
        let unclear = |reason: &str| Verdict::Unclear { reason: reason.to_owned() };
        let ready = match self.ready.get_or_init(|| prepare(&self.schema)) {
            Ok(ready) => ready,
            Err(reason) => return unclear(reason),
        };
        let Ok(value) = value.parse::<Value>() else {
            return unclear("the value nests deeper than any reader allows");
        };
        if let Err(reason) = effort::bounded(&ready.schema, &value) {
            return unclear(&reason);
        }
        match ready.validator.validate(&value) {
            Ok(()) => Verdict::Kept,
            Err(error) => verdict(&error),
        }
    }
}

fn verdict(error: &ValidationError<'_>) -> Verdict {
    match error.kind() {
        ValidationErrorKind::BacktrackLimitExceeded { .. }
        | ValidationErrorKind::RegexEngineFailure { .. } => {
            Verdict::Unclear { reason: "a pattern of its schema takes too long to match".to_owned() }
        }
        // Without the value itself, which may be long, and stands in the result.
        _ => Verdict::Broken {
            at: excerpt(error.instance_path().as_str(), LONGEST),
            what: excerpt(&error.masked_with("the value").to_string(), LONGEST),
        },
    }
}

fn prepare(schema: &Json) -> Result<Ready, String> {
    let schema = check::bounded(schema)?;
    Survey::of(&schema).judge()?;
    let options = PatternOptions::fancy_regex()
        .backtrack_limit(MOST_STEPS_BACK)
        .size_limit(LARGEST_PATTERN)
        .dfa_size_limit(LARGEST_PATTERN);
    let built = jsonschema::options()
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(options)
        .build(&schema);
    match built {
        Ok(validator) => Ok(Ready { schema, validator }),
        Err(error) => Err(format!("its schema cannot be used: {}", excerpt(&error.to_string(), LONGEST))),
    }
}

/// What of a schema makes it costly to be made ready.
#[derive(Default)]
struct Survey {
    n_patterns: usize,
    bytes_of_patterns: usize,
    n_references: usize,
    outside: Option<String>,
    looks_at_the_rest: bool,
}

impl Survey {
    fn of(schema: &Value) -> Self {
        let mut survey = Self::default();
        survey.look(schema);
        survey
    }

    /// Looks also where no schema can be; to see too much does no harm.
    fn look(&mut self, part: &Value) {
        let parts: Vec<&Value> = match part {
            Value::Object(fields) => {
                for (name, part) in fields {
                    self.keyword(name, part);
                }
                fields.values().collect()
            }
            Value::Array(items) => items.iter().collect(),
            _ => return,
        };
        for part in parts {
            self.look(part);
        }
    }

    fn keyword(&mut self, name: &str, part: &Value) {
        match (name, part) {
            ("pattern", Value::String(pattern)) => self.pattern(pattern),
            ("patternProperties", Value::Object(parts)) => {
                parts.keys().for_each(|pattern| self.pattern(pattern));
            }
            ("$ref", Value::String(target)) => {
                self.n_references += 1;
                if !target.starts_with('#') {
                    self.outside = Some(excerpt(target, 80));
                }
            }
            ("unevaluatedProperties" | "unevaluatedItems", _) => self.looks_at_the_rest = true,
            _ => {}
        }
    }

    fn pattern(&mut self, pattern: &str) {
        self.n_patterns += 1;
        self.bytes_of_patterns += pattern.len();
    }

    fn judge(&self) -> Result<(), String> {
        if let Some(outside) = &self.outside {
            return Err(format!("its schema refers to `{outside}`, which is not fetched"));
        }
        if self.n_patterns > MOST_PATTERNS || self.bytes_of_patterns > LONGEST_PATTERNS {
            let limit = format!("{MOST_PATTERNS} patterns or {LONGEST_PATTERNS} bytes of them");
            return Err(format!("its schema has more than {limit}"));
        }
        // With these the crate follows every reference anew, which doubles the work from one to the next.
        if self.looks_at_the_rest && self.n_references > MOST_WITH_REST {
            return Err(format!("its schema has `unevaluated...` and more than {MOST_WITH_REST} references"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
