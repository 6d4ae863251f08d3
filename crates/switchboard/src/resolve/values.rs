//! Fills in the values of one server: variables, folders, files, commands. Once, and never again.
//!
//! In: the templates of a checked server. Out: text, with what went wrong and which of it is secret collected on the
//! way. What was filled in is not looked at again, so a variable's value cannot name another variable or command.

use std::path::{Path, PathBuf};

use super::commands::Commands;
use super::error::About;
use super::launch::Subject;
use super::preview::{directory, unfilled};
use super::program::from_home;
use super::run::Request;
use super::surroundings::{Variables, is_safe};
use crate::config::Field;
use crate::declared::InheritEnv;
use crate::env::Env;
use crate::problem::{Code, Problem};
use crate::redact;
use crate::secret::Secrets;
use crate::sources::read;
use crate::template::{PartRef, Template};

/// A larger file is no value: 64 KiB.
const MAX_FILE_BYTES: usize = 64 * 1024;

/// The values of one server in the making.
pub(super) struct Values<'a> {
    pub(super) subject: &'a Subject<'a>,
    pub(super) env: &'a Env,
    /// The directory the server belongs to.
    pub(super) directory: &'a Path,
    commands: &'a Commands,
    pub(super) problems: Vec<Problem>,
    pub(super) secrets: Secrets,
}

/// A text with its placeholders filled in.
struct Filled {
    text: String,
    /// A placeholder that could not be filled in stands there as written.
    is_complete: bool,
    /// Something in it came from a place where secrets are kept.
    is_secret: bool,
}

impl<'a> Values<'a> {
    /// Nothing filled in yet; all commands are under way, so that several take no longer than the slowest.
    pub(super) fn new(subject: &'a Subject<'a>, env: &'a Env, commands: &'a Commands) -> Self {
        let problems = unfilled(subject.name, subject.spec, subject.origin, env);
        let directory = subject.project.directory_of(subject.origin);
        let values = Self { subject, env, directory, commands, problems, secrets: Secrets::default() };
        for (field, template) in subject.spec.values() {
            match template.shell_command() {
                Some(command) if field.name().is_some() => values.start(command, template),
                Some(_) | None => template.inner_commands().for_each(|inner| values.start(inner, template)),
            }
        }
        values
    }

    /// A command, an argument, a path or an address. What cannot be filled in stays as written.
    pub(super) async fn word(&mut self, field: Field<'_>, template: &Template) -> String {
        self.fill(field, template).await.text
    }

    /// The value of a variable or header; nothing if it cannot be told or is empty.
    pub(super) async fn pair(&mut self, field: Field<'_>, template: &Template) -> Option<String> {
        let filled = if let Some(command) = template.shell_command() {
            let text = self.output(field, command, template).await?;
            Filled { text, is_complete: true, is_secret: true }
        } else if let Some(value) = self.named(template) {
            let is_secret = !is_safe(template.raw(), self.env.os());
            Filled { text: value.to_owned(), is_complete: true, is_secret }
        } else {
            self.fill(field, template).await
        };
        if !filled.is_complete {
            return None;
        }
        if filled.text.is_empty() {
            self.report(Code::ValueEmpty, format!("`{field}` is left out: its value is empty"), EMPTY_HINT);
            return None;
        }
        self.note_pair(field, &filled);
        Some(filled.text)
    }

    /// Adds a problem of this server.
    pub(super) fn report(&mut self, code: Code, message: String, hint: &str) {
        let problem = Problem::new(code, message).hint(hint).server(self.subject.name);
        self.problems.push(problem.origin(self.subject.origin.clone()));
    }

    /// Remembers what looks like a secret in a text that is none.
    pub(super) fn note_hidden(&mut self, text: &str) {
        for piece in hidden(text, &redact::word(text)) {
            self.secrets.add(piece);
        }
    }

    /// Remembers what looks like a secret in a list of arguments.
    pub(super) fn note_args(&mut self, args: &[String]) {
        let plain: Vec<_> = args.iter().map(Template::plain).collect();
        for (arg, shown) in args.iter().zip(redact::args(&plain)) {
            for piece in hidden(arg, &shown) {
                self.secrets.add(piece);
            }
        }
    }

    /// Remembers a value under a name, if the name or its look tells of a secret.
    pub(super) fn note_named(&mut self, name: &str, value: &str) {
        // Such as `XDG_SESSION_TYPE`, which only sounds like one.
        if redact::is_telling(name) && !is_safe(name, self.env.os()) && !is_common_word(value) {
            self.secrets.add(value);
        } else {
            self.note_hidden(value);
        }
    }

    /// What an error says of this launch.
    pub(super) fn about(&mut self) -> About {
        let problems = std::mem::take(&mut self.problems);
        About { server: self.subject.name.to_owned(), origin: self.subject.origin.clone(), problems }
    }

    /// A path as it may be shown.
    pub(super) fn shown(&self, path: &Path) -> String {
        self.secrets.scrub(&redact::word(&self.env.display(path))).into_owned()
    }

