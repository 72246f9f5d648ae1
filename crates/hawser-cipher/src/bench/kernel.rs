//! The kernel at the same work, in messages of 32 KiB at most. It is measured on contiguous buffers alone: a program that gave
//! it pieces would copy them.

use crate::bench::contender::{Contender, Task};
use crate::bench::plan::Group;
use crate::error::CipherError;
use crate::kernel::{KernelCipher, KernelError};
use crate::mode::{Direction, Mode};

/// The kernel's operation of `group`.
pub(crate) struct Kernel {
    cipher: KernelCipher,
    messages: Vec<Vec<u8>>,
    output: Vec<u8>,
}

impl Kernel {
    /// # Errors
    /// What the kernel does not offer.
    pub(crate) fn new(group: &Group, task: &Task) -> Result<Self, KernelError> {
        let key = vec![0x42_u8; group.key_size.bytes()];
        let texts = task.text.chunks(KernelCipher::LONGEST);
        let mut messages: Vec<Vec<u8>> = texts.map(<[u8]>::to_vec).collect();
        if (group.mode, group.direction) == (Mode::Gcm, Direction::Decrypt) {
            // What opens has the tag of its own ciphertext.
            let mut sealing = KernelCipher::new(group.mode, Direction::Encrypt, &key)?;
            for message in &mut messages {
                let mut sealed = vec![0; message.len() + sealing.tag()];
                sealing.message(message, &mut sealed)?;
                *message = sealed;
            }
        }
        let cipher = KernelCipher::new(group.mode, group.direction, &key)?;
        let mut kernel = Self {
            cipher,
            messages,
            output: vec![0; KernelCipher::LONGEST * 2],
        };
        kernel.work()?;
        Ok(kernel)
    }

    fn work(&mut self) -> Result<(), KernelError> {
        for message in &self.messages {
            let length = match self.cipher.direction() {
                Direction::Encrypt => message.len() + self.cipher.tag(),
                Direction::Decrypt => message.len() - self.cipher.tag(),
            };
            self.cipher.message(message, &mut self.output[..length])?;
        }
        Ok(())
    }
}

impl Contender for Kernel {
    fn once(&mut self) -> Result<(), CipherError> {
        self.work().map_err(CipherError::Kernel)
    }
}
