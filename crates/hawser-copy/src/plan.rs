//! How a source is cut into blocks. Pure.

/// The smallest block: its checksum and record cost nothing beside its data.
const SMALLEST: u64 = 4 << 20;

/// Length of a source that is read over and over: more than can be moved.
pub(crate) const ENDLESS: u64 = 1 << 62;

/// Its blocks are small, so that it ends soon after its time is over, also where a disk is slow.
const OF_ENDLESS: u64 = 1 << 20;

/// At most so many blocks, so that lists of them stay small for any size.
const MOST: u64 = 65_536;

/// Bytes a block of a source of `size` bytes has (the last one may have fewer): a power of two,
/// 4 MiB up to 256 GiB and as much more as keeps the blocks below 65 536.
pub const fn block_size(size: u64) -> u64 {
    let mut block = SMALLEST;
    while size.div_ceil(block) > MOST {
        block *= 2;
    }
    block
}

/// The blocks of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    pub(crate) size: u64,
    pub(crate) block: u64,
}

impl Blocks {
    pub(crate) const fn of(size: u64) -> Self {
        let block = match size {
            ENDLESS => OF_ENDLESS,
            size => block_size(size),
        };
        Self { size, block }
    }

    /// Whether the stream ends when its time is over and not when all blocks were sent.
    pub(crate) const fn endless(self) -> bool {
        self.size == ENDLESS
    }

    pub(crate) const fn count(self) -> u64 {
        self.size.div_ceil(self.block)
    }

    /// First byte, and the byte after the last.
    pub(crate) fn range(self, index: u64) -> (u64, u64) {
        let start = index * self.block;
        (start, (start + self.block).min(self.size))
    }

    /// The block that begins at `offset`.
    pub(crate) fn starting_at(self, offset: u64) -> Option<u64> {
        (offset % self.block == 0 && offset < self.size).then_some(offset / self.block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_the_source_and_stay_few() {
        assert_eq!(Blocks::of(0).count(), 0);
        assert_eq!(Blocks::of(1).range(0), (0, 1));
        let blocks = Blocks::of((4 << 20) + 1);
        assert_eq!(blocks.count(), 2);
        assert_eq!(blocks.range(1), (4 << 20, (4 << 20) + 1));
        assert_eq!(block_size(256 << 30), 4 << 20);
        assert_eq!(block_size((256 << 30) + 1), 8 << 20);
        assert!(Blocks::of(u64::MAX >> 1).count() <= MOST);
        assert_eq!(blocks.starting_at(4 << 20), Some(1));
        assert_eq!(blocks.starting_at(1), None);
    }
}
