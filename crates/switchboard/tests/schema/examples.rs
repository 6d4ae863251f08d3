//! The official examples: each is understood, and with any one field broken nothing else is lost.

use serde_json::{Value, json};
use switchboard::json::Json;
use switchboard::offer::{
    CallResult, Completion, Item, Page, Prompt, PromptResult, ReadResult, Resource, Template, Tool, page,
};
use switchboard::wire::fuzzing;

use crate::{MODERN, official};

/// Every example, under the name of its definition.
fn examples() -> Option<Vec<(String, Value)>> {
    let mut found = Vec::new();
    for definition in std::fs::read_dir(official()?.join(MODERN).join("examples")).unwrap() {
        let definition = definition.unwrap();
        let name = definition.file_name().into_string().unwrap();
        for example in std::fs::read_dir(definition.path()).unwrap() {
            let text = std::fs::read_to_string(example.unwrap().path()).unwrap();
            found.push((name.clone(), serde_json::from_str(&text).unwrap()));
        }
    }
    assert_eq!(found.len(), 129);
    Some(found)
}

/// The results among the examples, bare and out of their responses, under the name of the bare definition.
fn results() -> Option<Vec<(String, Value)>> {
    let bare = |(name, value): (String, Value)| match name.strip_suffix("Response") {
        Some(result) => Some((result.to_owned(), value["result"].clone())),
        None => name.ends_with("Result").then_some((name, value)),
    };
    Some(examples()?.into_iter().filter_map(bare).collect())
}

/// The example as a message: those that are none are put into one.
fn as_message(name: &str, example: &Value) -> Value {
    if example.get("method").is_some() {
        return example.clone();
    }
    if example.get("result").is_some() || example.get("error").is_some() {
        // Answers are to questions of ours, whose ids are numbers.
        let mut message = example.clone();
        message["id"] = json!(7);
        return message;
    }
    if name.ends_with("Result") {
        json!({"jsonrpc": "2.0", "id": 7, "result": example})
    } else if name.ends_with("Error") {
        json!({"jsonrpc": "2.0", "id": 7, "error": example})
    } else {
        json!({"jsonrpc": "2.0", "id": "x", "method": "test", "params": example})
    }
}

#[test]
fn every_example_is_understood_without_loss() {
    for (name, example) in examples().unwrap_or_default() {
        let message = as_message(&name, &example);
        let understood = fuzzing::message(&message.to_string());
        let mut expected = message.clone();
        expected.as_object_mut().unwrap().remove("jsonrpc");
        let [Ok(understood)] = understood.as_slice() else { panic!("{name}: {understood:?}") };
        assert_eq!(understood.value(), expected, "{name}");
    }
}

#[test]
fn every_result_is_read_and_kept_as_it_came() {
    let mut n_read = 0;
    for (name, example) in results().unwrap_or_default() {
        let raw = Json::from(example.clone());
        n_read += 1;
        match name.as_str() {
            "ListToolsResult" => whole::<Tool>(&raw, |tool| &tool.raw),
            "ListResourcesResult" => whole::<Resource>(&raw, |resource| &resource.raw),
            "ListResourceTemplatesResult" => whole::<Template>(&raw, |template| &template.raw),
            "ListPromptsResult" => whole::<Prompt>(&raw, |prompt| &prompt.raw),
            "CallToolResult" => {
                let result = CallResult::read(&raw);
                assert_eq!(result.content.len(), example["content"].as_array().unwrap().len());
                assert_eq!(result.is_error, example["isError"] == true);
                assert_eq!(
                    result.structured.map(|value| value.value()),
                    example.get("structuredContent").cloned()
                );
                assert_eq!(result.raw, raw);
            }
            "ReadResourceResult" => {
                let result = ReadResult::read(&raw).unwrap();
                assert_eq!(result.contents.len(), example["contents"].as_array().unwrap().len());
                assert_eq!(result.raw, raw);
            }
            "GetPromptResult" => {
                let result = PromptResult::read(&raw).unwrap();
                let messages: Vec<Value> = result.messages.iter().map(Json::value).collect();
                assert_eq!(json!(messages), example["messages"]);
                assert_eq!(result.raw, raw);
            }
            "CompleteResult" => {
                let result = Completion::read(&raw).unwrap();
                assert_eq!(json!(result.values), example["completion"]["values"]);
                assert_eq!(result.raw, raw);
            }
            "DiscoverResult" => assert!(fuzzing::era(raw.as_str())),
            // Of these the link reads what it needs by itself; the others are ours to send.
            "InputRequiredResult"
            | "SubscriptionsListenResult"
            | "CreateMessageResult"
            | "ElicitResult"
            | "ListRootsResult" => n_read -= 1,
            other => panic!("what is {other}?"),
        }
    }
    assert!(n_read == 0 || n_read >= 20, "{n_read}");
}

