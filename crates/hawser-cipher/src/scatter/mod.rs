//! Lists of pieces: a place in one, and copying between a list and contiguous memory.

pub(crate) mod copy;

use std::io::{IoSlice, IoSliceMut};
use std::ops::Deref;

use crate::raw;

/// A place in a list of pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    piece: usize,
    offset: usize,
}

impl Cursor {
    /// Bytes that follow here without a break; empty pieces are passed over. Zero: the list is over.
    pub(crate) fn run<T: Deref<Target = [u8]>>(&mut self, pieces: &[T]) -> usize {
        while let Some(piece) = pieces.get(self.piece) {
            if self.offset < piece.len() {
                return piece.len() - self.offset;
            }
            *self = Self {
                piece: self.piece + 1,
                offset: 0,
            };
        }
        0
    }

    /// The next `length` bytes, which must lie in one run.
    pub(crate) fn take<'p, T: Deref<Target = [u8]>>(
        &mut self,
        pieces: &'p [T],
        length: usize,
    ) -> &'p [u8] {
        let taken = &pieces[self.piece][self.offset..self.offset + length];
        self.offset += length;
        taken
    }

    /// The next `length` bytes, which must lie in one run, for writing.
    pub(crate) fn take_mut<'p>(
        &mut self,
        pieces: &'p mut [IoSliceMut<'_>],
        length: usize,
    ) -> &'p mut [u8] {
        let taken = &mut pieces[self.piece][self.offset..self.offset + length];
        self.offset += length;
        taken
    }

    /// Passes over `length` bytes, which must lie in one run.
    pub(crate) fn advance(&mut self, length: usize) {
        self.offset += length;
    }

    /// Fills `into` with the bytes from here on. The list must hold as many.
    pub(crate) fn gather<T: Deref<Target = [u8]>>(&mut self, pieces: &[T], into: &mut [u8]) {
        let mut filled = 0;
        while filled < into.len() {
            if self.offset == 0 {
                let copied = raw::copy::gather(&pieces[self.piece..], &mut into[filled..]);
                self.piece += copied.pieces;
                filled += copied.bytes;
            }
            if filled == into.len() {
                break;
            }
            let part = self.run(pieces).min(into.len() - filled);
            into[filled..filled + part].copy_from_slice(self.take(pieces, part));
            filled += part;
        }
    }

    /// Writes all of `from` to the pieces from here on. The list must have the room.
    pub(crate) fn scatter(&mut self, from: &[u8], pieces: &mut [IoSliceMut<'_>]) {
        let mut done = 0;
        while done < from.len() {
            if self.offset == 0 {
                let copied = raw::copy::scatter(&from[done..], &mut pieces[self.piece..]);
                self.piece += copied.pieces;
                done += copied.bytes;
            }
            if done == from.len() {
                break;
            }
            let part = self.run(pieces).min(from.len() - done);
            self.take_mut(pieces, part)
                .copy_from_slice(&from[done..done + part]);
            done += part;
        }
    }
}

/// What is known of a list once it was read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pieces {
    /// Bytes in all of them.
    pub(crate) length: usize,
    /// The lengths, or-ed together.
    pub(crate) lengths: usize,
}

impl Pieces {
    /// Reads a list. This is done to every list before anything else, so it must cost less than a
    /// cycle a piece.
    pub(crate) fn of(pieces: &[IoSlice<'_>]) -> Self {
        raw::copy::lengths(raw::copy::words(pieces))
    }

    /// Reads a list of output.
    pub(crate) fn of_mut(pieces: &[IoSliceMut<'_>]) -> Self {
        raw::copy::lengths(raw::copy::words_mut(pieces))
    }

    /// What is known of a list whose addresses and lengths are `words`, in turn.
    #[inline]
    pub(crate) fn summed(words: &[usize]) -> Self {
        let mut all = Self::default();
        for piece in words.chunks_exact(2) {
            all = all.and(Self::from(piece[1]));
        }
        all
    }

    /// Two lists, one after the other.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self {
            length: self.length.wrapping_add(other.length),
            lengths: self.lengths | other.lengths,
        }
    }

