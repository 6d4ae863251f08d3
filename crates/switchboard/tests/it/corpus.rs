//! Files as real people have them, for every tool, with what must come of them.

use std::fs;
use std::path::{Path, PathBuf};

use switchboard::{Options, Provider, discover};
use testkit::Sandbox;

use crate::render;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// File name and install path of each case of a directory.
fn cases(dir: &Path) -> Vec<(String, String)> {
    let list = fs::read_to_string(dir.join("cases.txt")).unwrap();
    let cases: Vec<(String, String)> = list
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.split_once("  ").unwrap())
        .map(|(file, path)| (file.to_owned(), path.trim().to_owned()))
        .collect();
    assert!(cases.len() >= 3, "{} has too few cases", dir.display());
    cases
}

#[test]
fn every_provider_has_a_corpus_and_golden_output() {
    let without_files = [Provider::Environment, Provider::BuiltIn];
    for provider in Provider::all().filter(|provider| !without_files.contains(provider)) {
        let dir = corpus().join(provider.id());
        let mut text = String::new();
        for (file, path) in cases(&dir) {
            let sandbox = Sandbox::new();
            sandbox.write(&path, fs::read(dir.join(&file)).unwrap());
            let discovery = discover(&sandbox.env(), Options::default());
            let found = discovery
                .servers
                .iter()
                .map(|server| server.origin.provider)
                .chain(discovery.shadowed.iter().map(|aside| aside.origin.provider))
                .filter(|found| *found != Provider::BuiltIn);
            assert!(found.clone().all(|found| found == provider), "{file} of {} went astray", provider.id());
            text.push_str(&format!("{file} as {path}\n{}\n", render::discovery(&discovery, &sandbox)));
        }
        insta::with_settings!({ snapshot_path => dir, prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!("expected", text);
        });
    }
}

#[test]
fn decoys_are_not_found() {
    let decoys = ["must-not-be-found", "not-here", "sub-only", "only-in-the-other-project"];
    for provider in Provider::all().filter(|provider| corpus().join(provider.id()).is_dir()) {
        let dir = corpus().join(provider.id());
        for (file, path) in cases(&dir) {
            let sandbox = Sandbox::new();
            sandbox.write(&path, fs::read(dir.join(&file)).unwrap());
            let discovery = discover(&sandbox.env(), Options::default());
            for decoy in decoys {
                assert!(discovery.server(decoy).is_none(), "{file} of {} shows {decoy}", provider.id());
            }
        }
    }
}

#[test]
fn one_server_in_ten_tools_has_one_winner_and_nine_shadows() {
    let dir = corpus().join("ten-tools");
    let sandbox = Sandbox::new();
    for (file, path) in cases(&dir) {
        sandbox.write(&path, fs::read(dir.join(&file)).unwrap());
    }
    let discovery = discover(&sandbox.env(), Options::default());
    let docs = discovery.server("docs").unwrap();
    assert_eq!(docs.origin.provider, Provider::Native);
    let shadows: Vec<_> = discovery.shadowed.iter().filter(|aside| aside.name == "docs").collect();
    assert_eq!(shadows.len(), 9);
    assert!(shadows.iter().all(|aside| aside.origin.path.is_some() && aside.origin.line.is_some()));
    assert!(shadows.windows(2).all(|pair| pair[0].origin.provider <= pair[1].origin.provider));
    insta::assert_snapshot!(render::discovery(&discovery, &sandbox));
}
