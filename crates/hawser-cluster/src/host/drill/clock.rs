//! The wall clock of this head is set ahead or back, and later to where it would be without that: to the time of the
//! step and what has passed since on a clock that nobody sets. A time service that has put it right meanwhile, wholly
//! or in part, changes nothing about that.

use std::fs;
use std::io::ErrorKind;

use hawser_model::drill::ClockStep;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime, clock_settime};
use serde::{Deserialize, Serialize};

use crate::host::NodeError;

/// Both clocks before the step. In memory: a head that boots has its time from elsewhere.
const BEFORE: &str = "/run/hawser/drill-clock";

/// The step that was taken back last, for whoever reads the logs.
const TAKEN_BACK: &str = "/run/hawser/drill-clock-was";

/// As far off as this from what was ordered, a step is there.
const NEAR_US: i64 = 1_000_000;

/// The first namespaces of a machine (`PROC_PID_INIT_INO`, `PROC_USER_INIT_INO` in `include/linux/proc_ns.h`).
const OWN: [(&str, &str); 2] = [("pid", "pid:[4026531836]"), ("user", "user:[4026531837]")];

/// Both clocks at one moment, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Reading {
    /// CLOCK_REALTIME.
    wall: i64,
    /// CLOCK_BOOTTIME, which runs through a suspension and which nobody sets.
    boot: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Step {
    before: Reading,
    ahead_us: i64,
}

impl Step {
    /// What the wall clock would be now without the step.
    fn due(&self, boot: i64) -> i64 {
        self.before.wall + (boot - self.before.boot)
    }

    /// By how much the wall clock is ahead of that.
    fn ahead(&self, now: Reading) -> i64 {
        now.wall - self.due(now.boot)
    }

    /// The step as the logs were written under it: what somebody else did to the clock meanwhile is its error.
    fn taken_back(&self, now: Reading) -> ClockStep {
        ClockStep {
            by_us: self.ahead_us,
            error_us: self.ahead(now).abs_diff(self.ahead_us),
        }
    }
}

pub(super) fn make(ahead_s: i32) -> Result<(), NodeError> {
    for (kind, own) in OWN {
        let link = format!("/proc/self/ns/{kind}");
        let here = fs::read_link(&link).map_err(NodeError::file("readlink", &link))?;
        if here.as_os_str() != own {
            return Err(failed(
                "this head is a container: its clock is that of the machine around it, and of everybody on that",
            ));
        }
    }
    let step = Step {
        before: reading()?,
        ahead_us: i64::from(ahead_s) * 1_000_000,
    };
    let text = serde_json::to_string(&step).map_err(|e| failed(&e.to_string()))?;
    fs::write(BEFORE, text).map_err(NodeError::file("write", BEFORE))?;
    set(step.due(reading()?.boot) + step.ahead_us)
}

pub(super) fn shown() -> Result<Option<String>, NodeError> {
    let Some(step) = there()? else {
        return Ok(None);
    };
    let ahead = step.ahead(reading()?);
    let near = (ahead - step.ahead_us).abs() < NEAR_US;
    Ok(near.then(|| {
        let seconds = ahead as f64 / 1e6;
        format!(
            "the wall clock is {seconds:+.3} s from where the clock since boot says it would be"
        )
    }))
}

pub(super) fn mend() -> Result<(), NodeError> {
    let Some(step) = there()? else {
        return Ok(());
    };
    let now = reading()?;
    set(step.due(reading()?.boot))?;
    let text = serde_json::to_string(&step.taken_back(now)).map_err(|e| failed(&e.to_string()))?;
    fs::write(TAKEN_BACK, text).map_err(NodeError::file("write", TAKEN_BACK))?;
    fs::remove_file(BEFORE).map_err(NodeError::file("remove", BEFORE))
}

/// The step that this head's clock has taken in a drill that is over.
pub(super) fn was() -> Option<ClockStep> {
    serde_json::from_str(&fs::read_to_string(TAKEN_BACK).ok()?).ok()
}

/// That of an earlier drill is of no interest to the next.
pub(super) fn forget() {
    let _there_was_none = fs::remove_file(TAKEN_BACK);
}

fn there() -> Result<Option<Step>, NodeError> {
    match fs::read_to_string(BEFORE) {
        Ok(text) => match serde_json::from_str(&text) {
            Ok(step) => Ok(Some(step)),
            Err(e) => Err(failed(&format!("{BEFORE}: {e}"))),
        },
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(NodeError::file("read", BEFORE)(e)),
    }
}

fn reading() -> Result<Reading, NodeError> {
    let micros = |clock: ClockId| -> Result<i64, NodeError> {
        let now = clock_gettime(clock).map_err(|e| failed(&format!("clock_gettime: {e}")))?;
        Ok(now.tv_sec() * 1_000_000 + now.tv_nsec() / 1000)
    };
    Ok(Reading {
        wall: micros(ClockId::CLOCK_REALTIME)?,
        boot: micros(ClockId::CLOCK_BOOTTIME)?,
    })
}

fn set(us: i64) -> Result<(), NodeError> {
    let to = TimeSpec::new(us.div_euclid(1_000_000), us.rem_euclid(1_000_000) * 1000);
    clock_settime(ClockId::CLOCK_REALTIME, to).map_err(|e| failed(&format!("clock_settime: {e}")))
}

fn failed(said: &str) -> NodeError {
    NodeError::Tool {
        command: "step the clock".into(),
        said: said.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Step = Step {
        before: Reading {
            wall: 1_000_000_000,
            boot: 5_000_000,
        },
        ahead_us: -3_600_000_000,
    };

    #[test]
    fn a_clock_is_put_where_it_would_be_whatever_was_done_to_it_meanwhile() {
        // 20 s later.
        assert_eq!(STEP.due(25_000_000), 1_020_000_000);
        let stepped = Reading {
            wall: 1_020_000_000 - 3_600_000_000,
            boot: 25_000_000,
        };
        assert_eq!(STEP.ahead(stepped), -3_600_000_000);
        assert_eq!(STEP.taken_back(stepped).error_us, 0);
    }

    #[test]
    fn what_a_time_service_did_meanwhile_is_the_error_of_the_logs() {
        let slewed = Reading {
            wall: 1_020_000_000 - 3_600_000_000 + 250_000,
            boot: 25_000_000,
        };
        let was = STEP.taken_back(slewed);
        assert_eq!((was.by_us, was.error_us), (-3_600_000_000, 250_000));
        let put_right = Reading {
            wall: 1_020_000_000,
            boot: 25_000_000,
        };
        assert_eq!(STEP.taken_back(put_right).error_us, 3_600_000_000);
    }

    #[test]
    fn nothing_is_mended_where_nothing_was_made() {
        if !std::path::Path::new(BEFORE).exists() {
            mend().unwrap();
            assert_eq!(shown().unwrap(), None);
        }
    }
}
