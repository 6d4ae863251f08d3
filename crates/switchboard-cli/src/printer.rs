//! The only place that writes to standard output and standard error.
//!
//! Data goes to standard output, everything else to standard error. Colour is for terminals. A reader that has gone
//! away (a closed pipe) is no error. In an interactive session a command writes into a buffer instead, in colour, and the
//! session shows it.

mod outbox;

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use anstream::adapter::strip_str;
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use switchboard::visible::{is_hidden, visible};
use switchboard::{Env, Explain, Problem, Severity};

use self::outbox::Outbox;
use crate::error::CommandError;
use crate::shell::words;
use crate::terminal;

/// How much is said besides the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Volume {
    Quiet,
    Normal,
    Verbose,
}

/// Where output goes and how it looks.
#[derive(Debug, Clone)]
pub(crate) struct Printer {
    pub(crate) json: bool,
    pub(crate) volume: Volume,
    pub(crate) width: Option<usize>,
    pub(crate) sink: Sink,
}

/// Where it goes.
#[derive(Debug, Clone, Default)]
pub(crate) enum Sink {
    /// To the streams of the program.
    #[default]
    Streams,
    /// To the same, but nobody waits until somebody has read what is no data.
    Outbox(Outbox),
    /// To the same, from inside an interactive session, where commands are called otherwise.
    Session,
    /// Collected, for the session to show.
    Buffer(Buffer),
}

/// Text that was collected.
#[derive(Debug, Clone, Default)]
pub(crate) struct Buffer(Arc<Mutex<String>>);

impl Buffer {
    /// What was collected so far.
    pub(crate) fn take(&self) -> String {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, text: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
    }
}

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
pub(crate) const WAITING: Style = AnsiColor::Yellow.on_default();
pub(crate) const FAINT: Style = Style::new().dimmed();
pub(crate) const STRONG: Style = Style::new().bold();

impl Printer {
    pub(crate) fn new(env: &Env, json: bool, volume: Volume) -> Self {
        Self { json, volume, width: terminal::width(env), sink: Sink::Streams }
    }

    /// One that knows nothing of the surroundings yet.
    pub(crate) const fn early(json: bool, volume: Volume) -> Self {
        Self { json, volume, width: None, sink: Sink::Streams }
    }

    /// Whether it goes to a terminal right away, so that somebody can be asked and shown what goes on.
    pub(crate) const fn is_direct(&self) -> bool {
        matches!(self.sink, Sink::Streams | Sink::Outbox(_) | Sink::Session)
    }

    /// From now on what is no data waits for no reader. Where that cannot be had it does as before.
    pub(crate) fn wait_for_nobody(&mut self) {
        if let Ok(outbox) = Outbox::start(to_stderr) {
            self.sink = Sink::Outbox(outbox);
        }
    }

    /// Waits a moment until what was said is out.
    pub(crate) fn flush(&self) {
        if let Sink::Outbox(outbox) = &self.sink {
            outbox.flush();
        }
    }

