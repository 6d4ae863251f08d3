//! Takes a request apart and decides whether it is the one that is waited for. Pure.

use std::collections::BTreeMap;

use super::page::Answer;
use crate::auth::sign::same;

/// What ends the headers.
pub(super) const END: &[u8] = b"\r\n\r\n";
/// A longer first line is none of ours.
const MOST_LINE_BYTES: usize = 8 * 1024;
/// A longer code is none.
const MOST_CODE_BYTES: usize = 4 * 1024;
/// A longer text is no address that we asked for.
const MOST_PASTED_BYTES: usize = 16 * 1024;

/// What the issuer sent along with the browser. Empty values count as missing.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Returned {
    /// To be exchanged for a token; missing if it is longer than 4 KiB.
    pub(crate) code: Option<String>,
    /// Why there is no code, as the issuer puts it.
    pub(crate) error: Option<String>,
    /// Who says so.
    pub(crate) iss: Option<String>,
}

impl std::fmt::Debug for Returned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let code = self.code.as_ref().map(|_| crate::redact::STARS);
        f.debug_struct("Returned")
            .field("code", &code)
            .field("error", &self.error)
            .field("iss", &self.iss)
            .finish()
    }
}

/// Why a pasted text is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Pasted {
    /// A word, or anything else that leads nowhere.
    #[error("this is not a whole address")]
    NotAnAddress,
    /// Nothing in it is about a login of ours.
    #[error("this address is not the one the browser is sent to after the login")]
    OtherAddress,
    /// The login began there, and did not end yet.
    #[error("this is a page of the login itself, not the one the browser is sent to after it")]
    LoginPage,
    /// It holds neither a code nor an error, or no state.
    #[error("this is only a part of the address the browser was sent to")]
    Incomplete,
    /// It contradicts itself, or is badly encoded.
    #[error("this address was changed on the way, and cannot be read")]
    Garbled,
    /// It is from another login, or a part of its state is missing.
    #[error("this address is from another login, or was cut off")]
    OtherLogin,
    /// No login server sends a browser to so long an address.
    #[error("this is too long for the address the browser was sent to")]
    TooLong,
}

/// What a request must look like.
pub(super) struct Rules<'a> {
    pub(super) path: &'a str,
    pub(super) authorities: &'a [String],
    pub(super) expected: Option<&'a str>,
    pub(super) used: &'a [String],
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The one that is waited for.
    Good(Returned),
    /// Any other, and what it is told.
    Bad(Answer),
}

/// Judges a request by its line and headers, up to and with the empty line.
pub(super) fn judge(head: &[u8], rules: &Rules<'_>) -> Verdict {
    match returned(head, rules) {
        Ok(returned) => Verdict::Good(returned),
        Err(answer) => Verdict::Bad(answer),
    }
}

fn returned(head: &[u8], rules: &Rules<'_>) -> Result<Returned, Answer> {
    // Cookies need not be text. Where it matters, what was no text does not pass.
    let head = String::from_utf8_lossy(head);
    let request = Request::parse(&head).ok_or(Answer::Malformed)?;
    // A page elsewhere can give its own name our address; then the browser says that name.
    if !rules.authorities.iter().any(|ours| ours.eq_ignore_ascii_case(request.host)) {
        return Err(Answer::Malformed);
    }
    if request.path != rules.path {
        return Err(if request.method == "HEAD" { Answer::WrongMethodHead } else { Answer::NotHere });
    }
    match request.method {
        "GET" => {}
        "HEAD" => return Err(Answer::WrongMethodHead),
        _ => return Err(Answer::WrongMethod),
    }
    let mut parameters = parameters(request.query).ok_or(Answer::Malformed)?;
    let state = parameters.take("state").ok_or(Answer::Malformed)?;
    if rules.expected.is_some_and(|expected| same(expected, &state)) {
        return Ok(parameters.into_returned());
    }
    let is_used = rules.used.iter().any(|used| same(used, &state));
    Err(if is_used { Answer::Already } else { Answer::Malformed })
}

