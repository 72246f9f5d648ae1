//! The data path: which runs go to the implementation as they lie, and which are gathered first.
//!
//! Three costs decide. A call costs 3 to 50 ns (GCM the most: it fills and drains a pipeline and
//! derives powers of its hash key each time). A copy there and back costs about 30 ns a KiB from the
//! first-level cache, 45 from the second. So a run as long as [`direct_from`] is worth a call of its
//! own and a shorter one is not. `docs/cipher.md` has the measurements.

use std::io::{IoSlice, IoSliceMut};
use std::ops::Deref;

use zeroize::Zeroize;

use crate::BLOCK;
use crate::buffers::{Buffers, Extent};
use crate::chunks::{Between, CHUNK};
use crate::error::CipherError;
use crate::key::Key;
use crate::mode::{Direction, Mode};
use crate::provider::Context;
use crate::scatter::Cursor;

/// Gathered at once where both sides are short pieces. With the pieces it came from and goes to it
/// fits a first-level cache of 32 KiB.
const BOUNCE: usize = 8 * 1024;

/// Gathered at once straight into a long run of output.
const GATHER: usize = 16 * 1024;

/// The length from which a contiguous run gets a call of its own; a power of two.
fn direct_from(mode: Mode, direction: Direction) -> usize {
    match (mode, direction) {
        // One block after the other whatever is done: a call costs next to nothing beside it.
        (Mode::Cbc, Direction::Encrypt) => 128,
        (Mode::Ecb | Mode::Cbc | Mode::Ctr, _) => 512,
        (Mode::Gcm, _) => 2048,
    }
}

/// What transforms bytes that lie in one run.
pub(crate) trait Engine {
    /// From one run to another of the same length.
    fn apply(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), CipherError>;
    /// One run, overwritten.
    fn apply_in_place(&mut self, data: &mut [u8]) -> Result<(), CipherError>;
}

impl Engine for Context {
    fn apply(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), CipherError> {
        self.apply(input, output)
    }

    fn apply_in_place(&mut self, data: &mut [u8]) -> Result<(), CipherError> {
        self.apply_in_place(data)
    }
}

/// Short pieces are put together here. Erased when dropped, since plaintext passes through.
#[repr(align(64))]
struct Bounce([u8; BOUNCE]);

impl Drop for Bounce {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// An engine and how bytes get to it.
pub(crate) struct DataPath<E = Context> {
    pub(crate) engine: E,
    mode: Mode,
    direct_from: usize,
    /// Bytes of the current message beyond its last whole block.
    offset: usize,
    bounce: Option<Box<Bounce>>,
    pub(crate) between: Between,
}

impl DataPath {
    /// A data path to the crate's implementation.
    pub(crate) fn new(mode: Mode, direction: Direction, key: &Key) -> Result<Self, CipherError> {
        let engine = Context::new(mode, direction, key)?;
        Ok(Self::with_engine(
            engine,
            mode,
            direct_from(mode, direction),
        ))
    }

    /// Begins a message.
    pub(crate) fn start(&mut self, iv: &[u8]) -> Result<(), CipherError> {
        self.offset = 0;
        self.engine.start(iv)
    }
}

impl<E: Engine> DataPath<E> {
    fn with_engine(engine: E, mode: Mode, direct_from: usize) -> Self {
        Self {
            engine,
            mode,
            direct_from,
            offset: 0,
            bounce: None,
            between: Between::default(),
        }
    }

    /// The extent of `buffers`, if they can be the next of the message.
    #[inline]
    pub(crate) fn accepts(&self, buffers: &Buffers<'_, '_>) -> Result<Extent, CipherError> {
        let extent = buffers.extent()?;
        let length = extent.length;
        if length % self.mode.granule() != 0 {
            return Err(CipherError::NotWholeBlocks {
                mode: self.mode.name(),
                length,
            });
        }
        Ok(extent)
    }

    /// The next bytes of the message. `extent` is what [`Self::accepts`] said of `buffers`.
    pub(crate) fn run(
        &mut self,
        buffers: Buffers<'_, '_>,
        extent: &Extent,
    ) -> Result<(), CipherError> {
        match buffers {
            Buffers::Contiguous { input, output } => self.contiguous(input, output),
            Buffers::InPlace(data) => self.in_place(data),
            Buffers::Scattered { input, output } => self.scattered(input, output, extent),
            Buffers::ScatteredInPlace(pieces) => self.scattered_in_place(pieces, extent),
        }
    }

    /// The next bytes of the message, checked and done.
    pub(crate) fn next(&mut self, buffers: Buffers<'_, '_>) -> Result<(), CipherError> {
        let extent = self.accepts(&buffers)?;
        self.run(buffers, &extent)
    }

    fn contiguous(&mut self, mut input: &[u8], mut output: &mut [u8]) -> Result<(), CipherError> {
        while !input.is_empty() {
            let length = self.whole(input.len(), input.len());
            let (from, to);
            (from, input) = input.split_at(length);
            (to, output) = output.split_at_mut(length);
            self.call(from, to)?;
        }
        Ok(())
    }

    fn in_place(&mut self, mut data: &mut [u8]) -> Result<(), CipherError> {
        while !data.is_empty() {
            let part;
            (part, data) = data.split_at_mut(self.whole(data.len(), data.len()));
            self.call_in_place(part)?;
        }
        Ok(())
    }

