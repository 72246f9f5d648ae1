//! AES by AWS-LC, through its EVP interface.
//!
//! EVP takes a message in pieces in every mode, GCM too, and in place; `aws-lc-rs`, the safe face
//! of the same library, takes GCM only whole. It picks the fastest code for the processor (here
//! VAES with AVX-512 for GCM, AES-NI for the rest) when it is first used.

use std::ffi::c_int;
use std::ptr::{self, NonNull};

use aws_lc_sys as ffi;

use crate::error::CipherError;
use crate::key::{Key, KeySize};
use crate::mode::{Direction, Mode};

/// An EVP context. Its key schedule is erased when it is freed: AWS-LC's `OPENSSL_free` overwrites
/// what it gives back.
pub(crate) struct Context {
    evp: NonNull<ffi::EVP_CIPHER_CTX>,
    mode: Mode,
    size: KeySize,
    direction: Direction,
}

// SAFETY: an EVP context has no tie to the thread that made it; it is only ever used through
// `&mut`, so by one thread at a time.
unsafe impl Send for Context {}

// SAFETY: no method takes `&self`, so a shared reference gives no access to the context.
unsafe impl Sync for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: `evp` came from EVP_CIPHER_CTX_new and is freed once, here.
        unsafe { ffi::EVP_CIPHER_CTX_free(self.evp.as_ptr()) }
    }
}

impl Context {
    pub(crate) fn new(mode: Mode, direction: Direction, key: &Key) -> Result<Self, CipherError> {
        let size = key.size();
        // SAFETY: these return pointers to static tables and have no preconditions.
        let algorithm = unsafe {
            match (mode, size) {
                (Mode::Ecb, KeySize::Aes128) => ffi::EVP_aes_128_ecb(),
                (Mode::Ecb, KeySize::Aes192) => ffi::EVP_aes_192_ecb(),
                (Mode::Ecb, KeySize::Aes256) => ffi::EVP_aes_256_ecb(),
                (Mode::Cbc, KeySize::Aes128) => ffi::EVP_aes_128_cbc(),
                (Mode::Cbc, KeySize::Aes192) => ffi::EVP_aes_192_cbc(),
                (Mode::Cbc, KeySize::Aes256) => ffi::EVP_aes_256_cbc(),
                (Mode::Ctr, KeySize::Aes128) => ffi::EVP_aes_128_ctr(),
                (Mode::Ctr, KeySize::Aes192) => ffi::EVP_aes_192_ctr(),
                (Mode::Ctr, KeySize::Aes256) => ffi::EVP_aes_256_ctr(),
                (Mode::Gcm, KeySize::Aes128) => ffi::EVP_aes_128_gcm(),
                (Mode::Gcm, KeySize::Aes192) => ffi::EVP_aes_192_gcm(),
                (Mode::Gcm, KeySize::Aes256) => ffi::EVP_aes_256_gcm(),
            }
        };
        // SAFETY: no preconditions; null means out of memory.
        let evp = NonNull::new(unsafe { ffi::EVP_CIPHER_CTX_new() });
        let context = Self {
            evp: evp.ok_or_else(|| failed("EVP_CIPHER_CTX_new", mode, size))?,
            mode,
            size,
            direction,
        };
        // SAFETY: `algorithm` is a cipher whose key length is that of `key`'s bytes; no engine; a
        // null vector leaves it unset until `start`. Padding off is a flag of the context.
        let done = unsafe {
            ffi::EVP_CipherInit_ex(
                context.evp.as_ptr(),
                algorithm,
                ptr::null_mut(),
                key.expose().as_ptr(),
                ptr::null(),
                context.encrypting(),
            ) == 1
                && ffi::EVP_CIPHER_CTX_set_padding(context.evp.as_ptr(), 0) == 1
        };
        context.done(done, "EVP_CipherInit_ex(key)")?;
        Ok(context)
    }

    pub(crate) fn start(&mut self, iv: &[u8]) -> Result<(), CipherError> {
        let expected = match self.mode {
            Mode::Ecb => return Ok(()),
            Mode::Cbc | Mode::Ctr => 16,
            Mode::Gcm => 12,
        };
        assert_eq!(iv.len(), expected, "vector of AES-{}", self.mode);
        // SAFETY: the context has its cipher and key; `iv` has the length that the cipher reads
        // (checked above: 12 is EVP's default for GCM).
        let done = unsafe {
            ffi::EVP_CipherInit_ex(
                self.evp.as_ptr(),
                ptr::null(),
                ptr::null_mut(),
                ptr::null(),
                iv.as_ptr(),
                self.encrypting(),
            )
        };
        self.done(done == 1, "EVP_CipherInit_ex(vector)")
    }

