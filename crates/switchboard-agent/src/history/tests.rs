//! What holds of every conversation.

use proptest::prelude::*;

use super::*;
use crate::message::Call;

fn assistant(text: &str, ids: &[&str]) -> Message {
    let call = |id: &&str| Call {
        id: (*id).to_owned(),
        name: "t".to_owned(),
        arguments: "{}".to_owned(),
        signatures: Vec::new(),
    };
    Message::Assistant { text: text.to_owned(), calls: ids.iter().map(call).collect(), thoughts: Vec::new() }
}

fn result(id: &str, text: &str) -> CallResult {
    CallResult { id: id.to_owned(), name: "t".to_owned(), text: text.to_owned(), images: Vec::new() }
}

/// Every call has exactly one result, right after it, in its order; ids are unique and plain.
fn is_sound(history: &History) -> Result<(), TestCaseError> {
    let messages = history.messages();
    let mut seen = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        match message {
            Message::Assistant { calls, text, .. } => {
                prop_assert!(!calls.is_empty() || !text.is_empty());
                for call in calls {
                    prop_assert!(seen.insert(call.id.clone()), "{} twice", call.id);
                    prop_assert!(call.id.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)));
                }
                if !calls.is_empty() {
                    let Some(Message::Tool { results }) = messages.get(at + 1) else {
                        return Err(TestCaseError::fail("calls without results"));
                    };
                    let asked: Vec<_> = calls.iter().map(|call| &call.id).collect();
                    let told: Vec<_> = results.iter().map(|result| &result.id).collect();
                    prop_assert_eq!(asked, told);
                }
            }
            Message::Tool { .. } => {
                let is_after = at > 0
                    && matches!(&messages[at - 1], Message::Assistant { calls, .. } if !calls.is_empty());
                prop_assert!(is_after, "results of nothing");
            }
            Message::User { .. } => {}
        }
    }
    Ok(())
}

fn any_message() -> impl Strategy<Value = Message> {
    let id = prop::sample::select(vec!["a", "b", "call#f#0", "", "ü"]);
    let ids = prop::collection::vec(id.clone(), 0..4);
    prop_oneof![
        "[a-z]{0,4}".prop_map(Message::user),
        ("[a-z]{0,3}", ids).prop_map(|(text, ids)| assistant(&text, &ids)),
        prop::collection::vec(id, 0..4)
            .prop_map(|ids| Message::Tool { results: ids.iter().map(|id| result(id, "r")).collect() }),
    ]
}

proptest! {
    #[test]
    fn a_conversation_is_sound_whatever_happens(messages in prop::collection::vec(any_message(), 0..20), most in 0_u64..200) {
        let mut history = History::default();
        for message in messages {
            history.push(message);
        }
        history.close(INTERRUPTED);
        is_sound(&history)?;
        history.trim(most);
        is_sound(&history)?;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kept.jsonl");
        history.save(&path).unwrap();
        if !history.is_empty() {
            prop_assert_eq!(&History::load(&path).unwrap(), &history);
        }
    }
}

#[test]
fn the_oldest_results_are_shortened_first() {
    let mut history = History::default();
    for n in 0..5 {
        history.push(Message::user(format!("question {n}")));
        history.push(assistant("", &["x"]));
        let open = history.open().remove(0).0;
        history.push(Message::Tool { results: vec![result(&open, &"long ".repeat(1_000))] });
    }
    let before = history.tokens();
    assert_eq!(history.trim(before), 0, "it fits");
    assert_eq!(history.trim(before - 100), 1, "one is enough");
    let texts: Vec<usize> = history
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Tool { results } => Some(results[0].text.len()),
            _ => None,
        })
        .collect();
    assert!(texts[0] < 500 && texts[1] == 5_000, "{texts:?}");
    assert_eq!(history.trim(0), 2, "the last ones stay");
    assert_eq!(history.trim(0), 0, "nothing is shortened twice");
}

#[test]
fn what_is_kept_is_private_and_a_broken_line_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kept.jsonl");
    let mut history = History::default();
    history.push(Message::user("hello"));
    history.save(&path).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    std::fs::write(&path, "{\"role\":\"user\",\"parts\":[]}\n{\"role\":\"nobody\"}\n").unwrap();
    let error = History::load(&path).unwrap_err().to_string();
    assert!(error.ends_with("line 2 is no message of a conversation"), "{error}");
}
