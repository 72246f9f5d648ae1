//! Interarrival jitter as RFC 3550 defines it (section 6.4.1, arithmetic of appendix A.8).

use hawser_model::traffic::Quantiles;
use hawser_model::units::Nanos;

use crate::histogram::Times;

/// The smoothed difference of transit times, in arrival order.
///
/// Sender and receiver need no common clock: only differences of differences count.
#[derive(Debug, Default)]
pub struct Jitter {
    /// Arrival minus send time of the packet before; the clocks' offset cancels out.
    transit: Option<u64>,
    /// Sixteen times the jitter, as the RFC's integer arithmetic keeps it.
    scaled: u64,
    times: Times,
}

impl Jitter {
    /// A packet sent at `sent` by the sender's clock arrived at `arrived` by the receiver's.
    #[inline]
    pub fn arrived(&mut self, sent: Nanos, arrived: Nanos) {
        let transit = arrived.0.wrapping_sub(sent.0);
        if let Some(before) = self.transit.replace(transit) {
            let difference = (transit.wrapping_sub(before) as i64).unsigned_abs();
            // A clock that is set while we measure must not overflow the scaled value.
            let difference = difference.min(u64::MAX >> 8);
            self.scaled = self.scaled + difference - ((self.scaled + 8) >> 4);
            self.times.record(Nanos(self.scaled >> 4));
        }
    }

    /// The jitter after each packet but the first, as a distribution.
    pub fn quantiles(&self) -> Quantiles {
        self.times.quantiles()
    }
}
