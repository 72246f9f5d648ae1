//! The outage: the longest stall of a writer that the faults can have caused.

use hawser_model::drill::{DrillCase, Moment};

use super::timeline::on_drills_clock;

/// The client's outage, on the drill's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outage {
    /// The last acknowledgement before it.
    pub(crate) from: Moment,
    /// The first one after it, or the end of the run.
    pub(crate) to: Moment,
    /// Whether it ended with an acknowledgement.
    pub(crate) over: bool,
    /// Who waited.
    pub(crate) writer: u8,
}

impl Outage {
    /// Its length in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.to.since(self.from)
    }

    fn length(&self) -> u64 {
        self.to.0.saturating_sub(self.from.0)
    }
}

/// The longest stall that ended after the first fault was ordered. What a client suffered before
/// is not the fault's.
pub(crate) fn outage(case: &DrillCase) -> Outage {
    let first = case.faults.first().map_or(Moment(0), |fault| fault.ordered);
    stalls(case)
        .filter(|stall| stall.to > first)
        .max_by_key(Outage::length)
        .unwrap_or_default()
}

/// Of each of so many writers its longest stall while an outage lasted.
pub(crate) fn meanwhile(case: &DrillCase, outage: Outage, writers: u8) -> Vec<Outage> {
    let longest = |writer| {
        let own = stalls(case).filter(|stall| stall.writer == writer);
        let meanwhile = own.filter(|it| it.from < outage.to && it.to > outage.from);
        meanwhile.max_by_key(Outage::length)
    };
    (0..writers).filter_map(longest).collect()
}

fn stalls(case: &DrillCase) -> impl Iterator<Item = Outage> {
    case.client.stalls.iter().map(|stall| Outage {
        from: on_drills_clock(stall.from, case.client.clock),
        to: on_drills_clock(stall.to, case.client.clock),
        over: stall.over,
        writer: stall.writer,
    })
}
