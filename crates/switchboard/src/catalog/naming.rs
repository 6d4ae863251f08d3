//! Names of tools as a model sees them: `mcp_<server>_<tool>`, unique, stable, fit for every provider.
//!
//! Pure: the same servers and tools give the same names, whoever connects first.

use sha2::{Digest, Sha256};

use crate::config::settings::NameStyle;

/// Longest name a provider takes.
pub const LONGEST: usize = 64;
/// Characters of the hash that tells two names apart.
const HASH: usize = 8;

/// A tool as its server names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Raw {
    /// The server, by its configured name.
    pub server: String,
    /// The tool, by the server's own name for it.
    pub tool: String,
}

/// The name of one tool, before others are looked at. `word` stands for the server.
pub fn name(word: &str, tool: &str, style: NameStyle) -> String {
    let (server, tool) = (clean(word, style, "server"), clean(tool, style, "tool"));
    let prefix = format!("{server}_");
    let tool = match tool.strip_prefix(&prefix) {
        Some(rest) if !rest.is_empty() => rest,
        _ => &tool,
    };
    let start = match style {
        NameStyle::Standard | NameStyle::Letters => "mcp_",
        NameStyle::Double => "mcp__",
    };
    let whole = format!("{start}{server}_{tool}");
    if whole.len() <= LONGEST { whole } else { with_hash(&whole, &whole) }
}

/// Names for all tools: `word` of each is its server's word for names. Those that would share a name are told apart by a
/// hash of what they are.
pub fn names(tools: &[(Raw, &str)], style: NameStyle) -> (Vec<String>, Vec<Vec<usize>>) {
    let mut names: Vec<String> = tools.iter().map(|(raw, word)| name(word, &raw.tool, style)).collect();
    let clashes = shared(&names);
    let mut told_apart = vec![false; names.len()];
    let mut open = clashes.clone();
    // A name with a hash may be the plain name of a third; then that one gets a hash as well.
    while !open.is_empty() {
        let new: Vec<usize> = open.into_iter().flatten().filter(|index| !told_apart[*index]).collect();
        for index in &new {
            let (raw, _) = &tools[*index];
            told_apart[*index] = true;
            names[*index] = with_hash(&names[*index], &format!("{}\0{}", raw.server, raw.tool));
        }
        open = if new.is_empty() { Vec::new() } else { shared(&names) };
    }
    (names, clashes)
}

/// The places that share a name, name by name.
fn shared(names: &[String]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|index| &names[*index]);
    let groups = order.chunk_by(|one, other| names[*one] == names[*other]);
    groups.filter(|owners| owners.len() > 1).map(<[usize]>::to_vec).collect()
}

/// Lower case; runs of anything else than letters, digits and `_` become one `_`; none at either end.
fn clean(text: &str, style: NameStyle, otherwise: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut add = |c: char| {
        let stays = c.is_ascii_lowercase() || (c.is_ascii_digit() && style != NameStyle::Letters);
        if stays {
            clean.push(c);
        } else if !clean.is_empty() && !clean.ends_with('_') {
            clean.push('_');
        }
    };
    // Mostly it is plain letters, and for those this is much quicker.
    if text.is_ascii() {
        text.bytes().for_each(|byte| add(char::from(byte.to_ascii_lowercase())));
    } else {
        text.chars().flat_map(char::to_lowercase).for_each(add);
    }
    let clean = clean.trim_end_matches('_');
    if clean.is_empty() { otherwise.to_owned() } else { clean.to_owned() }
}

/// The name cut so that a hash of `identity` fits at its end.
fn with_hash(name: &str, identity: &str) -> String {
    let digest = Sha256::digest(identity.as_bytes());
    let hash: String = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]).take(HASH).map(digit).collect();
    let room = LONGEST - HASH - 1;
    let cut = name.get(..room.min(name.len())).unwrap_or(name).trim_end_matches('_');
    format!("{cut}_{hash}")
}

/// A letter or digit for half a byte. Letters only, so that the style without digits can use it too.
fn digit(half: u8) -> char {
    char::from(b'a' + half)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn golden_names() {
        let rows = [
            ("puppeteer", "puppeteer_screenshot", "mcp_puppeteer_screenshot", "mcp_puppeteer_screenshot"),
            ("my-server", "do.Thing", "mcp_my_server_do_thing", "mcp_my_server_do_thing"),
            ("context7", "query-docs", "mcp_context7_query_docs", "mcp_context_query_docs"),
            ("123", "bank", "mcp_123_bank", "mcp_server_bank"),
            ("Ünïcode", "Tëst", "mcp_n_code_t_st", "mcp_n_code_t_st"),
            ("---", "***", "mcp_server_tool", "mcp_server_tool"),
            ("github", "github", "mcp_github_github", "mcp_github_github"),
            ("a", "a_a_b", "mcp_a_a_b", "mcp_a_a_b"),
            (
                "cloudflare:api",
                "list zones",
                "mcp_cloudflare_api_list_zones",
                "mcp_cloudflare_api_list_zones",
            ),
            ("a", "__x__y__", "mcp_a_x_y", "mcp_a_x_y"),
        ];
        for (server, tool, standard, letters) in rows {
            assert_eq!(name(server, tool, NameStyle::Standard), standard);
            assert_eq!(name(server, tool, NameStyle::Letters), letters);
            assert_eq!(name(server, tool, NameStyle::Double), standard.replacen("mcp_", "mcp__", 1));
        }
        let long = name("s", &"y".repeat(80), NameStyle::Standard);
        assert_eq!(long.len(), LONGEST);
        assert_eq!(long, name("s", &"y".repeat(80), NameStyle::Standard));
        assert_ne!(long, name("s", &"y".repeat(81), NameStyle::Standard));
        assert_eq!(name("s", &"y".repeat(58), NameStyle::Standard), format!("mcp_s_{}", "y".repeat(58)));
    }

    fn raw() -> impl Strategy<Value = Raw> {
        ("[a-zA-Z0-9_.é-]{0,12}", "\\PC{0,90}").prop_map(|(server, tool)| Raw { server, tool })
    }

    proptest! {
        #[test]
        fn names_are_unique_short_plain_and_do_not_depend_on_order(
            tools in proptest::collection::btree_set(raw(), 0..40),
            seed in any::<u64>(),
        ) {
            for style in [NameStyle::Standard, NameStyle::Letters, NameStyle::Double] {
                let pairs: Vec<(Raw, &str)> = tools.iter().map(|raw| (raw.clone(), raw.server.as_str())).collect();
                let (first, _) = names(&pairs, style);
                let unique: std::collections::BTreeSet<_> = first.iter().collect();
                prop_assert_eq!(unique.len(), first.len());
                for name in &first {
                    prop_assert!(name.len() <= LONGEST && name.starts_with("mcp_"));
                    prop_assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'));
                }
                let mut turned = pairs.clone();
                if !turned.is_empty() {
                    let by = usize::try_from(seed % turned.len() as u64).unwrap();
                    turned.rotate_left(by);
                    let (second, _) = names(&turned, style);
                    for ((raw, _), name) in turned.iter().zip(second) {
                        let index = pairs.iter().position(|(other, _)| other == raw).unwrap();
                        prop_assert_eq!(&first[index], &name);
                    }
                }
            }
        }
    }
}