    fn scattered(
        &mut self,
        input: &[IoSlice<'_>],
        output: &mut [IoSliceMut<'_>],
        extent: &Extent,
    ) -> Result<(), CipherError> {
        let long_in = extent.input.any_from(self.direct_from);
        let long_out = extent.output.any_from(self.direct_from);
        let (mut from, mut to) = (Cursor::default(), Cursor::default());
        let mut left = extent.length;
        while left > 0 {
            let input_run = if long_in {
                self.long(&mut from, input, left)
            } else {
                0
            };
            let output_run = if long_out {
                self.long(&mut to, output, left)
            } else {
                0
            };
            let both = input_run.min(output_run);
            if both > 0 {
                self.call(from.take(input, both), to.take_mut(output, both))?;
                left -= both;
                continue;
            }
            let most = match (input_run, output_run) {
                (0, 0) => BOUNCE,
                (0, run) => run.min(GATHER),
                (run, _) => run.min(BOUNCE),
            };
            let mut part = self.aligned(most, left);
            if long_in && long_out {
                part = self.until_long(part, from, input, Some((to, &*output)));
            }
            if output_run > 0 {
                let target = to.take_mut(output, part);
                from.gather(input, target);
                self.call_in_place(target)?;
            } else {
                let mut bounce = self.take_bounce();
                let bytes = &mut bounce.0[..part];
                if input_run > 0 {
                    self.call(from.take(input, part), bytes)?;
                } else {
                    from.gather(input, bytes);
                    self.call_in_place(bytes)?;
                }
                to.scatter(bytes, output);
                self.bounce = Some(bounce);
            }
            left -= part;
        }
        Ok(())
    }

    fn scattered_in_place(
        &mut self,
        pieces: &mut [IoSliceMut<'_>],
        extent: &Extent,
    ) -> Result<(), CipherError> {
        let any_long = extent.input.any_from(self.direct_from);
        let mut place = Cursor::default();
        let mut left = extent.length;
        while left > 0 {
            let run = if any_long {
                self.long(&mut place, pieces, left)
            } else {
                0
            };
            if run > 0 {
                self.call_in_place(place.take_mut(pieces, run))?;
                left -= run;
                continue;
            }
            let mut part = self.aligned(BOUNCE, left);
            if any_long {
                part = self.until_long(part, place, pieces, None::<(Cursor, &[IoSlice<'_>])>);
            }
            let mut bounce = self.take_bounce();
            let bytes = &mut bounce.0[..part];
            let mut ahead = place;
            ahead.gather(pieces, bytes);
            self.call_in_place(bytes)?;
            place.scatter(bytes, pieces);
            self.bounce = Some(bounce);
            left -= part;
        }
        Ok(())
    }

    /// The run at `place`, cut to a chunk and to whole blocks, if it is worth a call; else zero.
    fn long<T: Deref<Target = [u8]>>(
        &self,
        place: &mut Cursor,
        pieces: &[T],
        left: usize,
    ) -> usize {
        let whole = self.whole(place.run(pieces), left);
        if whole >= self.direct_from { whole } else { 0 }
    }

    /// The most that one call may cover of a run, with `left` bytes left to do.
    fn whole(&self, run: usize, left: usize) -> usize {
        self.aligned(run.min(CHUNK), left)
    }

    /// At most `length`, such that the message then stands at a block's end, or at its own.
    fn aligned(&self, length: usize, left: usize) -> usize {
        if length >= left {
            return left;
        }
        let beyond = (self.offset + length) % BLOCK;
        length.saturating_sub(beyond)
    }

    /// The bytes before the next run that is worth a call (on both sides, where there are two),
    /// rounded up to whole blocks; `most` where there is none before that.
    fn until_long<T: Deref<Target = [u8]>, U: Deref<Target = [u8]>>(
        &self,
        most: usize,
        mut from: Cursor,
        input: &[T],
        mut to: Option<(Cursor, &[U])>,
    ) -> usize {
        let mut length = 0;
        while length < most {
            let mut run = from.run(input);
            if let Some((place, pieces)) = &mut to {
                run = run.min(place.run(pieces));
            }
            if run >= self.direct_from + BLOCK {
                let beyond = (self.offset + length) % BLOCK;
                return most.min(length + (BLOCK - beyond) % BLOCK);
            }
            from.advance(run);
            if let Some((place, _)) = &mut to {
                place.advance(run);
            }
            length += run;
        }
        most
    }

    fn call(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), CipherError> {
        self.engine.apply(input, output)?;
        self.passed(input.len());
        Ok(())
    }

    fn call_in_place(&mut self, data: &mut [u8]) -> Result<(), CipherError> {
        self.engine.apply_in_place(data)?;
        self.passed(data.len());
        Ok(())
    }

    fn passed(&mut self, length: usize) {
        self.offset = (self.offset + length) % BLOCK;
        self.between.passed(length);
    }

    fn take_bounce(&mut self) -> Box<Bounce> {
        self.bounce
            .take()
            .unwrap_or_else(|| Box::new(Bounce([0; BOUNCE])))
    }
}

#[cfg(test)]
mod tests;
