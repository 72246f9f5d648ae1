//! What a stream says of itself before its first frame.

use crate::error::CipherError;
use crate::key::KeySize;

const MAGIC: [u8; 4] = *b"HWSF";
const VERSION: u8 = 1;

/// How much text a frame holds: a power of two from 256 bytes to 16 MiB. Reader and writer hold one
/// frame in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSize(u8);

impl FrameSize {
    /// 64 KiB: the tag and the call cost below a thousandth each, and a stream may have 256 TiB.
    pub const DEFAULT: Self = Self(16);

    /// `bytes` of text a frame.
    ///
    /// # Errors
    /// [`CipherError::FrameSize`] unless it is a power of two from 256 to 16 777 216.
    pub const fn new(bytes: usize) -> Result<Self, CipherError> {
        if bytes.is_power_of_two() && bytes >= 1 << 8 && bytes <= 1 << 24 {
            Ok(Self(bytes.trailing_zeros() as u8))
        } else {
            Err(CipherError::FrameSize(bytes))
        }
    }

    /// In bytes.
    pub const fn bytes(self) -> usize {
        1 << self.0
    }
}

/// What goes before the first frame. It is not secret, and a changed one opens nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub(crate) key_size: KeySize,
    pub(crate) frame_size: FrameSize,
    pub(crate) salt: [u8; 32],
}

impl Header {
    /// Its length in bytes.
    pub const LENGTH: usize = 40;

    /// How much text a frame of the stream holds.
    pub const fn frame_size(&self) -> FrameSize {
        self.frame_size
    }

    /// As it is written.
    pub fn to_bytes(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..8].copy_from_slice(&self.fixed());
        bytes[8..].copy_from_slice(&self.salt);
        bytes
    }

    /// As it was read.
    ///
    /// # Errors
    /// [`CipherError::Header`] when it is not one of ours.
    pub fn from_bytes(bytes: &[u8; Self::LENGTH]) -> Result<Self, CipherError> {
        let (fixed, salt) = bytes.split_at(8);
        let [magic @ .., version, key_bytes, log2, zero] = fixed else {
            unreachable!("eight bytes");
        };
        if *magic != MAGIC {
            return Err(CipherError::Header("does not begin with HWSF"));
        }
        if *version != VERSION || *zero != 0 {
            return Err(CipherError::Header("of a version that is not known"));
        }
        let key_size = KeySize::ALL
            .into_iter()
            .find(|size| size.bytes() == usize::from(*key_bytes))
            .ok_or(CipherError::Header(
                "names a key size that AES does not have",
            ))?;
        let frame_size = 1_usize
            .checked_shl(u32::from(*log2))
            .and_then(|bytes| FrameSize::new(bytes).ok())
            .ok_or(CipherError::Header("names a frame size out of range"))?;
        let mut header = Self {
            key_size,
            frame_size,
            salt: [0; 32],
        };
        header.salt.copy_from_slice(salt);
        Ok(header)
    }

    /// The part that every stream of the same kind shares.
    pub(crate) fn fixed(&self) -> [u8; 8] {
        let [a, b, c, d] = MAGIC;
        [
            a,
            b,
            c,
            d,
            VERSION,
            self.key_size.bytes() as u8,
            self.frame_size.0,
            0,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header {
        key_size: KeySize::Aes192,
        frame_size: FrameSize::DEFAULT,
        salt: [9; 32],
    };

    #[test]
    fn a_header_is_read_as_it_was_written() {
        assert_eq!(Header::from_bytes(&HEADER.to_bytes()), Ok(HEADER));
    }

    #[test]
    fn a_header_of_another_kind_is_refused() {
        for (at, value) in [
            (0, b'h'),
            (4, 2),
            (5, 17),
            (6, 7),
            (6, 25),
            (6, 255),
            (7, 1),
        ] {
            let mut bytes = HEADER.to_bytes();
            bytes[at] = value;
            assert!(
                matches!(Header::from_bytes(&bytes), Err(CipherError::Header(_))),
                "byte {at}"
            );
        }
    }

    #[test]
    fn frame_sizes_are_powers_of_two_within_bounds() {
        for bytes in [0, 1, 128, 255, 257, 65_535, 1 << 25, usize::MAX] {
            assert_eq!(FrameSize::new(bytes), Err(CipherError::FrameSize(bytes)));
        }
        for log2 in 8..=24 {
            assert_eq!(FrameSize::new(1 << log2).unwrap().bytes(), 1 << log2);
        }
    }
}
