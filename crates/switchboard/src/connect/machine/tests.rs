//! What always holds, whatever happens in whatever order.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

type Plain = Machine<u64, u64, &'static str>;

fn long_lived(is_remote: bool) -> Plain {
    Machine::new(Nature { is_remote, keeps_trying: true })
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Opens the machine's current attempt.
fn open(machine: &mut Plain, now: Duration) -> Effects<u64, u64, &'static str> {
    let attempt = machine.attempt();
    machine.step(Event::Opened { attempt, link: attempt }, now)
}

fn lose(machine: &mut Plain, now: Duration) -> Effects<u64, u64, &'static str> {
    let attempt = machine.attempt();
    machine.step(Event::Lost { attempt, error: "lost", gravity: Gravity::Passing }, now)
}

fn fail(machine: &mut Plain, gravity: Gravity) -> Effects<u64, u64, &'static str> {
    let attempt = machine.attempt();
    machine.step(Event::NotOpened { attempt, error: "broken", gravity }, seconds(0))
}

fn pause_over(machine: &mut Plain, now: Duration) -> Effects<u64, u64, &'static str> {
    let attempt = machine.attempt();
    machine.step(Event::PauseOver { attempt }, now)
}

#[test]
fn calls_wait_for_the_connection_and_then_go_in_order() {
    let mut machine = long_lived(false);
    assert_eq!(machine.step(Event::Call(1), seconds(0)), [Effect::Open { attempt: 1 }]);
    assert_eq!(machine.step(Event::Call(2), seconds(0)), []);
    let sent = open(&mut machine, seconds(1));
    assert_eq!(sent, [Effect::Send { link: 1, call: 1 }, Effect::Send { link: 1, call: 2 }]);
    assert_eq!(machine.step(Event::Call(3), seconds(1)), [Effect::Send { link: 1, call: 3 }]);
}

#[test]
fn the_ladder_and_what_comes_after_it() {
    for (is_remote, after) in [(false, vec![]), (true, vec![15, 30, 60, 120, 240, 300, 300])] {
        let mut machine = long_lived(is_remote);
        machine.step(Event::Wake, seconds(0));
        open(&mut machine, seconds(0));
        let effects = lose(&mut machine, seconds(100));
        assert!(matches!(effects[0], Effect::Close { .. }));
        let mut pauses = Vec::new();
        let mut last = effects;
        let mut now = seconds(100);
        while let Some(Effect::Pause { time, .. }) = last.last() {
            pauses.push(*time);
            if pauses.len() == 11 {
                break;
            }
            now += *time;
            pause_over(&mut machine, now);
            last = fail(&mut machine, Gravity::Passing);
        }
        let expected: Vec<_> = LADDER.into_iter().chain(after.into_iter().map(seconds)).collect();
        assert_eq!(pauses, expected);
        assert_eq!(is_remote, !matches!(machine.state(), State::Failed { .. }));
    }
}

#[test]
fn a_remote_server_that_never_was_up_is_given_up_like_any_other() {
    let mut machine = long_lived(true);
    machine.step(Event::Wake, seconds(0));
    for _ in 0..4 {
        assert!(matches!(fail(&mut machine, Gravity::Passing)[..], [Effect::Pause { .. }]));
        pause_over(&mut machine, seconds(0));
    }
    assert_eq!(fail(&mut machine, Gravity::Passing), []);
    assert!(matches!(machine.state(), State::Failed { .. }));
}

#[test]
fn more_than_five_losses_in_thirty_seconds_suspend_it() {
    let mut machine = long_lived(true);
    machine.step(Event::Wake, seconds(0));
    for round in 0..5 {
        open(&mut machine, seconds(round * 5));
        lose(&mut machine, seconds(round * 5 + 1));
        assert!(matches!(machine.state(), State::Waiting { .. }), "{round}");
        pause_over(&mut machine, seconds(round * 5 + 2));
    }
    open(&mut machine, seconds(25));
    lose(&mut machine, seconds(26));
    assert!(matches!(machine.state(), State::Suspended { .. }));
    assert_eq!(machine.step(Event::Call(9), seconds(27)), [Effect::Refuse { call: 9, error: Some("lost") }]);
    assert!(matches!(machine.step(Event::Reconnect, seconds(28))[..], [Effect::Open { .. }]));
}

