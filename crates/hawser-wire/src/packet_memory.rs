//! How much socket memory one packet of a flow takes (`skb->truesize`), seen from outside.
//!
//! The kernel tells the bytes charged for everything queued, not the number of packets. After
//! a wait the queue was empty, so what is charged at the wake-up is a whole number of equal
//! packets: one, two, a few, as they came. The greatest common divisor of such charges is
//! one packet's, or a multiple of it where packets never come one by one: a reader that is kept
//! from its processor finds whole bursts. What the next read took tells which: it took at least
//! what was queued, and as a rule no more.

use hawser_model::units::Bytes;

/// Samples taken at the start of a flow; later wake-ups cost nothing.
const SAMPLES: u32 = 64;

/// Charges that the divisor needs. A reader that is never idle wakes once, and what it finds then may be any number of
/// packets: six of them passed for one, and a buffer for a hundred packets for one that does not hold a burst.
const LEAST: u32 = 3;

/// The samples of one flow of equal packets. Pure: the caller reads the socket.
#[derive(Debug)]
pub struct PacketMemory {
    payload: u64,
    taken: u32,
    divisor: u64,
    /// Charges that the divisor divides.
    divided: u32,
    /// The most that a charge came to for each packet that was read next: a packet takes no less.
    least: u64,
    /// Bytes charged at the last wake-up, until it is known whose they were.
    open: Option<u64>,
}

impl PacketMemory {
    /// For packets of `payload` bytes each.
    pub fn new(payload: u64) -> Self {
        Self {
            payload,
            taken: 0,
            divisor: 0,
            divided: 0,
            least: 0,
            open: None,
        }
    }

    /// For a flow whose packets the kernel joins: no sample is wanted, for the charges are
    /// those of joined packets of any number.
    pub fn unknowable() -> Self {
        Self {
            taken: SAMPLES,
            ..Self::new(0)
        }
    }

    /// Whether another sample is wanted.
    pub fn wanted(&self) -> bool {
        self.taken < SAMPLES
    }

    /// The queue was empty before; now `charged` bytes are queued.
    pub fn woke(&mut self, charged: u64) {
        self.taken += 1;
        self.open = (charged > 0).then_some(charged);
    }

    /// So many packets were read next, after which nothing was queued, and all were of the flow; none where it was otherwise.
    pub fn read(&mut self, packets: Option<u64>) {
        if let (Some(charged), Some(packets)) = (self.open.take(), packets.filter(|n| *n > 0)) {
            self.divisor = greatest_common_divisor(self.divisor, charged);
            self.divided += 1;
            self.least = self.least.max(charged.div_ceil(packets));
        }
    }

    /// The estimate, when there were samples enough and it can be true: a packet takes more memory
    /// than its payload, and a whole number of them what was charged.
    pub fn finish(self) -> Option<Bytes> {
        let whole = self.least > 0 && self.divisor % self.least == 0;
        (self.divided >= LEAST && whole && self.least > self.payload).then_some(Bytes(self.least))
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}
