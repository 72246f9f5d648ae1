//! The key and the nonces of one stream.

use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::error::CipherError;
use crate::frames::Header;
use crate::key::Key;

/// The nonces of a stream's frames. It only counts forward.
pub(crate) struct FrameNonces {
    prefix: [u8; 7],
    /// The number of the next frame, up to 2^32 (none left).
    next: u64,
}

impl FrameNonces {
    /// The number of the next frame.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// The nonce of the next frame.
    ///
    /// # Errors
    /// [`CipherError::FramesExhausted`] after 2^32 frames.
    pub(crate) fn draw(&mut self, last: bool) -> Result<[u8; 12], CipherError> {
        let number = u32::try_from(self.next).map_err(|_| CipherError::FramesExhausted)?;
        self.next += 1;
        let mut nonce = [0; 12];
        nonce[..7].copy_from_slice(&self.prefix);
        nonce[7..11].copy_from_slice(&number.to_be_bytes());
        nonce[11] = u8::from(last);
        Ok(nonce)
    }
}

/// Derives a stream's own key and nonce prefix. `associated` and all of the header enter, so that
/// a stream opens only under the same of both.
pub(crate) fn derive(
    key: &Key,
    header: &Header,
    associated: &[u8],
) -> Result<(Key, FrameNonces), CipherError> {
    let size = header.key_size.bytes();
    let mut derived = Zeroizing::new([0_u8; 32 + 7]);
    Hkdf::<Sha256>::new(Some(&header.salt), key.expose())
        .expand_multi_info(&[&header.fixed(), associated], &mut derived[..size + 7])
        .expect("39 bytes are less than 255 hashes");
    let (own, prefix) = derived[..size + 7].split_at(size);
    let mut nonces = FrameNonces {
        prefix: [0; 7],
        next: 0,
    };
    nonces.prefix.copy_from_slice(prefix);
    Ok((Key::new(own)?, nonces))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_numbered_and_end_at_two_to_the_32() {
        let mut nonces = FrameNonces {
            prefix: [7; 7],
            next: u64::from(u32::MAX),
        };
        assert_eq!(
            nonces.draw(true).unwrap(),
            [7, 7, 7, 7, 7, 7, 7, 255, 255, 255, 255, 1]
        );
        assert_eq!(nonces.draw(false), Err(CipherError::FramesExhausted));
    }
}
