//! The same from the heads' own logs, which are asked for.

use std::process::ExitCode;

use hawser_cluster::host::questions::ReadLogEnds;
use hawser_host::Hosts;
use hawser_model::drill::Moment;
use miette::bail;

use super::{Time, now, show};
use crate::cluster::Which;

/// Asks the heads for the ends of their logs, and says what they tell of this time; exit code 1 when there is an incident.
pub fn of_heads(which: &Which, time: &Time, json: bool) -> miette::Result<ExitCode> {
    let (mut heads, mut report) = crate::verbs::incident::told(which)?;
    if time.is_asked() {
        time.only(&mut report, local_now(&mut heads)?)?;
    }
    Ok(show(&report, json))
}

/// The time of day as the first head that answers has it: its log is stamped by that.
///
/// # Errors
/// No head answers.
fn local_now(heads: &mut Hosts) -> miette::Result<Moment> {
    let clock = ReadLogEnds { bytes: 0 };
    let offset = heads.values_mut().find_map(|head| head.ask(&clock).ok());
    let Some(logs) = offset else {
        bail!("--since and --until are of the heads' local time, and no head says which it is now");
    };
    let offset_us = i64::from(logs.utc_offset_s) * 1_000_000;
    Ok(Moment(now().saturating_mul(1_000_000)).shifted(offset_us))
}
