//! AWS-LC at the same work without this crate's data path, called as a program would call it: one
//! `EVP_CipherUpdate` an update, or one a piece where the data is scattered.

use crate::bench::arena::Memory;
use crate::bench::contender::{Contender, NONCE, Task, key};
use crate::bench::plan::Group;
use crate::error::CipherError;
use crate::gcm::Tag;
use crate::mode::{Direction, Mode};
use crate::raw::aws_lc::Context;

/// AWS-LC's operation of `group`.
pub(crate) fn contender<'m>(
    group: &Group,
    task: &Task,
    memory: Memory<'m>,
) -> Result<Box<dyn Contender + 'm>, CipherError> {
    // CTR is the same operation in both directions.
    let direction = match group.mode {
        Mode::Ctr => Direction::Encrypt,
        _ => group.direction,
    };
    let mut context = Context::new(group.mode, direction, &key(group.key_size))?;
    if matches!(group.mode, Mode::Cbc | Mode::Ctr) {
        context.start(&[7; 16])?;
    }
    Ok(Box::new(AwsLc {
        context,
        memory,
        mode: group.mode,
        direction,
        tags: task.tags,
    }))
}

struct AwsLc<'m> {
    context: Context,
    memory: Memory<'m>,
    mode: Mode,
    direction: Direction,
    tags: [Tag; 2],
}

impl AwsLc<'_> {
    fn update(&mut self) -> Result<(), CipherError> {
        match &mut self.memory {
            Memory::Contiguous(input, output) => self.context.apply(input, output)?,
            Memory::InPlace(data, length) => self.context.apply_in_place(&mut data[..*length])?,
            Memory::Scattered(input, output) => {
                for (from, to) in input.iter().zip(output) {
                    self.context.apply(from, to)?;
                }
            }
        }
        Ok(())
    }

    fn message(&mut self) -> Result<(), CipherError> {
        self.context.start(&NONCE)?;
        self.update()?;
        match self.direction {
            Direction::Encrypt => self.context.tag().map(|_| ()),
            Direction::Decrypt => {
                if !self.context.check(&self.tags[0].0)? {
                    return Err(CipherError::Forged);
                }
                if self.memory.in_place() {
                    self.tags.swap(0, 1);
                }
                Ok(())
            }
        }
    }
}

impl Contender for AwsLc<'_> {
    fn once(&mut self) -> Result<(), CipherError> {
        match self.mode {
            Mode::Gcm => self.message(),
            _ => self.update(),
        }
    }
}