    pub(crate) fn associate(&mut self, data: &[u8]) -> Result<(), CipherError> {
        // EVP counts in C's int.
        for part in data.chunks(1 << 30) {
            let mut count = 0;
            // SAFETY: a null output says that `part`, readable for its length, is only authenticated.
            let done = unsafe {
                ffi::EVP_CipherUpdate(
                    self.evp.as_ptr(),
                    ptr::null_mut(),
                    &mut count,
                    part.as_ptr(),
                    part.len() as c_int,
                )
            };
            self.done(done == 1, "EVP_CipherUpdate(associated data)")?;
        }
        Ok(())
    }

    pub(crate) fn apply(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), CipherError> {
        assert_eq!(input.len(), output.len());
        // SAFETY: both are valid for `input.len()` bytes and, being a shared and a unique
        // reference, do not overlap.
        unsafe { self.update(input.as_ptr(), output.as_mut_ptr(), input.len()) }
    }

    pub(crate) fn apply_in_place(&mut self, data: &mut [u8]) -> Result<(), CipherError> {
        let start = data.as_mut_ptr();
        // SAFETY: valid for reading and writing `data.len()` bytes; EVP allows the input to be the
        // output, which it is exactly.
        unsafe { self.update(start.cast_const(), start, data.len()) }
    }

    /// # Safety
    /// `input` must be readable and `output` writable for `length` bytes; they must be the same
    /// or not overlap.
    unsafe fn update(
        &mut self,
        input: *const u8,
        output: *mut u8,
        length: usize,
    ) -> Result<(), CipherError> {
        // With whole blocks and no padding, or in a stream mode, EVP writes exactly what it reads;
        // anything else would be held back in the context or overrun the output.
        assert_eq!(
            length % self.mode.granule(),
            0,
            "AES-{} of {length} bytes",
            self.mode
        );
        let wanted = c_int::try_from(length).expect("the data path calls with a chunk at most");
        let mut written = 0;
        // SAFETY: by the caller's promise, and `written` is ours.
        let done = unsafe {
            ffi::EVP_CipherUpdate(self.evp.as_ptr(), output, &mut written, input, wanted)
        };
        self.done(done == 1 && written == wanted, "EVP_CipherUpdate")
    }

    pub(crate) fn tag(&mut self) -> Result<[u8; 16], CipherError> {
        let mut tag = [0_u8; 16];
        let mut count = 0;
        // SAFETY: a stream cipher's final call writes nothing, and would have 16 bytes of room;
        // GET_TAG writes the 16 bytes that it is told.
        let done = unsafe {
            ffi::EVP_CipherFinal_ex(self.evp.as_ptr(), tag.as_mut_ptr(), &mut count) == 1
                && ffi::EVP_CIPHER_CTX_ctrl(
                    self.evp.as_ptr(),
                    ffi::EVP_CTRL_AEAD_GET_TAG,
                    16,
                    tag.as_mut_ptr().cast(),
                ) == 1
        };
        self.done(done, "EVP_CipherFinal_ex")?;
        Ok(tag)
    }

    /// Compared in constant time, by AWS-LC's `CRYPTO_memcmp`.
    pub(crate) fn check(&mut self, tag: &[u8; 16]) -> Result<bool, CipherError> {
        let mut expected = *tag;
        // SAFETY: SET_TAG reads the 16 bytes that it is told.
        let set = unsafe {
            ffi::EVP_CIPHER_CTX_ctrl(
                self.evp.as_ptr(),
                ffi::EVP_CTRL_AEAD_SET_TAG,
                16,
                expected.as_mut_ptr().cast(),
            )
        };
        self.done(set == 1, "EVP_CIPHER_CTX_ctrl(tag)")?;
        let mut nothing = [0_u8; 16];
        let mut count = 0;
        // SAFETY: as in `tag`.
        let equal = unsafe {
            ffi::EVP_CipherFinal_ex(self.evp.as_ptr(), nothing.as_mut_ptr(), &mut count) == 1
        };
        if !equal {
            // SAFETY: empties this thread's error queue of AWS-LC, which nothing else reads.
            unsafe { ffi::ERR_clear_error() };
        }
        Ok(equal)
    }

    fn encrypting(&self) -> c_int {
        c_int::from(self.direction == Direction::Encrypt)
    }

    fn done(&self, done: bool, call: &'static str) -> Result<(), CipherError> {
        if done {
            return Ok(());
        }
        // SAFETY: as in `check`.
        unsafe { ffi::ERR_clear_error() };
        Err(failed(call, self.mode, self.size))
    }
}

fn failed(call: &'static str, mode: Mode, size: KeySize) -> CipherError {
    CipherError::Provider {
        call,
        object: format!("AES-{}-{mode}", size.bits()),
    }
}
