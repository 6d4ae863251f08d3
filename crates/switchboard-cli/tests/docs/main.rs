//! The documentation as its readers meet it: every command is typed, every file is written, every link is followed.
//!
//! A block `console` is run and must show what the page shows; `UPDATE_GOLDEN=1` puts there what is seen today. `...` in
//! it stands for what is left out. A comment above a block says more:
//!
//! - `world: NAME`: begins anew, in an empty home; coming back to a name brings back the files written at its beginning,
//!   and `as in PAGE` brings those of another page
//! - `file: PATH`: the reader writes this file
//! - `stays`: the command goes on running
//! - `browser`: the command shows the page of a login, which is then visited
//! - `session`: `$` opens an interactive session, `>` is typed into it

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod agents;
mod figures;
mod links;
mod page;
mod same;
mod snippets;
mod terminal;
mod unrun;
mod walk;
mod world;

use page::Page;
use walk::walk;

/// Pages with a test of their own, since they take a while.
const LONG: [&str; 4] = ["README.md", "docs/start.md", "docs/guide.md", "docs/gateway.md"];

#[test]
fn the_overview_is_true() {
    is_true(&[LONG[0]]);
}

#[test]
fn the_first_ten_minutes_are_true() {
    is_true(&[LONG[1]]);
}

#[test]
fn the_guide_is_true() {
    is_true(&[LONG[2]]);
}

#[test]
fn the_guide_of_the_gateway_is_true() {
    is_true(&[LONG[3]]);
}

#[test]
fn all_other_pages_are_true() {
    let pages = Page::all();
    let paths: Vec<_> =
        pages.iter().map(|page| page.path.as_str()).filter(|path| !LONG.contains(path)).collect();
    is_true(&paths);
}

fn is_true(paths: &[&str]) {
    let wrong: Vec<_> = paths.iter().flat_map(|path| walk(path)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
