//! Keys and initialisation vectors.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use crate::error::CipherError;

/// The three key sizes of AES (FIPS 197).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum KeySize {
    /// 128 bits, 10 rounds.
    Aes128,
    /// 192 bits, 12 rounds.
    Aes192,
    /// 256 bits, 14 rounds.
    Aes256,
}

impl KeySize {
    /// All three, smallest first.
    pub const ALL: [Self; 3] = [Self::Aes128, Self::Aes192, Self::Aes256];

    /// Length of the key in bits.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Aes128 => 128,
            Self::Aes192 => 192,
            Self::Aes256 => 256,
        }
    }

    /// Length of the key in bytes.
    pub const fn bytes(self) -> usize {
        self.bits() as usize / 8
    }
}

/// An AES key. It cannot be cloned or printed and is zeroed when dropped.
pub struct Key {
    bytes: [u8; 32],
    size: KeySize,
}

impl Drop for Key {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

impl Key {
    /// A key from its 16, 24 or 32 bytes. The caller's copy stays the caller's to erase.
    ///
    /// # Errors
    /// [`CipherError::KeyLength`] for any other length.
    pub fn new(bytes: &[u8]) -> Result<Self, CipherError> {
        let size = KeySize::ALL
            .into_iter()
            .find(|size| size.bytes() == bytes.len())
            .ok_or(CipherError::KeyLength(bytes.len()))?;
        let mut key = Self {
            bytes: [0; 32],
            size,
        };
        key.bytes[..bytes.len()].copy_from_slice(bytes);
        Ok(key)
    }

    /// A fresh random key.
    ///
    /// # Errors
    /// [`CipherError::Random`] when the operating system gives no random bytes.
    pub fn generate(size: KeySize) -> Result<Self, CipherError> {
        let mut key = Self {
            bytes: [0; 32],
            size,
        };
        getrandom::fill(&mut key.bytes[..size.bytes()])?;
        Ok(key)
    }

    /// Its size.
    pub const fn size(&self) -> KeySize {
        self.size
    }

    /// Its bytes, for handing the key to a peer over a protected channel.
    pub fn expose(&self) -> &[u8] {
        &self.bytes[..self.size.bytes()]
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:?}, …)", self.size)
    }
}

/// The initialisation vector of CBC, or the first counter block of CTR. It cannot be cloned and is
/// consumed by the cipher that takes it: using one twice under a key must be meant.
///
/// CBC needs one an attacker cannot foresee; CTR needs that no counter block of any message under
/// the key is ever repeated. [`Iv::random`] gives both for messages below 2^32 blocks, up to about
/// 2^32 of them.
#[derive(Debug)]
pub struct Iv(pub(crate) [u8; 16]);

impl Iv {
    /// A random one, to be sent along with the ciphertext.
    ///
    /// # Errors
    /// [`CipherError::Random`] when the operating system gives no random bytes.
    pub fn random() -> Result<Self, CipherError> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// One that was received with a ciphertext, or is derived from a place (a sector number) by a
    /// scheme of the caller's.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Its bytes, to be sent along.
    pub const fn bytes(&self) -> [u8; 16] {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lengths_of_aes_are_keys() {
        for length in 0..64 {
            assert_eq!(
                Key::new(&vec![1; length]).is_ok(),
                [16, 24, 32].contains(&length)
            );
        }
    }

    #[test]
    fn a_key_is_never_printed() {
        let key = Key::new(&[0xab; 24]).unwrap();
        assert_eq!(format!("{key:?}"), "Key(Aes192, …)");
    }
}
