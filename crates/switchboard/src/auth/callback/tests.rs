//! The door against browsers, strangers and those who stay too long, over real sockets.

use std::net::SocketAddr;

use super::*;

const STATE: &str = "the-state";
const GOOD: &str = "GET /callback?code=abc&state=the-state HTTP/1.1\r\nHost: @HOST\r\n\r\n";

fn wish(ports: &[u16], host: Host) -> Wish {
    Wish { ports: ports.to_vec(), path: "/callback".to_owned(), host }
}

fn door() -> Callback {
    Callback::bind(&wish(&[0], Host::Ipv4)).unwrap()
}

fn abc() -> Returned {
    Returned { code: Some("abc".to_owned()), error: None, iss: None }
}

/// Says something to a port and takes all of the answer.
async fn say(address: SocketAddr, what: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let what = what.replace("@HOST", &format!("127.0.0.1:{}", address.port()));
    // Whoever is hung up on may still be talking.
    let _hung_up = stream.write_all(what.as_bytes()).await;
    let mut answer = Vec::new();
    let _hung_up = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

fn of(callback: &Callback) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, callback.port()).into()
}

/// The answer for somebody who is not waited for.
async fn stranger(callback: &mut Callback, what: &str) -> String {
    let address = of(callback);
    tokio::select! {
        returned = callback.wait(STATE) => panic!("{returned:?} for {what:?}"),
        answer = say(address, what) => answer,
    }
}

/// The browser comes back as it should.
async fn browser(callback: &mut Callback) -> String {
    let address = of(callback);
    let (returned, answer) = tokio::join!(callback.wait(STATE), say(address, GOOD));
    assert_eq!(returned, abc());
    assert!(answer.contains("You are logged in to Switchboard."), "{answer}");
    answer
}

#[tokio::test]
async fn the_browser_comes_back() {
    let mut callback = door();
    assert_eq!(callback.redirect(), format!("http://127.0.0.1:{}/callback", callback.port()));
    let answer = browser(&mut callback).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"));
    for line in [
        "Connection: close".to_owned(),
        "Cache-Control: no-store".to_owned(),
        "Content-Type: text/html; charset=utf-8".to_owned(),
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'".to_owned(),
        format!("Content-Length: {}", body.len()),
    ] {
        assert!(head.lines().any(|there| there == line), "{line}");
    }
    assert!(!body.contains("<script") && !body.contains("http"));
}

#[tokio::test]
async fn the_page_says_whether_it_worked() {
    let check = async |query: &str, expected: &str| {
        let mut callback = door();
        let address = of(&callback);
        let what = format!("GET /callback?state=the-state&{query} HTTP/1.1\r\nHost: @HOST\r\n\r\n");
        let (_, answer) = tokio::join!(callback.wait(STATE), say(address, &what));
        assert!(answer.contains(expected), "{query}");
    };
    check("code=1", "You can close this window.").await;
    check("error=access_denied", "The login did not work.").await;
    check("error=access_denied&code=1", "The login did not work.").await;
    check("iss=x", "it says why.").await;
    check(&format!("code={}", "x".repeat(5000)), "The login did not work.").await;
}

#[tokio::test]
async fn strangers_change_nothing_and_see_nothing_of_what_they_said() {
    let mut callback = door();
    let long = format!("GET /callback?canary={} HTTP/1.1\r\n", "x".repeat(40_000));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "canary: canary\r\n".repeat(3000));
    let body = format!(
        "POST /callback HTTP/1.1\r\nHost: @HOST\r\nContent-Length: 20000\r\n\r\n{}",
        "canary".repeat(3000)
    );
    let cases = [
        ("GET /callback?code=canary&state=canary HTTP/1.1\r\nHost: @HOST\r\n\r\n", "400"),
        ("GET /callback?code=canary HTTP/1.1\r\nHost: @HOST\r\n\r\n", "400"),
        ("GET /callback?error=canary&state=x HTTP/1.1\r\nHost: @HOST\r\n\r\n", "400"),
        ("GET /callback?code=1&state=the-state&code=2 HTTP/1.1\r\nHost: @HOST\r\n\r\n", "400"),
        ("GET /callback?code=abc&state=the-state HTTP/1.1\r\nHost: canary.example\r\n\r\n", "400"),
        ("GET /callback?code=abc&state=the-state HTTP/1.1\r\n\r\n", "400"),
        ("GET /favicon.ico HTTP/1.1\r\nHost: @HOST\r\n\r\n", "404"),
        ("GET /<script>canary HTTP/1.1\r\nHost: @HOST\r\n\r\n", "404"),
        ("POST /callback?code=abc&state=the-state HTTP/1.1\r\nHost: @HOST\r\n\r\n", "405"),
        ("OPTIONS /callback HTTP/1.1\r\nHost: @HOST\r\nOrigin: http://canary\r\n\r\n", "405"),
        ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}canary\r\n\r\n", "400"),
        ("canary\r\n\r\n", "400"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400"),
        (&long, "400"),
        (&many, "400"),
        (&body, "405"),
    ];
    for (what, status) in cases {
        let answer = stranger(&mut callback, what).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{what}: {answer}");
        assert!(!answer.contains("canary"), "{what}");
        assert!(answer.contains("\r\nConnection: close\r\n") && !answer.contains("Access-Control"));
    }
    let head =
        stranger(&mut callback, "HEAD /callback?code=abc&state=the-state HTTP/1.1\r\nHost: @HOST\r\n\r\n")
            .await;
    assert!(head.starts_with("HTTP/1.1 405 ") && head.ends_with("\r\n\r\n"), "{head}");
    assert!(head.contains("\r\nAllow: GET\r\n"));
    browser(&mut callback).await;
}

