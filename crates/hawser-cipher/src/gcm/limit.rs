//! How much may be processed under one nonce.

use crate::error::CipherError;

/// The most bytes of text under one nonce: 2^36 − 32, just below 64 GiB (SP 800-38D, 5.2.1.1). The
/// block counter has 32 bits, one value masks the tag, and one must not come round.
pub const MESSAGE_LIMIT: u64 = (1 << 36) - 32;

/// The bytes of a message so far.
#[derive(Debug, Default)]
pub(crate) struct Limit(u64);

impl Limit {
    /// Books `more` bytes.
    ///
    /// # Errors
    /// [`CipherError::GcmLimit`] when they would pass the limit; nothing is booked then.
    pub(crate) fn book(&mut self, more: usize) -> Result<(), CipherError> {
        let more = more as u64;
        match self.0.checked_add(more) {
            Some(sum) if sum <= MESSAGE_LIMIT => {
                self.0 = sum;
                Ok(())
            }
            _ => Err(CipherError::GcmLimit { done: self.0, more }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_byte_is_taken_and_the_next_refused() {
        let mut limit = Limit(MESSAGE_LIMIT - 3);
        limit.book(3).unwrap();
        assert_eq!(
            limit.book(1),
            Err(CipherError::GcmLimit {
                done: MESSAGE_LIMIT,
                more: 1
            })
        );
        limit.book(0).unwrap();
    }

    #[test]
    fn a_refused_amount_is_not_booked() {
        let mut limit = Limit::default();
        assert!(limit.book(usize::MAX).is_err());
        limit.book(MESSAGE_LIMIT as usize).unwrap();
    }
}
