//! The kernel's own AES through `AF_ALG` (Documentation/crypto/userspace-if.rst): what an encrypted disk or a tunnel within
//! the kernel has. For measurements: each message is two copies and two system calls more than a user of the cipher within the
//! kernel pays, which at 32 KiB is a few per cent.
//!
//! The kernel works while `recv` is called, so the thread's processor time has it, except what a driver hands to a device or
//! to another thread (`cryptd`).

use std::fmt;
use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, RawFd};

use nix::sys::socket::sockopt::{AlgSetAeadAuthSize, AlgSetKey};
use nix::sys::socket::{
    AddressFamily, AlgAddr, ControlMessage, MsgFlags, SockFlag, SockType, accept4, bind, recv,
    sendmsg, setsockopt, socket,
};

use crate::mode::{Direction, Mode};

/// `ALG_OP_DECRYPT` and `ALG_OP_ENCRYPT` of `include/uapi/linux/if_alg.h`.
const fn op(direction: Direction) -> i32 {
    match direction {
        Direction::Decrypt => 0,
        Direction::Encrypt => 1,
    }
}

/// Bytes of a GCM tag, which the kernel puts behind the ciphertext.
const TAG: usize = 16;

/// Which call the kernel refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} {object}: {errno}")]
pub struct KernelError {
    /// The call: `bind AF_ALG`.
    pub call: &'static str,
    /// The algorithm that it was to work on: `cbc(aes)`.
    pub object: &'static str,
    /// Why.
    pub errno: Errno,
}

/// The kernel's answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Errno(nix::Error);

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> Self {
        errno.0.into()
    }
}

/// A cipher of the kernel: one mode, one direction, one key.
#[derive(Debug)]
pub struct KernelCipher {
    operation: RawFd,
    mode: Mode,
    direction: Direction,
}

/// What the kernel calls it.
const fn algorithm(mode: Mode) -> (&'static str, &'static str) {
    match mode {
        Mode::Ecb => ("skcipher", "ecb(aes)"),
        Mode::Cbc => ("skcipher", "cbc(aes)"),
        Mode::Ctr => ("skcipher", "ctr(aes)"),
        Mode::Gcm => ("aead", "gcm(aes)"),
    }
}

impl KernelCipher {
    /// The longest message that is asked for at a time, in bytes. Socket buffers hold it as the kernel has them
    /// (`net.core.wmem_default`).
    pub const LONGEST: usize = 32 << 10;

    /// Asks the kernel for it.
    ///
    /// # Errors
    /// The first call that the kernel refuses: `EAFNOSUPPORT` has no `AF_ALG`, `ENOENT` no such cipher.
    pub fn new(mode: Mode, direction: Direction, key: &[u8]) -> Result<Self, KernelError> {
        let (kind, name) = algorithm(mode);
        let failed = |call| failed(call, name);
        let algorithm = socket(
            AddressFamily::Alg,
            SockType::SeqPacket,
            SockFlag::SOCK_CLOEXEC,
            None,
        )
        .map_err(failed("socket AF_ALG"))?;
        bind(algorithm.as_raw_fd(), &AlgAddr::new(kind, name)).map_err(failed("bind AF_ALG"))?;
        setsockopt(&algorithm, AlgSetKey::default(), &key.to_vec())
            .map_err(failed("setsockopt ALG_SET_KEY"))?;
        if mode == Mode::Gcm {
            setsockopt(&algorithm, AlgSetAeadAuthSize, &TAG)
                .map_err(failed("setsockopt ALG_SET_AEAD_AUTHSIZE"))?;
        }
        let operation = accept4(algorithm.as_raw_fd(), SockFlag::SOCK_CLOEXEC)
            .map_err(failed("accept AF_ALG"))?;
        Ok(Self {
            operation,
            mode,
            direction,
        })
    }

    /// To ciphertext or to plaintext.
    pub const fn direction(&self) -> Direction {
        self.direction
    }

    /// How many bytes a message has more when it is encrypted.
    pub const fn tag(&self) -> usize {
        match self.mode {
            Mode::Gcm => TAG,
            Mode::Ecb | Mode::Cbc | Mode::Ctr => 0,
        }
    }

