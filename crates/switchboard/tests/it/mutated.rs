//! Files of the corpus, damaged at random: read or refused, never a panic, and edited only as meant.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use proptest::prelude::*;
use switchboard::Provider;
use switchboard::config::edit::{Edit, apply, redacted};
use switchboard::sources::places::Container;
use switchboard::sources::read_text;
use switchboard::sources::syntax::Format;

/// Every file of the corpus with its provider and format.
static FILES: LazyLock<Vec<(Provider, Format, Vec<u8>)>> = LazyLock::new(|| {
    let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files = Vec::new();
    for provider in Provider::all().filter(|provider| corpus.join(provider.id()).is_dir()) {
        let mut paths: Vec<_> =
            fs::read_dir(corpus.join(provider.id())).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let format = match path.extension().and_then(|extension| extension.to_str()) {
                Some("json" | "jsonc") => Format::Json,
                Some("toml") => Format::Toml,
                Some("yaml" | "yml") => Format::Yaml,
                _ => continue,
            };
            files.push((provider, format, fs::read(path).unwrap()));
        }
    }
    files
});

/// One piece of damage.
#[derive(Debug, Clone)]
enum Damage {
    Cut(prop::sample::Index),
    Remove(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
    Insert(prop::sample::Index, String),
}

fn any_damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    let token = prop::sample::select(vec![
        "{", "}", "[", "]", "\"", ",", ":", "\n", "null", "${", "}", "*a", "&a ", "- ", "  ", "\t", "!", "'",
        "\\", "//", "/*", "#", "=", "1e999", "\u{0}", "\u{202e}",
    ]);
    prop_oneof![
        at().prop_map(Damage::Cut),
        (at(), 1..60_usize).prop_map(|(at, length)| Damage::Remove(at, length)),
        (at(), 1..60_usize).prop_map(|(at, length)| Damage::Repeat(at, length)),
        (at(), token).prop_map(|(at, token)| Damage::Insert(at, token.to_owned())),
    ]
}

fn damaged(bytes: &[u8], damage: &[Damage]) -> String {
    let mut bytes = bytes.to_vec();
    for damage in damage {
        if bytes.is_empty() {
            break;
        }
        match damage {
            Damage::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Damage::Remove(at, length) => {
                let start = at.index(bytes.len());
                let end = (start + length).min(bytes.len());
                bytes.drain(start..end);
            }
            Damage::Repeat(at, length) => {
                let start = at.index(bytes.len());
                let piece = bytes[start..(start + length).min(bytes.len())].to_vec();
                bytes.splice(start..start, piece);
            }
            Damage::Insert(at, token) => {
                let start = at.index(bytes.len());
                bytes.splice(start..start, token.bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn damage_is_survived(file in any::<prop::sample::Index>(), damage in prop::collection::vec(any_damage(), 1..5)) {
        let (provider, format, bytes) = file.get(&FILES);
        let text = damaged(bytes, &damage);
        for container in [Container::Whole, Container::Below(&[&["mcpServers"], &["mcp"], &["mcp_servers"], &["extensions"]])] {
            let found = read_text(&text, *provider, *format, &container);
            for problem in found.problems {
                prop_assert!(!problem.message.is_empty());
            }
        }
        let edit = Edit::Set(vec!["mcpServers".to_owned(), "new".to_owned()], serde_json::json!({"command": "x"}));
        if let Err(refusal) = apply(&text, &[edit]) {
            prop_assert!(!refusal.what.contains("more than it should"), "{}: {text}", refusal.what);
        }
        drop(redacted(&text));
    }
}
