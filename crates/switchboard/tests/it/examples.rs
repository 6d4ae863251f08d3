//! The examples of the protocol's specification: every list and result of them is read, and nothing of it is lost.

use std::fs;
use std::path::Path;

use serde_json::Value;
use switchboard::json::Json;
use switchboard::offer::{
    CallResult, Completion, Content, Contents, Item, Kind, Prompt, PromptResult, ReadResult, Resource,
    Template, Tool, page,
};

#[test]
fn the_examples_of_the_specification_are_read_without_loss() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/protocol/2026-07-28/examples");
    let Ok(definitions) = fs::read_dir(&folder) else {
        println!("the examples of the specification are not here; nothing was checked");
        return;
    };
    let mut n_read = 0;
    for definition in definitions {
        let definition = definition.unwrap().path();
        for example in fs::read_dir(&definition).unwrap() {
            let example = example.unwrap().path();
            let text = fs::read_to_string(&example).unwrap();
            let json = Json::from_text(text.clone()).unwrap();
            let value: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(json.value(), value);
            let name = definition.file_name().unwrap().to_str().unwrap();
            // A response holds the result that the definition without that word describes.
            let (name, json, value) = match name.strip_suffix("Response") {
                Some(name) => (name, Json::from(value["result"].clone()), value["result"].clone()),
                None => (name, json, value),
            };
            n_read += usize::from(check(name, &json, &value));
        }
    }
    assert!(n_read >= 30, "only {n_read} examples were read");
}

/// Whether there is a reader for the definition.
fn check(definition: &str, json: &Json, value: &Value) -> bool {
    let raw = match definition {
        "ListToolsResult" => list::<Tool>(json, value, |tool| &tool.raw),
        "ListResourcesResult" => list::<Resource>(json, value, |resource| &resource.raw),
        "ListResourceTemplatesResult" => list::<Template>(json, value, |template| &template.raw),
        "ListPromptsResult" => list::<Prompt>(json, value, |prompt| &prompt.raw),
        "Tool" => one::<Tool>(json, |tool| &tool.raw),
        "Resource" => one::<Resource>(json, |resource| &resource.raw),
        "CallToolResult" => {
            let result = CallResult::read(json);
            assert_eq!(result.content.len(), value["content"].as_array().unwrap().len());
            assert!(result.content.iter().all(|content| !matches!(content.kind, Kind::Unknown(_))));
            assert_eq!(result.is_error, value["isError"] == true);
            assert_eq!(result.structured.map(|json| json.value()).as_ref(), value.get("structuredContent"));
            result.raw.value()
        }
        "TextContent" | "ImageContent" | "AudioContent" | "ResourceLink" | "EmbeddedResource" => {
            let content = Content::read(json.clone());
            assert!(!matches!(content.kind, Kind::Unknown(_)), "{content:?}");
            content.raw.value()
        }
        "TextResourceContents" | "BlobResourceContents" => {
            let contents = Contents::read(json.clone());
            assert_eq!(contents.uri.as_deref(), value["uri"].as_str());
            contents.raw.value()
        }
        "ReadResourceResult" => ReadResult::read(json).unwrap().raw.value(),
        "GetPromptResult" => PromptResult::read(json).unwrap().raw.value(),
        "CompleteResult" => Completion::read(json).unwrap().raw.value(),
        _ => return false,
    };
    assert_eq!(&raw, value);
    true
}

/// The list put together again from its items.
fn list<T: Item>(json: &Json, value: &Value, raw: fn(&T) -> &Json) -> Value {
    let page = page::<T>(json).unwrap();
    assert!(page.odd.is_empty() && page.notes.is_empty(), "{:?} {:?}", page.odd, page.notes);
    assert_eq!(page.next.as_deref(), value["nextCursor"].as_str());
    assert_eq!(page.hint.fresh_for.map(|time| time.as_millis()), value["ttlMs"].as_u64().map(u128::from));
    assert_eq!(page.hint.is_private, value["cacheScope"] != "public");
    let mut again = value.clone();
    again[T::LIST] = page.items.iter().map(|item| raw(item).value()).collect();
    again
}

fn one<T: Item>(json: &Json, raw: fn(&T) -> &Json) -> Value {
    let mut notes = Vec::new();
    let item = T::read(json, &mut notes).unwrap();
    assert_eq!(notes, [""; 0]);
    raw(&item).value()
}