    /// One message of [`Self::LONGEST`] bytes of text at most, always with the same IV: for measurements alone. `output` is as long
    /// as what comes of it; GCM's tag stands behind the ciphertext.
    ///
    /// # Errors
    /// What the kernel says; `EBADMSG` if a tag is wrong, `EAGAIN` if socket buffers have no room for the message.
    pub fn message(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), KernelError> {
        let (iv, nonce, op, no_associated) = ([7_u8; 16], [7_u8; 12], op(self.direction), 0);
        let mut control = vec![ControlMessage::AlgSetOp(&op)];
        match self.mode {
            Mode::Ecb => {}
            Mode::Cbc | Mode::Ctr => control.push(ControlMessage::AlgSetIv(&iv)),
            Mode::Gcm => {
                control.push(ControlMessage::AlgSetIv(&nonce));
                control.push(ControlMessage::AlgSetAeadAssoclen(&no_associated));
            }
        }
        let (_, name) = algorithm(self.mode);
        let text = [IoSlice::new(input)];
        // Where socket buffers are too small for it, it would wait for a reader that is this one.
        let sent = sendmsg::<()>(
            self.operation,
            &text,
            &control,
            MsgFlags::MSG_DONTWAIT,
            None,
        );
        let sent = sent.map_err(failed("sendmsg AF_ALG", name))?;
        if sent != input.len() {
            return Err(failed("sendmsg AF_ALG", name)(nix::Error::EMSGSIZE));
        }
        let mut got = 0;
        while got < output.len() {
            let received = recv(self.operation, &mut output[got..], MsgFlags::empty());
            match received.map_err(failed("recv AF_ALG", name))? {
                0 => return Err(failed("recv AF_ALG", name)(nix::Error::EIO)),
                bytes => got += bytes,
            }
        }
        Ok(())
    }
}

impl Drop for KernelCipher {
    fn drop(&mut self) {
        // It is ours alone and was not closed before: this cannot fail.
        let _ = nix::unistd::close(self.operation);
    }
}

/// For `map_err`: names the call and the object.
fn failed(call: &'static str, object: &'static str) -> impl Fn(nix::Error) -> KernelError {
    move |errno| KernelError {
        call,
        object,
        errno: Errno(errno),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffers, Cipher, Iv, Key};

    /// Where the kernel offers it, it makes the same of a text as this crate, and gives the text back.
    #[test]
    fn the_kernel_does_the_same_aes_or_says_which_call_it_refused() {
        let key = [0x42_u8; 32];
        let text: Vec<u8> = (0..KernelCipher::LONGEST).map(|k| (k * 31) as u8).collect();
        for mode in Mode::ALL {
            let sealing = KernelCipher::new(mode, Direction::Encrypt, &key);
            let mut sealing = match sealing {
                Ok(cipher) => cipher,
                Err(why) => {
                    assert!(why.to_string().contains("AF_ALG"), "{why}");
                    continue;
                }
            };
            let mut sealed = vec![0; text.len() + sealing.tag()];
            sealing.message(&text, &mut sealed).expect("it encrypts");
            let opening = KernelCipher::new(mode, Direction::Decrypt, &key);
            let mut opened = vec![0; text.len()];
            let mut opening = opening.expect("the other direction");
            opening.message(&sealed, &mut opened).expect("it decrypts");
            assert!(opened == text, "{mode}");
            let own = Key::new(&key).expect("a key");
            let iv = Iv::new([7; 16]);
            let cipher = match mode {
                Mode::Ecb => Cipher::ecb(Direction::Encrypt, &own),
                Mode::Cbc => Cipher::cbc(Direction::Encrypt, &own, iv),
                Mode::Ctr => Cipher::ctr(&own, iv),
                Mode::Gcm => continue,
            };
            let mut ours = vec![0; text.len()];
            let buffers: Buffers<'_, '_> = (&text[..], &mut ours[..]).into();
            cipher
                .and_then(|mut cipher| cipher.update(buffers))
                .expect("a text");
            assert!(ours == sealed, "{mode}");
        }
    }
}
