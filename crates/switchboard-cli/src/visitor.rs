//! A person at a terminal who logs in with a browser, here or elsewhere.

use std::io::{BufRead, Read};
use std::sync::Arc;

use switchboard::Env;
use switchboard::host::{Abilities, Answer, Elicitation, Headless, Host, Page, Reply, Root, Visited};
use switchboard::json::Json;
use switchboard::visible::visible;

use crate::printer::Printer;
use crate::progress::Progress;

/// What is pasted in vain so often does not come from a person.
const MOST_PASTES: usize = 100;
/// A longer line is taken for several. No address of a login is half as long.
const MOST_BYTES: u64 = 64 * 1024;

/// Whether a browser is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Browser {
    /// On this machine.
    Open,
    /// The user opens one wherever there is one, and pastes where it ended.
    Elsewhere,
}

/// Shows login pages; everything else is declined.
pub(crate) struct Visitor {
    printer: Printer,
    browser: Browser,
    headless: Headless,
    /// What was going on before there was a page to show.
    before: Option<Arc<Progress>>,
}

impl Visitor {
    pub(crate) fn new(printer: &Printer, env: &Env, browser: Browser) -> Self {
        let headless = Headless { folders: vec![env.cwd().to_owned()], ..Headless::default() };
        Self { printer: printer.clone(), browser: where_to(env, browser), headless, before: None }
    }

    /// This sign of life makes room for the page.
    pub(crate) fn after(self, progress: &Arc<Progress>) -> Self {
        Self { before: Some(Arc::clone(progress)), ..self }
    }

    /// What the person pastes, once it is of this login. Whatever else is pasted is asked for again.
    async fn pasted(&self, page: &Page) -> Visited {
        let mut wrong = None;
        for _ in 0..MOST_PASTES {
            let Some(text) = line().await else { break };
            match page.check_pasted(&text) {
                Ok(()) => {
                    self.printer.remark("That is the address. Logging in");
                    return Visited::Pasted(text);
                }
                Err(why) => self.printer.urge(&again(&why.to_string(), page)),
            }
            wrong = Some(text);
        }
        // Somebody pasted, and nothing more comes: the login ends with what is wrong.
        if let Some(text) = wrong {
            return Visited::Pasted(text);
        }
        self.printer.urge(&format!(
            "Standard input is closed, so no address can be pasted; waiting for the browser on this machine \
             (up to {} minutes, Ctrl-C stops)",
            minutes()
        ));
        std::future::pending().await
    }
}

/// What is wrong with a paste, and what to paste instead. It repeats nothing of the paste.
pub(crate) fn again(why: &str, page: &Page) -> String {
    let home = visible(&page.redirect);
    format!("That does not help: {why}. Paste the whole address the browser ended at; it begins with {home}")
}

const fn minutes() -> u64 {
    Page::PATIENCE.as_secs() / 60
}

/// A machine without a screen has no browser to open.
fn where_to(env: &Env, wish: Browser) -> Browser {
    let has = |name: &str| env.non_empty(name).is_some();
    let has_screen = !cfg!(target_os = "linux") || has("DISPLAY") || has("WAYLAND_DISPLAY") || has("BROWSER");
    let is_far = has("SSH_CONNECTION") && !has("DISPLAY") && !has("WAYLAND_DISPLAY") && !has("BROWSER");
    if has_screen && !is_far { wish } else { Browser::Elsewhere }
}

impl Host for Visitor {
    fn abilities(&self) -> Abilities {
        self.headless.abilities()
    }

    fn roots(&self) -> Vec<Root> {
        self.headless.roots()
    }

    fn elicit(&self, question: Elicitation) -> Reply<'_, Answer> {
        self.headless.elicit(question)
    }

    fn sample(&self, server: String, params: Json) -> Reply<'_, Result<Json, String>> {
        self.headless.sample(server, params)
    }

    fn visit(&self, page: Page) -> Reply<'_, Visited> {
        if let Some(before) = &self.before {
            before.end();
        }
        let say = |line: &str| self.printer.urge(line);
        say(&format!("Log in to \"{}\" at {}", visible(&page.server), visible(&page.issuer)));
        if !page.new_scopes.is_empty() {
            say(&format!("It asks for these rights: {}", visible(&page.new_scopes.join(" "))));
        }
        let is_open = self.browser == Browser::Open && open(&page.url);
        if is_open {
            say("Your browser opens. If it does not, open this address:");
        } else {
            say("Open this address in a browser:");
        }
        say(&format!("\n  {}\n", page.url));
        if is_open {
            say(
                "Waiting for you to come back. From another machine, paste the address the browser ended at.",
            );
        } else {
            say(&format!(
                "Waiting up to {} minutes. Unless it comes back here by itself, paste the address the browser \
                 ended at:",
                minutes()
            ));
        }
        Box::pin(async move { self.pasted(&page).await })
    }
}

/// One line of the person that is not empty; nothing where the input ends.
async fn line() -> Option<String> {
    let (sender, line) = tokio::sync::oneshot::channel();
    // A thread that nobody waits for: reading from a terminal cannot be given up.
    std::thread::spawn(move || {
        if let Some(line) = next_line(&mut std::io::stdin().lock()) {
            let _nobody = sender.send(line);
        }
    });
    line.await.ok()
}

/// What is no text is a line too: a wrong one.
fn next_line(input: &mut impl BufRead) -> Option<String> {
    loop {
        let mut line = Vec::new();
        if !matches!(input.by_ref().take(MOST_BYTES).read_until(b'\n', &mut line), Ok(1..)) {
            return None;
        }
        let line = String::from_utf8_lossy(&line);
        if !line.trim().is_empty() {
            return Some(line.trim().to_owned());
        }
    }
}

/// Opens a page that somebody agreed to open, where there is a browser.
pub(crate) fn opened(env: &Env, url: &str) -> bool {
    where_to(env, Browser::Open) == Browser::Open && open(url)
}

/// Opens the address as one argument to a program, without a shell. It passed the gate before it came here.
fn open(url: &str) -> bool {
    let mut options = webbrowser::BrowserOptions::new();
    options.with_suppress_output(true);
    webbrowser::open_browser_with_options(webbrowser::Browser::Default, url, &options).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_one_by_one_whatever_is_in_them() {
        let long = "x".repeat(100_000);
        let text = [&b"\n  one \r\n\n \t\n\xff\xfe\ntwo\n"[..], long.as_bytes()].concat();
        let mut input = text.as_slice();
        let mut next = || next_line(&mut input);
        assert_eq!(next().as_deref(), Some("one"));
        assert_eq!(next().as_deref(), Some("\u{fffd}\u{fffd}"));
        assert_eq!(next().as_deref(), Some("two"));
        // An endless line is not kept whole.
        assert_eq!(next().map(|line| line.len()), Some(65_536));
        assert_eq!(next().map(|line| line.len()), Some(34_464));
        assert_eq!(next(), None);
    }
}
