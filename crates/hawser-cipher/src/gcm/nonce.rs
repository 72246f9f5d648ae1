//! Nonces that cannot repeat.

use crate::error::CipherError;

/// A nonce to seal one message with. It cannot be cloned; sealing consumes it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Nonce(pub(crate) [u8; 12]);

impl Nonce {
    /// Its bytes, to be sent along.
    pub(crate) const fn bytes(&self) -> [u8; 12] {
        self.0
    }
}

/// The nonces of one sender under one key: a fixed field of four bytes that names the sender, then a
/// counter of 64 bits (the deterministic construction of SP 800-38D, 8.2.1).
///
/// It cannot be cloned or set back. A program that starts again has lost its place, so it takes a
/// new key ([`crate::Key::generate`]), or [continues](Self::continuing) at a number it had saved
/// *before* using the numbers below it.
///
/// ```compile_fail
/// # use hawser_cipher::gcm::NonceSequence;
/// let sequence = NonceSequence::new(*b"hd-a");
/// let same_again = sequence.clone();
/// ```
#[derive(Debug)]
pub struct NonceSequence {
    sender: [u8; 4],
    /// `None` when all are drawn.
    next: Option<u64>,
}

impl NonceSequence {
    /// The sequence of a sender that holds a fresh key. Senders that share a key need different
    /// names.
    pub const fn new(sender: [u8; 4]) -> Self {
        Self {
            sender,
            next: Some(0),
        }
    }

    /// The sequence from `first` on, where all numbers below may have been used.
    pub const fn continuing(sender: [u8; 4], first: u64) -> Self {
        Self {
            sender,
            next: Some(first),
        }
    }

    /// The next nonce.
    ///
    /// # Errors
    /// [`CipherError::NoncesExhausted`] after 2^64 − 1.
    pub(crate) fn draw(&mut self) -> Result<Nonce, CipherError> {
        let number = self.next.ok_or(CipherError::NoncesExhausted)?;
        self.next = number.checked_add(1);
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&self.sender);
        bytes[4..].copy_from_slice(&number.to_be_bytes());
        Ok(Nonce(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_counts_and_ends() {
        let mut sequence = NonceSequence::new([1, 2, 3, 4]);
        assert_eq!(
            sequence.draw().unwrap().bytes(),
            [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(
            sequence.draw().unwrap().bytes(),
            [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 1]
        );

        let mut sequence = NonceSequence::continuing([0; 4], u64::MAX);
        assert_eq!(sequence.draw().unwrap().bytes()[4..], [0xff; 8]);
        assert_eq!(sequence.draw(), Err(CipherError::NoncesExhausted));
        assert_eq!(sequence.draw(), Err(CipherError::NoncesExhausted));
    }
}
