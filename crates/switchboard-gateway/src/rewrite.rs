//! Addresses inside results, so that a client can use what it is given; and what each protocol wants to see on a result.
//! Pure. Whatever else is in a result stays as it came.

use serde_json::json;
use switchboard::json::Json;
use switchboard::wire::Era;

use crate::view::View;

/// None of these in a result for a client with a handshake, and nothing is to be changed in it. Looking for words is much
/// cheaper than taking a long result apart.
const TELLING: [&str; 5] = ["\"uri\"", "resultType", "serverInfo", "taskId", "\\u"];

/// Key under which a result says who made it.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Key under which a result says which task it is of.
const RELATED: &str = "io.modelcontextprotocol/related-task";

/// A result of a server, as the client gets it.
pub(crate) fn result(view: &View, server: &str, result: &Json, era: Era) -> Json {
    if era == Era::Handshake && !TELLING.iter().any(|word| result.mentions(word)) {
        return result.clone();
    }
    let fields = result.fields();
    if fields.is_empty() && result.as_str().trim() != "{}" {
        return result.clone();
    }
    let mut is_same = true;
    let has = |name: &str| fields.iter().any(|(field, _)| field == name);
    let is_task = has("taskId") && has("status");
    let mut changed = Vec::with_capacity(fields.len() + 2);
    for (name, value) in fields {
        let value = match name.as_str() {
            "resultType" if era == Era::Handshake => {
                is_same = false;
                continue;
            }
            "_meta" => {
                let Some(meta) = on_this_hop(&value) else {
                    is_same = false;
                    continue;
                };
                match meta.get(RELATED) {
                    Some(task) => meta.with(RELATED, with_task(view, server, &task)),
                    None => meta,
                }
            }
            "taskId" if is_task => task_id(view, server, &value),
            // What the task brought stands inside of what is told of it.
            "result" if is_task => inner(view, server, &value),
            "task" if value.get("taskId").is_some() => with_task(view, server, &value),
            _ => part(view, server, &name, value),
        };
        changed.push((name, value));
    }
    if era == Era::Modern {
        is_same &= !complete(&mut changed);
    }
    if is_same && changed.iter().all(|(_, value)| is_within(result, value)) {
        return result.clone();
    }
    Json::object(changed.iter().map(|(name, value)| (name.as_str(), value.clone())))
}

/// Whether a value is still a piece of the text it came in.
fn is_within(whole: &Json, part: &Json) -> bool {
    whole.bytes().as_ptr_range().contains(&part.bytes().as_ptr())
}

/// A field of a result, with its addresses leading through us.
fn part(view: &View, server: &str, name: &str, value: Json) -> Json {
    match name {
        _ if !has_address(&value) => value,
        "content" | "contents" | "messages" => each(&value, |item| block(view, server, item)),
        "resources" | "skills" => each(&value, |item| entry(view, server, item)),
        "skill" => entry(view, server, &value),
        _ => value,
    }
}

/// A result that stands inside of another.
fn inner(view: &View, server: &str, result: &Json) -> Json {
    let fields = result.fields();
    if fields.is_empty() {
        return result.clone();
    }
    let parts: Vec<(String, Json)> = fields
        .into_iter()
        .map(|(name, value)| {
            let value = part(view, server, &name, value);
            (name, value)
        })
        .collect();
    Json::object(parts.iter().map(|(name, value)| (name.as_str(), value.clone())))
}

fn task_id(view: &View, server: &str, id: &Json) -> Json {
    id.text().map_or_else(|| id.clone(), |id| json!(view.outward(server, &id)).into())
}

/// Something that names a task.
fn with_task(view: &View, server: &str, value: &Json) -> Json {
    match value.get("taskId") {
        Some(id) => value.with("taskId", task_id(view, server, &id)),
        None => value.clone(),
    }
}

/// A resource of a directory, or a skill with its files.
fn entry(view: &View, server: &str, item: &Json) -> Json {
    let item = outward(view, server, item);
    match item.get("resources") {
        Some(files) if files.as_str().starts_with('[') => {
            item.with("resources", each(&files, |file| outward(view, server, file)))
        }
        _ => item,
    }
}

fn outward(view: &View, server: &str, item: &Json) -> Json {
    match item.get("uri").and_then(|uri| uri.text()) {
        Some(uri) => item.with("uri", json!(view.outward(server, &uri)).into()),
        None => item.clone(),
    }
}

/// Adds what a modern result has to have; true if something was missing.
fn complete(fields: &mut Vec<(String, Json)>) -> bool {
    let n_fields = fields.len();
    let has = |fields: &[(String, Json)], name: &str| fields.iter().any(|(field, _)| field == name);
    if !has(fields, "resultType") {
        fields.insert(0, ("resultType".to_owned(), json!("complete").into()));
    }
    // A resource that was read may be kept only as long as its server says, which may be not at all.
    if has(fields, "contents") {
        for (name, value) in [("ttlMs", json!(0)), ("cacheScope", json!("private"))] {
            if !has(fields, name) {
                fields.push((name.to_owned(), value.into()));
            }
        }
    }
    fields.len() > n_fields
}

/// What a server says of itself is for us; the client hears from us who we are.
fn on_this_hop(meta: &Json) -> Option<Json> {
    let kept = if meta.get(SERVER_INFO).is_some() { meta.without(SERVER_INFO) } else { meta.clone() };
    (kept.as_str() != "{}").then_some(kept)
}

/// Looking for the word is cheaper than a walk.
fn has_address(value: &Json) -> bool {
    value.mentions("\"uri\"")
}

