//! The line somebody is typing: what was said before the word in question, and how bash takes a line apart.

use std::path::PathBuf;

use clap::{ArgMatches, Command};

/// What was typed before the last word, as far as it makes sense already.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Typed {
    /// The directory to work in.
    pub(crate) directory: Option<PathBuf>,
    /// Every server counts as approved.
    pub(crate) trust: bool,
    /// The server that was named with an option.
    pub(crate) server: Option<String>,
    /// The first word: the tool or prompt, or the first of several names.
    pub(crate) subject: Option<String>,
    /// The words after it.
    pub(crate) given: Vec<String>,
}

impl Typed {
    /// Reads the words before the last, as the command line they begin. A line that is not finished is no mistake.
    pub(crate) fn read(command: Command, before: &[String]) -> Self {
        let parsed = command.ignore_errors(true).try_get_matches_from(before);
        let Ok(matches) = parsed else { return Self::default() };
        let directory = one::<PathBuf>(&matches, "directory");
        let trust = matches.try_get_one::<bool>("trust").ok().flatten().copied().unwrap_or_default();
        // A line of a session is about one verb.
        let verb = matches.subcommand().map_or(&matches, |(_, verb)| verb);
        let mut words = ["tool", "uri", "name", "names", "servers", "arguments"]
            .iter()
            .filter_map(|id| verb.try_get_many::<String>(id).ok().flatten())
            .flatten()
            .cloned();
        let subject = words.next();
        Self { directory, trust, server: one(verb, "server"), subject, given: words.collect() }
    }
}

fn one<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, id: &str) -> Option<T> {
    matches.try_get_one::<T>(id).ok().flatten().cloned()
}

/// A line up to the cursor, as bash has it. Its editor replaces only what follows the last break in a word.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BashLine {
    /// The words, without quotes; the last one is being typed.
    pub(crate) words: Vec<String>,
    /// Where the last word begins in the line, with its quotes.
    pub(crate) start: usize,
    /// How many bytes of the last word stay as they are.
    kept: usize,
    /// The quotation mark that is still open.
    quote: Option<char>,
}

/// The words of a whole line, without quotes; none if a quotation mark is not closed.
pub(crate) fn words(line: &str) -> Option<Vec<String>> {
    let mut read = BashLine::read(line, "");
    if read.start == line.len() {
        read.words.pop();
    }
    read.quote.is_none().then_some(read.words)
}

impl BashLine {
    /// Takes a line apart. `breaks` are the characters that part words for its editor.
    pub(crate) fn read(line: &str, breaks: &str) -> Self {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let mut kept = 0;
        let mut quote = None;
        let mut start = line.len();
        let mut chars = line.char_indices();
        while let Some((at, c)) = chars.next() {
            if word.is_none() && !c.is_whitespace() {
                start = at;
            }
            match (quote, c) {
                (Some(open), c) if c == open => {
                    quote = None;
                    kept = word.as_ref().map_or(0, String::len);
                }
                (None, '\'' | '"') => {
                    quote = Some(c);
                    kept = word.get_or_insert_default().len();
                }
                (None | Some('"'), '\\') => {
                    let escaped = chars.next().map(|(_, c)| c);
                    // Between quotation marks a backslash is for a few characters only.
                    let stays = quote.is_some() && escaped.is_some_and(|c| !"\"\\$`".contains(c));
                    let word = word.get_or_insert_default();
                    word.extend(Some('\\').filter(|_| stays));
                    word.extend(escaped);
                }
                (None, c) if c.is_whitespace() => {
                    words.extend(word.take());
                    start = line.len();
                    kept = 0;
                }
                (quote, c) => {
                    let word = word.get_or_insert_default();
                    word.push(c);
                    if quote.is_none() && breaks.contains(c) {
                        kept = word.len();
                    }
                }
            }
        }
        words.push(word.unwrap_or_default());
        Self { words, start, kept, quote }
    }

