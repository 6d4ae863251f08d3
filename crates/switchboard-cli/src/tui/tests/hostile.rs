//! What strangers write reaches the terminal as text, wherever it is shown.

use proptest::prelude::*;

use super::*;

/// Bytes a terminal may act on, among others.
fn hostile() -> impl Strategy<Value = String> {
    let evil = prop::sample::select(vec![
        "\u{1b}",
        "\u{1b}[",
        "\u{1b}]0;title\u{7}",
        "\u{1b}]52;c;aGk=\u{7}",
        "\u{1b}[?1049h",
        "\u{1b}[?25l",
        "\u{1b}[2J",
        "\u{1b}[H",
        "\u{1b}P+q\u{1b}\\",
        "\u{1b}c",
        "\u{9b}2J",
        "\u{9d}0;x\u{9c}",
        "\u{8}",
        "\u{7}",
        "\u{b}",
        "\u{c}",
        "\u{e}",
        "\r",
        "\n",
        "\t",
        "\u{7f}",
        "\u{202e}",
        "\u{200b}",
        "\u{feff}",
        "\u{e0041}",
        "\u{1b}]8;;https://x\u{1b}\\",
        "\u{1b}[31m",
        "\u{1b}[8m",
        "m",
        "5",
        ";",
        "?",
        "\u{85}",
        "日",
    ]);
    // The terminal we test with leaves out the replacement character.
    let any = any::<char>().prop_filter("shown", |c| *c != '\u{fffd}').prop_map(|c| c.to_string());
    prop::collection::vec(prop_oneof![3 => evil.prop_map(str::to_owned), 1 => any], 1..20)
        .prop_map(|pieces| pieces.concat())
}

/// Shows the text everywhere a stranger's text can stand.
fn show_everywhere(text: &str) -> World {
    let mut world = World::new(60, 16);
    let reason = Reason { message: text.to_owned(), hint: Some(text.to_owned()) };
    let servers = vec![(text.to_owned(), Stand::Failed(reason)), (format!("{text}2"), Stand::Connecting)];
    world.play(Event::Stands(Standing { servers, n_untrusted: 0 }));
    world.play(Event::ToolsChanged(text.to_owned()));
    world.play(Event::Footer(Some(text.to_owned())));
    world.play(Event::Print(text.to_owned()));
    world.typed("go");
    world.key(KeyCode::Enter);
    world.play(Event::Stream(text.to_owned()));
    world.play(Event::Working(Some(text.to_owned())));
    world.check();
    let asks = [
        Ask::Permit(Permission {
            name: text.into(),
            server: text.into(),
            tool: text.into(),
            description: Some(text.into()),
            arguments: json!({text: text}).into(),
            annotations: Some(json!({"title": text}).into()),
            why: Why::Changed,
        }),
        Ask::Elicit(Elicitation {
            server: text.into(),
            message: text.into(),
            wish: Wish::Form {
                schema: json!({"properties": {text: {"type": "string", "title": text, "description": text,
                    "format": text, "default": text}, "e": {"enum": [text]}}})
                .into(),
            },
        }),
        Ask::Elicit(Elicitation {
            server: text.into(),
            message: text.into(),
            wish: Wish::Visit { url: format!("https://{text}") },
        }),
        Ask::Sample { server: text.into(), params: json!([text]).into() },
        Ask::Visit(Page {
            server: text.into(),
            issuer: text.into(),
            url: format!("https://example.com/{text}"),
            redirect: text.into(),
            scopes: Vec::new(),
            new_scopes: vec![text.into()],
        }),
    ];
    for (ticket, ask) in (1..).zip(asks) {
        world.play(Event::Asked(ticket, ask));
        world.check();
        world.play(Event::Withdrawn(ticket));
    }
    world.play(Event::Paste(text.to_owned()));
    world.check();
    let names = [text, "x"];
    world.key(KeyCode::Tab);
    let ticket = world.model.asked_completions;
    world.play(Event::Completed { ticket, completion: completion(0, 0, &names) });
    world.check();
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_a_stranger_writes_does_anything(text in hostile()) {
        let world = show_everywhere(&text);
        let screen = world.parser.screen();
        prop_assert!(!screen.alternate_screen());
        prop_assert!(world.parser.callbacks().harm.is_empty(), "{:?}", world.parser.callbacks().harm);
    }
}

#[test]
fn only_our_own_codes_are_written() {
    let mut world = World::new(60, 16);
    world.live.print("\u{1b}[?1049h\u{1b}]0;x\u{7}\u{1b}[3mitalic\u{1b}[0m");
    world.live.draw(&view(&world.model)).unwrap();
    let written = String::from_utf8(world.live.written()).unwrap();
    let known = ["[?2026h", "[?2026l", "[?25l", "[?25h", "[J", "[K", "[3m", "[0m"];
    for code in written.split('\u{1b}').skip(1) {
        let is_move = code.starts_with('[')
            && code[1..].trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['A', 'B', 'C', 'm']);
        assert!(is_move || known.iter().any(|known| code.starts_with(known)), "{code:?}");
    }
}
