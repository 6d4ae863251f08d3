//! Resources that are named inside words for the model, with `@server:uri` or `@uri`: read, and put beside the words.

use switchboard::catalog::Catalog;
use switchboard::offer::Body;
use switchboard::session::Session;

use crate::commands::read::{failed, owner};
use crate::error::CommandError;

/// A resource that goes with the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attachment {
    pub(super) server: String,
    pub(super) uri: String,
    pub(super) content: Content,
}

/// What is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Text(String),
    /// Bytes as Base64, with their kind.
    Bytes {
        kind: String,
        base64: String,
    },
}

/// The words that may name a resource: an `@` at the beginning of a word, and a `:` in it.
pub(super) fn references(text: &str) -> Vec<&str> {
    let words = text.split_whitespace().filter_map(|word| word.strip_prefix('@'));
    // A full stop ends a sentence, not an address.
    let trimmed = words.map(|word| word.trim_end_matches(['.', ',', ';', '!', '?', ')']));
    trimmed.filter(|word| word.contains(':')).collect()
}

/// The server and the address a reference means, as far as its own words tell.
fn parts<'r>(catalog: &Catalog, reference: &'r str) -> (Option<&'r str>, &'r str) {
    let servers = catalog.resources.iter().map(|of| &of.server);
    let mut servers = servers.chain(catalog.templates.iter().map(|of| &of.server));
    match reference.split_once(':') {
        Some((server, uri)) if servers.any(|known| known == server) => (Some(server), uri),
        _ => (None, reference),
    }
}

/// Reads everything that is named. What cannot be read stops the words from being sent: they would mean something else.
pub(super) async fn collect(session: &Session, text: &str) -> Result<Vec<Attachment>, CommandError> {
    let mut found = Vec::new();
    for reference in references(text) {
        let catalog = session.catalog();
        let (server, uri) = parts(&catalog, reference);
        let server = match server {
            Some(server) => server.to_owned(),
            None => owner(session, uri).await?,
        };
        let read = session.read(&server, uri).await.map_err(|error| failed(&error))?;
        for part in read.contents {
            let content = match part.body {
                Body::Text(text) => Content::Text(text),
                Body::Blob(base64) => Content::Bytes { kind: part.mime_type.unwrap_or_default(), base64 },
                Body::Unknown => continue,
            };
            found.push(Attachment { server: server.clone(), uri: uri.to_owned(), content });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_sentences() {
        let check = |text: &str, expected: &[&str]| assert_eq!(references(text), expected, "{text}");
        check("what does @demo:note://one say, and @note://two?", &["demo:note://one", "note://two"]);
        check("mail me@example.com or @somebody", &[]);
        check("(see @file:///a/b.txt)", &["file:///a/b.txt"]);
        check("see @file:///a/b.txt.", &["file:///a/b.txt"]);
    }
}
