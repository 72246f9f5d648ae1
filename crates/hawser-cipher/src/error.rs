//! Why a cipher operation was refused or failed.

use std::io;

use thiserror::Error;

use crate::kernel::KernelError;

/// Why a cipher operation was refused or failed. Nothing was written to the output unless the
/// variant says so.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CipherError {
    /// A key of a length that AES does not have.
    #[error("AES key of {0} bytes: only 16, 24 and 32 are possible")]
    KeyLength(usize),

    /// Input and output hold different numbers of bytes.
    #[error("input of {input} bytes, output of {output} bytes: they must be equal")]
    LengthsDiffer {
        /// Bytes in all input pieces.
        input: usize,
        /// Bytes in all output pieces.
        output: usize,
    },

    /// ECB and CBC work on whole blocks; padding is the caller's.
    #[error("{mode} over {length} bytes: not a multiple of the 16-byte block")]
    NotWholeBlocks {
        /// The mode.
        mode: &'static str,
        /// Bytes in all pieces.
        length: usize,
    },

    /// NIST SP 800-38D, 5.2.1.1: no more than 2^36 − 32 bytes under one nonce, or the 32-bit block
    /// counter repeats and the text is lost.
    #[error(
        "AES-GCM: {done} bytes done under this nonce and {more} more asked; 2^36 - 32 is the limit"
    )]
    GcmLimit {
        /// Bytes already processed under the nonce.
        done: u64,
        /// Bytes asked for.
        more: u64,
    },

    /// The 64-bit counter of a nonce sequence is used up.
    #[error("nonce sequence: all 2^64 nonces are used; take a new key")]
    NoncesExhausted,

    /// The tag does not match. The output was zeroed.
    #[error("AES-GCM: the tag does not match; nothing is released")]
    Forged,

    /// Between the verifying and the releasing pass the ciphertext changed: what was released is
    /// not what had been verified.
    #[error("AES-GCM: the ciphertext changed between the verifying and the releasing pass")]
    ChangedBetweenPasses,

    /// A frame is not what was written at this place of the stream. The output was zeroed.
    #[error(
        "frame {index}{}: altered, moved, repeated, or the stream was cut or extended",
        if *.last { " (the last one received)" } else { "" }
    )]
    FrameForged {
        /// Its number, from zero.
        index: u64,
        /// It was taken for the last one, since the stream ended there.
        last: bool,
    },

    /// A frame longer than the stream's frame size, or a short one before the end.
    #[error("frame {index} of {length} bytes in a stream of {size}-byte frames")]
    FrameLength {
        /// Its number, from zero.
        index: u64,
        /// Its length without the tag.
        length: usize,
        /// The frame size of the stream.
        size: usize,
    },

    /// All 2^32 frames of a stream are used.
    #[error("stream of frames: all 2^32 frames are used")]
    FramesExhausted,

    /// A frame size that is not a power of two from 256 bytes to 16 MiB.
    #[error("frame size of {0} bytes: must be a power of two from 256 to 16777216")]
    FrameSize(usize),

    /// The stream's header is not one of ours.
    #[error("header of a stream of frames: {0}")]
    Header(&'static str),

    /// The operating system gave no random bytes.
    #[error("random bytes from the operating system: {0}")]
    Random(String),

    /// The kernel refused a call, in a measurement beside it.
    #[error("the kernel: {0}")]
    Kernel(KernelError),

    /// The implementation refused a call.
    #[error("{call} for {object} failed")]
    Provider {
        /// The call.
        call: &'static str,
        /// What it was to work on.
        object: String,
    },
}

impl From<getrandom::Error> for CipherError {
    fn from(error: getrandom::Error) -> Self {
        Self::Random(error.to_string())
    }
}

impl From<CipherError> for io::Error {
    /// An error of kind `InvalidData` with this one inside.
    fn from(error: CipherError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}
