//! How long packets were on their way, by two clocks. Pure.

use hawser_model::units::Nanos;

/// The mean of arrival by the receiver's clock less departure by the sender's.
///
/// Between two hosts it holds the difference of their clocks, which may be anything: only what it gains from one
/// flow to the next means something.
#[derive(Debug, Default)]
pub struct Transit {
    /// Of the first packet; the others are held against it, so that their sum stays small.
    first: Option<u64>,
    gained: i128,
    /// What the quickest and the slowest gained.
    least: i64,
    most: i64,
    packets: u32,
}

impl Transit {
    /// A packet sent at `sent` by the sender's clock arrived at `arrived` by the receiver's.
    #[inline]
    pub fn arrived(&mut self, sent: Nanos, arrived: Nanos) {
        let transit = arrived.0.wrapping_sub(sent.0);
        let first = *self.first.get_or_insert(transit);
        let gained = transit.wrapping_sub(first) as i64;
        self.gained += i128::from(gained);
        self.least = self.least.min(gained);
        self.most = self.most.max(gained);
        self.packets = self.packets.saturating_add(1);
    }

    /// Nanoseconds; `None` when nothing arrived.
    pub fn mean(&self) -> Option<i64> {
        let mean = self.gained / i128::from(self.packets.max(1));
        Some((self.first? as i64).wrapping_add(mean as i64))
    }

    /// How much longer the slowest was on its way than the quickest; `None` when nothing arrived. In a flow of seconds
    /// two clocks drift apart by microseconds.
    pub fn latest(&self) -> Option<Nanos> {
        self.first.map(|_| Nanos(self.most.abs_diff(self.least)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_holds_the_clocks_difference_and_its_gain_does_not() {
        let mean = |late: u64| {
            let mut transit = Transit::default();
            // The receiver's clock is an hour behind, so that every transit is negative.
            for at in 0..4_u64 {
                let sent = 3_600_000_000_000 + at * 1_000;
                transit.arrived(Nanos(sent), Nanos(at * 1_000 + late * at));
            }
            transit.mean().unwrap()
        };
        assert_eq!(mean(0), -3_600_000_000_000);
        assert_eq!(mean(200) - mean(0), 300);
        assert_eq!(Transit::default().mean(), None);
    }

    #[test]
    fn the_latest_is_held_against_the_quickest() {
        let mut transit = Transit::default();
        assert_eq!(transit.latest(), None);
        for late in [500, 300, 9_300, 400] {
            transit.arrived(Nanos(7_000_000), Nanos(1_000_000 + late));
        }
        assert_eq!(transit.latest(), Some(Nanos(9_000)));
    }
}
