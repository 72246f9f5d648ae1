//! AES as storage and network programs meet it: large amounts, in contiguous, in-place and
//! scattered buffers, at the speed of the processor.
//!
//! The rounds are done by a well-kept implementation (AWS-LC, or RustCrypto in a build without C;
//! `docs/cipher.md` has the measurements behind the choice). What is built here is the data path:
//!
//! - **[`Buffers`]**: every operation takes contiguous input and output, one buffer in place,
//!   scattered input and output, or scattered buffers in place; any split, any alignment.
//! - **Long runs at once.** Long contiguous runs go to the implementation as they lie; short pieces
//!   are gathered into a small buffer that stays in the first-level cache, so there is no call and
//!   no allocation a block. No call into the implementation covers more than [`CHUNK`] bytes.
//! - **[`Cipher`]**: ECB, CBC and CTR, streaming.
//! - **[`gcm`]**: AES-GCM whose nonces cannot repeat and whose decryption releases nothing that is
//!   not verified, in bounded memory.
//! - **[`frames`]**: authenticated streams without end (the STREAM construction), in which a lost,
//!   repeated, moved or missing last frame is noticed.
#![deny(unsafe_code)]

pub mod bench;
mod buffers;
mod chunks;
mod cipher;
mod error;
pub mod frames;
pub mod gcm;
pub mod hazmat;
pub mod kernel;
mod key;
mod mode;
mod path;
mod provider;
#[allow(unsafe_code)]
mod raw;
mod scatter;

pub use buffers::Buffers;
pub use chunks::CHUNK;
pub use cipher::Cipher;
pub use error::CipherError;
pub use key::{Iv, Key, KeySize};
pub use mode::{Direction, Mode};
pub use provider::PROVIDER;

/// The size of an AES block in bytes.
pub const BLOCK: usize = 16;