    async fn fill(&mut self, field: Field<'_>, template: &Template) -> Filled {
        let mut filled = Filled { text: String::new(), is_complete: true, is_secret: false };
        for (part, written) in spelled(template) {
            let value = match part {
                PartRef::Text(_) | PartRef::Unknown(_) => Some(written.to_owned()),
                PartRef::Folder(folder) => Some(directory(folder, self.env, self.directory)),
                PartRef::Variable { name, default } => {
                    let (value, is_secret) = self.variable(field, name, default, written);
                    filled.is_secret |= is_secret;
                    Some(value)
                }
                PartRef::File(path) => self.content(field, path).await,
                PartRef::Command(command) => self.output(field, command, template).await,
                // Already reported: only its own tool knows them.
                PartRef::Input(_) | PartRef::Stored(_) => None,
            };
            if let (PartRef::File(_) | PartRef::Command(_), Some(value)) = (part, &value) {
                self.secrets.add(value);
                filled.is_secret = true;
            }
            filled.is_complete &= value.is_some();
            filled.text.push_str(value.as_deref().unwrap_or(written));
        }
        filled
    }

    /// A variable's value, else its default, else the placeholder itself; and whether that is a secret.
    fn variable(
        &mut self,
        field: Field<'_>,
        name: &str,
        default: Option<&str>,
        written: &str,
    ) -> (String, bool) {
        let value = match default {
            Some(_) => self.env.non_empty(name),
            None => self.env.var(name),
        };
        let Some(value) = value else { return (default.unwrap_or(written).to_owned(), false) };
        // Variables and headers are where secrets go; elsewhere only the name can tell.
        let is_secret = !is_safe(name, self.env.os()) && (field.name().is_some() || redact::is_telling(name));
        if is_secret && !is_common(name, value) {
            self.secrets.add(value);
        }
        (value.to_owned(), is_secret)
    }

    /// The value of the variable whose name is the whole text.
    fn named(&self, template: &Template) -> Option<&'a str> {
        template.is_plain().then(|| self.env.non_empty(template.raw())).flatten()
    }

    fn note_pair(&mut self, field: Field<'_>, filled: &Filled) {
        let name = field.name().unwrap_or_default();
        let is_header = matches!(field, Field::Header(name) if !is_harmless_header(name));
        if (filled.is_secret || is_header) && !is_common(name, &filled.text) {
            self.secrets.add(&filled.text);
        } else {
            self.note_named(name, &filled.text);
        }
    }

    /// The content of a file, without the line end at its end.
    async fn content(&mut self, field: Field<'_>, path: &str) -> Option<String> {
        let path = self.file(path);
        let shown = self.shown(&path);
        let reason = match read_text(path).await {
            Ok(Some(text)) if text.len() > MAX_FILE_BYTES => {
                format!("it is larger than {} KiB", MAX_FILE_BYTES / 1024)
            }
            Ok(Some(text)) => return Some(text.trim_end_matches(['\r', '\n']).to_owned()),
            Ok(None) => "there is no such file".to_owned(),
            Err(problem) => problem.message,
        };
        let message = format!("{}: the file {shown} gives no value: {reason}", outcome(field));
        self.report(Code::ValueFileUnreadable, message, "write the value into that file, and nothing else");
        None
    }

    /// Where a file named in a value is: beside the file that names it, as the tools have it.
    fn file(&self, path: &str) -> PathBuf {
        let beside = self.subject.origin.path.as_deref().and_then(Path::parent);
        beside.unwrap_or(self.directory).join(from_home(path, self.env))
    }

    async fn output(&mut self, field: Field<'_>, command: &str, template: &Template) -> Option<String> {
        match self.commands.output(self.request(command, template)).await {
            Ok(output) => Some(output),
            Err(failure) => {
                let message = format!("{}: its command gives no value: {failure}", outcome(field));
                self.report(Code::ValueCommandFailed, message, failure.hint());
                None
            }
        }
    }

    fn start(&self, command: &str, template: &Template) {
        drop(self.commands.start(self.request(command, template)));
    }

    /// A command knows what any child may know, and the variables its own text names.
    fn request(&self, command: &str, template: &Template) -> Request {
        let mut env = Variables::inherited(self.env, &InheritEnv::Safe);
        for part in template.parts() {
            if let PartRef::Variable { name, .. } = part
                && let Some(value) = self.env.var(name)
            {
                env.set(name, value.to_owned());
            }
        }
        Request { command: command.to_owned(), directory: self.directory.to_owned(), env: env.into_pairs() }
    }
}

const EMPTY_HINT: &str = "give it a value, or take it out of the entry";

/// The text of a file. Reading may wait for a disk far away, so it gets a thread of its own.
pub(super) async fn read_text(path: PathBuf) -> Result<Option<String>, Problem> {
    let stopped = |_| Problem::new(Code::FileUnreadable, "reading it was stopped");
    tokio::task::spawn_blocking(move || read::text(&path)).await.unwrap_or_else(|error| Err(stopped(error)))
}

/// What becomes of a field that cannot be filled in.
fn outcome(field: Field<'_>) -> String {
    match field {
        Field::Env(_) | Field::Header(_) | Field::OAuth(_) => format!("`{field}` is left out"),
        Field::Command | Field::Arg(_) | Field::EnvFile | Field::Cwd | Field::Url => {
            format!("`{field}` stays as written")
        }
    }
}