#[test]
fn losses_far_apart_are_no_crash_loop() {
    let mut machine = long_lived(false);
    machine.step(Event::Wake, seconds(0));
    for round in 0..50 {
        open(&mut machine, seconds(round * 100));
        let effects = lose(&mut machine, seconds(round * 100 + 90));
        assert!(matches!(effects[1], Effect::Pause { time, .. } if time == LADDER[0]), "{round}");
        pause_over(&mut machine, seconds(round * 100 + 91));
    }
}

#[test]
fn a_short_session_is_settled_by_the_first_failure_and_lasting_ones_always_are() {
    let mut short = Machine::new(Nature { is_remote: true, keeps_trying: false });
    short.step(Event::Call(1), seconds(0));
    assert_eq!(fail(&mut short, Gravity::Passing), [Effect::Refuse { call: 1, error: Some("broken") }]);
    let mut long = long_lived(true);
    long.step(Event::Call(1), seconds(0));
    assert_eq!(fail(&mut long, Gravity::Lasting), [Effect::Refuse { call: 1, error: Some("broken") }]);
    assert!(matches!(long.step(Event::Call(2), seconds(1))[..], [Effect::Open { .. }]), "a call tries anew");
    assert_eq!(fail(&mut long, Gravity::Login), [Effect::Refuse { call: 2, error: Some("broken") }]);
    assert!(matches!(long.step(Event::Call(3), seconds(1))[..], [Effect::Refuse { call: 3, .. }]));
}

#[test]
fn a_link_that_wants_a_login_is_let_go_of_and_nobody_is_cut_off() {
    let mut machine = long_lived(true);
    machine.step(Event::Wake, seconds(0));
    open(&mut machine, seconds(0));
    let effects =
        machine.step(Event::Useless { attempt: 1, error: "401", gravity: Gravity::Login }, seconds(1));
    assert_eq!(effects, [Effect::Release { link: 1 }]);
    assert_eq!(machine.step(Event::Call(1), seconds(2)), [Effect::Refuse { call: 1, error: Some("401") }]);
    assert!(matches!(machine.step(Event::Wake, seconds(3))[..], [Effect::Open { .. }]), "after the login");
}

#[test]
fn after_a_sleep_nobody_waits_for_the_rest_of_a_pause() {
    let mut machine = long_lived(true);
    machine.step(Event::Wake, seconds(0));
    open(&mut machine, seconds(0));
    lose(&mut machine, seconds(60));
    let late = machine.attempt();
    assert!(matches!(machine.step(Event::Resumed, seconds(60))[..], [Effect::Open { .. }]));
    assert_eq!(machine.step(Event::PauseOver { attempt: late }, seconds(61)), []);
    open(&mut machine, seconds(61));
    assert_eq!(machine.step(Event::Resumed, seconds(62)), []);
}

#[test]
fn calls_do_not_start_a_broken_server_without_end() {
    let mut machine = long_lived(false);
    machine.step(Event::Wake, seconds(0));
    fail(&mut machine, Gravity::Lasting);
    for call in 0..10 {
        assert!(matches!(machine.step(Event::Call(call), seconds(1))[..], [Effect::Open { .. }]));
        fail(&mut machine, Gravity::Lasting);
    }
    let refused = [Effect::Refuse { call: 10, error: Some("broken") }];
    assert_eq!(machine.step(Event::Call(10), seconds(2)), refused);
    assert!(matches!(machine.step(Event::Call(11), seconds(61))[..], [Effect::Open { .. }]));
}

#[derive(Debug, Clone)]
enum Happening {
    Call,
    Wake,
    Reconnect,
    Opened(u64),
    NotOpened(u64, Gravity),
    Lost(u64, Gravity),
    PauseOver(u64),
    Idle,
    Rest,
    Useless(u64, Gravity),
    Resumed,
    Stop,
    Later(u64),
}

fn gravity() -> impl Strategy<Value = Gravity> {
    prop_oneof![Just(Gravity::Passing), Just(Gravity::Lasting), Just(Gravity::Login)]
}

