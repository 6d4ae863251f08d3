//! Lists and results as servers really send them: nothing odd takes the rest with it.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn tools(result: Value) -> Page<Tool> {
    page(&Json::from(result)).unwrap()
}

fn text(text: &str) -> Json {
    Json::from_text(text).unwrap()
}

#[test]
fn a_tool_is_read_in_full_and_kept_as_it_came() {
    let raw = json!({
        "name": "delete", "title": "Delete", "description": "Deletes.", "inputSchema": { "type": "object" },
        "outputSchema": { "type": "array" }, "execution": { "taskSupport": "required" }, "x-other": [1.0],
        "annotations": { "destructiveHint": true, "idempotentHint": true, "readOnlyHint": false, "title": "No" },
    });
    let page = tools(json!({ "tools": [raw], "nextCursor": "", "ttlMs": 300_000, "cacheScope": "public" }));
    let hint = CacheHint { fresh_for: Some(Duration::from_mins(5)), is_private: false };
    assert_eq!((page.next.as_deref(), page.hint), (Some(""), hint));
    assert_eq!((page.odd, page.notes), (vec![], vec![]));
    let tool = &page.items[0];
    assert_eq!(tool.name, "delete");
    assert_eq!(tool.title.as_deref(), Some("Delete"));
    assert_eq!(tool.description.as_deref(), Some("Deletes."));
    assert_eq!(tool.input_schema.value(), json!({ "type": "object" }));
    assert_eq!(tool.output_schema.as_ref().unwrap().value(), json!({ "type": "array" }));
    assert_eq!(tool.task_support, TaskSupport::Required);
    assert!(tool.is_destructive() && tool.is_idempotent() && !tool.is_read_only());
    assert_eq!(tool.raw.as_str(), raw.to_string());
}

#[test]
fn an_odd_tool_stands_alone() {
    let page = tools(json!({ "tools": [
        { "name": "good", "inputSchema": {} },
        { "inputSchema": {} },
        { "name": "", "inputSchema": {} },
        { "name": 7 },
        "tool",
        null,
        { "name": "last", "inputSchema": {} },
    ] }));
    let names: Vec<_> = page.items.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["good", "last"]);
    let odd: Vec<_> =
        page.odd.iter().map(|odd| (odd.index, odd.name.as_deref(), odd.reason.as_str())).collect();
    assert_eq!(
        odd,
        [
            (1, None, "it has no `name`"),
            (2, Some(""), "its `name` is empty"),
            (3, None, "its `name` is not a string"),
            (4, None, "it is not an object"),
            (5, None, "it is not an object"),
        ]
    );
    assert_eq!(page.odd[2].raw.as_str(), r#"{"name":7}"#);
}

