//! How much socket memory one packet of a flow takes (`skb->truesize`), seen from outside.
//!
//! The kernel tells the bytes charged for everything queued, not the number of packets. After
//! a wait the queue was empty, so what is charged at the wake-up is a whole number of equal
//! packets: one, two, a few, as they came. The greatest common divisor of such charges is
//! one packet's.

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

    /// The next packets were read, all of the flow or not.
    pub fn read(&mut self, all_of_flow: bool) {
        if let (Some(charged), true) = (self.open.take(), all_of_flow) {
            self.divisor = greatest_common_divisor(self.divisor, charged);
            self.divided += 1;
        }
    }

    /// The estimate, when there were samples enough and it can be true: a packet takes more memory
    /// than its payload.
    pub fn finish(self) -> Option<Bytes> {
        (self.divided >= LEAST && self.divisor > self.payload).then_some(Bytes(self.divisor))
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}
