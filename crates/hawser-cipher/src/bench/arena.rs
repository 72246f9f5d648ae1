//! Memory laid out as a measurement wants it.

use std::io::{IoSlice, IoSliceMut};

use crate::BLOCK;
use crate::bench::Layout;

/// Memory for one contender: input and output of a chunk.
///
/// Pieces lie side by side and follow each other in shuffled order, in input and output differently,
/// as objects of a slab or pages of a pool do once they were given out and returned for a while.
pub(crate) struct Arena {
    layout: Layout,
    chunk: usize,
    input: Vec<u8>,
    output: Vec<u8>,
    input_order: Vec<usize>,
    output_order: Vec<usize>,
}

/// The alignment of buffers.
const LINE: usize = 64;

/// The buffers of a chunk.
pub(crate) enum Memory<'a> {
    /// One input, one output.
    Contiguous(&'a [u8], &'a mut [u8]),
    /// One buffer with a spare block behind it (OpenSSL's safe interface wants that), and its length
    /// without that block.
    InPlace(&'a mut [u8], usize),
    /// Pieces.
    Scattered(Vec<IoSlice<'a>>, Vec<IoSliceMut<'a>>),
}

impl Arena {
    /// An arena whose input holds `text`.
    pub(crate) fn new(layout: Layout, text: &[u8]) -> Self {
        let chunk = text.len();
        let pieces = layout.piece().map_or(1, |piece| chunk / piece);
        let bytes = chunk + BLOCK + LINE;
        let mut arena = Self {
            layout,
            chunk,
            input: vec![0; bytes],
            output: vec![0; bytes],
            input_order: shuffled(pieces, 0x9e37_79b9),
            output_order: shuffled(pieces, 0x7f4a_7c15),
        };
        let piece = chunk / pieces;
        for (part, place) in text.chunks(piece).zip(&arena.input_order) {
            let start = aligned(&arena.input) + place * piece;
            arena.input[start..start + piece].copy_from_slice(part);
        }
        if layout == Layout::InPlace {
            let start = aligned(&arena.output);
            arena.output[start..start + chunk].copy_from_slice(text);
        }
        arena
    }

    /// The buffers.
    pub(crate) fn memory(&mut self) -> Memory<'_> {
        let piece = self.chunk / self.input_order.len();
        let start = aligned(&self.input);
        let input = &self.input[start..];
        let start = aligned(&self.output);
        let output = &mut self.output[start..];
        match self.layout {
            Layout::Contiguous => {
                Memory::Contiguous(&input[..self.chunk], &mut output[..self.chunk])
            }
            Layout::InPlace => Memory::InPlace(&mut output[..self.chunk + BLOCK], self.chunk),
            _ => {
                let from = self.input_order.iter().map(|place| {
                    let start = place * piece;
                    IoSlice::new(&input[start..start + piece])
                });
                let mut slots: Vec<Option<&mut [u8]>> =
                    output.chunks_mut(piece).map(Some).collect();
                let to = self.output_order.iter().map(|place| {
                    let slot = slots[*place].take().expect("each place once");
                    IoSliceMut::new(slot)
                });
                Memory::Scattered(from.collect(), to.collect())
            }
        }
    }
}

fn aligned(bytes: &[u8]) -> usize {
    // No offset is promised on targets where pointers have no address; none of ours is one.
    bytes.as_ptr().align_offset(LINE).min(LINE)
}

/// The numbers below `count` in an order that is the same in every run (Fisher and Yates, with a
/// linear congruential generator).
fn shuffled(count: usize, mut seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        order.swap(last, (seed >> 33) as usize % (last + 1));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_is_the_text_in_every_layout() {
        let text: Vec<u8> = (0..8192_u32).map(|k| (k * 7 + k / 256) as u8).collect();
        for layout in Layout::ALL {
            let mut arena = Arena::new(layout, &text);
            match arena.memory() {
                Memory::Contiguous(input, output) => {
                    assert_eq!((input, output.len()), (&text[..], text.len()));
                }
                Memory::InPlace(data, length) => assert_eq!(data[..length], text),
                Memory::Scattered(input, output) => {
                    let piece = layout.piece().unwrap();
                    let read: Vec<u8> = input.iter().flat_map(|p| p.iter().copied()).collect();
                    assert_eq!(read, text);
                    assert!(output.iter().all(|p| p.len() == piece));
                    assert_eq!(output.len(), text.len() / piece);
                }
            }
        }
    }
}
