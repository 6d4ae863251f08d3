//! The table of a run in `docs/reliability.md`, from what the run wrote down.

use std::fs;
use std::io;

use serde_json::Value;

use crate::plan::FAULTS;
use crate::verdict::listed;

const START: &str = "<!-- soak -->\n";
const END: &str = "<!-- end of soak -->\n";

/// Puts the last long run onto the page.
pub(crate) fn write() -> io::Result<()> {
    let docs = testkit::workspace().join("docs");
    let facts: Value = serde_json::from_slice(&fs::read(docs.join("reliability/soak.json"))?)?;
    let page = docs.join("reliability.md");
    let text = fs::read_to_string(&page)?;
    let parts = text.split_once(START).and_then(|(head, rest)| Some((head, rest.split_once(END)?.1)));
    let (head, tail) = parts.ok_or_else(|| io::Error::other("the page has no place for it"))?;
    fs::write(page, format!("{head}{START}{}{END}{tail}", table(&facts)))
}

fn table(facts: &Value) -> String {
    let run = &facts["run"];
    let mut text = format!(
        "{} minutes with seed {}: {} servers, {} of them made by others, {} calls a second, {} build. {}.\n\n",
        run["minutes"],
        run["seed"],
        run["servers"],
        run["real"],
        run["rate"],
        run["build"].as_str().unwrap_or_default(),
        if facts["ok"] == true { "Everything held" } else { "**Not everything held**" }
    );
    text += "| what must hold | | |\n|---|---|---|\n";
    for rule in facts["rules"].as_array().into_iter().flatten() {
        let word = if rule["evidence"].is_null() { "held" } else { "**broken**" };
        let figure = rule["figure"].as_str().unwrap_or_default();
        text += &format!("| {} | {word} | {figure} |\n", rule["rule"].as_str().unwrap_or_default());
    }
    let calls = &facts["calls"];
    text += &format!(
        "\n{} calls: {}. Those that were answered took {} ms (p50) and {} ms (p99).\n",
        calls["total"],
        listed(&calls["ends"]),
        calls["p50_ms"],
        calls["p99_ms"]
    );
    text += "\n| fault | times | |\n|---|---|---|\n";
    for (_, name, what) in FAULTS {
        let times = &facts["faults"]["kinds"][name];
        let skipped = facts["faults"]["skipped"][name].as_str();
        let times =
            skipped.map_or_else(|| times.as_u64().unwrap_or(0).to_string(), |why| format!("0: {why}"));
        text += &format!("| {name} | {times} | {what} |\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_broke_is_on_the_page() {
        let rule = |evidence: Value| json!({"rule": "r", "figure": "f", "evidence": evidence});
        let facts = json!({"ok": false, "rules": [rule(json!("x")), rule(Value::Null)]});
        let text = table(&facts);
        assert!(text.contains("**Not everything held**"));
        assert!(text.contains("| r | **broken** | f |") && text.contains("| r | held | f |"));
    }
}
