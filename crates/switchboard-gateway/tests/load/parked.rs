//! Calls that wait for an answer of their client, many at once: every question and every answer where it belongs.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use testkit::{Fake, eventually_blocking};

use crate::chance::{Chance, seed};
use crate::client::{Line, Pipe, Reply, ask, modern, modern_headers, request};
use crate::world::World;

const CLIENTS: usize = 24;
const CALLS: usize = 12;
const TOOL: &str = "mcp_asker_ask";

fn question(word: &str) -> Value {
    json!({"name": TOOL, "arguments": {"message": word}})
}

/// The handle of a call that waits, after a look at the question.
fn handle(result: &Value, word: &str) -> String {
    assert_eq!(result["resultType"], "input_required", "{word}: {result}");
    let asked: Vec<_> = result["inputRequests"].as_object().unwrap().values().collect();
    let words: Vec<_> = asked.iter().map(|asked| asked["params"]["message"].as_str().unwrap()).collect();
    assert_eq!(words, [word], "the question of somebody else");
    result["requestState"].as_str().unwrap().to_owned()
}

/// The call again, with the answer.
fn answered(word: &str, handle: &str) -> Value {
    let answer = json!({"q1": {"action": "accept", "content": {"name": word}}});
    let mut params = question(word);
    params["inputResponses"] = answer;
    params["requestState"] = json!(handle);
    params
}

fn is_own(reply: &Reply, word: &str) -> bool {
    let answer = reply.answer().unwrap();
    let text = answer["result"]["content"][0]["text"].as_str();
    text.is_some_and(|text| text.contains(&format!("\"name\":\"{word}\"")))
}

/// What one client does with its calls. Gives the words it answered.
fn visit(address: std::net::SocketAddr, who: usize, chance: &mut Chance) -> Vec<String> {
    let mut line = Line::open(address);
    let mut done = Vec::new();
    for id in 1..=CALLS {
        let word = format!("{who}-{id}");
        let reply = ask(&mut line, id, ("tools/call", TOOL), question(&word));
        let handle = handle(&reply.answer().unwrap()["result"], &word);
        let body = request(id, "tools/call", &modern(answered(&word, &handle)));
        let headers = modern_headers("tools/call", TOOL);
        match chance.below(4) {
            // Never heard of again.
            0 => {}
            // Gone before the result is there.
            1 => {
                line.send("POST", &headers, &body).unwrap();
                line.renew();
            }
            // Twice at once: the handle is good for one of them.
            2 => {
                let mut other = Line::open(address);
                line.send("POST", &headers, &body).unwrap();
                let second = other.ask("POST", &headers, &body);
                let replies = [line.receive().unwrap(), second];
                let own = replies.iter().filter(|reply| is_own(reply, &word)).count();
                let refused =
                    replies.iter().filter(|reply| reply.answer().unwrap().get("error").is_some()).count();
                assert_eq!((own, refused), (1, 1), "{word}: {replies:?}");
                done.push(word);
            }
            _ => {
                let reply = line.ask("POST", &headers, &body);
                assert!(is_own(&reply, &word), "{word}: {reply:?}");
                done.push(word);
            }
        }
    }
    done
}

#[test]
fn questions_and_answers_of_many_never_cross() {
    let seed = seed();
    // The stream of a call tells what a question is about.
    let asker = Fake::http(json!({"session": true}));
    let mut world = World::new();
    world.http("asker", asker.url());
    let served = world.serve();
    let visitors: Vec<_> = (0..CLIENTS)
        .map(|who| {
            let address = served.address;
            std::thread::spawn(move || visit(address, who, &mut Chance::new(seed, who)))
        })
        .collect();
    let done: Vec<String> = visitors
        .into_iter()
        .flat_map(|visitor| visitor.join().unwrap_or_else(|_| panic!("seed {seed}")))
        .collect();
    // Each call once, and each answer at most once: asking again does not call again.
    let log = asker.log();
    let calls = log.iter().filter(|line| line["message"]["method"] == "tools/call").count();
    assert_eq!(calls, CLIENTS * CALLS, "seed {seed}");
    let mut heard = BTreeSet::new();
    for line in &log {
        if let Some(word) = line["message"]["result"]["content"]["name"].as_str() {
            assert!(heard.insert(word.to_owned()), "seed {seed}: {word} was answered twice");
        }
    }
    assert!(done.iter().all(|word| heard.contains(word)), "seed {seed}");
    served.stop();
}

#[test]
fn a_call_whose_client_left_while_it_waited_is_taken_back() {
    let asker = Fake::http(json!({"session": true}));
    let mut world = World::new();
    world.http("asker", asker.url());
    let served = world.serve();
    let [mut one, mut other] = [(); 2].map(|()| Pipe::open(served.pipe()));
    let ask_at = |pipe: &mut Pipe, id: usize, params: Value| {
        pipe.send(&request(id, "tools/call", &modern(params)));
        loop {
            let message = pipe.receive();
            if message["id"] == id {
                return message;
            }
        }
    };
    let parked = ask_at(&mut one, 1, question("one"));
    let theirs = handle(&parked["result"], "one");
    // Somebody else cannot go on with it, even who knows the handle.
    let refused = ask_at(&mut other, 1, answered("one", &theirs));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let kept = handle(&ask_at(&mut other, 2, question("other"))["result"], "other");
    drop(one);
    let cancelled =
        || asker.log().iter().filter(|line| line["message"]["method"] == "notifications/cancelled").count();
    eventually_blocking("the call is taken back", cancelled, |n| *n == 1);
    let done = ask_at(&mut other, 3, answered("other", &kept));
    assert!(done["result"]["content"][0]["text"].as_str().unwrap().contains("other"), "{done}");
    drop(other);
    served.stop();
}
