//! What a server says about the login it wants, taken apart. Pure.
//!
//! In: the value of `WWW-Authenticate`, several of them joined with commas. Out: the first challenge a token answers.
//! It is read leniently, as RFC 9110 writes it and as servers do, and nothing in it is believed here.

use std::collections::HashSet;

/// A longer header says nothing we could use.
const LONGEST: usize = 64 * 1024;
const SPACE: [char; 2] = [' ', '\t'];

/// Which login a server wants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Challenge {
    /// How the token is sent.
    pub scheme: Scheme,
    /// Where the document about the server is, as the server wrote it.
    pub resource_metadata: Option<String>,
    /// What the token must allow, each once, in the server's order.
    pub scopes: Vec<String>,
    /// What was wrong with the request, such as `insufficient_scope`.
    pub error: Option<String>,
}

/// How a token is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scheme {
    /// As it is.
    #[default]
    Bearer,
    /// With a proof that it is ours (RFC 9449).
    Dpop,
}

/// The first challenge in the header that a token answers.
pub fn parse(header: &str) -> Option<Challenge> {
    if header.len() > LONGEST {
        return None;
    }
    let mut text = Text(header);
    let mut found = None;
    while let Some(item) = text.item() {
        match (item, &mut found) {
            (Item::Scheme(name), None) => found = Scheme::named(name).map(Read::new),
            (Item::Parameter(name, value), Some(read)) => read.set(name, value),
            // The next challenge starts, or a challenge of another kind goes on.
            (Item::Scheme(_), Some(_)) => break,
            (Item::Parameter(..), None) => {}
        }
    }
    found.map(Read::done)
}

impl Scheme {
    fn named(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("bearer") {
            Some(Self::Bearer)
        } else {
            name.eq_ignore_ascii_case("dpop").then_some(Self::Dpop)
        }
    }
}

/// A challenge while it is read. The first of a parameter counts, whatever it says.
struct Read {
    scheme: Scheme,
    resource_metadata: Option<String>,
    scope: Option<String>,
    error: Option<String>,
}

impl Read {
    fn new(scheme: Scheme) -> Self {
        Self { scheme, resource_metadata: None, scope: None, error: None }
    }

    fn set(&mut self, name: &str, value: String) {
        let place = match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => &mut self.resource_metadata,
            "scope" => &mut self.scope,
            "error" => &mut self.error,
            _ => return,
        };
        place.get_or_insert(value);
    }

    fn done(self) -> Challenge {
        let said = |value: Option<String>| value.filter(|value| !value.is_empty());
        let mut seen = HashSet::new();
        let scope = self.scope.unwrap_or_default();
        let scopes = scope.split(' ').filter(|name| !name.is_empty() && seen.insert(*name));
        Challenge {
            scheme: self.scheme,
            resource_metadata: said(self.resource_metadata),
            scopes: scopes.map(str::to_owned).collect(),
            error: said(self.error),
        }
    }
}

