//! Whatever happens in whatever order: nothing panics, the rows fit, nothing typed is lost, every question gets exactly
//! one answer.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::shell::Next;
use crate::tui::update::leave;

#[derive(Debug, Clone)]
enum Act {
    Key(KeyCode, KeyModifiers),
    Text(String),
    Paste(String),
    Resize(u16, u16),
    Print(String),
    Stream(String),
    Working(bool),
    Stands(u8),
    Ask(u8),
    Withdraw(u8),
    Opened(u8),
    Complete(u8, usize, usize, Vec<String>),
    Done,
    Wait(u64),
}

/// Text as people and servers send it, some of it hostile.
fn text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "a",
        "word ",
        "日本",
        "🚀",
        "e\u{301}",
        "\u{1b}[2J",
        "\u{1b}]0;t\u{7}",
        "\n",
        "\r",
        "\t",
        "\u{202e}",
        "\u{100000}",
        "**b** ",
        "`c`",
        "/call ",
        "y",
        "\u{9b}5n",
        "`",
        "# ",
        "- ",
        "\\",
        "longlonglonglong",
    ]);
    prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
}

fn key() -> impl Strategy<Value = Act> {
    let codes = vec![
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::F(1),
        KeyCode::Char('y'),
        KeyCode::Char('n'),
        KeyCode::Char('r'),
        KeyCode::Char('a'),
        KeyCode::Char(' '),
        KeyCode::Char('ä'),
    ];
    let plain = prop::sample::select(codes).prop_map(|code| (code, KeyModifiers::NONE));
    let control = prop::sample::select("abcdefhjklnpruwyz_".chars().collect::<Vec<_>>())
        .prop_map(|c| (KeyCode::Char(c), KeyModifiers::CONTROL));
    let alt =
        prop::sample::select(vec![KeyCode::Enter, KeyCode::Char('b'), KeyCode::Char('d'), KeyCode::Left])
            .prop_map(|code| (code, KeyModifiers::ALT));
    prop_oneof![4 => plain, 2 => control, 1 => alt].prop_map(|(code, with)| Act::Key(code, with))
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => key(),
        3 => text().prop_map(Act::Text),
        1 => (text(), 0..40_usize).prop_map(|(text, times)| Act::Paste(text.repeat(times))),
        2 => (1..90_u16, 1..30_u16).prop_map(|(width, height)| Act::Resize(width, height)),
        2 => text().prop_map(Act::Print),
        2 => text().prop_map(Act::Stream),
        1 => any::<bool>().prop_map(Act::Working),
        1 => any::<u8>().prop_map(Act::Stands),
        3 => any::<u8>().prop_map(Act::Ask),
        1 => any::<u8>().prop_map(Act::Withdraw),
        1 => any::<u8>().prop_map(Act::Opened),
        2 => (0..3_u8, 0..6_usize, 0..6_usize, prop::collection::vec(text(), 0..12))
            .prop_map(|(age, start, end, names)| Act::Complete(age, start, end, names)),
        2 => Just(Act::Done),
        2 => (0..2000_u64).prop_map(Act::Wait),
    ]
}

/// What must hold of the questions and the typed text.
#[derive(Default)]
struct Ledger {
    n_asked: u64,
    open: BTreeSet<u64>,
    is_running: bool,
}

impl Ledger {
    fn heed(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Answer(ticket, _) => assert!(self.open.remove(&ticket), "{ticket} is answered twice"),
                Effect::Run(line) => {
                    assert!(!self.is_running, "two lines run at once");
                    assert!(!line.trim().is_empty());
                    self.is_running = true;
                }
                Effect::Cancel => assert!(self.is_running, "nothing runs that could be stopped"),
                Effect::Abandon => assert!(self.is_running),
                _ => {}
            }
        }
    }
}

fn event(act: Act, world: &World, ledger: &mut Ledger) -> Event {
    let ticket = |n: u8| u64::from(n) % (ledger.n_asked + 1);
    match act {
        Act::Key(code, with) => Event::Key(KeyEvent::new(code, with)),
        Act::Text(text) | Act::Print(text) => Event::Print(text),
        Act::Paste(text) => Event::Paste(text),
        Act::Resize(width, height) => Event::Resize(Size { width, height }),
        Act::Stream(text) => Event::Stream(text),
        Act::Working(is_said) => Event::Working(is_said.then(|| "work\u{1b}ing ".repeat(9))),
        Act::Stands(n) => {
            let mut standing = standing();
            standing.servers.truncate(usize::from(n % 6));
            if n % 2 == 0 {
                standing.servers.iter_mut().for_each(|(_, stand)| *stand = Stand::Connected);
            }
            Event::Stands(Standing { n_untrusted: usize::from(n % 3), ..standing })
        }
        Act::Ask(kind) => {
            ledger.n_asked += 1;
            ledger.open.insert(ledger.n_asked);
            let ask = match kind % 6 {
                0 => small_call(),
                1 => call(json!({"x": "y".repeat(usize::from(kind) * 9)}), Why::Changed),
                2 => form(),
                3 => login(),
                4 => elicit(Wish::Visit { url: "javascript:alert(1)".into() }),
                _ => sample(),
            };
            Event::Asked(ledger.n_asked, ask)
        }
        Act::Withdraw(n) => {
            let ticket = ticket(n);
            ledger.open.remove(&ticket);
            Event::Withdrawn(ticket)
        }
        Act::Opened(n) => {
            Event::Opened { ticket: ticket(n), url: "https://example.com".into(), is_open: n % 2 == 0 }
        }
        Act::Complete(age, start, end, names) => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let ticket = world.model.asked_completions.saturating_sub(u64::from(age));
            Event::Completed { ticket, completion: completion(start, end, &names) }
        }
        Act::Done if ledger.is_running => {
            ledger.is_running = false;
            Event::Done(Next::Go)
        }
        Act::Done | Act::Wait(_) => Event::Beat,
    }
}

fn play(acts: Vec<Act>) {
    let mut world = World::new(80, 24);
    let mut ledger = Ledger::default();
    for act in acts {
        if let Act::Wait(millis) = act {
            world.now += Duration::from_millis(millis);
        }
        if let Act::Text(text) = act {
            for c in text.chars() {
                let effects = world.key(KeyCode::Char(c));
                ledger.heed(effects);
            }
            world.check();
            continue;
        }
        let event = event(act, &world, &mut ledger);
        let is_typed = matches!(event, Event::Key(_) | Event::Paste(_) | Event::Completed { .. });
        let before = world.model.editor.whole();
        let effects = world.play(event);
        let ran = effects.iter().find_map(|effect| match effect {
            Effect::Run(line) => Some(line.clone()),
            _ => None,
        });
        if !is_typed {
            let kept = ran.unwrap_or_else(|| world.model.editor.whole());
            assert_eq!(kept, before, "what was typed is lost");
        }
        let is_abandoned = effects.iter().any(|effect| matches!(effect, Effect::Abandon));
        ledger.heed(effects);
        if is_abandoned {
            ledger.is_running = false;
            let effects = world.play(Event::Done(Next::Go));
            ledger.heed(effects);
        }
        world.check();
    }
    let effects = leave(&mut world.model);
    ledger.heed(effects);
    assert!(ledger.open.is_empty(), "{:?} were never answered", ledger.open);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_it_holds(acts in prop::collection::vec(act(), 0..60)) {
        play(acts);
    }
}
