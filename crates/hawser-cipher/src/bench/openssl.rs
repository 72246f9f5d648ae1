//! OpenSSL's libcrypto at the same work, called as a program would call it: one `EVP_CipherUpdate`
//! an update, or one a piece where the data is scattered.

use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl::error::ErrorStack;

use crate::bench::arena::Memory;
use crate::bench::contender::{Contender, NONCE, Task, key};
use crate::bench::plan::Group;
use crate::error::CipherError;
use crate::gcm::Tag;
use crate::mode::{Direction, Mode};
use crate::raw;

/// OpenSSL's operation of `group`.
pub(crate) fn contender<'m>(
    group: &Group,
    task: &Task,
    memory: Memory<'m>,
) -> Result<Box<dyn Contender + 'm>, CipherError> {
    let name = format!("AES-{}-{}", group.key_size.bits(), group.mode);
    let failed = |error: ErrorStack| provider("EVP_CipherInit", &name, &error);
    let cipher = Cipher::fetch(None, &name, None).map_err(failed)?;
    let mut context = CipherCtx::new().map_err(failed)?;
    let vector = match group.mode {
        Mode::Ecb => None,
        Mode::Cbc | Mode::Ctr => Some(&[7_u8; 16][..]),
        Mode::Gcm => Some(&NONCE[..]),
    };
    let key = key(group.key_size);
    match group.direction {
        Direction::Encrypt => context.encrypt_init(Some(&cipher), Some(key.expose()), vector),
        Direction::Decrypt => context.decrypt_init(Some(&cipher), Some(key.expose()), vector),
    }
    .map_err(failed)?;
    context.set_padding(false);
    Ok(Box::new(OpenSsl {
        context,
        memory,
        mode: group.mode,
        direction: group.direction,
        tags: task.tags,
        name,
    }))
}

struct OpenSsl<'m> {
    context: CipherCtx,
    memory: Memory<'m>,
    mode: Mode,
    direction: Direction,
    tags: [Tag; 2],
    name: String,
}

impl OpenSsl<'_> {
    fn update(&mut self) -> Result<(), ErrorStack> {
        match &mut self.memory {
            Memory::Contiguous(input, output) => {
                raw::openssl::update(&mut self.context, input, output)?;
            }
            Memory::InPlace(data, length) => {
                self.context.cipher_update_inplace(data, *length)?;
            }
            Memory::Scattered(input, output) => {
                for (from, to) in input.iter().zip(output) {
                    raw::openssl::update(&mut self.context, from, to)?;
                }
            }
        }
        Ok(())
    }

    fn message(&mut self) -> Result<(), ErrorStack> {
        let mut nothing = [0; 16];
        match self.direction {
            Direction::Encrypt => {
                self.context.encrypt_init(None, None, Some(&NONCE))?;
                self.update()?;
                self.context.cipher_final(&mut nothing)?;
                self.context.tag(&mut [0; 16])
            }
            Direction::Decrypt => {
                self.context.decrypt_init(None, None, Some(&NONCE))?;
                self.update()?;
                self.context.set_tag(&self.tags[0].0)?;
                self.context.cipher_final(&mut nothing)?;
                if self.memory.in_place() {
                    self.tags.swap(0, 1);
                }
                Ok(())
            }
        }
    }
}

impl Contender for OpenSsl<'_> {
    fn once(&mut self) -> Result<(), CipherError> {
        let done = if self.mode == Mode::Gcm {
            self.message()
        } else {
            self.update()
        };
        done.map_err(|error| provider("EVP_CipherUpdate", &self.name, &error))
    }
}

fn provider(call: &'static str, name: &str, error: &ErrorStack) -> CipherError {
    CipherError::Provider {
        call,
        object: format!("OpenSSL's {name} ({error})"),
    }
}