/// What a header is made of. Only what follows a word tells which of the two it is.
enum Item<'a> {
    Scheme(&'a str),
    Parameter(&'a str, String),
}

/// What is left of a header.
struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    fn item(&mut self) -> Option<Item<'a>> {
        loop {
            self.0 = self.0.trim_start_matches([' ', '\t', ',']);
            let name = self.take(is_token);
            if name.is_empty() {
                self.skip()?;
            } else if let Some(value) = self.0.trim_start_matches(SPACE).strip_prefix('=') {
                self.0 = value.trim_start_matches(SPACE);
                if let Some(value) = self.value() {
                    return Some(Item::Parameter(name, value));
                }
            } else if self.0.is_empty() || self.0.starts_with([' ', '\t', ',']) {
                self.skip_credential();
                return Some(Item::Scheme(name));
            } else {
                self.take(|c| !is_end(c));
            }
        }
    }

    /// Goes past something that starts no item. Nothing if there is nothing left.
    fn skip(&mut self) -> Option<()> {
        if self.0.starts_with('"') {
            drop(self.value());
        } else {
            self.0 = self.0.strip_prefix(|_: char| true)?;
        }
        Some(())
    }

    /// Goes past what RFC 9110 calls token68: one word after the scheme that is no parameter, such as `YWJj==`.
    fn skip_credential(&mut self) {
        let word = self.0.trim_start_matches(SPACE);
        let rest = word.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "-._~+/".contains(c));
        let after = rest.trim_start_matches('=').trim_start_matches(SPACE);
        if rest.len() < word.len() && (after.is_empty() || after.starts_with(',')) {
            self.0 = after;
        }
    }

    /// The value of a parameter. A quotation that does not end is none: half a value means something else.
    fn value(&mut self) -> Option<String> {
        let Some(quoted) = self.0.strip_prefix('"') else {
            // Addresses are written without quotation marks now and then.
            return Some(self.take(|c| !is_end(c)).to_owned());
        };
        let mut value = String::new();
        let mut chars = quoted.chars();
        while let Some(c) = chars.next() {
            match c {
                '"' => {
                    self.0 = chars.as_str();
                    return Some(value);
                }
                '\\' => value.extend(chars.next()),
                c => value.push(c),
            }
        }
        self.0 = "";
        None
    }

    fn take(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.0.find(|c| !belongs(c)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest;
        taken
    }
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

fn is_end(c: char) -> bool {
    c == ',' || SPACE.contains(&c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(header: &str, expected: impl Into<Option<Challenge>>) {
        assert_eq!(parse(header), expected.into(), "{header}");
    }

    fn bearer(resource_metadata: &str, scopes: &[&str], error: &str) -> Challenge {
        let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Challenge {
            scheme: Scheme::Bearer,
            resource_metadata: said(resource_metadata),
            scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
            error: said(error),
        }
    }

    fn dpop(challenge: Challenge) -> Challenge {
        Challenge { scheme: Scheme::Dpop, ..challenge }
    }

    #[test]
    fn one_challenge() {
        let pointer = "https://mcp.example.com/.well-known/oauth-protected-resource";
        check("Bearer", bearer("", &[], ""));
        check("Bearer ", Challenge::default());
        check(&format!("Bearer resource_metadata=\"{pointer}\""), bearer(pointer, &[], ""));
        check(&format!("Bearer resource_metadata={pointer}, scope=a"), bearer(pointer, &["a"], ""));
        check(
            "Bearer error=\"insufficient_scope\", scope=\"mcp:read mcp:write\"",
            bearer("", &["mcp:read", "mcp:write"], "insufficient_scope"),
        );
        check("bEaReR ScOpE=\"a\", ERROR=invalid_token", bearer("", &["a"], "invalid_token"));
        check("DPoP algs=\"ES256 RS256\", scope=\"a\"", dpop(bearer("", &["a"], "")));
        check("dpop", dpop(bearer("", &[], "")));
        check("Bearer scope = \"a\" ,\terror\t=\tb", bearer("", &["a"], "b"));
        check("  , ,Bearer ,, scope=\"a\",,", bearer("", &["a"], ""));
        check("Bearer realm=\"x\" scope=\"a\"", bearer("", &["a"], ""));
    }

    #[test]
    fn quotations_are_undone() {
        check(r#"Bearer error="a\"b\\c\d""#, bearer("", &[], r#"a"b\cd"#));
        check(r#"Bearer realm="x, Basic scope=\"no\"", scope="a""#, bearer("", &["a"], ""));
        check(r#"Bearer realm="scope=no, error=no""#, bearer("", &[], ""));
        check("Bearer scope=\"a b", bearer("", &[], ""));
        check("Bearer error=x, scope=\"a\\", bearer("", &[], "x"));
        check("Bearer scope=\"\u{e4} \u{1f680}\"", bearer("", &["\u{e4}", "\u{1f680}"], ""));
    }

    #[test]
    fn the_first_that_a_token_answers_counts() {
        check("Basic realm=\"x\", Bearer scope=\"a\"", bearer("", &["a"], ""));
        check("Bearer scope=\"a\", Basic realm=\"x\", scope=\"no\"", bearer("", &["a"], ""));
        check("Bearer, Bearer scope=\"no\"", bearer("", &[], ""));
        check("Bearer scope=a, DPoP scope=no", bearer("", &["a"], ""));
        check("DPoP algs=\"ES256\", Bearer scope=no", dpop(bearer("", &[], "")));
        check("Basic scope=\"no\"", None);
        check("Negotiate, Bearer error=e", bearer("", &[], "e"));
        check("Negotiate YII/x+.-_~==, Bearer error=e", bearer("", &[], "e"));
        check("Negotiate YII/x+.-_~==", None);
        check("Bearer YWJj==, scope=\"a\"", bearer("", &["a"], ""));
        check("Bearer scope=", bearer("", &[], ""));
        check("Bearers scope=\"no\"", None);
    }

    #[test]
    fn the_first_of_a_parameter_counts() {
        check("Bearer scope=\"a\", scope=\"b\"", bearer("", &["a"], ""));
        check("Bearer error=\"\", error=\"b\"", bearer("", &[], ""));
        check("Bearer resource_metadata=\"\", resource_metadata=b", bearer("", &[], ""));
        check("Bearer xscope=\"no\", scopes=no, scope*=no, my_error=no", bearer("", &[], ""));
        check("Bearer scope=\"b a  b c a\"", bearer("", &["b", "a", "c"], ""));
    }

    #[test]
    fn what_is_no_challenge_is_none() {
        for header in ["", " ", ",", "\"", "\"Bearer\"", "=", "Bearer=x", "/Bearer/x", "a/Bearer", "\\", "é"]
        {
            assert_eq!(parse(header), None, "{header}");
        }
        let long = |length: usize| format!("Bearer scope=\"{}\"", "a".repeat(length - 15));
        assert!(parse(&long(LONGEST)).is_some());
        assert!(parse(&long(LONGEST + 1)).is_none());
        let many: Vec<_> = (0..12_000).map(|number| format!("{number:x}")).collect();
        assert_eq!(parse(&format!("Bearer scope=\"{}\"", many.join(" "))).unwrap().scopes, many);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "\\PC{0,200}", odd in "(?s).{0,80}") {
            drop(parse(&text));
            drop(parse(&odd));
        }

        #[test]
        fn what_looks_like_a_challenge_is_read_without_a_panic(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "Bearer", "DPoP", "Basic", " ", "\t", ",", "=", "\"", "\\", "scope", "error", "a", "/", "é",
                ]),
                0..24,
            ),
        ) {
            if let Some(challenge) = parse(&parts.concat()) {
                let mut once = challenge.scopes.clone();
                once.sort_unstable();
                once.dedup();
                prop_assert_eq!(once.len(), challenge.scopes.len());
                prop_assert!(challenge.scopes.iter().all(|scope| !scope.is_empty() && !scope.contains(' ')));
                prop_assert!(challenge.error.as_deref() != Some(""));
            }
        }

        #[test]
        fn what_is_written_is_read_again(
            pointer in "[ -~]{1,20}", scopes in prop::collection::hash_set("[!-~]{1,8}", 0..5),
        ) {
            let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
            let scopes: Vec<_> = scopes.into_iter().collect();
            let header = format!(
                "Basic YQ==, Bearer resource_metadata=\"{}\", scope=\"{}\"",
                quoted(&pointer),
                quoted(&scopes.join(" ")),
            );
            let expected = Challenge { resource_metadata: Some(pointer), scopes, ..Challenge::default() };
            prop_assert_eq!(parse(&header), Some(expected));
        }
    }
}
