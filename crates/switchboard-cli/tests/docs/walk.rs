//! A walk through a page, from top to bottom, as its reader: writes the files, types the commands, looks whether the page
//! shows what is seen.

use std::collections::BTreeMap;

use crate::page::{Block, Page, Piece};
use crate::same::{begins, same};
use crate::world::World;
use crate::{snippets, unrun};

/// Walks through a page; gives what is wrong. With `UPDATE_GOLDEN` the page then shows what was seen.
#[expect(clippy::disallowed_methods, reason = "the one switch of the test suite")]
pub(crate) fn walk(path: &str) -> Vec<String> {
    let mut page = Page::open(path);
    let mut walk = Walk::default();
    for piece in page.pieces() {
        match piece {
            Piece::World(name) => walk.enter(&name),
            Piece::Block(block) => walk.block(path, &block),
        }
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        page.replace(std::mem::take(&mut walk.news));
    }
    walk.wrong
}

#[derive(Default)]
struct Walk {
    world: Option<World>,
    name: String,
    /// What was written into a world before the first command, for whoever comes back to it.
    files: BTreeMap<String, Vec<(String, Vec<String>)>>,
    is_settled: bool,
    news: Vec<(Block, Vec<String>)>,
    wrong: Vec<String>,
}

impl Walk {
    fn enter(&mut self, name: &str) {
        let world = World::new(name);
        let elsewhere = name.strip_prefix("as in ").map(|page| Page::open(page).blocks());
        for block in elsewhere.iter().flatten() {
            block.word("file").into_iter().for_each(|file| world.write(file, &block.text));
        }
        for (path, lines) in self.files.get(name).into_iter().flatten() {
            world.write(path, lines);
        }
        self.is_settled = self.files.contains_key(name);
        (self.world, self.name) = (Some(world), name.to_owned());
    }

    fn block(&mut self, path: &str, block: &Block) {
        let at = format!("{path}:{}", block.line);
        if self.world.is_none() {
            self.enter("fresh");
        }
        let checked = match block.word("file") {
            _ if unrun::is_listed(path, block) => unrun::check(block),
            Some(file) => {
                self.file(file, block);
                Ok(())
            }
            None if block.info == "console" => {
                self.console(&at, block);
                Ok(())
            }
            None => snippets::check(path, block),
        };
        self.wrong.extend(checked.err().map(|why| format!("{at}: {why}")));
    }

    fn file(&mut self, file: &str, block: &Block) {
        let Some(world) = &self.world else { return };
        world.write(file, &block.text);
        if !self.is_settled {
            self.files.entry(self.name.clone()).or_default().push((file.to_owned(), block.text.clone()));
        }
    }

    fn console(&mut self, at: &str, block: &Block) {
        self.is_settled = true;
        let Some(world) = &mut self.world else { return };
        let (mut text, mut is_other) = (Vec::new(), false);
        for (typed, shown) in block.steps() {
            let seen = if block.has("session") {
                world.converse(&typed, |seen| same(&shown, seen))
            } else if block.has("stays") {
                world.start(&typed, |seen| begins(&shown, seen))
            } else if block.has("browser") {
                world.log_in(&typed)
            } else {
                world.run(&typed)
            };
            let is_same = if block.has("stays") { begins(&shown, &seen) } else { same(&shown, &seen) };
            let sign = block.text.iter().find_map(|line| line.strip_suffix(&typed)).unwrap_or("$ ");
            text.extend(format!("{sign}{typed}").lines().map(str::to_owned));
            text.extend(if is_same { shown.clone() } else { seen.clone() });
            if !is_same {
                is_other = true;
                let (shown, seen) = (shown.join("\n"), seen.join("\n"));
                self.wrong.push(format!(
                    "{at}: $ {typed}\n--- the page shows\n{shown}\n--- what is seen\n{seen}\n"
                ));
            }
        }
        if is_other {
            self.news.push((block.clone(), text));
        }
    }
}
