//! Which protocol a server speaks, judged from its answer to `server/discover`. Pure: no clock, no connection.
//!
//! Older servers answer that question with any error, with an empty success, with silence, or by ending. None of this
//! may cost more than the question. Only a real answer makes a server modern.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::{Cause, Error, Step};
use super::message::HEADER_MISMATCH;
use crate::json::Json;
use crate::visible::excerpt;

/// The version of the stateless protocol.
pub const MODERN: &str = "2026-07-28";
/// The versions with a handshake, newest first.
pub const HANDSHAKES: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// What stands at the end of instructions that were cut.
pub(crate) const CUT: &str = "\n[cut off: longer than 4000 characters]";
/// Most characters of a server's instructions that are kept.
const INSTRUCTIONS: usize = 4000;

/// The two protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// 2026-07-28: every request stands for itself.
    Modern,
    /// 2025-11-25 and before: a handshake opens a session.
    Handshake,
}

impl Era {
    /// The word in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Modern => "modern",
            Self::Handshake => "handshake",
        }
    }

    /// The era of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Modern, Self::Handshake].into_iter().find(|era| era.as_str() == word)
    }
}

/// What a server says of itself. Its name and version are its own claim: for display only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Which protocol.
    pub era: Era,
    /// Which version of it.
    pub version: String,
    /// Name, version, title and so on, as sent.
    pub server_info: Json,
    /// As sent.
    pub capabilities: Json,
    /// How to use it, in its own words, cut at a limit.
    pub instructions: Option<String>,
    /// It did not say what it can do, so everything is worth a try.
    pub(crate) is_guess: bool,
}

impl Facts {
    /// What a server said of itself at an earlier time.
    pub(crate) fn remembered(
        era: Era,
        version: &str,
        (server_info, capabilities): (Json, Json),
        instructions: Option<String>,
    ) -> Self {
        Self { era, version: version.to_owned(), server_info, capabilities, instructions, is_guess: false }
    }

    /// Whether the server says that it can do something, in whatever form it says so.
    pub fn can(&self, capability: &str) -> bool {
        self.is_guess || self.capability(&[capability]).is_some()
    }

    /// Whether a setting inside a capability is switched on.
    pub fn can_also(&self, capability: &str, setting: &str) -> bool {
        self.capability(&[capability, setting]).is_some()
    }

    fn capability(&self, path: &[&str]) -> Option<serde_json::Value> {
        let mut value = self.capabilities.value();
        for name in path {
            value = value.get_mut(*name)?.take();
        }
        (!value.is_null() && value != serde_json::Value::Bool(false)).then_some(value)
    }
}

/// What the answer to `server/discover` means.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It is modern.
    Modern(Facts),
    /// It is modern and wants to be asked again, in a version it names.
    Again,
    /// Whatever it is, it wants a handshake.
    Handshake,
    /// The question did not get through; asking differently will not help.
    Unclear,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Loose<'a> {
    #[serde(borrow, default)]
    supported_versions: Option<&'a RawValue>,
    #[serde(borrow, default)]
    protocol_version: Option<&'a RawValue>,
    #[serde(borrow, default)]
    capabilities: Option<&'a RawValue>,
    #[serde(borrow, default)]
    server_info: Option<&'a RawValue>,
    #[serde(borrow, default)]
    instructions: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

