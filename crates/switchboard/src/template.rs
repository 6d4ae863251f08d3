//! A configured string with its placeholders, parsed in the syntax of the file it came from and never
//! expanded here.
//!
//! Every tool has its own placeholders and none accepts another's, so the syntax belongs to the source.
//! Two templates are equal when they mean the same, whatever they were spelled like.

use std::hash::{Hash, Hasher};

/// The placeholder syntax of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// No placeholders: the text is the text.
    Plain,
    /// `${VAR}` and `${VAR:-default}`: ours, Claude Code's, omp's.
    Braced,
    /// As [`Syntax::Braced`], and bare `$VAR`: Gemini CLI, Copilot CLI, Goose, Crush.
    Bare,
    /// `${env:VAR}`, `${input:id}`, `${file:path}`, `${workspaceFolder}`, `${userHome}`: the editors.
    Editor,
    /// `{env:VAR}` and `{file:path}`: opencode.
    Curly,
    /// `${{ secrets.NAME }}`: Continue.
    Secrets,
    /// As [`Syntax::Bare`], and `$(command)`: Crush.
    Shell,
    /// As [`Syntax::Braced`], and `{{name}}`, which the tool asks for: Warp.
    Prompted,
}

/// A place whose path a tool can fill in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Folder {
    /// The project's directory.
    Workspace,
    /// The last part of that.
    WorkspaceName,
    /// The home directory.
    Home,
    /// `/`, or `\` on Windows.
    Separator,
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Part {
    /// Text as it stands.
    Text(String),
    /// A variable, with what to take when it is unset or empty.
    Variable {
        /// The variable's name.
        name: String,
        /// The default, if one was written.
        default: Option<String>,
    },
    /// The content of a file.
    File(String),
    /// Something the tool asks its user for.
    Input(String),
    /// Something from the tool's own secret store.
    Stored(String),
    /// The output of a shell command.
    Command(String),
    /// A well-known directory.
    Folder(Folder),
    /// A placeholder of a form nobody knows; kept as text.
    Unknown(String),
}

/// A string and the placeholders in it.
#[derive(Debug, Clone)]
pub struct Template {
    raw: String,
    /// `None` when the text is plain: the common case costs nothing.
    parts: Option<Box<[Part]>>,
}

impl Template {
    /// Parses the text in the given syntax. Anything that is no placeholder is text.
    pub fn parse(raw: impl Into<String>, syntax: Syntax) -> Self {
        let raw = raw.into();
        let parts = scan(&raw, syntax);
        Self { raw, parts }
    }

    /// Text without placeholders.
    pub fn plain(raw: impl Into<String>) -> Self {
        Self { raw: raw.into(), parts: None }
    }

    /// The value of one variable, as fields such as `bearer_token_env_var` mean it.
    pub fn variable(name: &str) -> Self {
        let part = Part::Variable { name: name.to_owned(), default: None };
        Self { raw: format!("${{{name}}}"), parts: Some(Box::new([part])) }
    }

