//! The life of one server's connection, as a pure machine: no clock, no waiting, no I/O.
//!
//! In: events, with the time they happened. Out: effects for the owner to perform. Every call that comes in leaves exactly
//! once, as [`Effect::Send`] or [`Effect::Refuse`]. At most one link lives. `Stopped` is final. An event of an older
//! attempt changes nothing; the late link it may carry is closed.

use std::collections::VecDeque;
use std::time::Duration;

/// Pauses before each try after a loss.
pub(crate) const LADDER: [Duration; 4] =
    [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// For remote servers that were up once, after the ladder: doubling, without end.
pub(crate) const SLOW_FIRST: Duration = Duration::from_secs(15);
pub(crate) const SLOW_LAST: Duration = Duration::from_mins(5);
/// More losses than this within the window suspend the server.
const MOST_LOSSES: usize = 5;
const LOSS_WINDOW: Duration = Duration::from_secs(30);
/// Tries after a failure, whoever asks for them, within the window.
const MOST_RETRIES: usize = 10;
const RETRY_WINDOW: Duration = Duration::from_mins(1);

/// What kind of server it is, as far as its life is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Nature {
    /// Reached over a network, which comes back by itself.
    pub(crate) is_remote: bool,
    /// In a long-lived session a failed server is tried again; otherwise its first failure settles it.
    pub(crate) keeps_trying: bool,
}

/// How bad a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gravity {
    /// May go away by itself.
    Passing,
    /// Nothing will change until somebody changes something.
    Lasting,
    /// A login would help.
    Login,
}

/// Where a connection stands. The attempt tells late events from current ones.
#[derive(Debug)]
pub(crate) enum State<L, E> {
    /// Nobody needs it yet.
    Dormant,
    /// A job is opening it; why it failed before, if it did.
    Starting { before: Option<E> },
    /// It is up.
    Ready { link: L },
    /// It will be tried again.
    Waiting { error: E },
    /// It needs a login.
    NeedsLogin { error: E },
    /// It will not be tried again by itself.
    Failed { error: E },
    /// It was lost too often.
    Suspended { error: E },
    /// It is over.
    Stopped,
}

/// What happened.
#[derive(Debug)]
pub(crate) enum Event<L, C, E> {
    /// Somebody wants something of the server.
    Call(C),
    /// It is to be up.
    Wake,
    /// The user wants it anew, whatever happened before.
    Reconnect,
    /// A job opened it.
    Opened { attempt: u64, link: L },
    /// A job could not open it.
    NotOpened { attempt: u64, error: E, gravity: Gravity },
    /// The link of that attempt is gone.
    Lost { attempt: u64, error: E, gravity: Gravity },
    /// The pause of that attempt is over.
    PauseOver { attempt: u64 },
    /// Nobody used it for long.
    Idle,
    /// It is not to be up until somebody needs it.
    Rest,
    /// The link of that attempt is of no use, though it stands.
    Useless { attempt: u64, error: E, gravity: Gravity },
    /// The machine slept: what was waited for may long be there.
    Resumed,
    /// It is over.
    Stop,
}

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Effect<L, C, E> {
    /// Start a job that opens the server.
    Open { attempt: u64 },
    /// Come back after a pause.
    Pause { attempt: u64, time: Duration },
    /// Send a call.
    Send { link: L, call: C },
    /// Turn a call down.
    Refuse { call: C, error: Option<E> },
    /// End a link in order.
    Close { link: L },
    /// Let go of a link: it ends with the last call on it.
    Release { link: L },
}

/// One server's life.
#[derive(Debug)]
pub(crate) struct Machine<L, C, E> {
    nature: Nature,
    state: State<L, E>,
    queue: VecDeque<C>,
    attempt: u64,
    /// Tries since the last good connection.
    tries: u32,
    /// When links were lost, within the window.
    losses: VecDeque<Duration>,
    /// When it was tried after a failure, within the window.
    retries: VecDeque<Duration>,
    was_up: bool,
}

type Effects<L, C, E> = Vec<Effect<L, C, E>>;

impl<L: Clone, C, E: Clone> Machine<L, C, E> {
    pub(crate) const fn new(nature: Nature) -> Self {
        Self {
            nature,
            state: State::Dormant,
            queue: VecDeque::new(),
            attempt: 0,
            tries: 0,
            losses: VecDeque::new(),
            retries: VecDeque::new(),
            was_up: false,
        }
    }

    pub(crate) const fn state(&self) -> &State<L, E> {
        &self.state
    }

    /// The attempt that counts now.
    pub(crate) const fn attempt(&self) -> u64 {
        self.attempt
    }