fn happening() -> impl Strategy<Value = Happening> {
    let back = 0..3_u64;
    prop_oneof![
        4 => Just(Happening::Call),
        1 => Just(Happening::Wake),
        1 => Just(Happening::Reconnect),
        4 => back.clone().prop_map(Happening::Opened),
        3 => (back.clone(), gravity()).prop_map(|(back, gravity)| Happening::NotOpened(back, gravity)),
        3 => (back.clone(), gravity()).prop_map(|(back, gravity)| Happening::Lost(back, gravity)),
        3 => back.prop_map(Happening::PauseOver),
        1 => Just(Happening::Idle),
        1 => Just(Happening::Rest),
        1 => (0..3_u64, gravity()).prop_map(|(back, gravity)| Happening::Useless(back, gravity)),
        1 => Just(Happening::Resumed),
        1 => Just(Happening::Stop),
        2 => (0..40_u64).prop_map(Happening::Later),
    ]
}

proptest! {
    #[test]
    fn every_call_ends_once_one_link_lives_and_stopped_is_final(
        happenings in proptest::collection::vec(happening(), 0..200),
        is_remote in any::<bool>(),
        keeps_trying in any::<bool>(),
    ) {
        let mut machine: Plain = Machine::new(Nature { is_remote, keeps_trying });
        let mut now = seconds(0);
        let (mut calls, mut links) = (0, 1000);
        let mut ended: BTreeMap<u64, u32> = BTreeMap::new();
        let mut alive: BTreeSet<u64> = BTreeSet::new();
        let mut stopped = false;
        let mut retries: Vec<Duration> = Vec::new();
        for happening in happenings {
            let attempt = machine.attempt();
            let event = match happening {
                Happening::Call => { calls += 1; Event::Call(calls) }
                Happening::Wake => Event::Wake,
                Happening::Reconnect => Event::Reconnect,
                Happening::Opened(back) => {
                    links += 1;
                    alive.insert(links);
                    Event::Opened { attempt: attempt.saturating_sub(back), link: links }
                }
                Happening::NotOpened(back, gravity) => {
                    Event::NotOpened { attempt: attempt.saturating_sub(back), error: "x", gravity }
                }
                Happening::Lost(back, gravity) => {
                    Event::Lost { attempt: attempt.saturating_sub(back), error: "x", gravity }
                }
                Happening::PauseOver(back) => Event::PauseOver { attempt: attempt.saturating_sub(back) },
                Happening::Idle => Event::Idle,
                Happening::Rest => Event::Rest,
                Happening::Useless(back, gravity) => {
                    Event::Useless { attempt: attempt.saturating_sub(back), error: "x", gravity }
                }
                Happening::Resumed => Event::Resumed,
                Happening::Stop => { stopped = true; Event::Stop }
                Happening::Later(by) => { now += seconds(by); continue; }
            };
            let is_retry = !matches!(event, Event::Reconnect | Event::Wake)
                && matches!(machine.state(), State::Waiting { .. } | State::Failed { .. });
            if matches!(event, Event::Reconnect) {
                retries.clear();
            }
            for effect in machine.step(event, now) {
                if is_retry && matches!(effect, Effect::Open { .. }) {
                    retries.push(now);
                    let recent = retries.iter().filter(|retry| now.saturating_sub(**retry) < RETRY_WINDOW).count();
                    prop_assert!(recent <= MOST_RETRIES, "{recent} tries in a minute");
                }
                match effect {
                    Effect::Send { link, call } => {
                        prop_assert!(alive.contains(&link), "sent on a link that is gone");
                        *ended.entry(call).or_default() += 1;
                    }
                    Effect::Refuse { call, .. } => *ended.entry(call).or_default() += 1,
                    Effect::Close { link } | Effect::Release { link } => {
                        prop_assert!(alive.remove(&link), "let go of twice");
                    }
                    Effect::Open { .. } | Effect::Pause { .. } => prop_assert!(!stopped, "alive after stop"),
                }
            }
            prop_assert!(alive.len() <= 1, "two links");
            prop_assert_eq!(stopped, matches!(machine.state(), State::Stopped));
        }
        for effect in machine.step(Event::Stop, now) {
            if let Effect::Refuse { call, .. } = effect {
                *ended.entry(call).or_default() += 1;
            }
        }
        let expected: BTreeMap<u64, u32> = (1..=calls).map(|call| (call, 1)).collect();
        prop_assert_eq!(ended, expected);
    }
}
