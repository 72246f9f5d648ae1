//! What a host's kernel knows of its own clock.

use serde::{Deserialize, Serialize};

use crate::units::Nanos;

/// How well the wall clock is kept, by whoever keeps it (`adjtimex(2)`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockFacts {
    /// Somebody says that he keeps it: `STA_UNSYNC` is not set. chrony does not say so without `rtcsync` in its configuration,
    /// which Debian's has. The kernel sets it once the greatest error has grown to 16 s
    /// (`NTP_PHASE_LIMIT`), so some nine hours after the last time that somebody did.
    pub synchronised: bool,
    /// How far it is off, as that program estimates (`esterror`); systemd-timesyncd always says 0.
    pub estimated_error: Nanos,
    /// How far it can be off (`maxerror`): the kernel lets it grow by 0.5 ms a second until it is set again.
    pub greatest_error: Nanos,
}