/// Judges an answer to `server/discover`.
pub(crate) fn judge(answer: &Result<Json, Error>) -> Verdict {
    match answer {
        Ok(result) => match discovered(result) {
            Some(facts) => Verdict::Modern(facts),
            None => Verdict::Handshake,
        },
        Err(error) => match &error.cause {
            Cause::Rpc(error) => match error.code {
                -32022 if names_modern(error.data.as_ref()) => Verdict::Again,
                // Only a server of this era has these complaints.
                HEADER_MISMATCH | -32021 => Verdict::Modern(guess()),
                _ => Verdict::Handshake,
            },
            Cause::Http { .. }
            | Cause::NotMcp { .. }
            | Cause::Timeout { .. }
            | Cause::CutOff
            | Cause::SessionLost
            | Cause::Malformed { .. }
            | Cause::TooLarge { .. }
            | Cause::Exited { .. }
            // It was reached; some hang up at what they do not know.
            | Cause::Unreachable { step: Step::Transfer, .. }
            | Cause::Closed => Verdict::Handshake,
            Cause::Unauthorized { .. }
            | Cause::Unreachable { .. }
            | Cause::Redirected { .. }
            | Cause::Start { .. }
            | Cause::Stopped
            | Cause::Cancelled
            | Cause::Version { .. }
            | Cause::TooManyRounds { .. }
            | Cause::Declined { .. } => Verdict::Unclear,
        },
    }
}

/// A modern server that did not say what it can do.
pub(crate) fn guess() -> Facts {
    Facts {
        era: Era::Modern,
        version: MODERN.to_owned(),
        server_info: Json::null(),
        capabilities: Json::null(),
        instructions: None,
        is_guess: true,
    }
}