#[tokio::test]
async fn a_thousand_guesses_do_not_end_the_wait() {
    let mut callback = door();
    for n in 0..1000 {
        let what = format!("GET /callback?code=1&state={n} HTTP/1.1\r\nHost: @HOST\r\n\r\n");
        assert!(stranger(&mut callback, &what).await.starts_with("HTTP/1.1 400 "));
    }
    browser(&mut callback).await;
}

#[tokio::test]
async fn an_old_client_and_one_that_says_more_are_understood() {
    let mut callback = door();
    let address = of(&callback);
    let old = "GET /callback?code=abc&state=the-state HTTP/1.0\r\nHost: @HOST\r\n\r\n";
    let (returned, answer) = tokio::join!(callback.wait(STATE), say(address, old));
    assert_eq!(returned, abc());
    assert!(answer.contains("You are logged in"));
    // Only the first of several in one go counts.
    let twice = GOOD.replace(STATE, "second") + &GOOD.replace("abc", "other").replace(STATE, "second");
    let (returned, _) = tokio::join!(callback.wait("second"), say(address, &twice));
    assert_eq!(returned, abc());
}

#[tokio::test]
async fn a_browser_may_bring_many_cookies() {
    let mut callback = door();
    let address = of(&callback);
    let what = GOOD.replace("\r\n\r\n", &format!("\r\nCookie: {}\r\n\r\n", "x".repeat(20_000)));
    let (returned, _) = tokio::join!(callback.wait(STATE), say(address, &what));
    assert_eq!(returned, abc());
}

#[tokio::test]
async fn a_state_counts_once() {
    let mut callback = door();
    let address = of(&callback);
    browser(&mut callback).await;
    let again = callback.during(say(address, GOOD)).await;
    assert!(again.contains("This login is already done."), "{again}");
    // Also while the next one is waited for.
    let old = GOOD.to_owned();
    let new = GOOD.replace(STATE, "second");
    let talk = async {
        let again = say(address, &old).await;
        assert!(again.contains("This login is already done."), "{again}");
        say(address, &new).await
    };
    let (returned, _) = tokio::join!(callback.wait("second"), talk);
    assert_eq!(returned, abc());
}

#[tokio::test]
async fn two_at_the_same_time_are_one_login() {
    let mut callback = door();
    let address = of(&callback);
    let serve = async {
        let returned = callback.wait(STATE).await;
        let (one, two) =
            callback.during(async { tokio::join!(say(address, GOOD), say(address, GOOD)) }).await;
        (returned, one, two)
    };
    let ((returned, one, two), first) = tokio::join!(serve, say(address, GOOD));
    assert_eq!(returned, abc());
    let n_in = [one, two, first].iter().filter(|answer| answer.contains("You are logged in")).count();
    assert_eq!(n_in, 1);
}

#[tokio::test]
async fn whoever_comes_after_a_pasted_address_is_told_so() {
    let mut callback = door();
    let address = of(&callback);
    // The wait is given up, because the address was pasted meanwhile.
    assert!(stranger(&mut callback, "x\r\n\r\n").await.starts_with("HTTP/1.1 400 "));
    let late = callback.during(say(address, GOOD)).await;
    assert!(late.contains("This login is already done."), "{late}");
}

// The clock is one that runs ahead when nothing else happens.
#[tokio::test(start_paused = true)]
async fn half_a_request_is_not_waited_for() {
    let mut callback = door();
    for half in
        ["", "G", "GET /callback?code=abc&state=the-state HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: @HOST\r\n"]
    {
        let answer = stranger(&mut callback, half).await;
        assert!(answer.starts_with("HTTP/1.1 408 "), "{half}: {answer}");
    }
    // One that hangs up in the middle is not answered, and not missed.
    let hang_up = async |address: SocketAddr| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /callback").await.unwrap();
    };
    hang_up(of(&callback)).await;
    browser(&mut callback).await;
}