/// A list of which nothing is set aside or put right, with its cursor and its time.
fn whole<T: Item>(raw: &Json, of: impl Fn(&T) -> &Json) {
    let Page { items, odd, notes, next, .. } = page::<T>(raw).unwrap();
    assert!(odd.is_empty() && notes.is_empty(), "{odd:?} {notes:?}");
    let value = raw.value();
    let kept: Vec<Value> = items.iter().map(|item| of(item).value()).collect();
    assert_eq!(json!(kept), value[T::LIST]);
    assert_eq!(next.as_deref(), value["nextCursor"].as_str());
}

/// Everything that is done to a field; nothing stands for leaving it out.
fn harm() -> Vec<Option<Value>> {
    let wrong =
        [json!(null), json!(5), json!("x"), json!(true), json!([]), json!({}), json!([{}]), json!(-1.5)];
    std::iter::once(None).chain(wrong.into_iter().map(Some)).collect()
}

/// The value with one field harmed, for every field and every harm, with the path of the field.
fn harmed(value: &Value) -> Vec<(Vec<String>, Value)> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, field)| (name.clone(), field)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
        _ => return Vec::new(),
    };
    let with = |name: &str, new: Option<Value>| {
        let mut copy = value.clone();
        match (&mut copy, new) {
            (Value::Object(fields), None) => drop(fields.shift_remove(name)),
            (Value::Array(items), None) => drop(items.remove(name.parse().unwrap())),
            (Value::Object(fields), Some(new)) => drop(fields.insert(name.to_owned(), new)),
            (Value::Array(items), Some(new)) => items[name.parse::<usize>().unwrap()] = new,
            _ => {}
        }
        copy
    };
    let mut all = Vec::new();
    for (name, child) in children {
        all.extend(harm().into_iter().map(|new| (vec![name.clone()], with(&name, new))));
        for (path, new) in harmed(child) {
            let path = std::iter::once(name.clone()).chain(path).collect();
            all.push((path, with(&name, Some(new))));
        }
    }
    all
}

/// The field of a result that holds its list, and how many of the list are left when it is read.
fn survivors(name: &str, raw: &Json) -> Option<(&'static str, Result<usize, String>)> {
    fn count<T: Item>(raw: &Json) -> Result<usize, String> {
        page::<T>(raw).map(|page| page.items.len())
    }
    Some(match name {
        "ListToolsResult" => ("tools", count::<Tool>(raw)),
        "ListResourcesResult" => ("resources", count::<Resource>(raw)),
        "ListResourceTemplatesResult" => ("resourceTemplates", count::<Template>(raw)),
        "ListPromptsResult" => ("prompts", count::<Prompt>(raw)),
        "CallToolResult" => ("content", Ok(CallResult::read(raw).content.len())),
        "ReadResourceResult" => ("contents", ReadResult::read(raw).map(|result| result.contents.len())),
        "GetPromptResult" => ("messages", PromptResult::read(raw).map(|result| result.messages.len())),
        _ => return None,
    })
}

#[test]
fn one_broken_field_costs_one_item_at_most() {
    let mut n_checked = 0;
    for (name, mut example) in results().unwrap_or_default() {
        if name == "DiscoverResult" {
            for (path, result) in harmed(&example) {
                let is_modern = fuzzing::era(&result.to_string());
                assert!(is_modern || path[0] == "supportedVersions", "{path:?}");
            }
        }
        if name == "CompleteResult" {
            for (path, result) in harmed(&example) {
                let values = Completion::read(&result.into()).map(|result| result.values.len());
                let at = path.iter().map(String::as_str).collect::<Vec<_>>();
                let all = example["completion"]["values"].as_array().unwrap().len();
                let is_list = at == ["completion"] || at == ["completion", "values"];
                assert!(is_list || values.as_ref().is_ok_and(|left| left + 1 >= all), "{at:?}: {values:?}");
            }
        }
        let Some((list, _)) = survivors(&name, &example.clone().into()) else { continue };
        // One is too few to lose one of.
        let items = example[list].as_array().unwrap().clone();
        example[list] = json!(items.iter().chain(&items).chain(&items).collect::<Vec<_>>());
        let all = items.len() * 3;
        for (path, result) in harmed(&example) {
            n_checked += 1;
            let (_, left) = survivors(&name, &result.clone().into()).unwrap();
            let at = path.iter().map(String::as_str).collect::<Vec<_>>();
            match at.as_slice() {
                // The list itself was harmed: nothing to count, but nothing may break either.
                [field] if *field == list => {}
                [field, ..] if *field == list => {
                    assert!(left.as_ref().is_ok_and(|left| left + 1 >= all), "{name} {at:?}: {left:?}");
                }
                _ => assert_eq!(left, Ok(all), "{name} {at:?}"),
            }
        }
    }
    assert!(n_checked == 0 || n_checked > 1000, "{n_checked}");
}
