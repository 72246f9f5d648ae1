//! Authenticated streams: any length, text released frame by frame, and no frame lost, repeated,
//! moved, or cut off at the end without notice.
//!
//! The construction is STREAM (Hoang, Reyhanitabar, Rogaway, Vizár: *Online Authenticated-Encryption
//! and its Nonce-Reuse Misuse-Resistance*, CRYPTO 2015): each frame is AES-GCM under the nonce
//!
//! ```text
//! prefix, 7 bytes │ number of the frame, 4 bytes, big-endian │ 1 in the last frame, else 0
//! ```
//!
//! so a frame opens only at its own place, and only the true end opens as the end.
//!
//! The key of a stream is its own: HKDF-SHA-256 (RFC 5869) over the caller's key with a random salt of
//! 32 bytes that travels in the [`Header`]. So one long-lived key serves any number of streams and
//! restarts without a nonce to keep track of.
//!
//! [`FrameWriter`] and [`FrameReader`] do it over [`std::io`]; [`FrameSealer`] and [`FrameOpener`] over
//! buffers of any shape, for programs with framing of their own.
//!
//! # On the wire
//!
//! ```text
//! header   "HWSF" │ 1 (version) │ key bytes (16, 24, 32) │ log2 of the frame size │ 0 │ salt (32 bytes)
//! frames   ciphertext, exactly the frame size │ tag (16 bytes)
//! last     ciphertext, 0 bytes to the frame size │ tag (16 bytes)
//! ```

mod header;
mod keys;
mod open;
mod reader;
mod seal;
mod writer;

pub use header::{FrameSize, Header};
pub use open::FrameOpener;
pub use reader::FrameReader;
pub use seal::FrameSealer;
pub use writer::FrameWriter;

/// Bytes that a frame is longer than its text.
pub const TAG: usize = 16;