/// Reads what a person copied from the address bar: the whole address, or its query. Only the state lets it in; where it
/// would have come back to decides no more than what is said of the rest.
pub(crate) fn parse_pasted(text: &str, state: &str, redirect: &str) -> Result<Returned, Pasted> {
    if text.len() > MOST_PASTED_BYTES {
        return Err(Pasted::TooLong);
    }
    // Quotes come along, and line ends of a narrow window; no address has either in it.
    let text: String = text.chars().filter(|c| !c.is_whitespace() && !"\"'<>`".contains(*c)).collect();
    let text = text.split('#').next().unwrap_or_default();
    let is_address = text.split(['?', '&', '=']).next().is_some_and(|start| start.contains("://"));
    let (before, query) = text.split_once('?').unwrap_or(if is_address { (text, "") } else { ("", text) });
    let is_home = bare(before) == bare(redirect.split(['?', '#']).next().unwrap_or_default());
    let stranger = if is_address { Pasted::OtherAddress } else { Pasted::NotAnAddress };
    let Some(mut parameters) = parameters(query) else {
        return Err(if is_home { Pasted::Garbled } else { stranger });
    };
    let theirs = parameters.take("state");
    let returned = parameters.into_returned();
    let has_answer = returned.code.is_some() || returned.error.is_some();
    match theirs.map(|theirs| same(state, &theirs)) {
        Some(true) if has_answer => Ok(returned),
        Some(true) if is_home || before.is_empty() => Err(Pasted::Incomplete),
        Some(true) => Err(Pasted::LoginPage),
        Some(false) if is_home || has_answer => Err(Pasted::OtherLogin),
        None if is_home || (has_answer && before.is_empty()) => Err(Pasted::Incomplete),
        _ => Err(stranger),
    }
}

/// An address without its scheme, which some browsers do not show.
fn bare(address: &str) -> &str {
    address.split_once("://").map_or(address, |(_, rest)| rest)
}

/// A request as far as it concerns us.
#[derive(Debug, PartialEq, Eq)]
struct Request<'a> {
    method: &'a str,
    path: &'a str,
    query: &'a str,
    host: &'a str,
}

impl<'a> Request<'a> {
    /// Nothing if it breaks the rules of HTTP/1, or does not say which host it is for.
    fn parse(head: &'a str) -> Option<Self> {
        let mut lines = head.strip_suffix("\r\n\r\n")?.split("\r\n");
        let (method, path, query) = request_line(lines.next()?)?;
        let mut host = None;
        for line in lines {
            let (name, value) = line.split_once(':')?;
            if name.is_empty() || !name.bytes().all(is_of_token) || value.contains(['\r', '\n', '\0']) {
                return None;
            }
            // Two of them are two opinions.
            if name.eq_ignore_ascii_case("host") && host.replace(value.trim_matches([' ', '\t'])).is_some() {
                return None;
            }
        }
        Some(Self { method, path, query, host: host? })
    }
}

fn request_line(line: &str) -> Option<(&str, &str, &str)> {
    if line.len() > MOST_LINE_BYTES {
        return None;
    }
    let mut words = line.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        return None;
    }
    let is_plain = target.starts_with('/') && target.bytes().all(|byte| byte.is_ascii_graphic());
    if method.is_empty() || !method.bytes().all(is_of_token) || !is_plain || target.contains('#') {
        return None;
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Some((method, path, query))
}

/// Whether a byte may stand in a method or in the name of a header.
fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Decoded parameters, none of them twice and none of them empty.
struct Parameters(BTreeMap<String, String>);

impl Parameters {
    fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name).filter(|value| !value.is_empty())
    }

    fn into_returned(mut self) -> Returned {
        Returned {
            code: self.take("code").filter(|code| code.len() <= MOST_CODE_BYTES),
            error: self.take("error"),
            iss: self.take("iss"),
        }
    }
}

/// Nothing if a parameter stands there twice or cannot be decoded.
fn parameters(query: &str) -> Option<Parameters> {
    let mut parameters = BTreeMap::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if parameters.insert(decoded(name)?, decoded(value)?).is_some() {
            return None;
        }
    }
    Some(Parameters(parameters))
}

