//! What is seen, at the usual sizes and at one that is far too small.

use super::*;

const SIZES: [(u16, u16); 3] = [(80, 24), (140, 50), (20, 5)];

/// Plays a scene at every size.
fn scene(name: &str, play: impl Fn(&mut World)) {
    for (width, height) in SIZES {
        let mut world = World::new(width, height);
        world.play(Event::Stands(standing()));
        play(&mut world);
        world.check();
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), world.text());
    }
}

#[test]
fn a_start_with_slow_failing_and_login_needing_servers() {
    scene("start", |world| {
        world.play(Event::Footer(Some("opus · 12% of context".into())));
        world.typed("/to");
    });
}

#[test]
fn the_approval_of_a_call() {
    scene("approval", |world| {
        world.typed("fix it");
        world.key(KeyCode::Enter);
        world.play(Event::Working(Some("calling create_issue".into())));
        world.play(Event::Asked(1, small_call()));
        world.play(Event::Asked(2, small_call()));
        world.after(3200);
    });
    scene("approval_changed", |world| {
        let body: Vec<String> = (0..60).map(|n| format!("line {n}")).collect();
        world.play(Event::Asked(1, call(json!({"body": body}), Why::Changed)));
        world.key(KeyCode::PageDown);
        world.typed("r");
        world.typed("not on a Friday");
    });
}

#[test]
fn a_list_of_tools() {
    scene("tools", |world| {
        let rows: Vec<String> =
            (1..=30).map(|n| format!("\x1b[1mmcp_files_tool_{n}\x1b[0m  files  does {n}")).collect();
        world.play(Event::Print(rows.join("\n")));
        world.typed("next");
    });
}

#[test]
fn a_menu() {
    scene("menu", |world| {
        world.typed("/mcp l");
        world.key(KeyCode::Tab);
        let names = ["list", "logs", "later", "lots", "loud", "low", "lively", "lucky", "last", "least"];
        world.play(Event::Completed { ticket: 1, completion: completion(5, 6, &names) });
        world.key(KeyCode::Tab);
    });
}

#[test]
fn a_form() {
    scene("form", |world| {
        world.play(Event::Asked(1, form()));
        world.typed("A");
    });
    scene("form_tried", |world| {
        world.play(Event::Asked(1, form()));
        world.typed("Ada");
        world.key(KeyCode::Up);
        world.key(KeyCode::Up);
        world.key(KeyCode::Up);
        world.typed("hunter2");
        world.key(KeyCode::Tab);
        world.key(KeyCode::Enter);
    });
}

#[test]
fn pages_and_requests_to_the_model() {
    scene("login", |world| {
        world.play(Event::Asked(1, login()));
    });
    scene("page", |world| {
        let url = "https://user:pw@xn--exmple-cua.com/pay?x=\u{202e}1".to_owned();
        world.play(Event::Asked(1, elicit(Wish::Visit { url })));
    });
    scene("sample", |world| {
        world.play(Event::Asked(1, sample()));
    });
}

#[test]
fn running_text_and_a_long_line() {
    scene("running", |world| {
        world.typed("tell me\\");
        world.key(KeyCode::Enter);
        world.typed("a story");
        world.key(KeyCode::Enter);
        world.play(Event::Stream("# Once\n\nThere was a **bold** `fox` that ".into()));
        world.play(Event::Stream(
            "jumped over a rather lazy dog, again and again, until the line was full".into(),
        ));
        world.typed("and then?");
        world.after(12_300);
    });
}

#[test]
fn without_colour_and_without_utf8() {
    let look = Look { is_coloured: false, marks: Marks::Ascii };
    let mut world = World::looking(80, 24, look);
    world.play(Event::Stands(standing()));
    world.play(Event::Print("\x1b[31mred\x1b[0m".into()));
    world.typed("hi");
    world.key(KeyCode::Enter);
    world.play(Event::Stream("- one\n".into()));
    world.check();
    insta::assert_snapshot!(world.text());
    let formatted = world.parser.screen().contents_formatted();
    assert!(!formatted.contains("\x1b[31m") && !formatted.contains("\x1b[1m"), "{formatted:?}");
}
