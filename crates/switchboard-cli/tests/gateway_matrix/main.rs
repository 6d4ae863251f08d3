//! Everything crosses: a client of either protocol, over either transport, before the gateway; a server of either protocol,
//! over each transport there is, behind it; and every feature with each of them.
//!
//! Out: `docs/gateway-matrix.md`, made of what was seen. A cell that fails is named with what went wrong. None is left out:
//! where a protocol does not have a feature, the check is of what there is instead, and the table says what that is.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

mod carrier;
mod client;
mod features;
mod table;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use client::{Client, Era, able};
use features::{Cell, FEATURES};
use table::Seen;
use world::{Side, Way, World};

/// Combinations that are tried at the same time. Mostly they wait.
const AT_ONCE: usize = 3;

const CLIENTS: [Side; 4] = [
    Side { era: Era::Modern, way: Way::Stdio },
    Side { era: Era::Modern, way: Way::Http },
    Side { era: Era::Handshake, way: Way::Stdio },
    Side { era: Era::Handshake, way: Way::Http },
];

/// A modern server over SSE does not exist: that transport was given up before.
const SERVERS: [Side; 5] = [
    Side { era: Era::Modern, way: Way::Stdio },
    Side { era: Era::Modern, way: Way::Http },
    Side { era: Era::Handshake, way: Way::Stdio },
    Side { era: Era::Handshake, way: Way::Http },
    Side { era: Era::Handshake, way: Way::Sse },
];

#[test]
fn everything_crosses() {
    let work: Vec<(Side, Side)> =
        CLIENTS.iter().flat_map(|client| SERVERS.map(|server| (*client, server))).collect();
    let (queue, seen) = (Mutex::new(work.into_iter()), Mutex::new(Vec::new()));
    let next = || queue.lock().unwrap().next();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((client, server)) = next() {
                    let found = combination(client, server);
                    seen.lock().unwrap().extend(found);
                }
            });
        }
    });
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen.len(), CLIENTS.len() * SERVERS.len() * FEATURES.len());
    let failed: Vec<String> = seen.iter().filter_map(Seen::failure).collect();
    assert!(failed.is_empty(), "{} cells of {} fail:\n{}", failed.len(), seen.len(), failed.join("\n"));
    testkit::golden(&testkit::workspace().join("docs/gateway-matrix.md"), &table::page(&seen));
}

/// Every feature with one client and one server. What one check leaves behind the next one may stumble over, so after a
/// failure all is made anew.
fn combination(client: Side, server: Side) -> Vec<Seen> {
    let open = || {
        let world = World::open(client, server);
        let client = Client::open(&world, able());
        (client, world)
    };
    let mut there = None;
    let mut seen = Vec::new();
    for feature in FEATURES {
        let checked = catch_unwind(AssertUnwindSafe(|| {
            let (client, world) = there.get_or_insert_with(open);
            (feature.check)(&mut Cell { client, world })
        }));
        let outcome = checked.map_err(|panic| {
            there = None;
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
        });
        seen.push(Seen { client, server, feature: feature.name, outcome });
    }
    seen
}