/// Each part of a template with the text it was written as.
fn spelled(template: &Template) -> impl Iterator<Item = (PartRef<'_>, &str)> {
    let mut rest = template.raw();
    template.parts().map(move |part| {
        let (written, after) = rest.split_at_checked(written_length(rest, part)).unwrap_or((rest, ""));
        rest = after;
        (part, written)
    })
}

/// How long a part is written at the start of the text.
fn written_length(text: &str, part: PartRef<'_>) -> usize {
    let up_to = |close: &str| text.find(close).map_or(text.len(), |at| at + close.len());
    match part {
        PartRef::Text(plain) | PartRef::Unknown(plain) => plain.len(),
        PartRef::Command(command) => command.len() + "$()".len(),
        PartRef::Variable { name, .. } if !text.starts_with(['{']) && !text.starts_with("${") => {
            name.len() + "$".len()
        }
        _ if text.starts_with("{{") || text.starts_with("${{") => up_to("}}"),
        PartRef::Variable { .. }
        | PartRef::File(_)
        | PartRef::Input(_)
        | PartRef::Stored(_)
        | PartRef::Folder(_) => up_to("}"),
    }
}

/// The pieces of a text that stars stand for in the shown one.
fn hidden<'t>(text: &'t str, shown: &str) -> Vec<&'t str> {
    let mut pieces: Vec<&str> = shown.split(redact::STARS).collect();
    let (Some(last), false) = (pieces.pop(), pieces.is_empty()) else { return Vec::new() };
    let Some(mut rest) = text.strip_prefix(pieces[0]).and_then(|rest| rest.strip_suffix(last)) else {
        return vec![text];
    };
    let mut found = Vec::new();
    for piece in &pieces[1..] {
        let Some((before, after)) = rest.split_once(piece) else { return vec![text] };
        found.push(before);
        rest = after;
    }
    found.push(rest);
    found
}

/// Whether hiding the value would tear every text and protect nothing.
fn is_common(name: &str, value: &str) -> bool {
    let is_number = value.len() < 6 && value.bytes().all(|byte| byte.is_ascii_digit());
    is_common_word(value) || (is_number && !redact::is_telling(name))
}

fn is_common_word(value: &str) -> bool {
    const WORDS: &[&str] = &[
        "true",
        "false",
        "null",
        "none",
        "auto",
        "basic",
        "bearer",
        "debug",
        "info",
        "warn",
        "warning",
        "error",
        "trace",
        "production",
        "development",
        "staging",
        "test",
        "localhost",
        "stdio",
        "http",
        "https",
        "oauth",
        "utf-8",
    ];
    WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// Headers that say what is understood, not who asks.
fn is_harmless_header(name: &str) -> bool {
    const HARMLESS: &[&str] = &[
        "accept",
        "accept-charset",
        "accept-encoding",
        "accept-language",
        "cache-control",
        "connection",
        "content-type",
        "host",
        "mcp-protocol-version",
        "origin",
        "pragma",
        "user-agent",
        "x-requested-with",
    ];
    HARMLESS.iter().any(|harmless| name.eq_ignore_ascii_case(harmless))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Syntax;

    #[test]
    fn each_part_is_known_as_it_was_written() {
        let check = |raw: &str, syntax: Syntax, expected: &[&str]| {
            let template = Template::parse(raw, syntax);
            assert_eq!(spelled(&template).map(|(_, written)| written).collect::<Vec<_>>(), expected);
        };
        check("plain", Syntax::Braced, &["plain"]);
        check("a${B}${C:-d}e", Syntax::Braced, &["a", "${B}", "${C:-d}", "e"]);
        check("$A$B-${C}x", Syntax::Bare, &["$A", "$B", "-", "${C}", "x"]);
        check("a$(b (c))$D", Syntax::Shell, &["a", "$(b (c))", "$D"]);
        check(
            "${env:A}${x:y}${workspaceFolder}/",
            Syntax::Editor,
            &["${env:A}", "${x:y}", "${workspaceFolder}", "/"],
        );
        check("{env: A }{file:~/b}", Syntax::Curly, &["{env: A }", "{file:~/b}"]);
        check("x${{ secrets.A }}y", Syntax::Secrets, &["x", "${{ secrets.A }}", "y"]);
        check("{{ a }}${B}", Syntax::Prompted, &["{{ a }}", "${B}"]);
    }

    #[test]
    fn what_stars_stand_for_is_found_again() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(hidden(text, &redact::word(text)), expected, "{text}");
        };
        check("plain", &[]);
        check("postgres://me:pw@db/x", &["me:pw"]);
        check("Authorization: Bearer hunter2", &["hunter2"]);
        check("--token=hunter2", &["hunter2"]);
        check("a ghp_exampleexampleexample b", &["ghp_exampleexampleexample"]);
        assert_eq!(hidden("abc", "***x***"), ["abc"]);
        assert_eq!(hidden("1-2", "***-***"), ["1", "2"]);
    }
}