    /// Our own words as they are said here.
    fn worded<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.sink {
            Sink::Streams | Sink::Outbox(_) => Cow::Borrowed(text),
            Sink::Session | Sink::Buffer(_) => words::in_session(text),
        }
    }

    /// Lines of data.
    pub(crate) fn data(&self, lines: &[String]) -> io::Result<()> {
        let mut text = self.worded(&lines.join("\n")).into_owned();
        if !text.is_empty() {
            text.push('\n');
        }
        self.styled(&text)
    }

    /// Text that is safe and has its colours, as it is: a piece of a line, or several lines.
    pub(crate) fn styled(&self, text: &str) -> io::Result<()> {
        // Stripped beforehand and written at once: a stream that strips writes line by line.
        let is_plain = || anstream::AutoStream::choice(&io::stdout()) == anstream::ColorChoice::Never;
        if self.is_direct() && is_plain() {
            return self.out(&strip_str(text).to_string());
        }
        self.out(text)
    }

    fn out(&self, text: &str) -> io::Result<()> {
        if let Sink::Buffer(buffer) = &self.sink {
            buffer.push(text);
            return Ok(());
        }
        let mut out = io::stdout().lock();
        forgive_closed_pipe(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }

    /// Text somebody else wrote. A terminal must not act on it; a file gets it as it is.
    pub(crate) fn text(&self, text: &str) -> io::Result<()> {
        let is_seen = !self.is_direct() || io::stdout().is_terminal();
        let mut shown = if is_seen { harmless(text) } else { text.to_owned() };
        if !shown.is_empty() && !shown.ends_with('\n') {
            shown.push('\n');
        }
        self.out(&shown)
    }

    /// Data as JSON.
    pub(crate) fn json(&self, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
        self.out(&format!("{}\n", escaped(&text)))
    }

    /// Data as JSON on one line, as soon as it is there.
    pub(crate) fn json_line(&self, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(value).map_err(io::Error::other)?;
        self.out(&format!("{}\n", escaped(&text)))
    }

    /// A remark, unless quiet. What others wrote cannot do harm in it.
    pub(crate) fn remark(&self, line: &str) {
        self.remark_styled(&visible(line));
    }

    /// A remark with colour in it, made of our own words only.
    pub(crate) fn remark_styled(&self, line: &str) {
        if self.volume > Volume::Quiet && !self.json {
            self.say(&[line.to_owned()]);
        }
    }

    /// A line without which nobody could go on, however quiet it is to be.
    pub(crate) fn urge(&self, line: &str) {
        self.say(&[line.to_owned()]);
    }

    /// A question, with the cursor left behind it.
    pub(crate) fn question(&self, text: &str) {
        self.tell(text);
    }

    /// Lines that belong to what was asked, such as what is about to be approved.
    pub(crate) fn show(&self, lines: &[String]) {
        if !self.json {
            self.say(lines);
        }
    }

    /// Problems in the one form they have everywhere. At most `most`; the rest is counted.
    pub(crate) fn problems(&self, problems: &[&Problem], env: &Env, most: usize) {
        if self.json {
            return;
        }
        let is_quiet = self.volume == Volume::Quiet;
        for problem in problems.iter().take(most) {
            if !is_quiet || problem.severity() == Severity::Error {
                self.say(&problem_lines(problem, env));
            }
        }
        if problems.len() > most && !is_quiet {
            let more = problems.len() - most;
            self.say(&[format!("{FAINT}and {more} more: switchboard doctor{FAINT:#}")]);
        }
    }

    /// The error a command ended with.
    pub(crate) fn error(&self, error: &CommandError, env: Option<&Env>) {
        if self.json {
            return self.say(&[escaped(&error.to_json().to_string())]);
        }
        let (message, rest) = error.lines(env);
        self.fault(&message, &rest);
    }

    /// Something that went wrong on the way. It is said to those who want it quiet, too.
    pub(crate) fn fault(&self, message: &str, rest: &[String]) {
        if self.json {
            return;
        }
        let mut lines = vec![format!("{BAD}error{BAD:#}: {}", visible(message))];
        lines.extend(rest.iter().map(|line| format!("  {}", visible(line))));
        self.say(&lines);
    }

    fn say(&self, lines: &[String]) {
        self.tell(&format!("{}\n", lines.join("\n")));
    }

    fn tell(&self, text: &str) {
        let text = self.worded(text);
        match &self.sink {
            Sink::Streams | Sink::Session => to_stderr(&text),
            Sink::Outbox(outbox) => outbox.say(&text),
            Sink::Buffer(buffer) => buffer.push(&text),
        }
    }
}

fn to_stderr(text: &str) {
    let mut err = anstream::AutoStream::auto(io::stderr().lock());
    // There is nobody left to tell that nobody can be told.
    drop(err.write_all(text.as_bytes()).and_then(|()| err.flush()));
}

/// Lines of somebody else that do nothing but be read.
pub(crate) fn harmless(text: &str) -> String {
    let escaped = |line: &str| line.split('\t').map(visible).collect::<Vec<_>>().join("\t");
    text.lines().map(escaped).collect::<Vec<_>>().join("\n")
}

/// What happened; to whom and where; what to do.
pub(crate) fn problem_lines(problem: &Problem, env: &Env) -> Vec<String> {
    let style = match problem.severity() {
        Severity::Error => BAD,
        Severity::Warning => WAITING,
        Severity::Note => FAINT,
    };
    let message = visible(&problem.message);
    let mut lines = vec![format!("{style}{}{style:#}: {message}", problem.severity().as_str())];
    let server = problem.server.as_deref().map(|server| match server {
        "" => "(no name)".to_owned(),
        name => switchboard::visible::excerpt(name, 60),
    });
    let place = problem.place().map(|(path, line)| match line {
        Some(line) => format!("{} line {line}", env.display(path)),
        None => env.display(path),
    });
    let place: Vec<_> = server.into_iter().chain(place).collect();
    let code = problem.code.as_str();
    lines.push(if place.is_empty() {
        format!("  {FAINT}[{code}]{FAINT:#}")
    } else {
        format!("  {} {FAINT}[{code}]{FAINT:#}", place.join(", "))
    });
    lines.extend(problem.hint.iter().map(|hint| format!("  hint: {}", visible(hint))));
    lines
}

/// JSON in which what a terminal would act on stands as its code; it means the same.
fn escaped(json: &str) -> String {
    if json.bytes().all(|byte| byte == b'\n' || (0x20..0x7f).contains(&byte)) {
        return json.to_owned();
    }
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if c == '\n' || !is_hidden(c) {
            text.push(c);
        } else {
            text.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    text
}

fn forgive_closed_pipe(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
