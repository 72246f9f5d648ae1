//! Time, as whoever asks hosts sees it.

mod simulated;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread::{self, Scope};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hawser_model::drill::Moment;

use simulated::Simulated;

/// The machine's clock, or a simulated one that goes on by as much as somebody sleeps. A sequence of questions reads
/// the time and waits here only, so that a test of it takes no time.
#[derive(Clone, Debug, Default)]
pub struct Clock(Option<Arc<Simulated>>);

/// Who spares a host asks nothing for so many times as long as an answer took.
const RESTS: u32 = 3;
/// But for no longer.
const RESTS_AT_MOST: Duration = Duration::from_secs(2);

static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Clock {
    /// A simulated one, which begins at 1970.
    pub fn simulated() -> Self {
        Self(Some(Arc::default()))
    }

    /// The time since some moment; it never steps back.
    pub fn now(&self) -> Duration {
        match &self.0 {
            None => BEGUN.elapsed(),
            Some(simulated) => simulated.now(),
        }
    }

    /// The time since a moment that [`now`](Self::now) gave.
    pub fn since(&self, begun: Duration) -> Duration {
        self.now().saturating_sub(begun)
    }

    /// The time of day. An administrator may step it.
    pub fn time_of_day(&self) -> Moment {
        let (time, ahead_us) = match &self.0 {
            None => {
                let time = SystemTime::now().duration_since(UNIX_EPOCH);
                (time.unwrap_or_default(), 0)
            }
            Some(simulated) => (self.now(), simulated.ahead_us()),
        };
        let moment = Moment(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        moment.shifted(ahead_us)
    }

    /// Steps the time of day by so many microseconds, as an administrator may. A real one is left as it is.
    pub fn step(&self, by_us: i64) {
        if let Some(simulated) = &self.0 {
            simulated.step(by_us);
        }
    }

    /// Waits so long.
    pub fn sleep(&self, time: Duration) {
        match &self.0 {
            None => thread::sleep(time),
            Some(simulated) => simulated.sleep(time),
        }
    }

    /// Asks every `step` until the answer is yes; false when it is not yet after `limit`.
    ///
    /// # Errors
    /// The question's own.
    pub fn wait<E>(
        &self,
        limit: Duration,
        step: Duration,
        yes: impl FnMut() -> Result<bool, E>,
    ) -> Result<bool, E> {
        self.until(limit, |_| step, yes)
    }

    /// The same for what stays once it is there, sparing whoever is asked: after an answer nobody asks for three times as long as
    /// it took, where that is longer than `step`. For 2 s at most: a host that does not answer is not kept busy.
    ///
    /// # Errors
    /// The question's own.
    pub fn wait_sparing<E>(
        &self,
        limit: Duration,
        step: Duration,
        yes: impl FnMut() -> Result<bool, E>,
    ) -> Result<bool, E> {
        let rests = |took: Duration| step.max(took.saturating_mul(RESTS).min(RESTS_AT_MOST));
        self.until(limit, rests, yes)
    }

    fn until<E>(
        &self,
        limit: Duration,
        rests: impl Fn(Duration) -> Duration,
        mut yes: impl FnMut() -> Result<bool, E>,
    ) -> Result<bool, E> {
        let begun = self.now();
        loop {
            let asked = self.now();
            let over = asked.saturating_sub(begun) >= limit;
            if yes()? {
                return Ok(true);
            }
            if over {
                return Ok(false);
            }
            self.sleep(rests(self.since(asked)));
        }
    }

    /// Works again and again beside whoever goes on, each time after as long as the last work says, until the answer is
    /// dropped. By a simulated clock it works while somebody sleeps, and at no other time.
    pub fn beside<'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        mut work: impl FnMut() -> Duration + Send + 'scope,
    ) -> Beside {
        let beside = Beside {
            clock: self.clone(),
            stopped: Arc::default(),
        };
        let (clock, stopped) = (self.clone(), Arc::clone(&beside.stopped));
        let turn = self.0.clone().map(|simulated| Turn {
            who: simulated.join(),
            simulated,
        });
        scope.spawn(move || {
            let is_stopped = || stopped.load(Ordering::Acquire);
            if let Some(turn) = &turn {
                turn.simulated.wait_for_turn(turn.who, is_stopped);
            }
            while !is_stopped() {
                let rest = work();
                match &turn {
                    None => clock.sleep(rest),
                    Some(turn) => {
                        turn.simulated.rest(turn.who, rest);
                        turn.simulated.wait_for_turn(turn.who, is_stopped);
                    }
                }
            }
        });
        beside
    }
}