    /// The text as it stands in the file.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The pieces, in order.
    pub fn parts(&self) -> impl Iterator<Item = PartRef<'_>> {
        // A plain text is one part.
        let whole = self.parts.is_none().then_some(PartRef::Text(&self.raw));
        whole.into_iter().chain(self.parts.iter().flatten().map(PartRef::from))
    }

    /// Whether there is no placeholder in it.
    pub fn is_plain(&self) -> bool {
        self.parts.is_none()
    }

    /// The same with variables replaced by what `lookup` knows of them.
    #[must_use]
    pub fn filled<'v>(&self, lookup: impl Fn(&str) -> Option<&'v str>) -> Self {
        let Some(parts) = &self.parts else { return self.clone() };
        let parts: Vec<Part> = parts
            .iter()
            .map(|part| match part {
                Part::Variable { name, .. } => {
                    lookup(name).map_or_else(|| part.clone(), |value| Part::Text(value.to_owned()))
                }
                other => other.clone(),
            })
            .collect();
        let mut raw = String::new();
        for part in &parts {
            match part {
                Part::Text(text) => raw.push_str(text),
                // Only plain variables have another spelling than the text they came from.
                Part::Variable { name, .. } => raw.push_str(&format!("${{{name}}}")),
                _ => return self.clone(),
            }
        }
        let plain = parts.iter().all(|part| matches!(part, Part::Text(_)));
        Self { raw, parts: (!plain).then(|| parts.into_boxed_slice()) }
    }

    /// The command of a `!command` value.
    pub fn shell_command(&self) -> Option<&str> {
        self.raw.strip_prefix('!').map(str::trim)
    }

    /// The shell commands a `$(command)` syntax would run.
    pub fn inner_commands(&self) -> impl Iterator<Item = &str> {
        self.parts().filter_map(|part| match part {
            PartRef::Command(command) => Some(command),
            _ => None,
        })
    }

    /// The same meaning in our own syntax, or the placeholder it cannot say.
    pub fn to_native(&self) -> Result<String, String> {
        let mut native = String::with_capacity(self.raw.len());
        for part in self.parts() {
            match part {
                // Text that only looks like a placeholder would become one in our file.
                PartRef::Text(text) if scan(text, Syntax::Braced).is_some() => return Err(self.raw.clone()),
                PartRef::Text(text) => native.push_str(text),
                PartRef::Variable { name, default: None } => native.push_str(&format!("${{{name}}}")),
                PartRef::Variable { name, default: Some(default) } => {
                    native.push_str(&format!("${{{name}:-{default}}}"));
                }
                PartRef::Folder(Folder::Home) => native.push_str("${HOME}"),
                PartRef::Folder(Folder::Separator) => native.push('/'),
                PartRef::Folder(_)
                | PartRef::File(_)
                | PartRef::Input(_)
                | PartRef::Stored(_)
                | PartRef::Command(_)
                | PartRef::Unknown(_) => {
                    return Err(self.raw.clone());
                }
            }
        }
        Ok(native)
    }

    /// One spelling for everything that means the same; what definition hashes are made of.
    pub fn canonical(&self) -> String {
        let Some(parts) = &self.parts else { return self.raw.clone() };
        let mut text = String::new();
        for part in parts {
            match part {
                Part::Text(plain) | Part::Unknown(plain) => text.push_str(plain),
                Part::Variable { name, default: None } => text.push_str(&format!("\u{0}var:{name}\u{0}")),
                Part::Variable { name, default: Some(default) } => {
                    text.push_str(&format!("\u{0}var:{name}:-{default}\u{0}"));
                }
                Part::File(path) => text.push_str(&format!("\u{0}file:{path}\u{0}")),
                Part::Input(id) => text.push_str(&format!("\u{0}input:{id}\u{0}")),
                Part::Stored(id) => text.push_str(&format!("\u{0}stored:{id}\u{0}")),
                Part::Command(command) => text.push_str(&format!("\u{0}command:{command}\u{0}")),
                Part::Folder(folder) => text.push_str(&format!("\u{0}folder:{folder:?}\u{0}")),
            }
        }
        text
    }
}

impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        match (&self.parts, &other.parts) {
            (None, None) => self.raw == other.raw,
            (Some(left), Some(right)) => left == right,
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
}

impl Eq for Template {}

impl Hash for Template {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.parts {
            None => self.raw.hash(state),
            Some(parts) => parts.hash(state),
        }
    }
}

