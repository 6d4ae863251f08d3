//! The end of a session or gateway that runs, where there are no sockets for processes of the same user: nobody can reach
//! it. A command that wants to says so itself.

use switchboard::session::Session;
use switchboard_gateway::Gateway;

use crate::commands::Context;

/// What could be reached.
#[derive(Debug, Clone)]
pub(crate) struct Served;

impl Served {
    pub(crate) fn session(_: &Context, _: &Session) -> Self {
        Self
    }

    pub(crate) fn gateway(_: &Context, _: &Session, _: &Gateway, _: Option<String>) -> Self {
        Self
    }
}

/// There is none.
#[derive(Debug)]
pub(crate) enum Control {}

pub(crate) async fn open(_: &Context, _: Served) -> Option<Control> {
    None
}