/// A real answer names versions, and ours among them.
fn discovered(result: &Json) -> Option<Facts> {
    // A list of the right values would read as an answer too.
    let loose: Loose<'_> = result.read().ok().filter(|_| result.as_str().trim_start().starts_with('{'))?;
    let versions: Vec<String> = serde_json::from_str(loose.supported_versions?.get()).ok()?;
    versions.iter().any(|version| version == MODERN).then(|| facts(result, &loose, Era::Modern, MODERN))
}

/// What the result of `initialize` says, or why it cannot be used.
pub(crate) fn initialized(result: &Json) -> Result<Facts, Cause> {
    let malformed = |why: &str| Cause::Malformed { why: why.to_owned() };
    let loose: Loose<'_> = result.read().map_err(|_| malformed("the handshake's result is not an object"))?;
    let version = loose.protocol_version.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    let version = version.ok_or_else(|| malformed("the handshake's result names no protocol version"))?;
    let era = if HANDSHAKES.contains(&version.as_str()) {
        Era::Handshake
    } else if version == MODERN {
        Era::Modern
    } else {
        return Err(Cause::Version { theirs: excerpt(&version, 40) });
    };
    Ok(facts(result, &loose, era, &version))
}

fn facts(result: &Json, loose: &Loose<'_>, era: Era, version: &str) -> Facts {
    let keep = |raw: Option<&RawValue>| raw.map_or_else(Json::null, |raw| result.part(raw));
    let in_meta = || {
        let meta = result.part(loose.meta?);
        let (_, info) = super::message::fields(&meta)
            .into_iter()
            .find(|(name, _)| name == "io.modelcontextprotocol/serverInfo")?;
        Some(info)
    };
    let instructions = loose.instructions.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    Facts {
        era,
        version: version.to_owned(),
        server_info: loose
            .server_info
            .map(|raw| result.part(raw))
            .or_else(in_meta)
            .unwrap_or_else(Json::null),
        capabilities: keep(loose.capabilities),
        instructions: instructions.map(|text| match text.char_indices().nth(INSTRUCTIONS) {
            Some((end, _)) => format!("{}{CUT}", &text[..end]),
            None => text,
        }),
        is_guess: false,
    }
}

/// Whether the refusal of a version offers the one we speak.
fn names_modern(data: Option<&Json>) -> bool {
    #[derive(Deserialize)]
    struct Offered {
        supported: Vec<String>,
    }
    data.and_then(|data| data.parse::<Offered>().ok())
        .is_some_and(|offered| offered.supported.iter().any(|version| version == MODERN))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::fuzzing;
    use super::super::message::RpcError;
    use super::*;

    /// Words a careless reader might take for a version.
    fn word() -> impl Strategy<Value = String> {
        let known = vec!["2026-07-28", "2025-11-25", "2024-11-05", "2026-07-28 ", "DRAFT-2026-07-28", ""];
        prop_oneof![proptest::sample::select(known).prop_map(str::to_owned), ".{0,12}"]
    }

    /// Values of any shape, full of such words.
    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            word().prop_map(Value::from),
        ];
        let key = prop_oneof![
            Just("supportedVersions".to_owned()),
            Just("protocolVersion".to_owned()),
            Just("supported".to_owned()),
            word(),
        ];
        leaf.prop_recursive(3, 24, 6, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::hash_map(key.clone(), inner, 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// That only a result that names the version is modern is checked inside.
        #[test]
        fn no_result_is_modern_by_accident(result in value(), versions in value()) {
            fuzzing::era(&result.to_string());
            fuzzing::era(&json!({"supportedVersions": versions, "capabilities": result}).to_string());
        }

        #[test]
        fn a_result_that_names_the_version_is_modern(
            before in proptest::collection::vec(word(), 0..4),
            after in proptest::collection::vec(word(), 0..4),
            rest in value(),
        ) {
            let versions = [before, vec![MODERN.to_owned()], after].concat();
            let result = json!({"supportedVersions": versions, "capabilities": rest, "instructions": rest});
            prop_assert!(fuzzing::era(&result.to_string()));
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "answers are results")]
    fn result(text: &str) -> Result<Json, Error> {
        Ok(Json::from_text(text).unwrap())
    }

    fn rpc(code: i64, data: Option<&str>) -> Result<Json, Error> {
        let data = data.map(|data| Json::from_text(data).unwrap());
        Err(Error::maybe(Cause::Rpc(RpcError { code, message: String::new(), data })))
    }

    #[test]
    fn only_a_real_answer_makes_a_server_modern() {
        let modern = [
            result(r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#),
            result(r#"{"resultType":"complete","supportedVersions":["2025-11-25","2026-07-28"]}"#),
            rpc(-32020, None),
            rpc(-32021, None),
        ];
        for answer in modern {
            assert!(matches!(judge(&answer), Verdict::Modern(_)), "{answer:?}");
        }
        let handshake = [
            result("{}"),
            result("null"),
            result("[]"),
            result(r#"{"supportedVersions":["2025-11-25"]}"#),
            result(r#"{"supportedVersions":"2026-07-28"}"#),
            rpc(-32601, None),
            rpc(-32602, None),
            rpc(-32000, None),
            rpc(-32022, Some(r#"{"supported":["2025-11-25"]}"#)),
            Err(Error::maybe(Cause::Closed)),
            Err(Error::maybe(Cause::Http { status: 400, body: String::new(), retry_after: None })),
            Err(Error::maybe(Cause::NotMcp { content_type: "text/html".into() })),
        ];
        for answer in handshake {
            assert!(matches!(judge(&answer), Verdict::Handshake), "{answer:?}");
        }
        assert!(matches!(judge(&rpc(-32022, Some(r#"{"supported":["2026-07-28"]}"#))), Verdict::Again));
        let login = Err(Error::never(Cause::Unauthorized { status: 401, challenge: None, why: None }));
        assert!(matches!(judge(&login), Verdict::Unclear));
    }

    #[test]
    fn a_sloppy_handshake_is_understood() {
        let sloppy = Json::from_text(
            r#"{"protocolVersion":"2025-06-18","serverInfo":{"name":"x"},"capabilities":{"tools":true,"prompts":null}}"#,
        );
        let facts = initialized(&sloppy.unwrap()).unwrap();
        assert!(facts.can("tools") && !facts.can("prompts") && !facts.can("resources"));
        assert_eq!(facts.version, "2025-06-18");
        let foreign = Json::from_text(r#"{"protocolVersion":"1999-01-01"}"#).unwrap();
        assert!(matches!(initialized(&foreign), Err(Cause::Version { .. })));
        assert!(matches!(initialized(&Json::null()), Err(Cause::Malformed { .. })));
    }
}