/// A borrowed [`Part`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants mirror `Part`")]
pub enum PartRef<'a> {
    Text(&'a str),
    Variable { name: &'a str, default: Option<&'a str> },
    File(&'a str),
    Input(&'a str),
    Stored(&'a str),
    Command(&'a str),
    Folder(Folder),
    Unknown(&'a str),
}

impl<'a> From<&'a Part> for PartRef<'a> {
    fn from(part: &'a Part) -> Self {
        match part {
            Part::Text(text) => Self::Text(text),
            Part::Variable { name, default } => Self::Variable { name, default: default.as_deref() },
            Part::File(path) => Self::File(path),
            Part::Input(id) => Self::Input(id),
            Part::Stored(id) => Self::Stored(id),
            Part::Command(command) => Self::Command(command),
            Part::Folder(folder) => Self::Folder(*folder),
            Part::Unknown(text) => Self::Unknown(text),
        }
    }
}

/// A longer placeholder is text.
const MAX_PLACEHOLDER: usize = 4096;
/// After so many openers that open nothing, the rest is text: nobody writes that, except to keep us busy.
const MAX_TORN: usize = 1000;

/// Splits the text into parts; `None` when it holds no placeholder.
fn scan(raw: &str, syntax: Syntax) -> Option<Box<[Part]>> {
    let openers: &[char] = match syntax {
        Syntax::Plain => return None,
        Syntax::Curly => &['{'],
        Syntax::Prompted => &['$', '{'],
        Syntax::Braced | Syntax::Bare | Syntax::Editor | Syntax::Secrets | Syntax::Shell => &['$'],
    };
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut rest = raw;
    let last_close = raw.rfind(['}', ')']).unwrap_or(0);
    let bare = matches!(syntax, Syntax::Bare | Syntax::Shell);
    let mut torn = 0;
    while let Some(start) = rest.find(openers).filter(|_| torn < MAX_TORN) {
        // After the last closer nothing can be a placeholder any more, except for a bare name.
        if !bare && raw.len() - rest.len() + start > last_close {
            break;
        }
        let (before, from) = rest.split_at(start);
        text.push_str(before);
        if let Some((part, length)) = placeholder(from, syntax) {
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            parts.push(part);
            rest = &from[length..];
        } else {
            torn += 1;
            // All openers are one byte long.
            text.push_str(&from[..1]);
            rest = &from[1..];
        }
    }
    if parts.is_empty() {
        return None;
    }
    text.push_str(rest);
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    Some(parts.into_boxed_slice())
}

/// The placeholder at the start of the text and its length, if there is one.
fn placeholder(text: &str, syntax: Syntax) -> Option<(Part, usize)> {
    match syntax {
        Syntax::Plain => None,
        Syntax::Braced => braced(text),
        Syntax::Bare => braced(text).or_else(|| bare(text)),
        Syntax::Shell => command(text).or_else(|| braced(text)).or_else(|| bare(text)),
        Syntax::Prompted => braced(text).or_else(|| {
            let (inner, length) = between(text, "{{", "}}")?;
            Some((Part::Input(inner.trim().to_owned()), length))
        }),
        Syntax::Editor => between(text, "${", "}").map(|(inner, length)| (editor(inner), length)),
        Syntax::Curly => {
            let (inner, length) = between(text, "{", "}")?;
            let part = match inner.split_once(':')? {
                ("env", name) if !name.trim().is_empty() => {
                    Part::Variable { name: name.trim().to_owned(), default: None }
                }
                ("file", path) => Part::File(path.trim().to_owned()),
                _ => return None,
            };
            Some((part, length))
        }
        Syntax::Secrets => {
            let (inner, length) = between(text, "${{", "}}")?;
            let name = inner.trim();
            let part = match name.split_once('.') {
                Some(("secrets", secret)) => Part::Stored(secret.to_owned()),
                Some(("inputs", id)) => Part::Input(id.to_owned()),
                _ => Part::Unknown(text[..length].to_owned()),
            };
            Some((part, length))
        }
    }
}

/// `${VAR}` or `${VAR:-default}`; the default ends at the first `}`.
fn braced(text: &str) -> Option<(Part, usize)> {
    let (inner, length) = between(text, "${", "}")?;
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default.to_owned())),
        None => (inner, None),
    };
    if name.is_empty() || name.contains([':', '{', '$']) {
        return None;
    }
    Some((Part::Variable { name: name.to_owned(), default }, length))
}

/// `$VAR`.
fn bare(text: &str) -> Option<(Part, usize)> {
    let name = &text[1..];
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
    let name = &name[..end];
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return None;
    }
    Some((Part::Variable { name: name.to_owned(), default: None }, 1 + end))
}

/// `$(command)`; brackets inside must match.
fn command(text: &str) -> Option<(Part, usize)> {
    let inner = text.strip_prefix("$(")?;
    let mut depth = 1_u32;
    for (index, c) in inner.char_indices().take_while(|(index, _)| *index < MAX_PLACEHOLDER) {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((Part::Command(inner[..index].to_owned()), index + 3));
        }
    }
    None
}

