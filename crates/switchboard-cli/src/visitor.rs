//! A person at a terminal who logs in with a browser, here or elsewhere.

use std::io::BufRead;

use switchboard::Env;
use switchboard::host::{Abilities, Answer, Elicitation, Headless, Host, Page, Reply, Root, Visited};
use switchboard::json::Json;
use switchboard::visible::visible;

use crate::printer::Printer;

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
}

impl Visitor {
    pub(crate) fn new(printer: &Printer, env: &Env, browser: Browser) -> Self {
        let headless = Headless { folders: vec![env.cwd().to_owned()], ..Headless::default() };
        Self { printer: printer.clone(), browser: where_to(env, browser), headless }
    }
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
            say("Then, unless it comes back here by itself, paste the address the browser ended at:");
        }
        Box::pin(pasted())
    }
}

/// One line of the person; for ever if there is none.
async fn pasted() -> Visited {
    let (sender, line) = tokio::sync::oneshot::channel();
    // A thread that nobody waits for: reading from a terminal cannot be given up.
    std::thread::spawn(move || {
        let mut line = String::new();
        loop {
            line.clear();
            match std::io::stdin().lock().read_line(&mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if line.trim().is_empty() => {}
                Ok(_) => break,
            }
        }
        let _nobody = sender.send(line.trim().to_owned());
    });
    match line.await {
        Ok(line) => Visited::Pasted(line),
        Err(_) => std::future::pending().await,
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
