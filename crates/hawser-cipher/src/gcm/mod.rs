//! AES-GCM (NIST SP 800-38D) with 96-bit nonces and 128-bit tags.
//!
//! Two mistakes break GCM, and the types make both hard:
//!
//! - **A nonce used twice** under one key gives the texts and the authentication key away. A
//!   [`SealingKey`] takes its [`crate::Key`] for good and owns the [`NonceSequence`] that numbers its
//!   messages; neither can be cloned, and there is no way to name a nonce when sealing (known-answer
//!   tests do it through [`crate::hazmat`]).
//! - **Plaintext used before the tag was checked.** An [`OpeningKey`] gives plaintext only after: in
//!   the caller's buffer, which it zeroes when the tag is wrong, or, for messages larger than memory,
//!   in a second pass over the ciphertext ([`Verifier`], [`OpeningKey::open_in_two_passes`]).
//!
//! Streams whose end is not known, or whose text is wanted before the end, are [`crate::frames`].

mod limit;
mod nonce;
mod open;
mod seal;
mod tag;
mod two_passes;

pub use limit::MESSAGE_LIMIT;
pub use nonce::NonceSequence;
pub use open::OpeningKey;
pub use seal::{Sealed, Sealer, SealingKey};
pub use tag::Tag;
pub use two_passes::{Releaser, Verifier};

pub(crate) use limit::Limit;
pub(crate) use nonce::Nonce;
pub(crate) use seal::seal;
