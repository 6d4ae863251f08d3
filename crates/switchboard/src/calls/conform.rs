//! Whether a result is what its tool promised, and the words for it. Pure.
//!
//! A tool with an output schema has to give a structured result that fits it, unless it reports a failure. What does not
//! fit is kept whole and marked: the call was made, and whoever reads the result knows best what it is worth.

use crate::catalog::{Promise, Verdict};
use crate::json::Json;

/// Holds the structured result of a call that did not fail against what was promised.
pub(super) fn judge(promise: &Promise, structured: Option<&Json>) -> Verdict {
    match structured {
        Some(structured) => promise.check(structured),
        None => Verdict::Broken { at: String::new(), what: "there is no structured result".to_owned() },
    }
}

/// What to say of a result that is not what was promised.
pub(super) fn warning(verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Kept | Verdict::Unclear { .. } => None,
        Verdict::Broken { at, what } if at.is_empty() => {
            Some(format!("the result does not match the tool's output schema: {what}"))
        }
        Verdict::Broken { at, what } => {
            Some(format!("the result does not match the tool's output schema: {at}: {what}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_promised_is_asked_for() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let promise = Promise::new(schema.into());
        assert_eq!(judge(&promise, Some(&json!({"n": 1}).into())), Verdict::Kept);
        assert_eq!(warning(&Verdict::Kept), None);
        assert_eq!(warning(&Verdict::Unclear { reason: String::new() }), None);
        for (structured, words) in [
            (None, "there is no structured result"),
            (Some(json!({"n": "x"})), "/n: the value is not of type \"integer\""),
            (Some(json!({})), "\"n\" is a required property"),
            (Some(json!(null)), "the value is not of type \"object\""),
        ] {
            let said = warning(&judge(&promise, structured.map(Json::from).as_ref())).unwrap();
            assert_eq!(said, format!("the result does not match the tool's output schema: {words}"));
        }
    }
}