#[test]
fn a_tool_without_a_schema_is_offered_without_parameters() {
    for schema in ["", r#","inputSchema":null"#, r#","inputSchema":true"#, r#","inputSchema":[]"#] {
        let page = page::<Tool>(&text(&format!(r#"{{"tools":[{{"name":"a\u001b"{schema}}}]}}"#))).unwrap();
        assert_eq!(page.items[0].input_schema.value(), json!({ "type": "object", "properties": {} }));
        let note = "tool `a\\u{1b}` has no usable `inputSchema`; it is offered without parameters";
        assert_eq!(page.notes, [note]);
    }
}

#[test]
fn a_field_of_the_wrong_type_costs_only_itself() {
    let page = tools(json!({ "tools": [{
        "name": "a", "title": 1, "description": {}, "inputSchema": {}, "outputSchema": true, "icons": [{ "sizes": "1x1" }],
        "annotations": { "readOnlyHint": "true", "destructiveHint": 1, "idempotentHint": null, "title": "From them" },
        "execution": { "taskSupport": "sometimes" },
    }, { "name": "b", "inputSchema": {}, "annotations": [true], "execution": 3 }] }));
    let [a, b] = &page.items[..] else { panic!("{page:?}") };
    assert_eq!((a.title.as_deref(), &a.description, &a.output_schema), (Some("From them"), &None, &None));
    assert!(!a.is_read_only() && !a.is_destructive() && !a.is_idempotent());
    assert_eq!(a.task_support, TaskSupport::Forbidden);
    assert_eq!((&b.annotations, &b.title), (&None, &None));
    assert!(a.raw.as_str().contains("1x1"));
}

#[test]
fn a_key_that_comes_twice_is_read_by_its_last_value() {
    let page = page::<Tool>(&text(
        r#"{"tools":1,"tools":[{"name":"a","name":"b","inputSchema":null,"inputSchema":{"type":"object","type":"x"}}]}"#,
    ));
    assert_eq!(page.unwrap().items[0].name, "b");
}

#[test]
fn a_hint_is_read_with_care() {
    let hint = |ttl: &str, scope: &str| {
        let page =
            page::<Tool>(&text(&format!(r#"{{"tools":[],"ttlMs":{ttl},"cacheScope":{scope}}}"#))).unwrap();
        (page.hint.fresh_for.map(|time| time.as_millis()), page.hint.is_private)
    };
    assert_eq!(hint("5.0", r#""public""#), (Some(5), false));
    assert_eq!(hint("0", r#""private""#), (Some(0), true));
    assert_eq!(hint("-1", r#""shared""#), (None, true));
    assert_eq!(hint(r#""60000""#, "1"), (Some(60_000), true));
    assert_eq!(hint("null", "null"), (None, true));
    assert_eq!(hint(r#""soon""#, "[]"), (None, true));
    assert_eq!(hint("1e300", "{}"), (Some(LONGEST_FRESH.as_millis()), true));
}

#[test]
fn a_cursor_is_a_text() {
    let next = |cursor: &str| {
        let page = page::<Prompt>(&text(&format!(r#"{{"prompts":[]{cursor}}}"#))).unwrap();
        (page.next, page.notes.len())
    };
    assert_eq!(next(""), (None, 0));
    assert_eq!(next(r#","nextCursor":null"#), (None, 0));
    assert_eq!(next(r#","nextCursor":"""#), (Some(String::new()), 0));
    assert_eq!(next(r#","nextCursor":2"#), (None, 1));
}

#[test]
fn a_result_without_its_list_is_none() {
    let check = |result: &str, reason: &str| assert_eq!(page::<Tool>(&text(result)), Err(reason.to_owned()));
    check("{}", "the result has no `tools`");
    check(r#"{"tools":null}"#, "`tools` is not a list");
    check(r#"{"tools":{"name":"a"}}"#, "`tools` is not a list");
    check("[]", "the result is not an object");
    check("null", "the result is not an object");
    check(r#"{"prompts":[]}"#, "the result has no `tools`");
}

#[test]
fn resources_templates_and_prompts_are_read() {
    let resources = page::<Resource>(&Json::from(json!({ "resources": [
        { "uri": "file:///a", "name": "a", "mimeType": "text/plain", "size": 12.0, "annotations": { "priority": "1" } },
        { "uri": "file:///b", "size": -1, "mimeType": 3 },
        { "name": "no uri" },
    ] })))
    .unwrap();
    let [a, b] = &resources.items[..] else { panic!("{resources:?}") };
    assert_eq!((a.name.as_str(), a.mime_type.as_deref(), a.size), ("a", Some("text/plain"), Some(12)));
    assert_eq!((b.name.as_str(), b.mime_type.as_deref(), b.size), ("file:///b", None, None));
    assert_eq!(resources.odd[0].name.as_deref(), Some("no uri"));

    let templates =
        page::<Template>(&text(r#"{"resourceTemplates":[{"uriTemplate":"a://{b}","title":"T"}]}"#)).unwrap();
    let template = &templates.items[0];
    assert_eq!((template.uri_template.as_str(), template.name.as_str()), ("a://{b}", "a://{b}"));
    assert_eq!(template.title.as_deref(), Some("T"));

    let prompts = page::<Prompt>(&Json::from(json!({ "prompts": [
        { "name": "p", "arguments": [{ "name": "x", "required": true }, { "name": "y", "required": "yes" }, {}, 1] },
        { "name": "q", "arguments": "none" },
    ] })))
    .unwrap();
    let arguments: Vec<_> = prompts.items[0]
        .arguments
        .iter()
        .map(|argument| (argument.name.as_str(), argument.required))
        .collect();
    assert_eq!(arguments, [("x", true), ("y", false)]);
    assert_eq!(prompts.notes, ["prompt `p` has arguments without a name; they are left out"]);
    assert_eq!(prompts.items[1].arguments, []);
}

fn content(result: &str) -> Vec<(Kind, Option<String>)> {
    let result = CallResult::read(&text(result));
    result.content.into_iter().map(|content| (content.kind, content.text)).collect()
}

#[test]
fn no_block_of_content_takes_the_result_with_it() {
    let said = |text: &str| Some(text.to_owned());
    let blocks = content(
        r#"{"content":[
            {"type":"text","text":"a","annotations":{"audience":["system"],"priority":"high"}},
            {"type":"resource_link","uri":"file:///a"},
            {"type":"resource","resource":{"uri":"file:///b","text":"inner"}},
            {"type":"image","data":"AA==","mimeType":"image/png"},
            {"type":"audio"},
            {"type":"hologram","text":"seen"},
            {"text":"no type"},
            {"type":5},
            "bare",
            null
        ],"messages":[],"tools":[],"isError":"true"}"#,
    );
    let unknown = |word: &str| Kind::Unknown(word.to_owned());
    assert_eq!(
        blocks,
        [
            (Kind::Text, said("a")),
            (Kind::ResourceLink, None),
            (Kind::Resource, said("inner")),
            (Kind::Image, None),
            (Kind::Audio, None),
            (unknown("hologram"), said("seen")),
            (unknown(""), said("no type")),
            (unknown(""), None),
            (unknown(""), said("bare")),
            (unknown(""), None),
        ]
    );
    assert_eq!(content("{}"), []);
    assert_eq!(content("null"), []);
    assert_eq!(content(r#"{"content":null}"#), []);
    assert_eq!(content(r#"{"content":"whole"}"#), [(unknown(""), said("whole"))]);
    assert_eq!(content(r#"{"content":{"type":"text","text":"one"}}"#), [(Kind::Text, said("one"))]);
    assert_eq!(content(r#""the result""#), [(unknown(""), said("the result"))]);
    assert_eq!(content(r#"{"content":[{"type":"text","text":"cut \ud83d"}]}"#)[0].1, said("cut \u{fffd}"));
}

#[test]
fn a_call_result_is_kept_as_it_came() {
    let raw =
        text(r#" {"content":[],"isError":true,"structuredContent":null,"_meta":{"a":1},"extra":{"b":[]}} "#);
    let result = CallResult::read(&raw);
    assert!(result.is_error);
    assert_eq!(result.structured, Some(Json::null()));
    assert_eq!(result.meta, Some(text(r#"{"a":1}"#)));
    assert_eq!(result.raw, raw);
    let result = CallResult::read(&text(r#"{"structuredContent":[1],"_meta":7}"#));
    assert_eq!((result.structured, result.meta), (Some(text("[1]")), None));
}

#[test]
fn other_results_are_read() {
    let read = ReadResult::read(&text(
        r#"{"contents":[{"uri":"a:b","text":"t"},{"blob":"AA==","mimeType":"x/y"},{"text":1},2],"ttlMs":1}"#,
    ))
    .unwrap();
    let bodies: Vec<_> = read.contents.iter().map(|contents| contents.body.clone()).collect();
    assert_eq!(bodies, [Body::Text("t".into()), Body::Blob("AA==".into()), Body::Unknown, Body::Unknown]);
    assert_eq!(read.contents[0].uri.as_deref(), Some("a:b"));
    assert_eq!(read.hint.fresh_for, Some(Duration::from_millis(1)));
    assert_eq!(ReadResult::read(&text(r#"{"contents":{"text":"t"}}"#)).unwrap().contents.len(), 1);
    assert!(ReadResult::read(&text("{}")).is_err());

    let prompt = PromptResult::read(&text(r#"{"description":"d","messages":[{"role":"user"},3]}"#)).unwrap();
    assert_eq!((prompt.description.as_deref(), prompt.messages.len()), (Some("d"), 2));
    assert!(PromptResult::read(&text(r#"{"messages":1}"#)).is_err());

    let completion =
        Completion::read(&text(r#"{"completion":{"values":["a",1,"b"],"total":9,"hasMore":true}}"#)).unwrap();
    assert_eq!(
        (completion.values, completion.total, completion.has_more),
        (vec!["a".into(), "b".into()], Some(9), true)
    );
    assert!(Completion::read(&text(r#"{"completion":{}}"#)).is_err());
    assert!(Completion::read(&text("{}")).is_err());
}

/// Any JSON, made of keys that mean something here.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z\u{e9}\"\\\\]{0,4}".prop_map(Value::from),
        prop::sample::select(vec!["text", "resource", "public", "required"]).prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "tools",
        "resources",
        "resourceTemplates",
        "prompts",
        "nextCursor",
        "ttlMs",
        "cacheScope",
        "name",
        "title",
        "uri",
        "uriTemplate",
        "size",
        "arguments",
        "required",
        "inputSchema",
        "annotations",
        "execution",
        "taskSupport",
        "content",
        "type",
        "text",
        "resource",
        "contents",
        "blob",
        "messages",
        "completion",
        "values",
        "total",
    ]);
    leaf.prop_recursive(5, 60, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..10)
                .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

fn check_page<T: Item>(value: &Value) -> Result<(), TestCaseError> {
    let wanted = value.get(T::LIST).and_then(Value::as_array).map(Vec::len);
    let found = page::<T>(&Json::from(value.clone())).ok().map(|page| page.items.len() + page.odd.len());
    prop_assert_eq!(found, wanted);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn no_item_and_no_block_is_lost(value in any_json()) {
        for key in [Tool::LIST, Resource::LIST, Template::LIST, Prompt::LIST] {
            let list = json!({ key: [value.clone(), { "name": "n", "uri": "u", "uriTemplate": "t" }] });
            for value in [&value, &list] {
                check_page::<Tool>(value)?;
                check_page::<Resource>(value)?;
                check_page::<Template>(value)?;
                check_page::<Prompt>(value)?;
            }
        }
        let result = json!({ "content": [value, value], "structuredContent": value });
        let read = CallResult::read(&Json::from(result.clone()));
        prop_assert_eq!(read.content.len(), 2);
        prop_assert_eq!(read.content[0].raw.value(), value.clone());
        prop_assert_eq!(read.structured.unwrap().value(), value.clone());
        prop_assert_eq!(read.raw.value(), result);
        let any = Json::from(value);
        drop((CallResult::read(&any), ReadResult::read(&any), PromptResult::read(&any), Completion::read(&any)));
    }
}
