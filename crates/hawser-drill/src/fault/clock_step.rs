//! The wall clock of a head's services jumps, ahead or back, as when a time service puts right what was wrong for long,
//! or believes a server that is. The clock since boot goes on.

use hawser_account::outage::logged_at;
use hawser_cluster::host::drill::HostFault;
use hawser_lab::cluster::clock::has_heads_clock;
use hawser_model::drill::{ClockStep as Step, Moment, utc_offset_s};
use hawser_model::names::HostName;

use super::Fault;
use crate::error::DrillError;
use crate::processes::{Process, of_node};
use crate::stage::{Stage, now};

/// What Pacemaker is asked to note so that it writes a line: an attribute that stays out of the CIB.
const ATTRIBUTE: &str = "hawser-drill-clock";

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
    fn there(&self) -> HostFault {
        HostFault::Clock {
            ahead_s: self.ahead_s,
        }
    }

    /// The services whose clock steps.
    fn services(&self, stage: &Stage<'_>) -> Result<Vec<Process>, DrillError> {
        let mut all = of_node(stage, self.head.as_str())?;
        all.retain(|process| {
            let name = process.of.name.as_str();
            process.of.state != 'Z'
                && (name.starts_with("pacemaker") || name == "corosync" || name == "tgtd")
        });
        Ok(all)
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
        let way = if self.ahead_s < 0 { "back" } else { "ahead" };
        Some(format!("{} s {way}", self.ahead_s.abs()))
    }

    fn clock_step(&self) -> Option<Step> {
        Some(Step {
            by_us: i64::from(self.ahead_s) * 1_000_000,
            error_us: 0,
        })
    }

    fn make(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        let head = self.head.as_str();
        if stage.real().is_some() {
            return stage.make_there(&self.head, self.there());
        }
        for service in self.services(stage)? {
            if !service.maps(has_heads_clock) {
                return Err(DrillError::CouldNot(format!(
                    "{} on {head} was not started by the lab, and has the machine's clock",
                    service.of.name
                )));
            }
        }
        Ok(stage
            .lab()?
            .set_clock(head, i64::from(self.ahead_s) * 1_000_000_000)?)
    }

    fn evidence(&self, stage: &Stage<'_>) -> Result<Option<String>, DrillError> {
        let head = self.head.as_str();
        if stage.real().is_some() {
            return stage.shown_there(&self.head, self.there());
        }
        if !stage.is_on(&self.head)? {
            return Ok(Some(format!("{head} lost its power by it")));
        }
        let line = format!(
            "attrd_updater --private -n {ATTRIBUTE} -U $(date +%s%N) >/dev/null && sleep 0.1; attrd_updater -D -n \
             {ATTRIBUTE} >/dev/null; date +%z; grep {ATTRIBUTE} /var/log/pacemaker/pacemaker.log | tail -n 1"
        );
        let Ok(said) = stage.shell(head, &line) else {
            return Ok(None);
        };
        let (zone, line) = said.split_once('\n').unwrap_or_default();
        let now = now();
        let offset = utc_offset_s(zone.trim()).unwrap_or(0);
        let written = logged_at(line, now.0 / 1_000_000, offset);
        Ok(written.and_then(|at| self.shown_by(at, now)))
    }

    fn heal(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        if stage.real().is_some() {
            return stage.mend_there(&self.head, self.there());
        }
        // One that was off has the machine's time again.
        match stage.is_on(&self.head)? {
            true => Ok(stage.lab()?.set_clock(self.head.as_str(), 0)?),
            false => Ok(()),
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
