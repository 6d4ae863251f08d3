//! Fetching from servers on this machine that behave badly.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::*;

/// Reads one request, whole.
async fn request(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_lowercase();
            let length = length.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        assert_ne!(stream.read_buf(&mut read).await.unwrap(), 0, "{text}");
    }
}

/// A server that gives these answers, one to a connection, and tells what it was asked.
async fn server(answers: Vec<Vec<u8>>) -> (Url, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/start", listener.local_addr().unwrap())).unwrap();
    let asked = tokio::spawn(async move {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            asked.push(request(&mut stream).await);
            // Whoever has read enough closes the connection.
            drop(stream.write_all(&answer).await);
        }
        asked
    });
    (url, asked)
}

/// An address nobody may come to. Whoever did is accepted at once.
fn trap() -> (std::net::TcpListener, Url) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    (listener, url)
}

fn with(head: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut answer =
        format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n").into_bytes();
    answer.extend_from_slice(body);
    answer
}

fn moved(status: &str, to: &str) -> Vec<u8> {
    with(&format!("{status} Moved\r\nLocation: {to}"), b"")
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

/// What comes of one answer to a GET.
async fn got(answer: Vec<u8>) -> Result<Answer, Failure> {
    let (url, _asked) = server(vec![answer]).await;
    Fetcher::new(Gate::of(&url)).get(&url).await
}

fn first_line(request: &str) -> &str {
    request.lines().next().unwrap()
}

#[tokio::test]
async fn a_document_is_fetched() {
    let (url, asked) = server(vec![with("200 OK\r\nDPoP-Nonce: n-1", br#"{"issuer":"x"}"#)]).await;
    let answer = Fetcher::new(Gate::of(&url)).get(&url).await.unwrap();
    assert_eq!((answer.status, answer.nonce.as_deref()), (200, Some("n-1")));
    assert_eq!(answer.body, Some(json!({"issuer": "x"})));
    assert_eq!(format!("{answer:?}"), "Answer { status: 200, .. }");
    let asked = asked.await.unwrap()[0].to_lowercase();
    assert!(asked.starts_with("get /start http/1.1\r\n") && asked.contains("accept: application/json\r\n"));
    assert!(!asked.contains("content-type") && !asked.contains("authorization"));
}

#[tokio::test]
async fn only_json_is_a_body() {
    let deep = "[".repeat(100_000);
    let closed = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let cases: [(&str, &[u8], Option<Value>); 10] = [
        ("200 OK\r\nContent-Type: text/html", br#"{"a":1}"#, Some(json!({"a": 1}))),
        ("404 Not Found\r\nContent-Type: application/json", b"{}", Some(json!({}))),
        ("200 OK", b"[1]", Some(json!([1]))),
        ("200 OK\r\nContent-Type: application/json", b"<html>", None),
        ("500 Internal Server Error", b"", None),
        ("200 OK", b"{\"a\":1} {\"b\":2}", None),
        ("200 OK", b"{\"a\":", None),
        ("200 OK", b"\xff\xfe{}", None),
        ("200 OK", deep.as_bytes(), None),
        ("200 OK", closed.as_bytes(), None),
    ];
    for (head, body, expected) in cases {
        let answer = got(with(head, body)).await.unwrap();
        assert_eq!(answer.status.to_string(), head[..3]);
        assert_eq!(answer.body, expected, "{head}");
        assert_eq!(answer.nonce, None);
    }
}

#[tokio::test]
async fn nonces_are_what_can_be_signed() {
    let long = "a".repeat(LONGEST_NONCE);
    let over = "a".repeat(LONGEST_NONCE + 1);
    for (sent, expected) in [
        ("eyJ-_.~!", Some("eyJ-_.~!")),
        (&long, Some(long.as_str())),
        (&over, None),
        ("", None),
        ("a b", None),
        ("a\"b", None),
        ("a\\b", None),
        ("\u{e9}", None),
    ] {
        let answer = got(with(&format!("400 Bad Request\r\nDPoP-Nonce: {sent}"), b"{}")).await.unwrap();
        assert_eq!(answer.nonce.as_deref(), expected, "{sent}");
    }
}

#[tokio::test]
async fn redirects_within_the_origin_are_followed_three_times() {
    let there = || with("200 OK", b"{}");
    let (url, asked) =
        server(vec![moved("301", "/a"), moved("307", "b?c=d"), moved("303", "/e"), there()]).await;
    assert_eq!(Fetcher::new(Gate::of(&url)).get(&url).await.unwrap().status, 200);
    let asked = asked.await.unwrap();
    assert_eq!(
        asked.iter().map(|request| first_line(request)).collect::<Vec<_>>(),
        ["GET /start HTTP/1.1", "GET /a HTTP/1.1", "GET /b?c=d HTTP/1.1", "GET /e HTTP/1.1"]
    );

    // One that leads back to itself.
    let (url, asked) = server(vec![moved("302", "/start"); 4]).await;
    let shown = url.to_string();
    assert_eq!(
        Fetcher::new(Gate::of(&url)).get(&url).await.unwrap_err(),
        Failure::Redirected { from: shown.clone(), to: shown }
    );
    assert_eq!(asked.await.unwrap().len(), 4);

    // One that leads nowhere is an answer.
    for nowhere in [with("302 Found", b""), moved("302", "http://["), moved("304", "/a")] {
        assert!((300..400).contains(&got(nowhere).await.unwrap().status));
    }
}

#[tokio::test]
async fn redirects_to_another_origin_are_refused() {
    let (trap, url) = trap();
    let port = url.port().unwrap();
    for to in [
        format!("http://127.0.0.1:{port}/"),
        format!("//127.0.0.1:{port}/"),
        format!("http://localhost:{port}/"),
        format!("https://127.0.0.1:{port}/"),
        "https://evil.example/".to_owned(),
        "https://169.254.169.254/latest".to_owned(),
        "file:///etc/passwd".to_owned(),
        "javascript:alert(1)".to_owned(),
    ] {
        let failure = got(moved("302", &to)).await.unwrap_err();
        assert!(matches!(failure, Failure::Refused(Refusal::Elsewhere { .. })), "{to}: {failure}");
    }
    // A login of its own, at the same origin.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let ((), answer) = tokio::join!(
        async {
            let (mut stream, _) = listener.accept().await.unwrap();
            request(&mut stream).await;
            stream.write_all(&moved("302", &format!("http://a:b@{at}/"))).await.unwrap();
        },
        async {
            let url = Url::parse(&format!("http://{at}/")).unwrap();
            Fetcher::new(Gate::of(&url)).get(&url).await
        }
    );
    assert!(matches!(answer.unwrap_err(), Failure::Refused(Refusal::Login { .. })));
    assert!(trap.accept().is_err(), "somebody followed");
}

#[tokio::test]
async fn what_is_sent_is_sent_once() {
    let (url, asked) = server(vec![with("200 OK", b"{\"access_token\":\"t\"}"); 2]).await;
    let fetcher = Fetcher::new(Gate::of(&url));
    let mut headers = HeaderMap::new();
    headers.insert("Authorization", HeaderValue::from_static("Basic eA=="));
    let form = [("grant_type", "authorization_code".to_owned()), ("code", "a&b=c d/\u{e9}".to_owned())];
    let answer = fetcher.post_form(&url, headers, &form).await.unwrap();
    assert_eq!(answer.body, Some(json!({"access_token": "t"})));
    fetcher.post_json(&url, &json!({"client_name": "x"})).await.unwrap();
    let asked = asked.await.unwrap();
    let (head, body) = asked[0].split_once("\r\n\r\n").unwrap();
    let head = head.to_lowercase();
    for line in [
        "post /start http/1.1",
        "content-type: application/x-www-form-urlencoded",
        "accept: application/json",
        "authorization: basic ea==",
    ] {
        assert!(head.lines().any(|found| found == line), "{line} is missing: {head}");
    }
    assert_eq!(body, "grant_type=authorization_code&code=a%26b%3Dc+d%2F%C3%A9");
    let (head, body) = asked[1].split_once("\r\n\r\n").unwrap();
    assert!(head.to_lowercase().contains("content-type: application/json"), "{head}");
    assert_eq!(body, r#"{"client_name":"x"}"#);
}

#[tokio::test]
async fn what_is_sent_is_never_sent_on() {
    for status in ["300", "301", "302", "303", "304", "307", "308", "399"] {
        let (url, asked) = server(vec![moved(status, "/elsewhere?code=hunter2")]).await;
        let failure = Fetcher::new(Gate::of(&url))
            .post_form(&url, HeaderMap::new(), &[("code", "hunter2".to_owned())])
            .await
            .unwrap_err();
        assert!(matches!(failure, Failure::Redirected { .. }), "{status}: {failure}");
        assert!(!failure.to_string().contains("hunter2"));
        assert_eq!(asked.await.unwrap().len(), 1);
    }
    let (url, _asked) = server(vec![with("302 Found", b"")]).await;
    let failure = Fetcher::new(Gate::of(&url)).post_json(&url, &json!({})).await.unwrap_err();
    assert_eq!(failure.to_string(), format!("{url} redirects to nowhere"));
}

#[tokio::test]
async fn giant_bodies_are_cut_off() {
    let string = |length: usize| format!("\"{}\"", "a".repeat(length - 2)).into_bytes();
    let gzipped = |body: &[u8]| with("200 OK\r\nContent-Encoding: gzip", &gzip(body));
    assert!(got(with("200 OK", &string(LARGEST))).await.unwrap().body.is_some());
    assert!(got(gzipped(&string(LARGEST))).await.unwrap().body.is_some());
    let bomb = gzipped(&vec![b' '; 16 * LARGEST]);
    assert!(bomb.len() < LARGEST);
    for answer in [
        with("200 OK", &string(LARGEST + 1)),
        with("500 Internal Server Error", &string(LARGEST + 1)),
        gzipped(&string(LARGEST + 1)),
        bomb,
    ] {
        let failure = got(answer).await.unwrap_err();
        assert!(matches!(failure, Failure::TooLarge { .. }), "{failure}");
        assert!(failure.to_string().ends_with("/start is larger than 1048576 bytes"), "{failure}");
    }
}

#[tokio::test]
async fn an_endless_body_is_cut_off() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let fetcher = Fetcher::new(Gate::of(&url));
    let endless = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await.unwrap();
        let chunk = [b"1000\r\n".as_slice(), &[b' '; 4096], b"\r\n"].concat();
        while stream.write_all(&chunk).await.is_ok() {}
    };
    let (failure, ()) = tokio::join!(async { fetcher.get(&url).await.unwrap_err() }, endless);
    assert!(matches!(failure, Failure::TooLarge { .. }), "{failure}");
}

/// What comes of an answer that starts like this and never ends, with a clock that runs ahead from there on.
async fn slow(start: &'static [u8]) -> Failure {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let (tell, mut told) = oneshot::channel();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        request(&mut stream).await;
        stream.write_all(start).await.unwrap();
        tell.send(()).unwrap();
        // Until the other side gives up.
        drop(stream.read_u8().await);
    });
    let fetcher = Fetcher::new(Gate::of(&url));
    let mut fetch = Box::pin(fetcher.post_json(&url, &Value::Null));
    tokio::select! {
        told = &mut told => told.unwrap(),
        answer = &mut fetch => panic!("{answer:?}"),
    }
    tokio::time::pause();
    let failure = fetch.await.unwrap_err();
    tokio::time::resume();
    server.await.unwrap();
    failure
}

#[tokio::test]
async fn slow_servers_are_given_up() {
    for start in [b"".as_slice(), b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"] {
        let failure = slow(start).await;
        assert!(failure.to_string().ends_with("/: no whole answer within 30 s"), "{failure}");
        assert!(matches!(failure, Failure::Unreachable { may_have_left: true, .. }));
    }
}

#[tokio::test]
async fn broken_answers_may_have_been_acted_on() {
    for broken in [
        with("200 OK\r\nContent-Encoding: gzip", b"no gzip"),
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{".to_vec(),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_vec(),
        b"SSH-2.0-hunter2\r\n".to_vec(),
        Vec::new(),
    ] {
        let (url, _asked) = server(vec![broken]).await;
        let failure = Fetcher::new(Gate::of(&url)).post_json(&url, &json!({})).await.unwrap_err();
        assert!(matches!(failure, Failure::Unreachable { may_have_left: true, .. }), "{failure}");
        assert!(!failure.to_string().contains("hunter2"), "{failure}");
    }
}

#[tokio::test]
async fn what_nobody_listens_to_never_left() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/?key=hunter2", listener.local_addr().unwrap())).unwrap();
    drop(listener);
    let failure = Fetcher::new(Gate::of(&url)).post_json(&url, &json!({})).await.unwrap_err();
    assert!(matches!(failure, Failure::Unreachable { may_have_left: false, .. }), "{failure}");
    assert!(failure.to_string().contains("/?key=***: ") && !failure.to_string().contains("hunter2"));
}

#[tokio::test]
async fn the_gate_is_asked_before_anything_leaves() {
    let (trap, url) = trap();
    let fetcher = Fetcher::new(Gate::of(&Url::parse("https://mcp.example.com/mcp").unwrap()));
    let refused = Failure::Refused(Refusal::Loopback { url: url.to_string() });
    assert_eq!(fetcher.get(&url).await.unwrap_err(), refused);
    assert_eq!(fetcher.post_json(&url, &json!({})).await.unwrap_err(), refused);
    assert_eq!(fetcher.post_form(&url, HeaderMap::new(), &[]).await.unwrap_err(), refused);
    assert!(trap.accept().is_err(), "somebody came");
}

#[tokio::test]
async fn a_name_that_leads_to_this_machine_is_refused_when_it_is_looked_up() {
    let by_name = |url: &Url| Url::parse(&format!("http://localhost:{}/", url.port().unwrap())).unwrap();
    // As if the name had been harmless when it was checked.
    let (trap, url) = trap();
    let fetcher = Fetcher::new(Gate::of(&Url::parse("https://mcp.example.com/mcp").unwrap()));
    let failure =
        fetcher.dial(Method::GET, &by_name(&url), HeaderMap::new(), String::new()).await.unwrap_err();
    assert!(matches!(failure, Failure::Refused(Refusal::Loopback { .. })), "{failure}");
    assert!(failure.to_string().starts_with("localhost ("), "{failure}");
    assert!(trap.accept().is_err(), "somebody came");
    // A server of this machine may.
    let (url, asked) = server(vec![with("200 OK", b"{}")]).await;
    assert_eq!(Fetcher::new(Gate::of(&url)).get(&by_name(&url)).await.unwrap().status, 200);
    assert_eq!(asked.await.unwrap().len(), 1);
}
