//! Where the bytes of one operation lie.

use std::io::{IoSlice, IoSliceMut};

use zeroize::Zeroize;

use crate::error::CipherError;
use crate::scatter::Pieces;

/// Where the bytes of one operation lie. Made by `into()` from the shapes named at the variants.
#[derive(Debug)]
pub enum Buffers<'a, 'b> {
    /// One input, one output: `(&[u8], &mut [u8])`.
    Contiguous {
        /// What is read.
        input: &'a [u8],
        /// What is written; as long as the input.
        output: &'a mut [u8],
    },
    /// One buffer, overwritten: `&mut [u8]`.
    InPlace(&'a mut [u8]),
    /// Pieces of input and pieces of output, split independently:
    /// `(&[IoSlice], &mut [IoSliceMut])`.
    Scattered {
        /// What is read, in this order.
        input: &'a [IoSlice<'b>],
        /// What is written, in this order; together as long as the input.
        output: &'a mut [IoSliceMut<'b>],
    },
    /// Pieces, each overwritten: `&mut [IoSliceMut]`.
    ScatteredInPlace(&'a mut [IoSliceMut<'b>]),
}

impl<'b> Buffers<'_, 'b> {
    /// Their extent, once input and output are known to agree.
    ///
    /// # Errors
    /// [`CipherError::LengthsDiffer`].
    #[inline]
    pub(crate) fn extent(&self) -> Result<Extent, CipherError> {
        let (input, output) = match self {
            Self::Contiguous { input, output } => (input.len().into(), output.len().into()),
            Self::InPlace(data) => (data.len().into(), data.len().into()),
            Self::Scattered { input, output } => (Pieces::of(input), Pieces::of_mut(output)),
            Self::ScatteredInPlace(pieces) => {
                let both = Pieces::of_mut(pieces);
                (both, both)
            }
        };
        if input.length == output.length {
            Ok(Extent {
                length: input.length,
                input,
                output,
            })
        } else {
            Err(CipherError::LengthsDiffer {
                input: input.length,
                output: output.length,
            })
        }
    }

    /// The same buffers for a shorter while.
    pub(crate) fn reborrow(&mut self) -> Buffers<'_, 'b> {
        match self {
            Self::Contiguous { input, output } => Buffers::Contiguous { input, output },
            Self::InPlace(data) => Buffers::InPlace(data),
            Self::Scattered { input, output } => Buffers::Scattered { input, output },
            Self::ScatteredInPlace(pieces) => Buffers::ScatteredInPlace(pieces),
        }
    }

    /// Zeroes what would have been the result.
    pub(crate) fn erase_output(&mut self) {
        match self {
            Self::Contiguous { output, .. } => output.zeroize(),
            Self::InPlace(data) => data.zeroize(),
            Self::Scattered { output: pieces, .. } | Self::ScatteredInPlace(pieces) => {
                pieces.iter_mut().for_each(|piece| piece.zeroize());
            }
        }
    }
}

impl<'a> From<(&'a [u8], &'a mut [u8])> for Buffers<'a, '_> {
    fn from((input, output): (&'a [u8], &'a mut [u8])) -> Self {
        Self::Contiguous { input, output }
    }
}

impl<'a> From<&'a mut [u8]> for Buffers<'a, '_> {
    fn from(data: &'a mut [u8]) -> Self {
        Self::InPlace(data)
    }
}

impl<'a, 'b> From<(&'a [IoSlice<'b>], &'a mut [IoSliceMut<'b>])> for Buffers<'a, 'b> {
    fn from((input, output): (&'a [IoSlice<'b>], &'a mut [IoSliceMut<'b>])) -> Self {
        Self::Scattered { input, output }
    }
}

impl<'a, 'b> From<&'a mut [IoSliceMut<'b>]> for Buffers<'a, 'b> {
    fn from(pieces: &'a mut [IoSliceMut<'b>]) -> Self {
        Self::ScatteredInPlace(pieces)
    }
}

/// What is known of buffers once their lists were read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Bytes.
    pub(crate) length: usize,
    /// Of the input.
    pub(crate) input: Pieces,
    /// Of the output.
    pub(crate) output: Pieces,
}
