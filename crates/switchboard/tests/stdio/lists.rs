//! Lists: page by page, with an end even where the server knows none.

use serde_json::{Value, json};

use crate::kit::{assert_works, on, open, params};

fn tools(range: std::ops::Range<usize>) -> Value {
    range.map(|n| json!({"name": format!("tool-{n}"), "inputSchema": {"type": "object"}})).collect()
}

#[tokio::test]
async fn all_pages_are_read() {
    let (script, link) = open(json!({"tools": tools(0..25), "page_size": 4})).await;
    let listing = link.tools().await.unwrap();
    assert_eq!((listing.items.len(), listing.cut), (25, None));
    assert_eq!(listing.items[24].name, "tool-24");
    assert_eq!(params(&script, "tools/list").len(), 7);
}

#[tokio::test]
async fn an_empty_cursor_is_a_cursor() {
    let script = json!({"on": {"tools/list": {"times": [
        [{"result": {"tools": tools(0..1), "nextCursor": ""}}], [{"result": {"tools": tools(1..2)}}],
    ]}}});
    let (script, link) = open(script).await;
    let listing = link.tools().await.unwrap();
    assert_eq!((listing.items.len(), listing.cut), (2, None));
    assert_eq!(params(&script, "tools/list")[1]["cursor"], "");
}

#[tokio::test]
async fn a_cursor_that_comes_again_ends_the_list() {
    let (script, link) =
        open(on("tools/list", json!([{"result": {"tools": tools(0..1), "nextCursor": "again"}}]))).await;
    let listing = link.tools().await.unwrap();
    assert!(listing.cut.as_deref().is_some_and(|cut| cut.contains("same cursor")), "{:?}", listing.cut);
    assert_eq!(params(&script, "tools/list").len(), 2);
    assert_works(&link).await;

    let pages = ["a", "b", "a"].map(|next| json!([{"result": {"tools": [], "nextCursor": next}}]));
    let (script, link) = open(json!({"on": {"tools/list": {"times": pages}}})).await;
    assert!(link.tools().await.unwrap().cut.is_some());
    assert_eq!(params(&script, "tools/list").len(), 3);
}

#[tokio::test]
async fn a_list_has_sixty_four_pages_at_most() {
    let (script, link) = open(json!({"tools": tools(0..64), "page_size": 1})).await;
    let listing = link.tools().await.unwrap();
    assert_eq!((listing.items.len(), listing.cut), (64, None));
    assert_eq!(params(&script, "tools/list").len(), 64);

    let (script, link) = open(json!({"tools": tools(0..65), "page_size": 1})).await;
    let listing = link.tools().await.unwrap();
    assert_eq!((listing.items.len(), listing.cut.as_deref()), (64, Some("more than 64 pages")));
    assert_eq!(params(&script, "tools/list").len(), 64);
}

#[tokio::test]
async fn a_list_has_two_thousand_items_at_most_and_says_so() {
    let (_script, link) = open(json!({"tools": tools(0..2000), "page_size": 1000})).await;
    let listing = link.tools().await.unwrap();
    assert_eq!((listing.items.len(), listing.cut), (2000, None));

    for page_size in [3000, 1000, 700] {
        let (_script, link) = open(json!({"tools": tools(0..2500), "page_size": page_size})).await;
        let listing = link.tools().await.unwrap();
        assert_eq!(listing.items.len(), 2000, "pages of {page_size}");
        assert_eq!(listing.cut.as_deref(), Some("more than 2000 items"), "pages of {page_size}");
    }
}

#[tokio::test]
async fn what_a_server_does_not_have_is_an_empty_list() {
    let (script, link) = open(json!({"tools": tools(0..1)})).await;
    assert_eq!(link.resources().await.unwrap().items.len(), 0);
    assert_eq!(link.prompts().await.unwrap().items.len(), 0);
    assert!(
        !script
            .methods()
            .iter()
            .any(|method| method.starts_with("resources") || method.starts_with("prompts"))
    );

    let lies = json!({"capabilities": {"tools": {}, "resources": {}}, "on": {
        "resources/list": [{"error": {"code": -32601, "message": "Method not found"}}],
    }});
    let (_script, link) = open(lies).await;
    assert_eq!(link.resources().await.unwrap().items.len(), 0);
}

#[tokio::test]
async fn resources_templates_and_prompts_are_listed_and_used_in_both_eras() {
    for era in ["legacy", "modern"] {
        let (_script, link) = open(json!({
            "era": era,
            "resources": [{"uri": "note://1", "name": "one", "text": "first"}, {"uri": "note://2", "name": "two", "blob": "AAEC"}],
            "templates": [{"uriTemplate": "note://{n}", "name": "notes"}],
            "prompts": [{"name": "greet", "arguments": [{"name": "who", "required": true}]}],
        }))
        .await;
        assert_eq!(link.resources().await.unwrap().items.len(), 2);
        assert_eq!(link.templates().await.unwrap().items[0].uri_template, "note://{n}");
        assert!(link.prompts().await.unwrap().items[0].arguments[0].required);
        let read = link.read("note://1").await.unwrap();
        assert_eq!(read.raw.value()["contents"][0]["text"], "first");
        let prompt = link.prompt("greet", &[("who".into(), "Ada".into())]).await.unwrap();
        assert!(prompt.messages[0].as_str().contains("Ada"), "{:?}", prompt.messages);
    }
}

#[tokio::test]
async fn an_argument_is_completed() {
    let values = json!({"completion": {"values": ["Ada", "Alan"], "total": 7, "hasMore": true}});
    let script = json!({"capabilities": {"tools": {}, "completions": {}}, "on": {"completion/complete": [{"result": values}]}});
    let (script, link) = open(script).await;
    let reference = json!({"type": "ref/prompt", "name": "greet"});
    let context = json!({"arguments": {"title": "Dr"}});
    let completion =
        link.complete(&reference.clone().into(), ("who", "A"), Some(&context.clone().into())).await.unwrap();
    assert_eq!(completion.values, ["Ada", "Alan"]);
    assert_eq!((completion.total, completion.has_more), (Some(7), true));
    let asked = params(&script, "completion/complete").remove(0);
    assert_eq!(
        asked,
        json!({"ref": reference, "argument": {"name": "who", "value": "A"}, "context": context})
    );
}