    /// Takes one step.
    pub(crate) fn step(&mut self, event: Event<L, C, E>, now: Duration) -> Effects<L, C, E> {
        match event {
            Event::Call(call) => self.call(call, now),
            Event::Wake => self.wake(),
            Event::Reconnect => self.reconnect(),
            Event::Opened { attempt, link } => self.opened(attempt, link),
            Event::NotOpened { attempt, error, gravity } if self.is_starting(attempt) => {
                self.not_opened(error, gravity)
            }
            Event::Lost { attempt, error, gravity } if self.is_ready(attempt) => {
                let mut effects = self.close();
                effects.extend(self.lost(error, gravity, now));
                effects
            }
            Event::Useless { attempt, error, gravity } if self.is_ready(attempt) => {
                let mut effects = self.release();
                effects.extend(self.lost(error, gravity, now));
                effects
            }
            Event::PauseOver { attempt } if attempt == self.attempt => self.try_again(now),
            Event::Resumed => self.resumed(now),
            Event::NotOpened { .. }
            | Event::Lost { .. }
            | Event::PauseOver { .. }
            | Event::Useless { .. } => Vec::new(),
            Event::Idle => self.idle(),
            Event::Rest => self.rest(),
            Event::Stop => self.stop(),
        }
    }

    fn is_starting(&self, attempt: u64) -> bool {
        attempt == self.attempt && matches!(self.state, State::Starting { .. })
    }

    fn is_ready(&self, attempt: u64) -> bool {
        attempt == self.attempt && matches!(self.state, State::Ready { .. })
    }

    fn call(&mut self, call: C, now: Duration) -> Effects<L, C, E> {
        match &self.state {
            State::Ready { link } => vec![Effect::Send { link: link.clone(), call }],
            State::Starting { .. } | State::Waiting { .. } => {
                self.queue.push_back(call);
                Vec::new()
            }
            State::Dormant => {
                self.queue.push_back(call);
                self.start()
            }
            // Whoever calls a server that failed wants to know whether it still does; but not without end.
            State::Failed { error } => {
                let error = error.clone();
                if self.next_retry(now).is_some() {
                    return vec![Effect::Refuse { call, error: Some(error) }];
                }
                self.queue.push_back(call);
                self.retry(now)
            }
            State::NeedsLogin { error } | State::Suspended { error } => {
                vec![Effect::Refuse { call, error: Some(error.clone()) }]
            }
            State::Stopped => vec![Effect::Refuse { call, error: None }],
        }
    }

    fn wake(&mut self) -> Effects<L, C, E> {
        match self.state {
            State::Dormant | State::Failed { .. } | State::NeedsLogin { .. } => self.start(),
            State::Starting { .. }
            | State::Ready { .. }
            | State::Waiting { .. }
            | State::Suspended { .. }
            | State::Stopped => Vec::new(),
        }
    }

    fn reconnect(&mut self) -> Effects<L, C, E> {
        if matches!(self.state, State::Stopped) {
            return Vec::new();
        }
        self.losses.clear();
        self.retries.clear();
        self.tries = 0;
        let mut effects = self.close();
        effects.extend(self.start());
        effects
    }

    /// The pause is over; unless there were too many tries already.
    fn try_again(&mut self, now: Duration) -> Effects<L, C, E> {
        if !matches!(self.state, State::Waiting { .. }) {
            return Vec::new();
        }
        match self.next_retry(now) {
            None => self.retry(now),
            Some(time) => {
                self.attempt += 1;
                vec![Effect::Pause { attempt: self.attempt, time }]
            }
        }
    }

    /// What failed while the machine slept may work now.
    fn resumed(&mut self, now: Duration) -> Effects<L, C, E> {
        let is_worth_it = match self.state {
            State::Waiting { .. } => true,
            State::Failed { .. } => self.nature.keeps_trying,
            State::Dormant
            | State::Starting { .. }
            | State::Ready { .. }
            | State::NeedsLogin { .. }
            | State::Suspended { .. }
            | State::Stopped => false,
        };
        if !is_worth_it || self.next_retry(now).is_some() {
            return Vec::new();
        }
        self.tries = 0;
        self.retry(now)
    }

    fn retry(&mut self, now: Duration) -> Effects<L, C, E> {
        self.retries.push_back(now);
        self.start()
    }

    /// How long until one more try is allowed; none if it is right now.
    fn next_retry(&mut self, now: Duration) -> Option<Duration> {
        while self.retries.front().is_some_and(|retry| now.saturating_sub(*retry) >= RETRY_WINDOW) {
            self.retries.pop_front();
        }
        let first = self.retries.front().filter(|_| self.retries.len() >= MOST_RETRIES)?;
        Some((*first + RETRY_WINDOW).saturating_sub(now))
    }

