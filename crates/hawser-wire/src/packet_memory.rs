//! How much socket memory one packet of a flow takes (`skb->truesize`), seen from outside.
//!
//! The kernel tells the bytes charged for everything queued, not the number of packets. After
//! a wait the queue was empty, so whatever is charged at the wake-up belongs to packets that
//! are then read before the next wait: charged bytes over packets read. Packets that arrive
//! in between make that too small, never too large; the largest of some samples is it.

use hawser_model::units::Bytes;

/// Samples taken at the start of a flow; later wake-ups cost nothing.
const SAMPLES: u32 = 64;

/// The samples of one flow. Pure: the caller reads the socket.
#[derive(Debug, Default)]
pub struct PacketMemory {
    taken: u32,
    largest: u64,
    /// Bytes charged at the last wake-up, packets read since.
    open: Option<(u64, u64)>,
}

impl PacketMemory {
    /// Whether another sample is wanted.
    pub fn wanted(&self) -> bool {
        self.taken < SAMPLES
    }

    /// A sample is being taken.
    pub fn open(&self) -> bool {
        self.open.is_some()
    }

    /// The queue was empty before; now `charged` bytes are queued.
    pub fn woke(&mut self, charged: u64) {
        self.taken += 1;
        self.open = (charged > 0).then_some((charged, 0));
    }

    /// `packets` were read, all of the flow or not.
    pub fn read(&mut self, packets: u64, all_of_flow: bool) {
        self.open = match self.open {
            Some((charged, before)) if all_of_flow => Some((charged, before + packets)),
            _ => None,
        };
    }

    /// The queue is empty again.
    pub fn emptied(&mut self) {
        if let Some((charged, packets @ 1..)) = self.open.take() {
            self.largest = self.largest.max(charged / packets);
        }
    }

    /// The estimate, when there was a sample.
    pub fn finish(self) -> Option<Bytes> {
        (self.largest > 0).then_some(Bytes(self.largest))
    }
}
