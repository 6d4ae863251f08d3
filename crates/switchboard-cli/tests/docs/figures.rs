//! The few figures of the overview are those of the performance page, so that they are of the same day.

use std::fmt::Write;

use testkit::{golden_part, workspace};

use crate::page::Page;

/// A row of the overview: what it is, the table on the performance page, its column, and who is in it.
type Row = (&'static str, &'static str, &'static str, [&'static str; 3]);

const ROWS: [Row; 3] = [
    (
        "a call over stdio, p50 µs",
        "### stdio, 1 in flight, one core",
        "p50 µs",
        ["**switchboard**", "rmcp", "TS SDK 1"],
    ),
    (
        "a call over HTTP, p50 µs",
        "### HTTP, 1 in flight, one core",
        "p50 µs",
        ["**switchboard**", "rmcp", "TS SDK 1"],
    ),
    (
        "a call through the gateway, CPU µs",
        "### One server behind, HTTP in front",
        "CPU µs",
        ["**switchboard**", "mcp-proxy (crate)", "supergateway"],
    ),
];

#[test]
fn the_figures_of_the_overview_are_those_that_were_measured() {
    let page = Page::open("docs/performance.md");
    let mut part = "| | Switchboard | beside it | |\n|---|---|---|---|\n".to_owned();
    for (what, heading, column, who) in ROWS {
        let [own, second, third] = who.map(|name| figure(&page.lines, heading, column, name));
        writeln!(part, "| {what} | {own} | {}: {second} | {}: {third} |", who[1], who[2]).unwrap();
    }
    let taken = page.lines.iter().find_map(|line| line.strip_prefix("- Taken ")?.split(' ').next());
    write!(part, "\nTaken {}, side by side on one machine.\n", taken.unwrap()).unwrap();
    golden_part(&workspace().join("README.md"), "figures", &part);
}

/// A cell of a table, without its spread.
fn figure(lines: &[String], heading: &str, column: &str, name: &str) -> String {
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let below = lines.iter().skip_while(|line| *line != heading);
    let table: Vec<_> =
        below.skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|')).collect();
    let at = table.first().and_then(|head| cells(head).iter().position(|cell| cell == column));
    let row = table.iter().map(|line| cells(line)).find(|row| row.get(1).is_some_and(|cell| cell == name));
    let cell = at.zip(row).and_then(|(at, row)| row.get(at)?.split(' ').next().map(str::to_owned));
    cell.unwrap_or_else(|| panic!("the performance page has no {column} of {name} below {heading}"))
}
