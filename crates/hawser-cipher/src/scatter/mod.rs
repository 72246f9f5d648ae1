//! Lists of pieces: a place in one, and copying between a list and contiguous memory.

pub(crate) mod copy;

use std::io::IoSliceMut;
use std::ops::Deref;

use crate::raw;

/// A place in a list of pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    piece: usize,
    offset: usize,
}

impl Place {
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

/// The longest piece of a list.
pub(crate) fn longest<T: Deref<Target = [u8]>>(pieces: &[T]) -> usize {
    pieces.iter().map(|piece| piece.len()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;

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
            let mut place = Place::default();
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
            let mut place = Place::default();
            for part in all.chunks(step) {
                place.scatter(part, &mut pieces);
            }
            assert_eq!(data.concat(), all);
        }
    }
}
