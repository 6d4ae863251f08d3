//! What keys do, and who gets them.

use super::*;
use crate::shell::Next;
use switchboard::host::{Answer, Permit, Visited};

fn run_line(effects: &[Effect]) -> Option<&str> {
    effects.iter().find_map(|effect| match effect {
        Effect::Run(line) => Some(line.as_str()),
        _ => None,
    })
}

#[test]
fn a_line_is_run_remembered_and_found_again() {
    let mut world = World::new(80, 24);
    world.typed("one");
    let effects = world.key(KeyCode::Enter);
    assert_eq!(run_line(&effects), Some("one"));
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Remember(line) if line == "one")));
    world.play(Event::Done(Next::Go));
    world.typed("draft");
    world.key(KeyCode::Up);
    assert_eq!(world.model.editor.whole(), "one");
    world.key(KeyCode::Down);
    assert_eq!(world.model.editor.whole(), "draft");
    world.control('c');
    world.control('r');
    world.typed("n");
    assert!(world.text().contains("search `n`: one"), "{}", world.text());
    assert_eq!(run_line(&world.key(KeyCode::Enter)), Some("one"));
    assert!(world.key(KeyCode::Enter).is_empty(), "there is nothing to run");
}

#[test]
fn a_line_may_have_several_lines() {
    let mut world = World::new(80, 24);
    world.typed("one\\");
    assert!(world.key(KeyCode::Enter).is_empty());
    world.typed("two");
    world.play(Event::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT)));
    world.typed("three");
    world.play(Event::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::SHIFT)));
    assert_eq!(run_line(&world.key(KeyCode::Enter)), Some("one\ntwo\nthree\n"));
    assert!(world.text().contains("› one\n  two\n  three"), "{}", world.text());
}

#[test]
fn what_is_typed_meanwhile_waits_or_runs_next() {
    let mut world = World::new(80, 24);
    world.typed("slow");
    world.key(KeyCode::Enter);
    world.typed("later");
    assert!(world.play(Event::Done(Next::Go)).is_empty());
    assert_eq!(world.model.editor.whole(), "later");
    world.key(KeyCode::Enter);
    world.typed("next");
    assert!(run_line(&world.key(KeyCode::Enter)).is_none());
    assert!(world.text().contains("runs next"));
    assert_eq!(run_line(&world.play(Event::Done(Next::Go))), Some("next"));
    world.typed("no");
    world.key(KeyCode::Enter);
    world.typed("t yet");
    assert!(run_line(&world.play(Event::Done(Next::Go))).is_none(), "an edit takes it back");
    assert_eq!(world.model.editor.whole(), "not yet");
}

#[test]
fn ctrl_c_stops_one_thing_at_a_time() {
    let mut world = World::new(80, 24);
    world.typed("go");
    world.key(KeyCode::Enter);
    world.play(Event::Asked(1, small_call()));
    world.typed("");
    let is_cancel = |effects: Vec<Effect>| matches!(effects.as_slice(), [Effect::Cancel]);
    assert!(is_cancel(world.control('c')));
    let answered = answers(world.control('c'));
    assert!(matches!(answered.as_slice(), [(1, Reply::Permit(Permit::Deny { .. }))]), "{answered:?}");
    assert!(matches!(world.control('c').as_slice(), [Effect::Abandon]));
    world.play(Event::Done(Next::Go));
    world.typed("text");
    world.control('c');
    assert!(world.model.editor.is_empty());
    world.control('c');
    assert!(world.text().contains("Ctrl-D leaves"));
    assert!(matches!(world.control('d').as_slice(), [Effect::Leave]));
    world.typed("go");
    world.key(KeyCode::Enter);
    assert!(world.control('d').is_empty(), "not while something runs");
    assert!(is_cancel(world.key(KeyCode::Esc)));
    world.typed("ab");
    world.key(KeyCode::Home);
    world.control('d');
    assert_eq!(world.model.editor.whole(), "b");
    assert_eq!(world.control('l').len(), 0);
}

#[test]
fn each_answer_to_a_call() {
    let ask = |keys: &str, last: Option<KeyCode>| {
        let mut world = World::new(80, 24);
        world.play(Event::Asked(7, small_call()));
        let mut effects = world.typed(keys);
        effects.extend(last.into_iter().flat_map(|key| world.key(key)));
        assert!(world.model.dialogs.is_empty());
        match answers(effects).pop() {
            Some((7, Reply::Permit(permit))) => permit,
            other => panic!("{other:?}"),
        }
    };
    let deny = |reason: &str| Permit::Deny { reason: reason.to_owned() };
    assert_eq!(ask("y", None), Permit::Once);
    assert_eq!(ask("s", None), Permit::Session);
    assert_eq!(ask("a", None), Permit::Always);
    assert_eq!(ask("n", None), deny("the user said no"));
    assert_eq!(ask("", Some(KeyCode::Esc)), deny("the user said no"));
    assert_eq!(ask("rask Bob", Some(KeyCode::Enter)), deny("ask Bob"));
    assert_eq!(ask("r", Some(KeyCode::Enter)), deny("the user said no"));
}

