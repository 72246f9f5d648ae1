//! The same from the heads' own logs, which are asked for.

use std::process::ExitCode;

use hawser_cluster::host::questions::ReadLogEnds;
use hawser_host::Hosts;
use hawser_model::drill::Moment;

use super::{Time, now, show};
use crate::cluster::Which;

/// Asks the heads for the ends of their logs, and says what they tell of this time; exit code 1 when there is an incident.
pub fn of_heads(which: &Which, time: &Time, json: bool) -> miette::Result<ExitCode> {
    let (mut heads, mut report) = crate::verbs::incident::told(which)?;
    time.only(&mut report, local_now(&mut heads))?;
    Ok(show(&report, json))
}

/// The time of day as the first head that answers has it: its log is stamped by that.
fn local_now(heads: &mut Hosts) -> Moment {
    let clock = ReadLogEnds { bytes: 0 };
    let offset = heads.values_mut().find_map(|head| head.ask(&clock).ok());
    let offset_s = offset.map_or(0, |logs| logs.utc_offset_s);
    Moment(now().saturating_mul(1_000_000)).shifted(i64::from(offset_s) * 1_000_000)
}
