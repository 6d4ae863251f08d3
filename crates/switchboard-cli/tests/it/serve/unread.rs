//! Hosts that never read what the gateway says on standard error.

use std::io::{PipeReader, PipeWriter, Read, Write};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use serde_json::json;
use testkit::{Fake, Mark};

use super::{Pipe, world};

/// A pipe that takes nothing more until somebody reads.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (unread, mut full) = std::io::pipe().unwrap();
    let flags = fcntl_getfl(&full).unwrap();
    fcntl_setfl(&full, flags | OFlags::NONBLOCK).unwrap();
    while full.write_all(&[b'\n'; 512]).is_ok() {}
    fcntl_setfl(&full, flags).unwrap();
    (unread, full)
}

/// Has something to say before it serves and meanwhile, answers all the same, and is told to end. Gives what somebody who
/// begins to read then gets to see, if somebody does.
fn serve(is_read: bool) -> Option<String> {
    let (dead, fake) = (Fake::script(json!({"start": [{"exit": 1}]})), Fake::script(json!({})));
    let sandbox = world(&[("dead", &dead), ("fake", &fake)], &Mark::new());
    sandbox.write(".mcp.json", "{\n  torn");
    let (mut unread, full) = full_pipe();
    let mut pipe = Pipe::telling(&sandbox, &["--no-watch"], full);
    pipe.greet();
    pipe.result(1, "tools/list", json!({}));
    let echo = json!({"name": "mcp_fake_echo", "arguments": {"text": "still here"}});
    let result = pipe.result(2, "tools/call", echo);
    assert_eq!(result["content"][0]["text"], "still here");
    if !is_read {
        assert_eq!(pipe.close().0, Some(0));
        return None;
    }
    let reader = std::thread::spawn(move || {
        let mut said = String::new();
        unread.read_to_string(&mut said).unwrap();
        said
    });
    assert_eq!(pipe.close().0, Some(0));
    Some(reader.join().unwrap())
}

#[test]
fn nobody_has_to_read_what_it_says() {
    serve(false);
}

#[test]
fn what_nobody_read_so_far_is_still_said() {
    let said = serve(true).unwrap();
    assert!(said.trim_start().starts_with("error: ") && said.contains("[syntax-error]"), "{said}");
}
