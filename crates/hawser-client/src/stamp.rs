//! What a block holds: eight sectors, each with its address, the number of its write and a checksum
//! of its own, so that a write of which only a part arrived is seen.
//!
//! A sector, little-endian: magic (4 bytes), CRC-32 of all that follows (4), run (8), block (4),
//! sector (4), number of the write (8), then bytes that follow from these.

/// Bytes in a block.
pub const BLOCK: usize = 4096;

/// Bytes in a sector: what a disk writes whole or not at all.
pub const SECTOR: usize = 512;

const MAGIC: u32 = 0x5257_5348;

/// A block's bytes, aligned as direct I/O wants them.
#[derive(Clone)]
#[repr(align(4096))]
pub struct Page(pub [u8; BLOCK]);

impl Page {
    /// A block of zeros.
    pub fn zeroed() -> Box<Self> {
        Box::new(Self([0; BLOCK]))
    }
}

/// What was found in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A whole write of this run, by its number.
    Write(u64),
    /// Nothing that this run ever wrote.
    Nothing,
    /// Parts of different writes, or damaged ones.
    Torn,
}

/// The bytes of a write.
pub fn make(run: u64, block: u32, sequence: u64) -> Box<Page> {
    let mut page = Page::zeroed();
    for (number, sector) in (0_u32..).zip(page.0.chunks_exact_mut(SECTOR)) {
        sector[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        sector[8..16].copy_from_slice(&run.to_le_bytes());
        sector[16..20].copy_from_slice(&block.to_le_bytes());
        sector[20..24].copy_from_slice(&number.to_le_bytes());
        sector[24..32].copy_from_slice(&sequence.to_le_bytes());
        let mut state =
            run ^ sequence.rotate_left(17) ^ (u64::from(block) << 8 | u64::from(number));
        for word in sector[32..].chunks_exact_mut(8) {
            word.copy_from_slice(&mixed(&mut state).to_le_bytes());
        }
        let sum = crc32fast::hash(&sector[8..]);
        sector[4..8].copy_from_slice(&sum.to_le_bytes());
    }
    page
}

/// Reads a block back.
pub fn read(run: u64, block: u32, page: &Page) -> Found {
    let mut sectors = (0_u32..).zip(page.0.chunks_exact(SECTOR));
    let of = |number: u32, sector: &[u8]| one(run, block, number, sector);
    let first = sectors.next().map_or(Found::Nothing, |(n, s)| of(n, s));
    match sectors.all(|(number, sector)| of(number, sector) == first) {
        true => first,
        false => Found::Torn,
    }
}

fn one(run: u64, block: u32, number: u32, sector: &[u8]) -> Found {
    let word = |at: usize| {
        u32::from_le_bytes([sector[at], sector[at + 1], sector[at + 2], sector[at + 3]])
    };
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    if word(0) != MAGIC || long(8) != run {
        return Found::Nothing;
    }
    let whole = word(4) == crc32fast::hash(&sector[8..]);
    match whole && word(16) == block && word(20) == number {
        true => Found::Write(long(24)),
        false => Found::Torn,
    }
}

/// The next number of a reproducible sequence (splitmix64, Steele and others 2014).
pub fn mixed(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_read_back_and_a_half_of_one_is_torn() {
        let new = make(7, 3, 42);
        assert_eq!(read(7, 3, &new), Found::Write(42));
        assert_eq!(read(8, 3, &new), Found::Nothing, "another run's");
        assert_eq!(read(7, 4, &new), Found::Torn, "at the wrong address");
        let mut half = make(7, 3, 41);
        half.0[..SECTOR * 3].copy_from_slice(&new.0[..SECTOR * 3]);
        assert_eq!(read(7, 3, &half), Found::Torn);
        let mut damaged = new.clone();
        damaged.0[4000] ^= 1;
        assert_eq!(read(7, 3, &damaged), Found::Torn);
        assert_eq!(read(7, 3, &Page::zeroed()), Found::Nothing);
    }
}
