//! OpenSSL's update without the safe wrapper's demand of a spare block behind the output, which pieces
//! that lie side by side do not have.

use openssl::cipher_ctx::CipherCtxRef;
use openssl::error::ErrorStack;

/// `EVP_CipherUpdate` of whole blocks, or of any length in a stream mode.
///
/// # Panics
/// When the lengths differ or, in a mode of blocks, are not whole blocks.
pub(crate) fn update(
    context: &mut CipherCtxRef,
    input: &[u8],
    output: &mut [u8],
) -> Result<(), ErrorStack> {
    assert_eq!(input.len(), output.len());
    assert_eq!(input.len() % context.block_size(), 0);
    // SAFETY: with whole blocks, and padding off as the caller sets it, EVP writes what it reads and
    // holds nothing back; `output` has that room.
    unsafe { context.cipher_update_unchecked(input, Some(output)) }.map(|_| ())
}
