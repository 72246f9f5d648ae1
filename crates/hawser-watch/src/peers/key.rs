//! The key by which watches know each other: made of Corosync's (`/etc/corosync/authkey`), so that no other can be learnt
//! from it.

use std::path::Path;

use hawser_files::{Expected, FileError};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

/// Bytes of the key of a conversation.
pub const LENGTH: usize = 32;

/// What Corosync takes for a key (corosync-keygen(8): 128 to 4096 bytes).
const FEWEST: usize = 128;
const MOST: u64 = 4096;

/// What the key is for (RFC 5869, 3.2): a key that is made of the same bytes for another purpose is another one.
const PURPOSE: &[u8] = b"hawser watch, heads among themselves, 1";

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// It cannot be read, or is not root's alone.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is none: Corosync of this cluster speaks in the clear.
    #[error(
        "Corosync has no key here, so the watches of the heads have none by which to know each other"
    )]
    None,
    /// It is too short to be one.
    #[error("Corosync's key has {0} bytes; one has {FEWEST} to {MOST}")]
    Short(usize),
}

/// The key that is made of this file, read now: it may have been renewed.
///
/// # Errors
/// There is none, or it is not what it should be.
pub fn read(path: &Path) -> Result<Zeroizing<[u8; LENGTH]>, KeyError> {
    let secret = hawser_files::read(path, Expected::own(MOST))?;
    let secret = Zeroizing::new(secret.ok_or(KeyError::None)?);
    derive(&secret)
}

/// The key that is made of Corosync's.
///
/// # Errors
/// Corosync's is too short.
pub fn derive(authkey: &[u8]) -> Result<Zeroizing<[u8; LENGTH]>, KeyError> {
    if authkey.len() < FEWEST {
        return Err(KeyError::Short(authkey.len()));
    }
    let mut key = Zeroizing::new([0; LENGTH]);
    let expanded = Hkdf::<Sha256>::new(None, authkey).expand(PURPOSE, key.as_mut());
    expanded.expect("32 bytes are no more than HKDF gives");
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_secret_is_another_key_and_a_short_one_is_none() {
        let (one, other) = ([7; 256], [8; 256]);
        assert_eq!(derive(&one).unwrap(), derive(&one).unwrap());
        assert_ne!(derive(&one).unwrap(), derive(&other).unwrap());
        assert!(matches!(derive(&[0; 127]), Err(KeyError::Short(127))));
    }
}