fn each(list: &Json, change: impl Fn(&Json) -> Json) -> Json {
    match list.items() {
        Some(items) => Json::list(&items.iter().map(change).collect::<Vec<_>>()),
        None => list.clone(),
    }
}

/// A block of content, a message of a prompt, or the contents of a resource.
fn block(view: &View, server: &str, block: &Json) -> Json {
    if !has_address(block) {
        return block.clone();
    }
    let outward = |item: &Json| outward(view, server, item);
    match block.get("type").and_then(|kind| kind.text()).as_deref() {
        Some("resource_link") => outward(block),
        Some("resource") => match block.get("resource") {
            Some(resource) => block.with("resource", outward(&resource)),
            None => block.clone(),
        },
        Some(_) => block.clone(),
        // A message holds one block or several; anything else here is a resource itself.
        None => match block.get("content") {
            Some(content) if content.as_str().starts_with('[') => {
                block.with("content", each(&content, |inner| self::block(view, server, inner)))
            }
            Some(content) => block.with("content", self::block(view, server, &content)),
            None => outward(block),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use switchboard::config::settings::NameStyle;

    use super::*;
    use crate::hint::Audience;
    use crate::view::{Everything, Eyes, Names};

    fn view() -> View {
        let all = Everything {
            catalog: Arc::default(),
            servers: BTreeSet::from(["notes".to_owned()]),
            denied: BTreeSet::new(),
            names: Names::Prefixed,
            style: NameStyle::Standard,
        };
        View::new(&all, Eyes { profile: None, search: false, audience: Audience::Everybody })
    }

    fn check(era: Era, before: &str, after: &str) {
        let before = Json::from_text(before).unwrap();
        assert_eq!(result(&view(), "notes", &before, era).as_str(), after);
    }

    #[test]
    fn addresses_lead_back_through_us_wherever_they_stand() {
        check(
            Era::Handshake,
            r#"{"content":[{"type":"text","text":"\"uri\""},{"type":"resource_link","uri":"file:///a","n":1.0},{"type":"resource","resource":{"uri":"x://b","text":"uri"}}],"resultType":"complete"}"#,
            r#"{"content":[{"type":"text","text":"\"uri\""},{"type":"resource_link","uri":"notes+file:///a","n":1.0},{"type":"resource","resource":{"uri":"notes+x://b","text":"uri"}}]}"#,
        );
        check(
            Era::Handshake,
            r#"{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"x://b"}}}],"description":"uri"}"#,
            r#"{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"notes+x://b"}}}],"description":"uri"}"#,
        );
        check(
            Era::Modern,
            r#"{"contents":[{"uri":"x://b","text":"t"}],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n"}}}"#,
            r#"{"resultType":"complete","contents":[{"uri":"notes+x://b","text":"t"}],"ttlMs":0,"cacheScope":"private"}"#,
        );
    }

    #[test]
    fn tasks_and_skills_lead_back_through_us() {
        check(
            Era::Modern,
            r#"{"resultType":"task","taskId":"a","status":"working"}"#,
            r#"{"resultType":"task","taskId":"notes+a","status":"working"}"#,
        );
        check(
            Era::Modern,
            r#"{"resultType":"complete","taskId":"a","status":"completed","result":{"content":[{"type":"resource_link","uri":"x://b"}],"taskId":"c"}}"#,
            r#"{"resultType":"complete","taskId":"notes+a","status":"completed","result":{"content":[{"type":"resource_link","uri":"notes+x://b"}],"taskId":"c"}}"#,
        );
        check(
            Era::Modern,
            r#"{"resultType":"complete","skills":[{"uri":"skill://a/SKILL.md","resources":[{"uri":"skill://a/SKILL.md"}]},{"uri":"skill://b/SKILL.md","resources":"dynamic"}]}"#,
            r#"{"resultType":"complete","skills":[{"uri":"notes+skill://a/SKILL.md","resources":[{"uri":"notes+skill://a/SKILL.md"}]},{"uri":"notes+skill://b/SKILL.md","resources":"dynamic"}]}"#,
        );
    }

    #[test]
    fn what_needs_no_change_is_not_copied() {
        let view = view();
        for (era, text) in [
            (Era::Handshake, r#"{"content":[{"type":"text","text":"long"}]}"#),
            (Era::Handshake, r#"{"content":[{"type":"text","text":"\"uri\" \u00e9"}],"_meta":{"a":1}}"#),
            (Era::Modern, r#"{ "content": [{"type":"text","text":"long"}], "resultType": "complete"}"#),
        ] {
            let before = Json::from_text(text).unwrap();
            let after = result(&view, "notes", &before, era);
            assert_eq!(after.bytes().as_ptr(), before.bytes().as_ptr(), "{text}");
            assert_eq!(after, before);
        }
    }

    #[test]
    fn tasks_that_were_asked_for_lead_back_through_us() {
        check(
            Era::Handshake,
            r#"{"task":{"taskId":"a","status":"working","ttl":60000}}"#,
            r#"{"task":{"taskId":"notes+a","status":"working","ttl":60000}}"#,
        );
        check(
            Era::Handshake,
            r#"{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}"#,
            r#"{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"notes+a"}}}"#,
        );
    }

    #[test]
    fn what_is_not_ours_to_change_stays_as_it_came() {
        let odd = r#"{"content":[5,"uri",{"uri":7},{"type":"new","uri":"x"}],"structuredContent":{"uri":"x://b","n":123456789012345678901234567890},"_meta":{"a":1}}"#;
        check(Era::Handshake, odd, odd);
        check(Era::Handshake, "5", "5");
        check(Era::Modern, "{}", r#"{"resultType":"complete"}"#);
    }
}
