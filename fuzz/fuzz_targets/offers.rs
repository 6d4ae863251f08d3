//! Any JSON as a list or a result: read or refused, never a panic, and kept as it came.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard::json::Json;
use switchboard::offer::{
    CallResult, Completion, Item, Prompt, PromptResult, ReadResult, Resource, Template, Tool, page,
};

fuzz_target!(|text: &str| {
    let Ok(json) = Json::from_text(text) else { return };
    for tool in items::<Tool>(&json) {
        assert!(!tool.name.is_empty() && tool.input_schema.as_str().starts_with('{'));
        let _ = (tool.is_read_only(), tool.is_idempotent(), tool.is_destructive());
    }
    drop(items::<Resource>(&json));
    drop(items::<Template>(&json));
    drop(items::<Prompt>(&json));
    assert_eq!(CallResult::read(&json).raw, json);
    drop(ReadResult::read(&json));
    drop(PromptResult::read(&json));
    drop(Completion::read(&json));
});

/// The items of a page; those that cannot be used are not lost either.
fn items<T: Item>(json: &Json) -> Vec<T> {
    let Ok(page) = page::<T>(json) else { return Vec::new() };
    assert!(page.odd.iter().all(|odd| odd.index < page.items.len() + page.odd.len()));
    page.items
}
