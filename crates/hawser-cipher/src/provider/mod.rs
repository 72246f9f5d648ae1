//! The implementation that does the rounds, chosen when the crate is built.
//!
//! Each offers the same `Context`: one mode, one direction, one key.
//!
//! - `Context::new(mode, direction, &Key)`
//! - `start(&iv)` begins a message: 16 bytes for CBC and CTR, the 12-byte nonce for GCM; ECB has none
//! - `associate(data)`: data that GCM authenticates and does not encrypt, before the first `apply`
//! - `apply(input, output)`, `apply_in_place(data)`: at most an `i32` of bytes, whole blocks in ECB and CBC
//! - `tag()` after encrypting, `check(&tag)` after decrypting with GCM

#[cfg(not(any(feature = "aws-lc", feature = "pure-rust")))]
compile_error!("hawser-cipher needs one of the features `aws-lc` and `pure-rust`");

#[cfg(any(test, not(feature = "aws-lc")))]
#[cfg(feature = "pure-rust")]
mod rust_crypto;

#[cfg(feature = "aws-lc")]
pub(crate) use crate::raw::aws_lc::Context;
#[cfg(not(feature = "aws-lc"))]
pub(crate) use rust_crypto::Context;

/// Who does the rounds in this build.
pub const PROVIDER: &str = if cfg!(feature = "aws-lc") {
    "AWS-LC"
} else {
    "RustCrypto"
};
