//! A cipher in user space, one thread, in place, 128 KiB at a time: what `hawser-cipher` gives a
//! program. Decryption in GCM includes checking the tag.

use hawser_cipher::gcm::{NonceSequence, OpeningKey, SealingKey, Tag};
use hawser_cipher::{Cipher, Iv, Key, PROVIDER};
use hawser_model::ladder::{CipherChoice, CipherMode, Sample};
use hawser_model::units::Nanos;

use crate::sampler::Sampler;
use crate::{Direction, Measured, RungError};

const CHUNK: usize = 128 << 10;

/// Fresh for each rung and known to nobody.
pub(crate) fn key(cipher: CipherChoice, bytes: &[u8; 32]) -> Result<Key, RungError> {
    Ok(Key::new(&bytes[..(cipher.key_bits as usize / 8).min(32)])?)
}

pub(crate) fn measure(cipher: CipherChoice, direction: Direction, duration: Nanos) -> Measured {
    let how = format!("{}, 128 KiB in place, {PROVIDER}", cipher.name());
    (how, run(cipher, direction, duration))
}

fn run(
    cipher: CipherChoice,
    direction: Direction,
    duration: Nanos,
) -> Result<Vec<Sample>, RungError> {
    let mut worker = Worker::new(cipher, direction, &key(cipher, &[0x42; 32])?)?;
    let mut data = vec![0x5a; CHUNK];
    let mut sampler = Sampler::start(duration);
    loop {
        worker.work(&mut data)?;
        if !sampler.add(CHUNK) {
            return Ok(sampler.finish());
        }
    }
}

/// One direction of a cipher over buffers in place.
enum Worker {
    Stream(Box<Cipher>),
    Seal(Box<SealingKey>),
    /// Opening alternates between two texts, each the other's ciphertext (the keystream of one
    /// nonce taken twice is none), so every tag it checks is right.
    Open(Box<OpeningKey>, [Tag; 2]),
}

/// The nonce of messages that are opened again and again.
const NONCE: [u8; 12] = [3; 12];

impl Worker {
    fn new(cipher: CipherChoice, direction: Direction, key: &Key) -> Result<Self, RungError> {
        let iv = Iv::random()?;
        let both = match direction {
            Direction::Encrypt => hawser_cipher::Direction::Encrypt,
            Direction::Decrypt => hawser_cipher::Direction::Decrypt,
        };
        Ok(match (cipher.mode, direction) {
            (CipherMode::Ctr, _) => Self::Stream(Box::new(Cipher::ctr(key, iv)?)),
            (CipherMode::Cbc, _) => Self::Stream(Box::new(Cipher::cbc(both, key, iv)?)),
            (CipherMode::Gcm, Direction::Encrypt) => {
                let own = Key::new(key.expose())?;
                Self::Seal(Box::new(SealingKey::new(own, NonceSequence::new([0; 4]))?))
            }
            (CipherMode::Gcm, Direction::Decrypt) => {
                let mut sealing = hawser_cipher::hazmat::NonceChoosingKey::new(key)?;
                let mut text = vec![0x5a; CHUNK];
                let of_ciphertext = sealing.seal(NONCE, &[], &mut text[..])?;
                let of_text = sealing.seal(NONCE, &[], &mut text[..])?;
                let opening = OpeningKey::new(key)?;
                Self::Open(Box::new(opening), [of_text, of_ciphertext])
            }
        })
    }

    fn work(&mut self, data: &mut [u8]) -> Result<(), RungError> {
        match self {
            Self::Stream(cipher) => cipher.update(data)?,
            Self::Seal(key) => {
                key.seal(&[], data)?;
            }
            Self::Open(key, tags) => {
                key.open(NONCE, &[], data, &tags[0])?;
                tags.swap(0, 1);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_runs_in_both_directions() {
        for mode in [CipherMode::Cbc, CipherMode::Ctr, CipherMode::Gcm] {
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                for key_bits in [128, 256] {
                    let cipher = CipherChoice { mode, key_bits };
                    let (how, samples) = measure(cipher, direction, Nanos(3_000_000));
                    assert!(how.contains(&cipher.name()));
                    assert!(!samples.unwrap().is_empty(), "{how} {direction:?}");
                }
            }
        }
    }
}