#[tokio::test(start_paused = true)]
async fn a_request_may_come_in_pieces() {
    let mut callback = door();
    let address = of(&callback);
    let talk = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let what = GOOD.replace("@HOST", &format!("127.0.0.1:{}", address.port()));
        for byte in what.as_bytes() {
            stream.write_all(&[*byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    let (returned, answer) = tokio::join!(callback.wait(STATE), talk);
    assert_eq!(returned, abc());
    assert!(answer.contains("You are logged in"));
}

#[tokio::test(start_paused = true)]
async fn a_hundred_that_say_nothing_do_not_keep_the_browser_out() {
    let mut callback = door();
    let address = of(&callback);
    let mut idle = Vec::new();
    for _ in 0..100 {
        idle.push(TcpStream::connect(address).await.unwrap());
    }
    let (returned, _) = tokio::join!(callback.wait(STATE), say(address, GOOD));
    assert_eq!(returned, abc());
    assert!(callback.connections.len() <= MOST_CONNECTIONS);
    drop(idle);
}

#[tokio::test]
async fn no_more_than_eight_are_served_at_once() {
    let mut callback = door();
    let address = of(&callback);
    let mut idle = Vec::new();
    for _ in 0..20 {
        idle.push(TcpStream::connect(address).await.unwrap());
    }
    // Once the last of those let in is answered, so many are inside.
    let mut first = idle.remove(0);
    let talk = async {
        first.write_all(b"x\r\n\r\n").await.unwrap();
        first.read_u8().await.unwrap()
    };
    tokio::select! {
        returned = callback.wait(STATE) => panic!("{returned:?}"),
        byte = talk => assert_eq!(byte, b'H'),
    }
    assert_eq!(callback.connections.len(), MOST_CONNECTIONS);
}

#[tokio::test]
async fn nothing_stays_open() {
    let mut callback = door();
    let address = of(&callback);
    let mut inside = TcpStream::connect(address).await.unwrap();
    browser(&mut callback).await;
    let mut late = TcpStream::connect(address).await.unwrap();
    drop(callback);
    assert!(TcpStream::connect(address).await.is_err());
    for stream in [&mut inside, &mut late] {
        let mut rest = Vec::new();
        let _reset = stream.read_to_end(&mut rest).await;
        assert_eq!(rest, b"");
    }
}

#[tokio::test]
async fn localhost_is_both_families() {
    let mut callback = Callback::bind(&wish(&[0], Host::Localhost)).unwrap();
    let port = callback.port();
    assert_eq!(callback.redirect(), format!("http://localhost:{port}/callback"));
    if callback.listeners.len() == 1 {
        // This machine has no IPv6.
        assert!(std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err());
        return;
    }
    let addresses: [SocketAddr; 2] = [(Ipv6Addr::LOCALHOST, port).into(), (Ipv4Addr::LOCALHOST, port).into()];
    for (n, address) in addresses.into_iter().enumerate() {
        for host in ["localhost", "LocalHost", "[::1]", "127.0.0.1"] {
            let state = format!("{n}-{host}");
            let what = GOOD.replace("@HOST", &format!("{host}:{port}")).replace(STATE, &state);
            let (returned, _) = tokio::join!(callback.wait(&state), say(address, &what));
            assert_eq!(returned, abc());
        }
    }
    drop(callback);
    for address in addresses {
        assert!(TcpStream::connect(address).await.is_err());
    }
}

#[tokio::test]
async fn what_passes_requests_on_has_a_name_of_its_own() {
    let mut callback = Callback::bind(&wish(&[0], Host::Behind("front.example".to_owned()))).unwrap();
    let address = of(&callback);
    let other = GOOD.replace("@HOST", "other.example");
    assert!(stranger(&mut callback, &other).await.starts_with("HTTP/1.1 400 "));
    let what = GOOD.replace("@HOST", "front.example");
    let (returned, _) = tokio::join!(callback.wait(STATE), say(address, &what));
    assert_eq!(returned, abc());
}

#[tokio::test]
async fn ports_are_tried_in_order() {
    let taken = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let busy = taken.local_addr().unwrap().port();
    let first = Callback::bind(&wish(&[busy, 0], Host::Ipv4)).unwrap();
    let free = first.port();
    assert_ne!(free, busy);
    drop(first);
    // The same port again, as a registration may want it.
    assert_eq!(Callback::bind(&wish(&[busy, free, 0], Host::Ipv4)).unwrap().port(), free);
    let error = Callback::bind(&wish(&[busy], Host::Ipv4)).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with(&format!("cannot wait for the browser on port {busy}: ")), "{text}");
    assert_ne!(Callback::bind(&wish(&[], Host::Localhost)).unwrap().port(), 0);
}

#[tokio::test]
async fn a_port_that_somebody_has_in_the_other_family_is_not_ours() {
    let Ok(taken) = std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else { return };
    let port = taken.local_addr().unwrap().port();
    let error = Callback::bind(&wish(&[port], Host::Localhost)).unwrap_err();
    assert_eq!(error.source.kind(), io::ErrorKind::AddrInUse);
    assert_ne!(Callback::bind(&wish(&[port, 0], Host::Localhost)).unwrap().port(), port);
}