#[test]
fn a_question_does_not_take_what_is_being_typed() {
    let mut world = World::new(80, 24);
    world.typed("I sa");
    world.play(Event::Asked(1, small_call()));
    assert!(world.typed("y").is_empty());
    assert_eq!((world.model.editor.whole().as_str(), world.model.dialogs.len()), ("I say", 1));
    assert_eq!(answers(world.after(900).typed("y")).len(), 1);
    assert_eq!(world.model.editor.whole(), "I say");
}

/// Some letters of a word are answers, and one of them is a yes for good.
#[test]
fn a_word_is_no_answer() {
    for (words, ask) in [("what", small_call()), ("/mcp test", small_call()), ("hey", sample())] {
        let mut world = World::new(80, 24);
        world.play(Event::Asked(1, ask));
        let effects: Vec<_> = words.chars().flat_map(|c| world.after(300).typed(&c.to_string())).collect();
        assert!(answers(effects).is_empty(), "{words}");
        assert_eq!((world.model.editor.whole().as_str(), world.model.dialogs.len()), (words, 1));
        assert_eq!(answers(world.after(900).typed("y")).len(), 1, "after a pause it is an answer again");
    }
}

#[test]
fn a_form_is_sent_when_it_is_right() {
    let mut world = World::new(80, 24);
    world.play(Event::Asked(1, form()));
    world.typed("Ada");
    for key in [KeyCode::Tab, KeyCode::Tab, KeyCode::Right, KeyCode::Right, KeyCode::Tab, KeyCode::Char(' ')]
    {
        world.key(key);
    }
    for _ in 0..4 {
        world.key(KeyCode::Enter);
    }
    let answered = answers(world.key(KeyCode::Enter));
    let [(1, Reply::Elicit(Answer::Accept(values)))] = answered.as_slice() else { panic!("{answered:?}") };
    let expected = json!({"name": "Ada", "size": "m", "days": ["mon", "tue"], "guests": 1, "lunch": true});
    assert_eq!(values.value(), expected);

    let end = |keys: &[KeyCode]| {
        let mut world = World::new(80, 24);
        world.play(Event::Asked(1, form()));
        answers(keys.iter().flat_map(|key| world.key(*key)).collect()).pop()
    };
    assert!(matches!(end(&[KeyCode::Esc]), Some((1, Reply::Elicit(Answer::Cancel)))));
    assert!(matches!(end(&[KeyCode::BackTab, KeyCode::Enter]), Some((1, Reply::Elicit(Answer::Decline)))));
    assert!(end(&[KeyCode::Up, KeyCode::Up, KeyCode::Enter]).is_none(), "values are missing");
}

#[test]
fn a_page_is_opened_only_after_a_yes() {
    let mut world = World::new(80, 24);
    world.play(Event::Asked(1, login()));
    let effects = world.typed("y");
    assert!(matches!(effects.as_slice(), [Effect::Open { ticket: 1, .. }]), "{effects:?}");
    world.play(Event::Opened { ticket: 1, url: String::new(), is_open: true });
    assert!(world.text().contains("come back from the browser"), "{}", world.text());
    world.play(Event::Paste("http://127.0.0.1:4444/callback?code=1&state=2".into()));
    assert!(answers(world.key(KeyCode::Enter)).is_empty(), "it is of another login");
    assert!(
        world.text().contains("That does not help: this address is from another login"),
        "{}",
        world.text()
    );
    let state = "x".repeat(90);
    world.play(Event::Paste(format!("http://127.0.0.1:4444/callback?code=1\n&state={state}")));
    let answered = answers(world.key(KeyCode::Enter));
    let [(1, Reply::Visit(Visited::Pasted(address)))] = answered.as_slice() else { panic!("{answered:?}") };
    assert_eq!(*address, format!("http://127.0.0.1:4444/callback?code=1&state={state}"));

    let wish = |url: &str, key: char| {
        let mut world = World::new(80, 24);
        world.play(Event::Asked(1, elicit(Wish::Visit { url: url.into() })));
        world.typed(&key.to_string())
    };
    let effects = wish("https://example.com/a", 'y');
    let [Effect::Open { url, .. }, Effect::Answer(1, Reply::Elicit(Answer::Accept(_)))] = effects.as_slice()
    else {
        panic!("{effects:?}")
    };
    assert_eq!(url, "https://example.com/a");
    assert!(matches!(wish("https://example.com/a", 'n').as_slice(), [Effect::Answer(..)]));
    assert!(wish("file:///etc/passwd", 'y').is_empty(), "no browser goes there");

    let mut world = World::new(80, 24);
    world.play(Event::Opened { ticket: 9, url: "https://example.com/a".into(), is_open: false });
    assert!(world.text().contains("Open this address: https://example.com/a"), "{}", world.text());
}

