//! A time by which something must have happened, and asking again until it has.

use std::convert::Infallible;
use std::io::{self, ErrorKind};
use std::thread;
use std::time::{Duration, Instant};

/// A time, by the clock that nobody sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// So much later than now.
    pub fn after(limit: Duration) -> Self {
        Self(Instant::now() + limit)
    }

    /// How long it is until then; zero when it is over.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// The same for a socket, whose limit cannot be zero.
    ///
    /// # Errors
    /// `TimedOut` when it is over.
    pub fn limit(self) -> io::Result<Duration> {
        match self.left() {
            Duration::ZERO => Err(ErrorKind::TimedOut.into()),
            left => Ok(left),
        }
    }

    /// Asks until there is an answer. While there is none (`None`) it pauses, and asks again, the last time when the
    /// time is over; `None` then. It asks once even if the time is over already.
    ///
    /// # Errors
    /// The first error of `ask`, after which nothing is asked again.
    pub fn ask<T, E>(
        self,
        pause: Duration,
        mut ask: impl FnMut() -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        loop {
            let left = self.left();
            let answer = ask()?;
            if answer.is_some() || left.is_zero() {
                return Ok(answer);
            }
            thread::sleep(pause.min(left));
        }
    }

    /// Whether something holds by then, asked as [`Self::ask`] asks.
    pub fn holds(self, pause: Duration, mut holds: impl FnMut() -> bool) -> bool {
        let asked = self.ask(pause, || Ok::<_, Infallible>(holds().then_some(())));
        matches!(asked, Ok(Some(())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(1);

    #[test]
    fn it_is_asked_until_there_is_an_answer_or_the_time_is_over() {
        let long = Deadline::after(Duration::from_secs(60));
        let mut asked = 0;
        let third = long.ask(PAUSE, || {
            asked += 1;
            Ok::<_, Infallible>((asked == 3).then_some("yes"))
        });
        assert_eq!((third, asked), (Ok(Some("yes")), 3));
        let mut asked = 0;
        let failed = long.ask(PAUSE, || {
            asked += 1;
            Err::<Option<()>, _>("broken")
        });
        assert_eq!((failed, asked), (Err("broken"), 1));

        let none = |limit| {
            let (until, mut asked) = (Deadline::after(limit), 0);
            let never = || {
                asked += 1;
                false
            };
            assert!(!until.holds(PAUSE, never));
            assert_eq!(until.left(), Duration::ZERO);
            asked
        };
        assert_eq!(none(Duration::ZERO), 1);
        assert!(none(Duration::from_millis(20)) > 1);
    }

    #[test]
    fn what_is_over_leaves_no_limit_for_a_socket() {
        let over = Deadline::after(Duration::ZERO).limit().unwrap_err();
        assert_eq!(over.kind(), ErrorKind::TimedOut);
        assert!(Deadline::after(Duration::from_secs(60)).limit().is_ok());
    }
}
