//! Every link of every page leads somewhere: to a file that is there, and to a heading in it.

use std::collections::BTreeMap;

use testkit::workspace;

use crate::page::Page;

#[test]
fn every_link_leads_somewhere() {
    let pages = Page::all();
    let anchors: BTreeMap<_, _> = pages.iter().map(|page| (page.path.clone(), anchors(page))).collect();
    let mut wrong = Vec::new();
    for page in &pages {
        for (n, target) in links(page) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = if file.is_empty() { page.path.clone() } else { beside(&page.path, file) };
            let is_there = workspace().join(&path).exists();
            let is_heading = anchor.is_empty()
                || anchors.get(&path).is_some_and(|all| all.iter().any(|one| one == anchor));
            if !is_there || !is_heading {
                wrong.push(format!("{}:{n}: {target}", page.path));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
}

/// Every page is in the index, so that it can be found.
#[test]
fn every_page_is_in_the_index() {
    let index = Page::open("docs/README.md");
    let linked: Vec<_> =
        links(&index).into_iter().map(|(_, target)| beside("docs/README.md", &target)).collect();
    for page in Page::all() {
        let is_found = page.path == "docs/README.md" || linked.contains(&page.path);
        assert!(is_found, "docs/README.md does not name {}", page.path);
    }
}

/// A path as seen from a page.
fn beside(page: &str, link: &str) -> String {
    let mut parts: Vec<_> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The text of a page without its blocks, with the number of each line.
pub(crate) fn prose(page: &Page) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    (1..).zip(&page.lines).filter_map(move |(n, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((n, line.as_str()))
    })
}

/// Where the links of a page lead. A link may go on in the next line.
fn links(page: &Page) -> Vec<(usize, String)> {
    let target = |(n, line): (usize, &str)| {
        let after = line.split("](").skip(1).map(str::to_owned).collect::<Vec<_>>();
        after.into_iter().filter_map(move |rest| Some((n, rest.split_once(')')?.0.to_owned())))
    };
    prose(page).flat_map(target).collect()
}

/// The anchors that headings get.
fn anchors(page: &Page) -> Vec<String> {
    let headings = prose(page).filter_map(|(_, line)| line.strip_prefix('#'));
    let slug = |heading: &str| {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|char| char.is_alphanumeric() || " -_".contains(*char));
        kept.map(|char| if char == ' ' { '-' } else { char }).collect::<String>()
    };
    headings.map(slug).collect()
}