#[test]
fn a_flood_of_questions_is_refused() {
    let mut world = World::new(80, 24);
    let mut n_refused = 0;
    for ticket in 0..10_000 {
        n_refused += answers(world.play(Event::Asked(ticket, form()))).len();
    }
    assert_eq!((n_refused, world.model.dialogs.len()), (9_999, 1));
    assert_eq!(world.text().matches("asks too much").count(), 1, "{}", world.text());
    for ticket in 10_000..10_200 {
        n_refused += answers(world.play(Event::Asked(ticket, small_call()))).len();
    }
    assert_eq!(world.model.dialogs.len(), 100);
    world.play(Event::Withdrawn(0));
    assert_eq!(world.model.dialogs.len(), 99);
    assert!(n_refused > 9_999);
}

#[test]
fn completions_that_come_too_late_are_dropped() {
    let mut world = World::new(80, 24);
    world.typed("/m");
    let effects = world.key(KeyCode::Tab);
    assert!(matches!(effects.as_slice(), [Effect::Complete { ticket: 1, .. }]), "{effects:?}");
    world.typed("x");
    world.play(Event::Completed { ticket: 1, completion: completion(0, 2, &["/mcp"]) });
    assert_eq!(world.model.editor.whole(), "/mx");
    world.key(KeyCode::Backspace);
    world.key(KeyCode::Tab);
    world.play(Event::Completed { ticket: 2, completion: completion(0, 2, &["/mcp list", "/mcp logs"]) });
    assert_eq!(world.model.editor.whole(), "/mcp l", "what is common is typed");
    world.key(KeyCode::Tab);
    world.key(KeyCode::Enter);
    assert_eq!(world.model.editor.whole(), "/mcp logs");
    world.key(KeyCode::Tab);
    world.play(Event::Completed { ticket: 3, completion: completion(0, 500, &["x"]) });
    world.play(Event::Completed { ticket: 3, completion: completion(9, 9, &[]) });
    assert!(world.text().contains("nothing fits"), "{}", world.text());
}

#[test]
fn ten_thousand_lines_are_one_mark_until_they_are_sent() {
    let mut world = World::new(80, 24);
    let pasted = (0..10_000).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
    world.typed("see ");
    world.play(Event::Paste(pasted.clone()));
    assert!(world.text().contains("› see [pasted 10000 lines]"), "{}", world.text());
    assert_eq!(run_line(&world.key(KeyCode::Enter)), Some(format!("see {pasted}").as_str()));
    world.check();
}

#[test]
fn rows_that_a_narrower_terminal_broke_are_taken_away() {
    // A terminal that breaks long rows when it gets narrower, as most do.
    let mut world = World::new(40, 12);
    world.play(Event::Print("above".into()));
    world.typed(&"x".repeat(70));
    let frame = view(&world.model);
    let columns = |row: &String| row.trim_end().chars().count().max(1);
    let broken: usize = meant(&frame, 40).iter().map(|row| columns(row).div_ceil(20)).sum();
    let mut parser = vt100::Parser::new(some(12), some(20), 100);
    parser.process(b"above\r\n");
    let rows: Vec<String> = meant(&frame, 40).iter().map(|row| row.trim_end().to_owned()).collect();
    parser.process(rows.join("\r\n").as_bytes());
    assert_eq!(usize::from(parser.screen().cursor_position().0), broken);
    // The cursor is at the end of the line, above the two rows of the status.
    parser.process(b"\x1b[2A");
    world.live.resize(Size { width: 20, height: 12 });
    world.model.size = Size { width: 20, height: 12 };
    world.live.draw(&view(&world.model)).unwrap();
    parser.process(&world.live.written());
    let text = parser.screen().contents();
    assert!(text.starts_with("above\n› xxxxxxxxxxxxxxxxxx\n") && text.matches('›').count() == 1, "{text}");
}
