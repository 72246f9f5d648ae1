//! ECB, CBC and CTR, streaming.

use crate::buffers::Buffers;
use crate::error::CipherError;
use crate::key::{Iv, Key};
use crate::mode::{Direction, Mode};
use crate::path::DataPath;

/// A message in ECB, CBC or CTR, taken in any number of updates.
///
/// None of the three is authenticated: whoever can change the ciphertext changes the plaintext.
/// [`crate::gcm`] and [`crate::frames`] are.
///
/// Updates in ECB and CBC are of whole blocks (the pieces that make up an update need not be);
/// padding, where a format wants it, is the caller's. An update in CTR has any length.
///
/// ```
/// # use hawser_cipher::*;
/// # fn main() -> Result<(), CipherError> {
/// let key = Key::generate(KeySize::Aes256)?;
/// let iv = Iv::random()?;
/// let sent_along = iv.bytes();
///
/// let mut text = *b"sixteen bytes, and thirty-two.. ";
/// Cipher::ctr(&key, iv)?.update(&mut text[..])?;
/// Cipher::ctr(&key, Iv::new(sent_along))?.update(&mut text[..])?;
/// assert_eq!(&text, b"sixteen bytes, and thirty-two.. ");
/// # Ok(())
/// # }
/// ```
pub struct Cipher {
    path: DataPath,
}

impl Cipher {
    /// ECB. **Not secure** (equal blocks stay equal); it is here as a measure of the processor.
    ///
    /// # Errors
    /// [`CipherError::Provider`] when the implementation cannot be set up (out of memory).
    pub fn ecb(direction: Direction, key: &Key) -> Result<Self, CipherError> {
        Ok(Self {
            path: DataPath::new(Mode::Ecb, direction, key)?,
        })
    }

    /// CBC.
    ///
    /// # Errors
    /// [`CipherError::Provider`] when the implementation cannot be set up (out of memory).
    pub fn cbc(direction: Direction, key: &Key, iv: Iv) -> Result<Self, CipherError> {
        let mut cipher = Self {
            path: DataPath::new(Mode::Cbc, direction, key)?,
        };
        cipher.restart(iv)?;
        Ok(cipher)
    }

    /// CTR with a 128-bit big-endian counter that starts at `iv`. Encryption and decryption are the
    /// same operation.
    ///
    /// # Errors
    /// [`CipherError::Provider`] when the implementation cannot be set up (out of memory).
    pub fn ctr(key: &Key, iv: Iv) -> Result<Self, CipherError> {
        let mut cipher = Self {
            path: DataPath::new(Mode::Ctr, Direction::Encrypt, key)?,
        };
        cipher.restart(iv)?;
        Ok(cipher)
    }

    /// Begins another message under the same key: the key schedule is kept.
    ///
    /// # Errors
    /// [`CipherError::Provider`] when the implementation refuses.
    pub fn restart(&mut self, iv: Iv) -> Result<(), CipherError> {
        self.path.start(&iv.0)
    }

    /// The next bytes of the message.
    ///
    /// # Errors
    /// [`CipherError::LengthsDiffer`] and [`CipherError::NotWholeBlocks`], before anything is done.
    pub fn update<'a, 'b: 'a>(
        &mut self,
        data: impl Into<Buffers<'a, 'b>>,
    ) -> Result<(), CipherError> {
        self.path.next(data.into())
    }

    /// Has `hook` run after each [`crate::CHUNK`] of work, for programs that must see to something
    /// else now and then.
    pub fn between_chunks(&mut self, hook: impl FnMut() + Send + Sync + 'static) {
        self.path.between.set(hook);
    }
}
