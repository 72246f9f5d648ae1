//! What takes turns: an operation over memory of its own.

use crate::bench::arena::Memory;
use crate::bench::plan::Group;
use crate::buffers::Buffers;
use crate::cipher::Cipher;
use crate::error::CipherError;
use crate::gcm::{NonceSequence, OpeningKey, SealingKey, Tag};
use crate::hazmat::NonceChoosingKey;
use crate::key::{Iv, Key, KeySize};
use crate::mode::{Direction, Mode};

/// Something that does one operation over its chunk.
pub(crate) trait Contender {
    /// One operation.
    fn once(&mut self) -> Result<(), CipherError>;
}

/// The nonce of messages that are opened again and again.
pub(crate) const NONCE: [u8; 12] = [3; 12];

/// The key of all measurements.
pub(crate) fn key(size: KeySize) -> Key {
    Key::new(&[0x42; 32][..size.bytes()]).expect("a size of AES")
}

/// A text to work on, and for GCM's decryption its tag.
pub(crate) struct Task {
    /// What the input holds.
    pub(crate) text: Vec<u8>,
    /// The tag with which `text` opens, then that with which the opened text would open to `text`
    /// again: opening in place alternates between the two, so that every tag is right.
    pub(crate) tags: [Tag; 2],
}

impl Task {
    pub(crate) fn new(group: &Group) -> Result<Self, CipherError> {
        let text: Vec<u8> = (0..group.chunk).map(|k| (k * 31 + k / 256) as u8).collect();
        let mut sealing = NonceChoosingKey::new(&key(group.key_size))?;
        // Sealing `text` gives the tag of its own ciphertext; sealing that, the tag of `text`.
        let mut other = text.clone();
        let of_other = sealing.seal(NONCE, &[], &mut other[..])?;
        let of_text = sealing.seal(NONCE, &[], &mut other[..])?;
        Ok(Self {
            text,
            tags: [of_text, of_other],
        })
    }
}

/// This crate's operation of `group`.
pub(crate) fn ours<'m>(
    group: &Group,
    task: &Task,
    memory: Memory<'m>,
) -> Result<Box<dyn Contender + 'm>, CipherError> {
    let key = key(group.key_size);
    let iv = Iv::new([7; 16]);
    Ok(match (group.mode, group.direction) {
        (Mode::Ecb, direction) => Box::new(Updating {
            cipher: Cipher::ecb(direction, &key)?,
            memory,
        }),
        (Mode::Cbc, direction) => Box::new(Updating {
            cipher: Cipher::cbc(direction, &key, iv)?,
            memory,
        }),
        (Mode::Ctr, _) => Box::new(Updating {
            cipher: Cipher::ctr(&key, iv)?,
            memory,
        }),
        (Mode::Gcm, Direction::Encrypt) => Box::new(Sealing {
            key: SealingKey::new(key, NonceSequence::new([0; 4]))?,
            memory,
        }),
        (Mode::Gcm, Direction::Decrypt) => Box::new(Opening {
            key: OpeningKey::new(&key)?,
            memory,
            tags: task.tags,
        }),
    })
}

impl<'m> Memory<'m> {
    fn buffers(&mut self) -> Buffers<'_, 'm> {
        match self {
            Self::Contiguous(input, output) => (*input, &mut **output).into(),
            Self::InPlace(data, length) => (&mut data[..*length]).into(),
            Self::Scattered(input, output) => (&input[..], &mut output[..]).into(),
        }
    }

    /// True when the output overwrites the input.
    pub(crate) const fn in_place(&self) -> bool {
        matches!(self, Self::InPlace(..))
    }
}

/// A stream that goes on and on.
struct Updating<'m> {
    cipher: Cipher,
    memory: Memory<'m>,
}

impl Contender for Updating<'_> {
    fn once(&mut self) -> Result<(), CipherError> {
        self.cipher.update(self.memory.buffers())
    }
}

/// A message a chunk.
struct Sealing<'m> {
    key: SealingKey,
    memory: Memory<'m>,
}

impl Contender for Sealing<'_> {
    fn once(&mut self) -> Result<(), CipherError> {
        self.key.seal(&[], self.memory.buffers()).map(|_| ())
    }
}

struct Opening<'m> {
    key: OpeningKey,
    memory: Memory<'m>,
    tags: [Tag; 2],
}

impl Contender for Opening<'_> {
    fn once(&mut self) -> Result<(), CipherError> {
        self.key
            .open(NONCE, &[], self.memory.buffers(), &self.tags[0])?;
        if self.memory.in_place() {
            self.tags.swap(0, 1);
        }
        Ok(())
    }
}
