//! Things that stand where a file should be.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

use switchboard::{Discovery, Options, discover};
use testkit::Sandbox;

use crate::render;

const NEIGHBOUR: &str = "{\"mcpServers\": {\"neighbour\": {\"command\": \"neighbour\"}}}";

/// A world with a healthy file, and something odd in the place of Cursor's.
fn world(odd: impl FnOnce(&std::path::Path)) -> (Sandbox, Discovery) {
    let sandbox = Sandbox::new();
    sandbox.write(".vscode/mcp.json", NEIGHBOUR);
    let path = sandbox.path(".cursor/mcp.json");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    odd(&path);
    let discovery = discover(&sandbox.env(), Options::default());
    assert!(discovery.server("neighbour").is_some());
    (sandbox, discovery)
}

fn said(odd: impl FnOnce(&std::path::Path)) -> String {
    let (sandbox, discovery) = world(odd);
    sandbox.filter(&render::problems(&discovery))
}

#[test]
fn each_is_named_and_none_is_opened() {
    let cases = [
        ("a directory", said(|path| std::fs::create_dir(path).unwrap())),
        ("a pipe", said(|path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success()))),
        ("a socket", said(|path| drop(UnixListener::bind(path).unwrap()))),
        ("a device", said(|path| symlink("/dev/zero", path).unwrap())),
        ("a link in a circle", said(|path| symlink(path, path).unwrap())),
        ("a link to nowhere", said(|path| symlink("/nowhere/at/all", path).unwrap())),
        ("a giant", said(|path| File::create(path).unwrap().set_len(50 * 1024 * 1024).unwrap())),
    ];
    let text = cases.map(|(what, said)| format!("{what}\n{said}")).concat();
    insta::assert_snapshot!(text);
}

#[test]
fn a_link_to_a_file_is_followed() {
    let (_, discovery) = world(|path| {
        let target = path.with_file_name("real.json");
        std::fs::write(&target, NEIGHBOUR.replace("neighbour", "linked")).unwrap();
        symlink(target, path).unwrap();
    });
    assert!(discovery.server("linked").is_some());
}

#[test]
fn ten_thousand_servers_are_ten_thousand_servers() {
    let list: Vec<_> = (0..10_001).map(|n| format!("\"s{n}\": {{\"command\": \"c{n}\"}}")).collect();
    let (_, discovery) =
        world(|path| std::fs::write(path, format!("{{\"mcpServers\": {{{}}}}}", list.join(",\n"))).unwrap());
    assert_eq!(discovery.servers.iter().filter(|server| server.name.starts_with('s')).count(), 10_001);
}

#[test]
fn a_great_deal_of_anything_is_read_in_no_time() {
    let keys = |count: usize| (0..count).map(|n| format!("\"k{n}\": \"v\"")).collect::<Vec<_>>().join(",");
    for entry in [
        format!("{{\"command\": \"x\", \"args\": [\"{}\"]}}", "${".repeat(500_000)),
        format!("{{\"command\": \"x\", \"args\": [\"{}}}\"]}}", "${a:-".repeat(100_000)),
        format!("{{\"command\": \"x\", \"env\": {{{}}}}}", keys(200_000)),
        format!("{{\"command\": \"x\", {}}}", keys(200_000)),
    ] {
        let (_, discovery) =
            world(|path| std::fs::write(path, format!("{{\"mcpServers\": {{\"big\": {entry}}}}}")).unwrap());
        assert!(discovery.server("big").is_some());
    }
}

#[test]
fn a_great_deal_of_shell_is_read_in_no_time() {
    let sandbox = Sandbox::new();
    let open = "$(".repeat(200_000);
    let entry = format!("{{\"command\": \"{open}\", \"args\": [\"{open}{}\"]}}", ")".repeat(199_999));
    sandbox.write("crush.json", format!("{{\"mcp\": {{\"big\": {entry}}}}}"));
    assert!(discover(&sandbox.env(), Options::default()).server("big").is_some());
}
