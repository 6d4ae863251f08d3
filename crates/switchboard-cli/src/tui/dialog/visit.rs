//! An address a server wants to have opened, or the page of a login. The whole address and its host are shown, and
//! nothing is opened without a yes.

use ratatui::text::{Line, Span};
use switchboard::host::{Answer, Page, Visited};
use switchboard::json::Json;
use url::Url;

use super::super::editor::{Edit, Editor};
use super::super::keys::Key;
use super::super::look::{BAD, FAINT, STRONG};
use super::super::text::{plain, wrap};
use super::approve::{choices, field};
use super::scroll::Scroll;
use super::{Reply, Room, Shown, Turn, fit};
use crate::visitor::again;

/// A page that waits to be opened.
#[derive(Debug)]
pub(in super::super) struct Visit {
    kind: Kind,
    server: String,
    /// What it says.
    message: String,
    url: String,
    /// The whole of it, wherever somebody looks.
    shown: Scroll,
    /// Where it leads; nothing if no browser would go there.
    host: Option<String>,
    state: State,
}

#[derive(Debug)]
enum Kind {
    /// The browser comes back, or its last address is pasted.
    Login {
        page: Box<Page>,
        pasted: Editor,
        /// What is wrong with what was pasted last.
        wrong: Option<String>,
    },
    Wish,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Asking,
    Opening,
    Opened,
    /// There is no browser here.
    NotOpened,
}

impl Visit {
    pub(super) fn login(page: &Page) -> Self {
        let rights = if page.new_scopes.is_empty() {
            String::new()
        } else {
            format!("; it asks for these rights: {}", page.new_scopes.join(" "))
        };
        let message = plain(&format!("at {}{rights}", page.issuer));
        let kind = Kind::Login { page: Box::new(page.clone()), pasted: Editor::default(), wrong: None };
        Self::new(kind, &page.server, message, &page.url)
    }

    pub(super) fn wished(server: &str, message: &str, url: &str) -> Self {
        Self::new(Kind::Wish, server, plain(message), url)
    }

    fn new(kind: Kind, server: &str, message: String, url: &str) -> Self {
        let (shown, state) = (Scroll::new(&plain(url)), State::Asking);
        Self { kind, server: plain(server), message, url: url.to_owned(), shown, host: host(url), state }
    }

    pub(super) fn key(&mut self, key: Key, room: &Room) -> Turn {
        if self.shown.key(key, room.width) {
            return Turn::Stay;
        }
        match &mut self.kind {
            Kind::Wish => match key {
                Key::Edit(Edit::Char('y' | 'Y')) if self.host.is_some() => {
                    Turn::Done(Reply::Elicit(Answer::Accept(Json::null())), Some(self.url.clone()))
                }
                Key::Edit(Edit::Char('n' | 'N')) => Turn::Done(Reply::Elicit(Answer::Decline), None),
                Key::Escape => Turn::Done(Reply::Elicit(Answer::Cancel), None),
                _ => Turn::Foreign,
            },
            Kind::Login { page, pasted, wrong } => match key {
                Key::Escape => Turn::Done(Reply::Visit(Visited::Declined), None),
                Key::Enter if !pasted.whole().trim().is_empty() => {
                    let text = pasted.whole().trim().to_owned();
                    match page.check_pasted(&text) {
                        Ok(()) => Turn::Done(Reply::Visit(Visited::Pasted(text)), None),
                        Err(why) => {
                            *pasted = Editor::default();
                            *wrong = Some(plain(&again(&why.to_string(), page)));
                            Turn::Stay
                        }
                    }
                }
                Key::Edit(Edit::Char('n' | 'N')) if pasted.is_empty() => {
                    Turn::Done(Reply::Visit(Visited::Declined), None)
                }
                Key::Edit(Edit::Char('y' | 'Y')) if pasted.is_empty() => {
                    if self.host.is_none() || self.state == State::Opening {
                        return Turn::Stay;
                    }
                    self.state = State::Opening;
                    Turn::Open(self.url.clone())
                }
                Key::Edit(edit) if edit != Edit::Newline => {
                    pasted.apply(edit);
                    Turn::Stay
                }
                _ => Turn::Stay,
            },
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Kind::Login { pasted, .. } = &mut self.kind {
            // An address has no blanks; a terminal may have broken it.
            pasted.insert(&text.split_whitespace().collect::<String>());
        }
    }

    pub(super) fn opened(&mut self, is_open: bool) {
        self.state = if is_open { State::Opened } else { State::NotOpened };
    }

    pub(super) fn unanswered(&self) -> Reply {
        match self.kind {
            Kind::Wish => Reply::Elicit(Answer::Cancel),
            Kind::Login { .. } => Reply::Visit(Visited::Declined),
        }
    }

    pub(super) fn rows(&self, room: &Room) -> Shown {
        let (before, after) = match self.kind {
            Kind::Login { .. } => ("Log in to ", " "),
            Kind::Wish => ("", " wants you to open a page: "),
        };
        let title = Line::from(vec![
            Span::raw(before),
            Span::styled(self.server.clone(), STRONG),
            Span::raw(format!("{after}{}", self.message)),
            Span::styled(room.of_many(), FAINT),
        ]);
        let mut body = vec![match &self.host {
            Some(host) => Line::from(vec![Span::styled("host: ", FAINT), Span::styled(plain(host), STRONG)]),
            None => Line::from(Span::styled("this is no address of a page; it is not opened", BAD)),
        }];
        if let Kind::Login { wrong: Some(wrong), .. } = &self.kind {
            body.extend(wrap(&Line::from(Span::styled(wrong.clone(), BAD)), room.width));
        }
        let (foot, cursor) = self.foot(room);
        // Besides these there is the title.
        let left = room.height.saturating_sub(foot.len() + body.len() + 1).max(1);
        body.extend(self.shown.rows(room.look, room.width, left));
        let n_foot = foot.len();
        let rows = fit(wrap(&title, room.width), body, foot, room.height);
        let row = rows.len().saturating_sub(n_foot);
        (rows, cursor.map(|column| (row, column)))
    }

    fn foot(&self, room: &Room) -> (Vec<Line<'static>>, Option<usize>) {
        let Kind::Login { pasted, .. } = &self.kind else {
            let keys: &[_] = if self.host.is_some() {
                &[("y", "open it in your browser"), ("n", "no"), ("Esc", "not now")]
            } else {
                &[("n", "no"), ("Esc", "not now")]
            };
            return (choices(keys, room), None);
        };
        let (mut foot, column) = field("address it ended at: ", pasted, room);
        let keys: &[_] = match self.state {
            State::Asking => &[("y", "open it in your browser"), ("n", "no"), ("Enter", "paste, then Enter")],
            State::Opening => &[("Esc", "no"), ("", "the browser opens")],
            State::Opened => &[("Esc", "no"), ("", "waiting for you to come back from the browser")],
            State::NotOpened => {
                &[("Esc", "no"), ("", "no browser here: open it elsewhere, paste where it ended")]
            }
        };
        foot.extend(choices(keys, room));
        (foot, column)
    }
}

/// The host a browser would go to.
fn host(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| url.host_str().map(str::to_owned)).flatten()
}