/// A part of a form without its encoding. Stricter than most: what is mended here could be mended differently elsewhere.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                u8::try_from(digit(rest.next())? * 16 + digit(rest.next())?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::form_urlencoded;

    use super::*;

    fn rules<'a>(authorities: &'a [String], used: &'a [String]) -> Rules<'a> {
        Rules { path: "/callback", authorities, expected: Some("expected"), used }
    }

    fn judged(head: &str) -> Verdict {
        let authorities = ["127.0.0.1:4711".to_owned()];
        judge(head.as_bytes(), &rules(&authorities, &["used".to_owned()]))
    }

    fn asked(target: &str) -> Verdict {
        judged(&format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1:4711\r\n\r\n"))
    }

    fn good(code: Option<&str>, error: Option<&str>, iss: Option<&str>) -> Verdict {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Verdict::Good(Returned { code: owned(code), error: owned(error), iss: owned(iss) })
    }

    #[test]
    fn the_one_that_is_waited_for() {
        let check = |target: &str, expected: Verdict| assert_eq!(asked(target), expected, "{target}");
        check("/callback?code=abc&state=expected", good(Some("abc"), None, None));
        check("/callback?state=expected&code=a%2Fb%20c+d%C3%A4", good(Some("a/b c d\u{e4}"), None, None));
        check("/callback?state=%65xpected&co%64e=1", good(Some("1"), None, None));
        check(
            "/callback?state=expected&code=1&iss=https%3A%2F%2Fi%2F",
            good(Some("1"), None, Some("https://i/")),
        );
        check("/callback?state=expected&error=access_denied", good(None, Some("access_denied"), None));
        check("/callback?state=expected&error=x&code=1", good(Some("1"), Some("x"), None));
        check("/callback?state=expected&code=&error=", good(None, None, None));
        check("/callback?state=expected", good(None, None, None));
        check("/callback?&state=expected&&code=1&other", good(Some("1"), None, None));
        check(&format!("/callback?state=expected&code={}", "x".repeat(4097)), good(None, None, None));
    }

    #[test]
    fn any_other_is_told_little() {
        let check =
            |target: &str, expected: Answer| assert_eq!(asked(target), Verdict::Bad(expected), "{target}");
        check("/callback?code=abc&state=wrong", Answer::Malformed);
        check("/callback?code=abc&state=used", Answer::Already);
        check("/callback?code=abc&state=", Answer::Malformed);
        check("/callback?code=abc", Answer::Malformed);
        check("/callback", Answer::Malformed);
        check("/callback?state=expected&state=expected&code=1", Answer::Malformed);
        check("/callback?state=wrong&state=expected&code=1", Answer::Malformed);
        check("/callback?state=expected&code=1&code=2", Answer::Malformed);
        check("/callback?state=expected&code=1&co%64e=2", Answer::Malformed);
        check("/callback?state=expected&code=%", Answer::Malformed);
        check("/callback?state=expected&code=%4", Answer::Malformed);
        check("/callback?state=expected&code=%zz", Answer::Malformed);
        check("/callback?state=expected&code=%+1", Answer::Malformed);
        check("/callback?state=expected&code=%ff", Answer::Malformed);
        check("/favicon.ico", Answer::NotHere);
        check("/", Answer::NotHere);
        check("//callback?state=expected&code=1", Answer::NotHere);
        check("/callback/?state=expected&code=1", Answer::NotHere);
        check("/Callback?state=expected&code=1", Answer::NotHere);
        check("/%63allback?state=expected&code=1", Answer::NotHere);
        check("/x/../callback?state=expected&code=1", Answer::NotHere);
        check("/callback?state=expected&code=1#x", Answer::Malformed);
        check("http://127.0.0.1:4711/callback?state=expected&code=1", Answer::Malformed);
        check("*", Answer::Malformed);
        check("", Answer::Malformed);
        check("/callback?state=expected&code=\u{e4}", Answer::Malformed);
    }

    #[test]
    fn the_rest_of_the_request_must_be_right_too() {
        const TARGET: &str = "/callback?state=expected&code=1";
        const HOST: &str = "Host: 127.0.0.1:4711\r\n";
        let check = |head: String, expected: Option<Answer>| {
            let expected = expected.map_or_else(|| good(Some("1"), None, None), Verdict::Bad);
            assert_eq!(judged(&head), expected, "{head:?}");
        };
        let line = |line: &str| format!("{line}\r\n{HOST}\r\n");
        check(line(&format!("GET {TARGET} HTTP/1.0")), None);
        check(line(&format!("POST {TARGET} HTTP/1.1")), Some(Answer::WrongMethod));
        check(line(&format!("get {TARGET} HTTP/1.1")), Some(Answer::WrongMethod));
        check(line(&format!("HEAD {TARGET} HTTP/1.1")), Some(Answer::WrongMethodHead));
        check(line("HEAD / HTTP/1.1"), Some(Answer::WrongMethodHead));
        for bad in ["GET", "GET /callback", "", " ", "GET  / HTTP/1.1", "G T / HTTP/1.1", "GET / HTTP/2.0"] {
            check(line(bad), Some(Answer::Malformed));
        }
        check(line(&format!("GET {TARGET} HTTP/1.1 ")), Some(Answer::Malformed));
        check(line(&format!("GET {TARGET} HTTP/0.9")), Some(Answer::Malformed));
        check(line(&format!("(GET) {TARGET} HTTP/1.1")), Some(Answer::Malformed));

        let headers = |headers: &str| format!("GET {TARGET} HTTP/1.1\r\n{headers}\r\n");
        check(headers("hOST:127.0.0.1:4711 \t\r\nAccept: */*\r\nEmpty:\r\n"), None);
        check(headers(""), Some(Answer::Malformed));
        check(headers("Host: 127.0.0.1:4711\r\nHost: 127.0.0.1:4711\r\n"), Some(Answer::Malformed));
        for host in ["127.0.0.1", "127.0.0.1:4712", "evil.example", "evil.example:4711", "localhost:4711", ""]
        {
            check(headers(&format!("Host: {host}\r\n")), Some(Answer::Malformed));
        }
        for bad in ["x\r\n", ": x\r\n", " folded: x\r\n", "a b: x\r\n", "a: \0\r\n", "a: b\nHost: x\r\n"] {
            check(headers(&format!("{HOST}{bad}")), Some(Answer::Malformed));
        }
        check(format!("GET {TARGET} HTTP/1.1\r\n{HOST}"), Some(Answer::Malformed));
        check(format!("GET {TARGET} HTTP/1.1\n{HOST}\n\n"), Some(Answer::Malformed));
        check("\r\n\r\n".to_owned(), Some(Answer::Malformed));
        check(format!("GET {TARGET}&x={} HTTP/1.1\r\n{HOST}\r\n", "x".repeat(8192)), Some(Answer::Malformed));
        let mut cookie = headers(&format!("{HOST}Cookie: @\r\n")).into_bytes();
        let at = cookie.iter().position(|byte| *byte == b'@').unwrap_or_default();
        cookie[at] = 0xe4;
        let authorities = ["127.0.0.1:4711".to_owned()];
        assert_eq!(judge(&cookie, &rules(&authorities, &[])), good(Some("1"), None, None));
    }

    #[test]
    fn nobody_is_expected_after_the_first() {
        let authorities = ["127.0.0.1:4711".to_owned()];
        let used = ["expected".to_owned()];
        let rules = Rules { expected: None, ..rules(&authorities, &used) };
        let ask = |state: &str| {
            let head = format!("GET /callback?code=1&state={state} HTTP/1.1\r\nHost: 127.0.0.1:4711\r\n\r\n");
            judge(head.as_bytes(), &rules)
        };
        assert_eq!(ask("expected"), Verdict::Bad(Answer::Already));
        assert_eq!(ask(""), Verdict::Bad(Answer::Malformed));
        assert_eq!(ask("other"), Verdict::Bad(Answer::Malformed));
    }

    #[test]
    fn an_address_can_be_pasted() {
        const HOME: &str = "http://127.0.0.1:4711/callback";
        let check = |text: &str, expected: Result<(Option<&str>, Option<&str>), Pasted>| {
            let returned = parse_pasted(text, "expected", HOME);
            let parts = returned.as_ref().map(|it| (it.code.as_deref(), it.error.as_deref()));
            assert_eq!(parts.map_err(|error| *error), expected, "{text}");
        };
        let one = Ok((Some("1"), None));
        check("http://127.0.0.1:4711/callback?code=1&state=expected", one);
        check("  'http://127.0.0.1:4711/callback?code=1&state=expected#x'\n", one);
        check("http://127.0.0.1:4711/call\nback?code=1&sta\n te=expected", one);
        check("?code=1&state=expected", one);
        check("code=1&state=expected", one);
        check("code=1&state=expected&iss=https://issuer/", one);
        check("state=expected&error=access_denied", Ok((None, Some("access_denied"))));
        check("127.0.0.1:4711/callback?code=1&state=expected", one);
        check("https://front.example/back?code=1&state=expected", one);
        check("http://127.0.0.1:4711/callback?error=no&state=expected", Ok((None, Some("no"))));
        check("code=1&state=other", Err(Pasted::OtherLogin));
        check("error=access_denied&state=other", Err(Pasted::OtherLogin));
        check("http://127.0.0.1:4711/callback?code=1&state=other", Err(Pasted::OtherLogin));
        check("http://127.0.0.1:9/callback?code=1&state=other", Err(Pasted::OtherLogin));
        check("code=1", Err(Pasted::Incomplete));
        check("error=access_denied", Err(Pasted::Incomplete));
        check("state=expected", Err(Pasted::Incomplete));
        check(HOME, Err(Pasted::Incomplete));
        check("127.0.0.1:4711/callback", Err(Pasted::NotAnAddress));
        check("http://127.0.0.1:4711/callback?code=1", Err(Pasted::Incomplete));
        check("http://127.0.0.1:4711/callback?state=expected", Err(Pasted::Incomplete));
        check("http://127.0.0.1:4711/callback?code=1&state=", Err(Pasted::Incomplete));
        check("https://issuer/authorize?state=expected&client_id=x", Err(Pasted::LoginPage));
        check("https://issuer/authorize?state=other&client_id=x", Err(Pasted::OtherAddress));
        check("https://example.com/", Err(Pasted::OtherAddress));
        check("http://127.0.0.1:9/callback?code=1", Err(Pasted::OtherAddress));
        check("https://example.com/issues?state=open&q=100%", Err(Pasted::OtherAddress));
        check("", Err(Pasted::NotAnAddress));
        check("abc", Err(Pasted::NotAnAddress));
        check("is it done?", Err(Pasted::NotAnAddress));
        check("code=1&code=2&state=expected", Err(Pasted::NotAnAddress));
        check("code=%zz&state=expected", Err(Pasted::NotAnAddress));
        check("http://127.0.0.1:4711/callback?code=%zz&state=expected", Err(Pasted::Garbled));
        check("http://127.0.0.1:4711/callback?code=1&code=2&state=expected", Err(Pasted::Garbled));
        check(&format!("code={}&state=expected", "x".repeat(20_000)), Err(Pasted::TooLong));
    }

    #[test]
    fn a_code_does_not_show_itself() {
        let returned = parse_pasted("code=hush&state=s&iss=i", "s", "http://h/").unwrap();
        assert!(!format!("{returned:?}").contains("hush"));
    }

    fn any_text() -> impl Strategy<Value = String> {
        prop_oneof!["[ -~]{1,40}", "\\PC{1,20}", "[&=+%#? /]{1,10}"]
    }

    proptest! {
        #[test]
        fn what_a_browser_encodes_comes_back(code in any_text(), iss in any_text(), state in any_text()) {
            let mut form = form_urlencoded::Serializer::new(String::new());
            let query = form.append_pair("code", &code).append_pair("state", &state).append_pair("iss", &iss).finish();
            let expected = Returned { code: Some(code), error: None, iss: Some(iss) };
            let head = format!("GET /callback?{query} HTTP/1.1\r\nHost: h\r\n\r\n");
            let rules =
                Rules { path: "/callback", authorities: &["h".to_owned()], expected: Some(&state), used: &[] };
            prop_assert_eq!(judge(head.as_bytes(), &rules), Verdict::Good(expected.clone()));
            let url = format!("http://127.0.0.1:1/callback?{query}");
            prop_assert_eq!(parse_pasted(&url, &state, "http://h/"), Ok(expected));
        }

        #[test]
        fn no_bytes_get_in_without_the_state(mut head in proptest::collection::vec(any::<u8>(), 0..300)) {
            head.extend_from_slice(END);
            let rules = rules(&[], &[]);
            prop_assert!(matches!(judge(&head, &rules), Verdict::Bad(_)));
        }

        #[test]
        fn a_changed_request_is_the_same_or_refused(at in 0_usize..80, to in any::<u8>()) {
            let mut head = b"GET /callback?state=expected&code=1 HTTP/1.1\r\nHost: h\r\nAccept: */*\r\n\r\n".to_vec();
            let at = at % head.len();
            head[at] = to;
            let authorities = ["h".to_owned()];
            if let Verdict::Good(_) = judge(&head, &rules(&authorities, &[])) {
                // Only what comes after the state may have changed, or the case of what has none.
                prop_assert!(head.starts_with(b"GET /callback?state=expected&"));
            }
        }

        #[test]
        fn any_text_can_be_pasted(text in "\\PC{0,200}") {
            if parse_pasted(&text, "expected", "http://h/").is_ok() {
                prop_assert!(text.contains("expected") && text.contains("state"));
            }
        }
    }
}
