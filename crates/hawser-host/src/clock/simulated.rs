//! Time that goes on by as much as somebody sleeps.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Whoever works beside and does not want to wait goes on after this: else no time would pass.
const AT_LEAST: Duration = Duration::from_millis(1);

/// The time, and those who work [beside](super::Clock::beside) whoever sleeps.
#[derive(Debug, Default)]
pub(super) struct Simulated {
    state: Mutex<State>,
    /// Who worked beside does not any more.
    done: Condvar,
}

#[derive(Debug, Default)]
struct State {
    now: Duration,
    beside: BTreeMap<usize, Seat>,
    joined: usize,
    /// By how much the time of day was stepped.
    ahead_us: i64,
    /// Somebody sleeps, and lets them work.
    driven: bool,
}

#[derive(Debug)]
struct Seat {
    /// When it goes on; nothing: it works.
    when: Option<Duration>,
    turn: Arc<Condvar>,
}

impl State {
    /// Who goes on first, and when.
    fn next(&self) -> Option<(Duration, usize)> {
        let all = self.beside.iter();
        all.filter_map(|(who, seat)| Some((seat.when?, *who))).min()
    }

    fn works(&self, who: usize) -> bool {
        let seat = self.beside.get(&who);
        seat.is_some_and(|seat| seat.when.is_none())
    }

    fn set(&mut self, who: usize, when: Option<Duration>) {
        if let Some(seat) = self.beside.get_mut(&who) {
            seat.when = when;
            seat.turn.notify_one();
        }
    }
}

impl Simulated {
    pub(super) fn ahead_us(&self) -> i64 {
        self.state().ahead_us
    }

    pub(super) fn step(&self, by_us: i64) {
        let mut state = self.state();
        state.ahead_us = state.ahead_us.saturating_add(by_us);
    }

    pub(super) fn now(&self) -> Duration {
        self.state().now
    }

    /// Time goes on. Those beside work meanwhile, one after the other, each at its time: a run is the same each time. Of
    /// several who sleep at the same time one lets them work, and the time of all adds up.
    pub(super) fn sleep(&self, time: Duration) {
        let mut state = self.state();
        let until = state.now.saturating_add(time);
        if state.driven {
            state.now = until;
            return;
        }
        state.driven = true;
        while let Some((when, who)) = state.next().filter(|(when, _)| *when <= until) {
            state.now = state.now.max(when);
            state.set(who, None);
            state = self
                .done
                .wait_while(state, |state| state.works(who))
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.now = state.now.max(until);
        state.driven = false;
    }

    /// One more who works beside, first as soon as somebody sleeps.
    pub(super) fn join(&self) -> usize {
        let mut state = self.state();
        let (who, now) = (state.joined, state.now);
        state.joined += 1;
        let (when, turn) = (Some(now), Arc::default());
        state.beside.insert(who, Seat { when, turn });
        who
    }

    /// Waits until it is somebody's time to work.
    pub(super) fn wait_for_turn(&self, who: usize, stopped: impl Fn() -> bool) {
        let state = self.state();
        let Some(turn) = state.beside.get(&who).map(|seat| Arc::clone(&seat.turn)) else {
            return;
        };
        let waits = |state: &mut State| !state.works(who) && !stopped();
        drop(turn.wait_while(state, waits));
    }

    /// The work is done until later.
    pub(super) fn rest(&self, who: usize, time: Duration) {
        let mut state = self.state();
        let when = state.now.saturating_add(time.max(AT_LEAST));
        state.set(who, Some(when));
        self.done.notify_one();
    }

    pub(super) fn leave(&self, who: usize) {
        self.state().beside.remove(&who);
        self.done.notify_one();
    }

    /// Those who wait look whether they are stopped.
    pub(super) fn tell_all(&self) {
        for seat in self.state().beside.values() {
            seat.turn.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
