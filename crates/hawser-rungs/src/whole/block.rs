//! A block on its way, and its head on the wire.

use crate::RungError;
use crate::storage::Aligned;

/// Text of one block.
pub(super) const SIZE: usize = 256 << 10;

/// Blocks that go round at each end: one in each stage, and one before each to even out hiccups.
pub(super) const BLOCKS: usize = 6;

/// Length, nonce and tag: 4, 12 and 16 bytes.
pub(super) const HEAD: usize = 32;

/// A buffer that goes round.
pub(super) struct Block {
    pub(super) memory: Aligned,
    pub(super) length: usize,
    pub(super) nonce: [u8; 12],
    pub(super) tag: [u8; 16],
}

impl Block {
    pub(super) fn new() -> Self {
        Self {
            memory: Aligned::new(SIZE),
            length: 0,
            nonce: [0; 12],
            tag: [0; 16],
        }
    }

    pub(super) fn text(&mut self) -> &mut [u8] {
        &mut self.memory.bytes_mut()[..self.length]
    }

    pub(super) fn head(&self) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(&(self.length as u32).to_be_bytes());
        head[4..16].copy_from_slice(&self.nonce);
        head[16..].copy_from_slice(&self.tag);
        head
    }

    /// Takes what a head says; a length of zero is the end.
    pub(super) fn announce(&mut self, head: &[u8; HEAD]) -> Result<(), RungError> {
        self.length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        if self.length > SIZE {
            return Err(RungError::Broken("a block is longer than any that is sent"));
        }
        self.nonce.copy_from_slice(&head[4..16]);
        self.tag.copy_from_slice(&head[16..]);
        Ok(())
    }
}
