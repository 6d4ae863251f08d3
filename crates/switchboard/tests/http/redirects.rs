//! Redirects: followed at home, as long as nothing of the request is lost; told, and not followed, anywhere else.

use serde_json::{Value, json};
use switchboard::declared::Remote;
use switchboard::wire::{self, Cause, Failure};
use testkit::Fake;
use testkit::connect::{address, terms};

use crate::{call, count, dial, echo, header, lines, said, verbs};

fn redirect(status: u16, location: &str) -> Value {
    json!([{"redirect": {"status": status, "location": location}}])
}

/// Dials a server that redirects every request, with a header that must not get anywhere else.
async fn dialled(status: u16, location: &str) -> (Fake, Box<Failure>) {
    let fake =
        Fake::http(json!({"on": {"*": redirect(status, location), "GET": redirect(status, location)}}));
    let launch = address(fake.url(), Remote::Http, &[("X-Api-Key", "k-123456789")]).await;
    let failure = wire::open(&launch, &terms()).await.unwrap_err();
    (fake, failure)
}

#[tokio::test]
async fn a_redirect_at_home_keeps_method_body_and_headers() {
    for status in [307, 308] {
        for (era, location) in [("modern", "/mcp"), ("legacy", "/mcp?moved=1")] {
            let script = json!({"era": era, "on": {"POST /old": redirect(status, location)}});
            let fake = Fake::http(script);
            let launch =
                address(&fake.url().replace("/mcp", "/old"), Remote::Http, &[("X-Api-Key", "k-123456789")])
                    .await;
            let link = wire::open(&launch, &terms()).await.unwrap();
            let text = "the same text, whole: äöü";
            assert_eq!(said(&call(&link, "echo", json!({"text": text})).await.unwrap()), text);
            let calls = lines(&fake, "tools/call");
            assert_eq!(calls.len(), 2, "{status}");
            assert_eq!(calls[0]["message"], calls[1]["message"]);
            for name in
                ["x-api-key", "content-type", "accept", "mcp-protocol-version", "mcp-method", "mcp-name"]
            {
                assert_eq!(header(&calls[0], name), header(&calls[1], name), "{name}");
            }
            assert!(header(&calls[1], "x-api-key").is_some());
        }
    }
}

#[tokio::test]
async fn a_redirect_that_would_lose_the_request_is_refused() {
    for status in [301, 302, 303] {
        let (fake, failure) = dialled(status, "/elsewhere").await;
        let Cause::Redirected { from, to } = &failure.error.cause else { panic!("{status}: {failure:?}") };
        assert!(from.ends_with("/mcp") && to.ends_with("/elsewhere"), "{from} {to}");
        assert!(fake.log().iter().all(|line| line["http"]["path"] != "/elsewhere"));
        assert_eq!(verbs(&fake, "POST").len(), 1);
    }
}

#[tokio::test]
async fn a_redirect_to_another_origin_is_refused_with_both_addresses() {
    let trap = Fake::http(json!({}));
    let port = trap.url().rsplit_once(':').unwrap().1.to_owned();
    for status in [301, 302, 303, 307, 308] {
        for location in [
            trap.url().to_owned(),
            format!("//127.0.0.1:{port}"),
            format!("http://localhost:{port}"),
            format!("https://127.0.0.1:{port}"),
            format!("http://user:password@127.0.0.1:{port}"),
        ] {
            let (fake, failure) = dialled(status, &location).await;
            let Cause::Redirected { from, to } = &failure.error.cause else {
                panic!("{status} {location}: {failure:?}")
            };
            let text = failure.error.to_string();
            assert!(text.contains(from) && text.contains(to), "{text}");
            assert_eq!(from, fake.url());
            assert!(to.contains(port.split('/').next().unwrap()) && !to.contains("password"), "{to}");
            assert!(!failure.error.is_outcome_unknown());
        }
    }
    assert_eq!(trap.log(), Vec::<Value>::new());
}

#[tokio::test]
async fn a_redirect_of_a_single_call_elsewhere_is_refused_too() {
    let trap = Fake::http(json!({}));
    for era in ["legacy", "modern"] {
        let fake = Fake::http(json!({"era": era, "on": {"tools/call": redirect(307, trap.url())}}));
        let link = dial(fake.url(), Remote::Http, &terms()).await.unwrap();
        let error = echo(&link, "x").await.unwrap_err();
        assert!(matches!(error.cause, Cause::Redirected { .. }), "{error:?}");
        assert!(!error.is_outcome_unknown());
    }
    // And so is the one of a stream of the older kind.
    let fake = Fake::http(json!({"transport": "sse", "on": {"GET": redirect(307, trap.url())}}));
    let failure = dial(fake.url(), Remote::Sse, &terms()).await.unwrap_err();
    assert!(matches!(failure.error.cause, Cause::Redirected { .. }), "{failure:?}");
    assert_eq!(trap.log(), Vec::<Value>::new());
}

#[tokio::test]
async fn a_circle_of_redirects_ends() {
    for location in ["/mcp", "?again"] {
        let (fake, failure) = dialled(307, location).await;
        assert!(matches!(failure.error.cause, Cause::Redirected { .. }), "{failure:?}");
        assert!(count(&fake, "server/discover") <= 6, "{}", count(&fake, "server/discover"));
    }
}

#[tokio::test]
async fn a_redirect_to_nowhere_is_an_error_with_its_status() {
    let fake = Fake::http(json!({"on": {"*": [{"status": 307}]}}));
    let failure = dial(fake.url(), Remote::Http, &terms()).await.unwrap_err();
    assert!(matches!(failure.error.cause, Cause::Http { status: 307, .. }), "{failure:?}");
}