fn editor(inner: &str) -> Part {
    match inner.split_once(':') {
        Some(("env", name)) if !name.is_empty() => Part::Variable { name: name.to_owned(), default: None },
        Some(("file", path)) => Part::File(path.to_owned()),
        Some(("input", id)) => Part::Input(id.to_owned()),
        Some(_) => Part::Unknown(format!("${{{inner}}}")),
        None => match inner {
            "workspaceFolder" | "workspaceRoot" => Part::Folder(Folder::Workspace),
            "workspaceFolderBasename" => Part::Folder(Folder::WorkspaceName),
            "userHome" => Part::Folder(Folder::Home),
            "pathSeparator" | "/" => Part::Folder(Folder::Separator),
            _ => Part::Unknown(format!("${{{inner}}}")),
        },
    }
}

/// What stands between the two marks at the start of the text, and the length of it all.
fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<(&'a str, usize)> {
    let inner = text.strip_prefix(open)?;
    // Looked for nearby only, so that a text full of openers costs no more than its length.
    let end = inner.as_bytes()[..inner.len().min(MAX_PLACEHOLDER)]
        .windows(close.len())
        .position(|at| at == close.as_bytes())?;
    Some((&inner[..end], open.len() + end + close.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: &str, syntax: Syntax, expected: &[PartRef<'_>]) {
        let template = Template::parse(raw, syntax);
        let parts: Vec<_> = template.parts().collect();
        assert_eq!(parts, expected, "{raw} as {syntax:?}");
        assert_eq!(template.raw(), raw);
    }

    const fn var<'a>(name: &'a str, default: Option<&'a str>) -> PartRef<'a> {
        PartRef::Variable { name, default }
    }

    #[test]
    fn each_syntax_knows_only_its_own_placeholders() {
        use PartRef::{File, Input, Stored, Text, Unknown};
        check("${A}", Syntax::Plain, &[Text("${A}")]);
        check("a ${A} b", Syntax::Braced, &[Text("a "), var("A", None), Text(" b")]);
        check("${A:-d}", Syntax::Braced, &[var("A", Some("d"))]);
        check("${A:-}", Syntax::Braced, &[var("A", Some(""))]);
        check("$A", Syntax::Braced, &[Text("$A")]);
        check("$A-x", Syntax::Bare, &[var("A", None), Text("-x")]);
        check("$1 $$", Syntax::Bare, &[Text("$1 $$")]);
        check("${env:A}", Syntax::Editor, &[var("A", None)]);
        check("${env:A}", Syntax::Braced, &[Text("${env:A}")]);
        check("${input:key}", Syntax::Editor, &[Input("key")]);
        check("${workspaceFolder}/x", Syntax::Editor, &[PartRef::Folder(Folder::Workspace), Text("/x")]);
        check("${A}", Syntax::Editor, &[Unknown("${A}")]);
        check("{env:A}{file:~/k}", Syntax::Curly, &[var("A", None), File("~/k")]);
        check("{\"a\":1}", Syntax::Curly, &[Text("{\"a\":1}")]);
        check("${{ secrets.KEY }}", Syntax::Secrets, &[Stored("KEY")]);
        check("a$(cat (x))b", Syntax::Shell, &[Text("a"), PartRef::Command("cat (x)"), Text("b")]);
        check("{{ team }}/${A}", Syntax::Prompted, &[Input("team"), Text("/"), var("A", None)]);
    }

    #[test]
    fn torn_placeholders_are_text() {
        for raw in ["${", "${}", "${A", "$", "${:-x}", "$$", "{env:A", "${{ secrets.A }"] {
            for syntax in [Syntax::Braced, Syntax::Bare, Syntax::Curly, Syntax::Secrets] {
                check(raw, syntax, &[PartRef::Text(raw)]);
            }
        }
        // A default ends at the first brace and is never scanned again.
        check("${A:-${B}}", Syntax::Braced, &[var("A", Some("${B")), PartRef::Text("}")]);
    }

    #[test]
    fn meaning_is_compared_not_spelling() {
        let cursor = Template::parse("Bearer ${env:T}", Syntax::Editor);
        let claude = Template::parse("Bearer ${T}", Syntax::Braced);
        let codex = Template::parse("Bearer ${T}", Syntax::Plain);
        assert_eq!(cursor, claude);
        assert_eq!(cursor.canonical(), claude.canonical());
        assert_ne!(claude, codex);
        assert_ne!(claude.canonical(), codex.canonical());
        assert_eq!(cursor.to_native(), Ok("Bearer ${T}".to_owned()));
    }
}