/// Work that goes on [beside](Clock::beside) until this is dropped: its thread then ends by itself.
#[derive(Debug)]
pub struct Beside {
    clock: Clock,
    stopped: Arc<AtomicBool>,
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Release);
        if let Some(simulated) = &self.clock.0 {
            simulated.tell_all();
        }
    }
}

/// A place among those who work beside, until it is dropped: also by a panic.
struct Turn {
    who: usize,
    simulated: Arc<Simulated>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.simulated.leave(self.who);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};

    use super::*;

    #[test]
    fn a_simulated_wait_asks_to_the_end_and_takes_no_time() {
        let (clock, hour) = (Clock::simulated(), Duration::from_secs(3600));
        let before = Instant::now();
        let mut asked = 0;
        let mut ask = |yes_at| {
            clock.wait(hour, Duration::from_secs(60), || {
                asked += 1;
                Ok::<_, ()>(asked == yes_at)
            })
        };
        assert_eq!(ask(61), Ok(true));
        assert_eq!(ask(0), Ok(false));
        assert_eq!(asked, 61 + 61);
        assert_eq!(clock.now(), 2 * hour);
        assert_eq!(clock.time_of_day(), Moment(7_200_000_000));
        assert!(before.elapsed() < hour / 60);
    }

    #[test]
    fn who_is_long_in_answering_is_spared() {
        let clock = Clock::simulated();
        let (limit, step) = (Duration::from_secs(60), Duration::from_millis(150));
        let mut takes = [40, 400, 30_000, 0].map(Duration::from_millis).into_iter();
        let mut asked = Vec::new();
        let answered = clock.wait_sparing(limit, step, || {
            asked.push(clock.now().as_millis());
            clock.sleep(takes.next().expect("four times"));
            Ok::<_, ()>(asked.len() == 4)
        });
        assert_eq!(answered, Ok(true));
        assert_eq!(asked, [0, 190, 190 + 1600, 190 + 1600 + 32_000]);
    }

    #[test]
    fn who_works_beside_has_its_time_in_order_and_ends_when_it_is_dropped() {
        let clock = Clock::simulated();
        let told = Mutex::new(Vec::new());
        let every = |name: &'static str, ms| {
            let (clock, told) = (&clock, &told);
            move || {
                told.lock().unwrap().push((clock.now().as_millis(), name));
                Duration::from_millis(ms)
            }
        };
        thread::scope(|scope| {
            let three = clock.beside(scope, every("three", 300));
            let two = clock.beside(scope, every("two", 200));
            assert!(told.lock().unwrap().is_empty());
            clock.sleep(Duration::from_millis(450));
            clock.sleep(Duration::from_millis(150));
            drop(three);
            clock.sleep(Duration::from_millis(300));
            drop(two);
        });
        let two = [0, 200, 400, 600, 800].map(|at| (at, "two"));
        let three = [0, 300, 600].map(|at| (at, "three"));
        let mut all = [two.as_slice(), &three].concat();
        all.sort_by_key(|(at, name)| (*at, *name == "two"));
        assert_eq!(*told.lock().unwrap(), all);
        assert_eq!(clock.now(), Duration::from_millis(900));
    }

    #[test]
    fn by_the_machines_clock_work_goes_on_until_it_is_dropped() {
        let clock = Clock::default();
        let (done, wait) = mpsc::channel();
        thread::scope(|scope| {
            let beside = clock.beside(scope, move || {
                let _nobody_waits_any_more = done.send(());
                Duration::from_millis(1)
            });
            for _ in 0..3 {
                wait.recv().unwrap();
            }
            drop(beside);
        });
    }
}
