//! Whether somebody keeps the wall clock right, as the kernel knows it.

use hawser_model::clock::ClockFacts;
use hawser_model::units::Nanos;

use crate::KernelError;
use crate::sys;

/// The machine's clock. A container has that of its machine.
///
/// # Errors
/// The kernel does not let it be read, as in a unit with `ProtectClock=yes`.
pub fn clock() -> Result<ClockFacts, KernelError> {
    let kept = sys::adjtimex().map_err(|source| KernelError::Call {
        call: "adjtimex",
        object: "the clock".to_owned(),
        source,
    })?;
    let micros = |us: libc::c_long| Nanos(u64::try_from(us).unwrap_or(0).saturating_mul(1_000));
    Ok(ClockFacts {
        synchronised: kept.status & libc::STA_UNSYNC == 0,
        estimated_error: micros(kept.esterror),
        greatest_error: micros(kept.maxerror),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_synchronised_can_be_off_by_less_than_one_that_is_not() {
        let clock = match clock() {
            Ok(clock) => clock,
            Err(e) => {
                println!("skipped: {e}");
                return;
            }
        };
        // `NTP_PHASE_LIMIT` (include/linux/timex.h): from there on it is not.
        if clock.synchronised {
            assert!(clock.greatest_error <= Nanos(16_000_000_000), "{clock:?}");
        }
    }
}
