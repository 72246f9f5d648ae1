//! The wall clock of a head's services jumps, ahead or back, as when a time service puts right what was wrong for long,
//! or believes a server that is. The clock since boot goes on.
//!
//! A head with a clock of its own sets it. Where heads share this machine's clock, their site pretends.

use hawser_account::outage::logged_at;
use hawser_cluster::host::questions::StampLog;
use hawser_host::site::SiteFault;
use hawser_model::drill::{ClockStep as Step, Moment};
use hawser_model::names::HostName;

use super::{Fault, HostFault, host};
use crate::context::{DrillContext, REACHED};
use crate::error::DrillError;

/// A line may be so old, and the machine so busy, when it is read.
const NEAR_S: f64 = 60.0;

/// See the module.
pub struct ClockStep {
    /// The head.
    pub head: HostName,
    /// By how many seconds its clock is then ahead. More than a drill takes, so that stamps of before and after cannot be
    /// mistaken for each other.
    pub ahead_s: i32,
}

impl ClockStep {
    fn around_it(&self) -> SiteFault {
        SiteFault::Clock {
            host: self.head.clone(),
            ahead_s: self.ahead_s,
        }
    }

    fn on_it(&self) -> HostFault {
        HostFault::Clock {
            ahead_s: self.ahead_s,
        }
    }
}

impl Fault for ClockStep {
    fn name(&self) -> &'static str {
        "clock-step"
    }

    fn hosts(&self) -> Vec<HostName> {
        vec![self.head.clone()]
    }

    fn object(&self) -> Option<String> {
        Some(self.around_it().to_string())
    }

    fn clock_step(&self) -> Option<Step> {
        Some(Step {
            by_us: i64::from(self.ahead_s) * 1_000_000,
            error_us: 0,
        })
    }

    fn make(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        match context.shares_clock(&self.head) {
            true => Ok(context.site.break_now(&[self.around_it()])?),
            false => host::make(context, &self.head, &self.on_it()),
        }
    }

    fn evidence(&self, context: &DrillContext<'_>) -> Result<Option<String>, DrillError> {
        let head = &self.head;
        let Ok(stamped) = context.hosts.ask(head, &StampLog) else {
            let off = !context.site.has_power(head)?;
            return Ok(off.then(|| format!("{head} lost its power by it")));
        };
        let now = context.now();
        let line = stamped.line.as_deref().unwrap_or_default();
        let written = logged_at(line, now.0 / 1_000_000, stamped.utc_offset_s);
        Ok(written.and_then(|at| self.shown_by(at, now)))
    }

    fn heal(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        match context.shares_clock(&self.head) {
            true => context.until_done(REACHED, || context.site.mend(&[self.around_it()])),
            false => host::mend(context, &self.head, &self.on_it()),
        }
    }
}

impl ClockStep {
    /// Whether a line that was written just now has a stamp of the stepped clock.
    fn shown_by(&self, written: Moment, now: Moment) -> Option<String> {
        let ahead = written.since(now);
        ((ahead - f64::from(self.ahead_s)).abs() < NEAR_S).then(|| {
            format!(
                "what Pacemaker on {} writes into its log now is stamped {ahead:+.1} s from now",
                self.head
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_stamp_of_the_stepped_clock_shows_it() {
        let fault = |ahead_s| ClockStep {
            head: "head1".into(),
            ahead_s,
        };
        let now = Moment(10_000_000_000);
        let stamped = |s: i64| now.shifted(s * 1_000_000);
        let words = fault(3600).shown_by(stamped(3598), now).unwrap();
        assert!(words.contains("+3598.0 s"), "{words}");
        assert!(fault(-3600).shown_by(stamped(-3601), now).is_some());
        assert_eq!(fault(3600).shown_by(stamped(0), now), None);
        assert_eq!(fault(3600).shown_by(stamped(-3600), now), None);
    }
}
