//! The key of one copy.

use std::fmt;

use hawser_cipher::{CipherError, Key};
use hawser_model::copy::CopyCipher;
use hkdf::Hkdf;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

/// Random per copy. It travels on the agents' own channels and never on the data connection,
/// where only what is derived from it (HKDF-SHA-256, RFC 5869) is seen.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CopyKey([u8; 32]);

impl CopyKey {
    /// From random bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Proof of the key for one connection.
    pub(crate) fn proof(&self, stream: u32) -> Zeroizing<[u8; 32]> {
        self.derive("greeting", stream)
    }

    /// The key that encrypts one stream's data.
    pub(crate) fn of_stream(&self, cipher: CopyCipher, stream: u32) -> Result<Key, CipherError> {
        let bytes = cipher.choice().key_bits as usize / 8;
        Key::new(&self.derive("data", stream)[..bytes])
    }

    /// The key of the few messages beside the data, which are always encrypted.
    pub(crate) fn of_messages(&self) -> Result<Key, CipherError> {
        Key::new(&self.derive("messages", 0)[..])
    }

    fn derive(&self, what: &str, stream: u32) -> Zeroizing<[u8; 32]> {
        let mut derived = Zeroizing::new([0; 32]);
        Hkdf::<Sha256>::new(Some(b"hawser copy 1"), &self.0)
            .expand_multi_info(&[what.as_bytes(), &stream.to_be_bytes()], &mut derived[..])
            .expect("32 bytes are less than 255 hashes");
        derived
    }
}

impl Drop for CopyKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl PartialEq for CopyKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// Without the key.
impl fmt::Debug for CopyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CopyKey(…)")
    }
}
