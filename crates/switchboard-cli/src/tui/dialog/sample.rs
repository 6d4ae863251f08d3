//! May a server use the model? What it would be asked is shown.

use ratatui::text::{Line, Span};
use switchboard::json::Json;

use super::super::editor::Edit;
use super::super::keys::Key;
use super::super::look::{FAINT, STRONG};
use super::super::text::{plain, wrap};
use super::approve::{choices, pretty};
use super::scroll::Scroll;
use super::{Reply, Room, Shown, Turn, fit};

/// A request of a server to the model.
#[derive(Debug)]
pub(in super::super) struct Sample {
    server: String,
    request: Scroll,
}

impl Sample {
    pub(super) fn new(server: &str, params: &Json) -> Self {
        Self { server: plain(server), request: Scroll::new(&pretty(params)) }
    }

    pub(super) fn key(&mut self, key: Key, room: &Room) -> Turn {
        match key {
            Key::Edit(Edit::Char('y' | 'Y')) => Turn::Done(Reply::Sample(true), None),
            Key::Edit(Edit::Char('n' | 'N')) | Key::Escape => Turn::Done(Reply::Sample(false), None),
            key => self.request.turn(key, room.width),
        }
    }

    pub(super) fn rows(&self, room: &Room) -> Shown {
        let title = Line::from(vec![
            Span::raw("May "),
            Span::styled(self.server.clone(), STRONG),
            Span::raw(" ask your model this?"),
            Span::styled(room.of_many(), FAINT),
        ]);
        let head = wrap(&title, room.width);
        let foot = choices(&[("y", "yes, with your model"), ("n", "no")], room);
        let left = room.height.saturating_sub(head.len() + foot.len()).max(1);
        let body = self.request.rows(room.look, room.width, left);
        (fit(head, body, foot, room.height), None)
    }
}