    /// Begins a new attempt; whatever an older one brings is late.
    fn start(&mut self) -> Effects<L, C, E> {
        self.attempt += 1;
        let before = match &self.state {
            State::Waiting { error } => Some(error.clone()),
            _ => None,
        };
        self.state = State::Starting { before };
        vec![Effect::Open { attempt: self.attempt }]
    }

    fn opened(&mut self, attempt: u64, link: L) -> Effects<L, C, E> {
        if !self.is_starting(attempt) {
            return vec![Effect::Close { link }];
        }
        self.was_up = true;
        // The ladder starts anew; against coming and going at once there is the count of losses.
        self.tries = 0;
        self.state = State::Ready { link: link.clone() };
        self.queue.drain(..).map(|call| Effect::Send { link: link.clone(), call }).collect()
    }

    fn not_opened(&mut self, error: E, gravity: Gravity) -> Effects<L, C, E> {
        match gravity {
            Gravity::Login => self.state = State::NeedsLogin { error: error.clone() },
            Gravity::Lasting => self.state = State::Failed { error: error.clone() },
            Gravity::Passing => return self.try_later(error),
        }
        self.refuse_all(&error)
    }

    /// The link is gone already.
    fn lost(&mut self, error: E, gravity: Gravity, now: Duration) -> Effects<L, C, E> {
        if gravity == Gravity::Login {
            self.state = State::NeedsLogin { error };
            return Vec::new();
        }
        self.losses.push_back(now);
        while self.losses.front().is_some_and(|loss| now.saturating_sub(*loss) > LOSS_WINDOW) {
            self.losses.pop_front();
        }
        if self.losses.len() > MOST_LOSSES {
            self.state = State::Suspended { error: error.clone() };
            return self.refuse_all(&error);
        }
        self.try_later(error)
    }

    /// Waits as long as the ladder says, or gives up.
    fn try_later(&mut self, error: E) -> Effects<L, C, E> {
        let pause = if self.nature.keeps_trying { self.pause() } else { None };
        let Some(time) = pause else {
            self.state = State::Failed { error: error.clone() };
            return self.refuse_all(&error);
        };
        self.tries += 1;
        self.attempt += 1;
        self.state = State::Waiting { error };
        vec![Effect::Pause { attempt: self.attempt, time }]
    }

    fn pause(&self) -> Option<Duration> {
        let tries = usize::try_from(self.tries).unwrap_or(usize::MAX);
        if let Some(pause) = LADDER.get(tries) {
            return Some(*pause);
        }
        let beyond = self.tries - u32::try_from(LADDER.len()).unwrap_or(0);
        let slow = SLOW_FIRST.saturating_mul(2_u32.saturating_pow(beyond)).min(SLOW_LAST);
        (self.nature.is_remote && self.was_up).then_some(slow)
    }

    fn idle(&mut self) -> Effects<L, C, E> {
        if !matches!(self.state, State::Ready { .. }) {
            return Vec::new();
        }
        let effects = self.close();
        self.state = State::Dormant;
        effects
    }

    /// Whatever was under way is late from now on.
    fn rest(&mut self) -> Effects<L, C, E> {
        if matches!(self.state, State::Stopped) {
            return Vec::new();
        }
        let mut effects = self.close();
        self.attempt += 1;
        self.state = State::Dormant;
        effects.extend(self.queue.drain(..).map(|call| Effect::Refuse { call, error: None }));
        effects
    }

    fn stop(&mut self) -> Effects<L, C, E> {
        let mut effects = self.close();
        self.state = State::Stopped;
        effects.extend(self.queue.drain(..).map(|call| Effect::Refuse { call, error: None }));
        effects
    }

    /// Gives the link away, if there is one; the state must be set after it.
    fn close(&mut self) -> Effects<L, C, E> {
        match std::mem::replace(&mut self.state, State::Dormant) {
            State::Ready { link } => vec![Effect::Close { link }],
            _ => Vec::new(),
        }
    }

    /// The same, for a link that others may still need for what they have under way.
    fn release(&mut self) -> Effects<L, C, E> {
        match std::mem::replace(&mut self.state, State::Dormant) {
            State::Ready { link } => vec![Effect::Release { link }],
            _ => Vec::new(),
        }
    }

    fn refuse_all(&mut self, error: &E) -> Effects<L, C, E> {
        self.queue.drain(..).map(|call| Effect::Refuse { call, error: Some(error.clone()) }).collect()
    }
}

#[cfg(test)]
mod tests;
