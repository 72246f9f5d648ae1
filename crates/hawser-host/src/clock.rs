//! Time, as whoever asks hosts sees it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hawser_model::drill::Moment;

/// The machine's clock, or a simulated one that goes on by as much as somebody sleeps. A sequence of questions reads
/// the time and waits here only, so that a test of it takes no time.
#[derive(Clone, Debug, Default)]
pub struct Clock(Option<Arc<AtomicU64>>);

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
            Some(nanos) => Duration::from_nanos(nanos.load(Ordering::Relaxed)),
        }
    }

    /// The time since a moment that [`now`](Self::now) gave.
    pub fn since(&self, begun: Duration) -> Duration {
        self.now().saturating_sub(begun)
    }

    /// The time of day. An administrator may step it.
    pub fn time_of_day(&self) -> Moment {
        let time = match &self.0 {
            None => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default(),
            Some(_) => self.now(),
        };
        Moment(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
    }

    /// Waits so long.
    pub fn sleep(&self, time: Duration) {
        match &self.0 {
            None => thread::sleep(time),
            Some(nanos) => {
                let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                nanos.fetch_add(time, Ordering::Relaxed);
            }
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
        mut yes: impl FnMut() -> Result<bool, E>,
    ) -> Result<bool, E> {
        let begun = self.now();
        loop {
            let over = self.since(begun) >= limit;
            if yes()? {
                return Ok(true);
            }
            if over {
                return Ok(false);
            }
            self.sleep(step);
        }
    }
}

#[cfg(test)]
mod tests {
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
}
