//! How much is done at once, and what the caller wants done in between.

use std::fmt;

/// The most that one call into the implementation covers, in bytes. A core is held that long and
/// no longer: 25 to 45 µs in CBC encryption, 3 to 11 µs in the other modes, on the machine of
/// `docs/cipher.md`, which states the longest measured.
pub const CHUNK: usize = 32 * 1024;

/// What runs after each [`CHUNK`] of work.
#[derive(Default)]
pub(crate) struct Between {
    hook: Option<Box<dyn FnMut() + Send + Sync>>,
    since: usize,
}

impl Between {
    /// Replaces what runs.
    pub(crate) fn set(&mut self, hook: impl FnMut() + Send + Sync + 'static) {
        self.hook = Some(Box::new(hook));
    }

    /// `length` more bytes are done.
    pub(crate) fn passed(&mut self, length: usize) {
        let Some(hook) = &mut self.hook else {
            return;
        };
        self.since += length;
        if self.since >= CHUNK {
            self.since = 0;
            hook();
        }
    }
}

impl fmt::Debug for Between {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.hook.is_some() {
            "Between(set)"
        } else {
            "Between(nothing)"
        })
    }
}
