//! The end in the middle of everything: whoever is being answered gets the answer, everybody else finds the door shut.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use testkit::{Fake, Mark, PATIENCE};

use super::http::{Answer, Site, greeting, receive, request};
use super::{modern, world};

const CLIENTS: usize = 12;
/// Answers of all clients together before it ends.
const ANSWERS: usize = 60;

/// Sends a request on a connection of its own. Nothing if nobody takes it any more.
fn ask(address: SocketAddr, headers: &str, body: &Value) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let body = body.to_string();
    let text = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         {headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(text.as_bytes()).ok()?;
    receive(stream)
}

/// Calls until the door is shut. Gives the number of answers.
fn visit(address: SocketAddr, who: usize, session: Option<&str>, n_answers: &AtomicUsize) -> usize {
    for id in 1.. {
        let word = format!("{who}-{id}");
        let params = json!({"name": "mcp_late_echo", "arguments": {"text": word}});
        let (headers, params) = if let Some(session) = session {
            (format!("Mcp-Session-Id: {session}\r\n"), params)
        } else {
            let headers =
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: mcp_late_echo\r\n";
            (headers.to_owned(), modern(params))
        };
        let Some(answer) = ask(address, &headers, &request(id, "tools/call", &params)) else {
            return usize::try_from(id).unwrap() - 1;
        };
        assert_eq!(answer.status, 200, "{word}: {answer:?}");
        assert_eq!(answer.message()["result"]["content"][0]["text"], word.as_str());
        n_answers.fetch_add(1, Ordering::Relaxed);
    }
    unreachable!()
}

#[test]
fn the_end_under_load_cuts_nobody_short() {
    let script = Fake::script(json!({"on": {"tools/call": [{"sleep_ms": 120}, {"default": true}]}}));
    let mark = Mark::new();
    let sandbox = world(&[("late", &script)], &mark);
    let site = Site::open(&sandbox, &[]);
    let n_answers = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|who| {
            let greeted = (who % 2 == 0).then(|| site.post(None, &greeting()));
            let session = greeted.map(|greeted| greeted.header("mcp-session-id").unwrap().to_owned());
            let (address, n_answers) = (site.address, Arc::clone(&n_answers));
            std::thread::spawn(move || visit(address, who, session.as_deref(), &n_answers))
        })
        .collect();
    while n_answers.load(Ordering::Relaxed) < ANSWERS {
        assert!(clients.iter().all(|client| !client.is_finished()), "somebody was turned away");
        std::thread::yield_now();
    }
    site.terminate();
    let n_seen: usize = clients.into_iter().map(|client| client.join().unwrap()).sum();
    assert_eq!(site.end(), (Some(0), String::new()));
    assert!(mark.alive().is_empty(), "a server is left behind");
    // What reached the server was answered: nobody was cut short in the middle.
    let n_heard = script.methods().iter().filter(|method| *method == "tools/call").count();
    assert_eq!(n_heard, n_seen);
}
