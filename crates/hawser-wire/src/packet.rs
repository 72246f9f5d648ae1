//! The probe packet: what every UDP payload of a flow carries, written and read.
//!
//! | offset | bytes | field (big endian) |
//! | --- | --- | --- |
//! | 0 | 8 | [`PROBE_MAGIC`] |
//! | 8 | 8 | run key |
//! | 16 | 4 | flow |
//! | 20 | 8 | sequence number, from 0 |
//! | 28 | 8 | send time, nanoseconds of the sender's monotonic clock |
//! | 36 | 4 | CRC-32 (IEEE 802.3) over the fill, then over bytes 0 to 35 |
//! | 40 | … | fill: the same bytes in every packet of the flow |
//!
//! The checksum runs over the fill *first*. The fill never changes within a flow, nor do
//! the first twenty bytes, so a sender computes their part once and each packet costs
//! sixteen more bytes of CRC, whatever its size; the receiver still checks every byte.
//! A CRC of 32 bits detects every single flipped bit and every burst of up to 32 of them.

use crc32fast::Hasher;
use hawser_model::traffic::{FlowId, PROBE_MAGIC, RunKey};
use hawser_model::units::Nanos;

/// Bytes of the header: the smallest payload a probe packet can have.
pub const HEADER_BYTES: usize = 40;

/// Bytes of the header that are the same in all packets of a flow.
const CONSTANT_BYTES: usize = 20;

/// Where the checksum stands.
const CHECKSUM_AT: usize = 36;

/// What an intact probe packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The run it belongs to.
    pub key: RunKey,
    /// The flow it belongs to.
    pub flow: FlowId,
    /// Its place in the flow.
    pub sequence: u64,
    /// When it was sent, by the sender's monotonic clock.
    pub sent_at: Nanos,
}

/// Why a payload is not an intact probe packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Shorter than the header.
    Short,
    /// Does not begin with the magic.
    Magic,
    /// The checksum does not match.
    Checksum,
}

/// Reads a payload. Any bytes at all are fine; only intact packets come back.
///
/// # Errors
/// The first [`Damage`] found.
pub fn parse(payload: &[u8]) -> Result<Probe, Damage> {
    let Some((header, fill)) = payload.split_first_chunk::<HEADER_BYTES>() else {
        return Err(Damage::Short);
    };
    if header[..8] != PROBE_MAGIC {
        return Err(Damage::Magic);
    }
    let mut crc = Hasher::new();
    crc.update(fill);
    crc.update(&header[..CHECKSUM_AT]);
    if crc.finalize() != u32_at(header, CHECKSUM_AT) {
        return Err(Damage::Checksum);
    }
    Ok(fields(header))
}

fn fields(header: &[u8; HEADER_BYTES]) -> Probe {
    Probe {
        key: RunKey(u64_at(header, 8)),
        flow: FlowId(u32_at(header, 16)),
        sequence: u64_at(header, 20),
        sent_at: Nanos(u64_at(header, 28)),
    }
}

/// Writes the packets of one flow at little cost each.
#[derive(Clone, Debug)]
pub struct Template {
    constant: [u8; CONSTANT_BYTES],
    fill: Box<[u8]>,
    /// CRC over the fill and the constant part of the header.
    prefix: u32,
}

impl Template {
    /// The packets of `flow` with `payload` bytes each; fewer than [`HEADER_BYTES`] count as
    /// that many.
    pub fn new(key: RunKey, flow: FlowId, payload: usize) -> Self {
        let mut constant = [0; CONSTANT_BYTES];
        constant[..8].copy_from_slice(&PROBE_MAGIC);
        constant[8..16].copy_from_slice(&key.0.to_be_bytes());
        constant[16..].copy_from_slice(&flow.0.to_be_bytes());
        let fill = fill(key, flow, payload.saturating_sub(HEADER_BYTES));
        let mut crc = Hasher::new();
        crc.update(&fill);
        crc.update(&constant);
        Self {
            constant,
            fill,
            prefix: crc.finalize(),
        }
    }

    /// Bytes of one packet's payload.
    pub fn payload(&self) -> usize {
        HEADER_BYTES + self.fill.len()
    }

    /// Writes what all packets share into a buffer of [`Self::payload`] bytes, once.
    ///
    /// # Panics
    /// When the buffer has another length.
    pub fn prepare(&self, packet: &mut [u8]) {
        let (header, fill) = packet.split_at_mut(HEADER_BYTES);
        header[..CONSTANT_BYTES].copy_from_slice(&self.constant);
        fill.copy_from_slice(&self.fill);
    }

    /// Makes a prepared buffer the packet number `sequence`, sent at `sent_at`.
    ///
    /// # Panics
    /// When the buffer is shorter than the header.
    #[inline]
    pub fn stamp(&self, packet: &mut [u8], sequence: u64, sent_at: Nanos) {
        let header = &mut packet[..HEADER_BYTES];
        header[20..28].copy_from_slice(&sequence.to_be_bytes());
        header[28..36].copy_from_slice(&sent_at.0.to_be_bytes());
        let mut crc = Hasher::new_with_initial(self.prefix);
        crc.update(&header[CONSTANT_BYTES..CHECKSUM_AT]);
        header[CHECKSUM_AT..].copy_from_slice(&crc.finalize().to_be_bytes());
    }

    /// Reads a payload that should be a packet of this flow, faster than [`parse`]: what all
    /// packets share is compared, and only what differs goes through the checksum. Absent
    /// for anything else than an intact packet of the flow.
    #[inline]
    pub fn read(&self, packet: &[u8]) -> Option<Probe> {
        let (header, fill) = packet.split_first_chunk::<HEADER_BYTES>()?;
        if header[..CONSTANT_BYTES] != self.constant || *fill != *self.fill {
            return None;
        }
        let mut crc = Hasher::new_with_initial(self.prefix);
        crc.update(&header[CONSTANT_BYTES..CHECKSUM_AT]);
        (crc.finalize() == u32_at(header, CHECKSUM_AT)).then(|| fields(header))
    }

    /// One whole packet. Allocates: for probes sent one at a time.
    pub fn packet(&self, sequence: u64, sent_at: Nanos) -> Vec<u8> {
        let mut packet = vec![0; self.payload()];
        self.prepare(&mut packet);
        self.stamp(&mut packet, sequence, sent_at);
        packet
    }
}

/// Bytes without pattern, so that a path that compresses, or a stuck bit, is not flattered
/// (`SplitMix64`, Steele, Lea and Flood, OOPSLA 2014).
fn fill(key: RunKey, flow: FlowId, bytes: usize) -> Box<[u8]> {
    let mut state = key.0 ^ (u64::from(flow.0) << 32);
    let mut fill = vec![0; bytes];
    for chunk in fill.chunks_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        chunk.copy_from_slice(&z.to_be_bytes()[..chunk.len()]);
    }
    fill.into_boxed_slice()
}

fn u64_at(header: &[u8; HEADER_BYTES], at: usize) -> u64 {
    let mut field = [0; 8];
    field.copy_from_slice(&header[at..at + 8]);
    u64::from_be_bytes(field)
}

fn u32_at(header: &[u8; HEADER_BYTES], at: usize) -> u32 {
    let mut field = [0; 4];
    field.copy_from_slice(&header[at..at + 4]);
    u32::from_be_bytes(field)
}
