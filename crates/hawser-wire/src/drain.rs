//! How busy a reading loop was between the flow's first and last packet. Pure.

use hawser_model::traffic::Drain;
use hawser_model::units::Nanos;

/// Adds up busy and idle time from the moments the loop passes.
///
/// Waiting before the first packet and after the last one is not the reader's idleness but
/// the flow's absence; so a wait counts only when a packet ends it and one came before.
#[derive(Debug, Default)]
pub struct DrainMeter {
    drain: Drain,
    /// Since when the loop has been reading.
    busy_since: Nanos,
    /// Packets of the flow were read since then.
    read: bool,
    /// Waited since the last packets, over how many waits.
    pending: (Nanos, u64),
    begun: bool,
}

impl DrainMeter {
    /// The loop goes to read at `now`, after a wait that began at `since`.
    pub fn woke(&mut self, since: Nanos, now: Nanos) {
        self.pending.0 += now.saturating_sub(since);
        self.pending.1 += 1;
        self.busy_since = now;
    }

    /// Packets of the flow were read.
    #[inline]
    pub fn read(&mut self) {
        if !self.read {
            self.read = true;
            let (idle, waits) = std::mem::take(&mut self.pending);
            if self.begun {
                self.drain.idle += idle;
                self.drain.waits += waits;
            }
            self.begun = true;
        }
    }

    /// The queue was empty at `now`: the loop is going to wait.
    pub fn emptied(&mut self, now: Nanos) {
        let spent = now.saturating_sub(self.busy_since);
        if std::mem::take(&mut self.read) {
            self.drain.busy += spent;
        } else {
            self.pending.0 += spent;
        }
    }

    /// The sums.
    pub fn finish(self) -> Drain {
        self.drain
    }
}
