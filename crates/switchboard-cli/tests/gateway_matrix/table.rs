//! What was seen, as the page that is published. Pure.

use crate::features::{FEATURES, YES};
use crate::world::Side;
use crate::{CLIENTS, SERVERS};

/// A cell, and what came of it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) client: Side,
    pub(crate) server: Side,
    pub(crate) feature: &'static str,
    pub(crate) outcome: Result<&'static str, String>,
}

impl Seen {
    pub(crate) fn failure(&self) -> Option<String> {
        let why = self.outcome.as_ref().err()?;
        let (client, server) = (self.client.words(), self.server.words());
        Some(format!("client {client} | server {server} | {}: {why:.1500}", self.feature))
    }
}

const HEAD: &str = "\
# What crosses the gateway

Made by the test `gateway_matrix`, of what it saw: a client of each kind before `switchboard serve`, and behind it a server of
each kind that offers everything (`peers/fixture.mjs`). Each cell is a check of its own, and none is left out. What a cell
says besides *yes* is what the protocols have instead, and that is checked too. The checks themselves are in
`crates/switchboard-cli/tests/gateway_matrix/features`.
";

/// The page.
pub(crate) fn page(seen: &[Seen]) -> String {
    let mut page = HEAD.to_owned();
    let n_cells = seen.len();
    page += &format!(
        "\n{n_cells} cells: {} features, {} clients, {} servers.\n",
        FEATURES.len(),
        CLIENTS.len(),
        SERVERS.len()
    );
    for client in CLIENTS {
        page += &format!("\n## Client: {}\n\n| |", client.words());
        for server in SERVERS {
            page += &format!(" server: {} |", server.words());
        }
        page += &format!(" server: modern, SSE |\n|---|{}---|\n", "---|".repeat(SERVERS.len()));
        for feature in FEATURES {
            page += &format!("| {} |", feature.name);
            for server in SERVERS {
                let is_cell =
                    |seen: &&Seen| (seen.client, seen.server, seen.feature) == (client, server, feature.name);
                let word = seen.iter().find(is_cell).and_then(|seen| seen.outcome.as_ref().ok());
                page += &format!(" {} |", word.unwrap_or(&"fails"));
            }
            page += " no such server |\n";
        }
    }
    page + &legend(seen)
}

fn legend(seen: &[Seen]) -> String {
    let plain = seen.iter().filter(|seen| seen.outcome == Ok(YES)).count();
    format!("\n{plain} cells say *yes*, {} say what there is instead.\n", seen.len() - plain)
}