    /// True when some piece has `limit` bytes or more; `limit` must be a power of two.
    pub(crate) const fn any_from(self, limit: usize) -> bool {
        debug_assert!(limit.is_power_of_two());
        self.lengths >= limit
    }
}

impl From<usize> for Pieces {
    fn from(length: usize) -> Self {
        Self {
            length,
            lengths: length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths that meet every path of the copy loops: runs of equal pieces, odd ones, empty ones.
    const LENGTHS: [usize; 32] = [
        64, 64, 64, 64, 64, 0, 16, 16, 16, 16, 16, 16, 16, 16, 1, 7, 256, 256, 256, 256, 33, 300,
        0, 48, 48, 48, 48, 128, 128, 128, 128, 5000,
    ];

    #[test]
    fn what_is_gathered_in_steps_of_any_size_is_the_bytes_in_order() {
        let data: Vec<Vec<u8>> = LENGTHS
            .iter()
            .enumerate()
            .map(|(i, length)| (0..*length).map(|k| (i * 31 + k * 7) as u8).collect())
            .collect();
        let all = data.concat();
        let pieces: Vec<IoSlice<'_>> = data.iter().map(|piece| IoSlice::new(piece)).collect();
        for step in [1, 3, 16, 100, 1024, all.len()] {
            let mut place = Cursor::default();
            let mut gathered = Vec::new();
            while gathered.len() < all.len() {
                let mut part = vec![0; step.min(all.len() - gathered.len())];
                place.gather(&pieces, &mut part);
                gathered.extend(part);
            }
            assert_eq!(gathered, all);
            assert_eq!(place.run(&pieces), 0);
        }
    }

    #[test]
    fn what_is_scattered_in_steps_of_any_size_lies_in_the_pieces_in_order() {
        let total: usize = LENGTHS.iter().sum();
        let all: Vec<u8> = (0..total).map(|k| (k * 13 + k / 251) as u8).collect();
        for step in [1, 3, 16, 100, 1024, total] {
            let mut data: Vec<Vec<u8>> = LENGTHS.iter().map(|length| vec![0; *length]).collect();
            let mut pieces: Vec<IoSliceMut<'_>> = data
                .iter_mut()
                .map(|piece| IoSliceMut::new(piece))
                .collect();
            let mut place = Cursor::default();
            for part in all.chunks(step) {
                place.scatter(part, &mut pieces);
            }
            assert_eq!(data.concat(), all);
        }
    }

    #[test]
    fn a_list_is_known_by_its_length_and_whether_any_piece_is_long() {
        let data: Vec<Vec<u8>> = LENGTHS.iter().map(|length| vec![0; *length]).collect();
        let pieces: Vec<IoSlice<'_>> = data.iter().map(|piece| IoSlice::new(piece)).collect();
        let known = Pieces::of(&pieces);
        assert_eq!(known.length, LENGTHS.iter().sum::<usize>());
        assert!(known.any_from(4096) && !known.any_from(8192));
        let short = Pieces::of(&pieces[..31]);
        assert!(short.any_from(256) && !short.any_from(512));
        for count in 0..LENGTHS.len() {
            let known = Pieces::of(&pieces[..count]);
            assert_eq!(known.length, LENGTHS[..count].iter().sum::<usize>());
        }
        let mut data = data.clone();
        let output: Vec<IoSliceMut<'_>> = data.iter_mut().map(|p| IoSliceMut::new(p)).collect();
        let known = Pieces::of_mut(&output[1..]);
        assert_eq!(known.length, LENGTHS[1..].iter().sum::<usize>());
        assert!(known.any_from(4096) && !known.any_from(8192));
    }
}