    /// What to put in the place of what is being typed, so that the word becomes this value. Nothing if it cannot be said.
    pub(crate) fn insertion(&self, value: &str) -> Option<String> {
        let typed = self.words.last()?;
        let rest = value.strip_prefix(typed.get(..self.kept)?)?;
        let is_open = value.ends_with(['=', '/', ':']);
        match self.quote {
            None => {
                let is_plain = |c: char| c.is_alphanumeric() || "-_./:@%+,=".contains(c);
                let mut text = String::new();
                for c in rest.chars() {
                    text.extend(Some('\\').filter(|_| !is_plain(c)));
                    text.push(c);
                }
                // The editor is told to add nothing, since it cannot know which words go on.
                text.extend(Some(' ').filter(|_| !is_open));
                Some(text)
            }
            // The editor closes the quotation marks itself.
            Some('\'') => (!rest.contains('\'')).then(|| rest.to_owned()),
            Some(_) => (!rest.contains(['"', '$', '`', '\\', '!'])).then(|| rest.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BREAKS: &str = " \t\n\"'@><=;|&(:";

    #[test]
    fn bash_keeps_what_stands_before_the_last_break() {
        let check = |line: &str, value: &str, expected: Option<&str>| {
            let line = BashLine::read(line, BREAKS);
            assert_eq!(line.insertion(value).as_deref(), expected, "{line:?}");
        };
        check("s call t ", "key=", Some("key="));
        check("s call t key=", "key=true", Some("true "));
        check("s call t key=t", "key=true", Some("true "));
        check("s call t key=", "key=a b", Some("a\\ b "));
        check("s call t key=\"", "key=a b", Some("a b"));
        check("s call t key=\"a", "key=a $b", None);
        check("s call t key='a", "key=a $b", Some("a $b"));
        check("s call t 'key=a", "key=ab", Some("key=ab"));
        check("s read note:o", "note:one", Some("one "));
        check("s read demo://a/", "demo://a/b;rm *", Some("//a/b\\;rm\\ \\* "));
        check("s why a\\ ", "a b", Some("a\\ b "));
    }

    #[test]
    fn words_lose_their_quotes() {
        let words = |line: &str| BashLine::read(line, BREAKS).words;
        assert_eq!(words("s call"), ["s", "call"]);
        assert_eq!(words("s  call "), ["s", "call", ""]);
        assert_eq!(words("s 'a b' \"c'd\" e\\ f"), ["s", "a b", "c'd", "e f"]);
        assert_eq!(words("s \"a\\\"b\\c\" '"), ["s", "a\"b\\c", ""]);
        assert_eq!(super::words("a  '' \"b c\" #d ").unwrap(), ["a", "", "b c", "#d"]);
        assert_eq!(super::words(" ").unwrap(), [""; 0]);
        assert_eq!(super::words("a 'b"), None);
    }

    #[test]
    fn the_last_word_begins_somewhere() {
        let start = |line: &str| BashLine::read(line, "").start;
        assert_eq!([start("ab"), start("ab "), start("ab 'c d"), start("a  é=\"x")], [0, 3, 3, 3]);
    }

    #[test]
    fn an_unfinished_line_is_understood() {
        let read = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            Typed::read(crate::args::command(), &words)
        };
        let typed = read("switchboard -C /x call --server time mcp_time_now --trust zone=UTC");
        assert_eq!(typed.directory.as_deref(), Some(std::path::Path::new("/x")));
        assert!(typed.trust);
        assert_eq!((typed.server.as_deref(), typed.subject.as_deref()), (Some("time"), Some("mcp_time_now")));
        assert_eq!(typed.given, ["zone=UTC"]);
        assert_eq!(read("switchboard tools a b").given, ["b"]);
        assert_eq!(read("switchboard"), Typed::default());
        assert_eq!(read("switchboard call --server"), Typed::default());
    }
}
