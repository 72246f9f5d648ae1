//! The kernel's own cipher through `AF_ALG` (Documentation/crypto/userspace-if.rst), 32 KiB at a
//! time: what a kernel without the processor's instructions gives an encrypted disk or tunnel.
//!
//! Each chunk is two copies and two system calls more than a user of the cipher within the
//! kernel pays; at 32 KiB that is a few per cent.

use std::io::IoSlice;
use std::os::fd::{AsRawFd, RawFd};

use hawser_model::ladder::{CipherChoice, CipherMode, Sample};
use hawser_model::units::Nanos;
use nix::sys::socket::sockopt::{AlgSetAeadAuthSize, AlgSetKey};
use nix::sys::socket::{
    AddressFamily, AlgAddr, ControlMessage, MsgFlags, SockFlag, SockType, accept, bind, recv,
    sendmsg, setsockopt, socket,
};

use crate::sampler::Sampler;
use crate::{Measured, RungError};

const CHUNK: usize = 32 << 10;

/// `ALG_OP_ENCRYPT` of `include/uapi/linux/if_alg.h`.
const OP_ENCRYPT: i32 = 1;

/// Bytes of a GCM tag, which the kernel puts behind the ciphertext.
const TAG: usize = 16;

pub(crate) fn measure(cipher: CipherChoice, duration: Nanos) -> Measured {
    let how = format!("{}, AF_ALG, 32 KiB", cipher.name());
    (how, run(cipher, duration))
}

fn run(cipher: CipherChoice, duration: Nanos) -> Result<Vec<Sample>, RungError> {
    let (kind, name) = match cipher.mode {
        CipherMode::Cbc => ("skcipher", "cbc(aes)"),
        CipherMode::Ctr => ("skcipher", "ctr(aes)"),
        CipherMode::Gcm => ("aead", "gcm(aes)"),
    };
    let failed = |call| RungError::call::<nix::Error>(call, name);
    let algorithm = socket(
        AddressFamily::Alg,
        SockType::SeqPacket,
        SockFlag::SOCK_CLOEXEC,
        None,
    )
    .map_err(failed("socket AF_ALG"))?;
    bind(algorithm.as_raw_fd(), &AlgAddr::new(kind, name)).map_err(failed("bind AF_ALG"))?;
    let key = vec![0x42_u8; cipher.key_bits as usize / 8];
    setsockopt(&algorithm, AlgSetKey::default(), &key).map_err(failed("setsockopt ALG_SET_KEY"))?;
    if cipher.mode == CipherMode::Gcm {
        setsockopt(&algorithm, AlgSetAeadAuthSize, &TAG)
            .map_err(failed("setsockopt ALG_SET_AEAD_AUTHSIZE"))?;
    }
    let operation = accept(algorithm.as_raw_fd()).map_err(failed("accept AF_ALG"))?;
    let measured = encrypt(operation, cipher.mode, duration).map_err(failed("encrypt with AF_ALG"));
    // It is ours alone and was not closed before: this cannot fail.
    let _ = nix::unistd::close(operation);
    measured
}

fn encrypt(operation: RawFd, mode: CipherMode, duration: Nanos) -> nix::Result<Vec<Sample>> {
    let text = vec![0x5a_u8; CHUNK];
    let mut result = vec![0_u8; CHUNK + TAG];
    let (iv, nonce) = ([7_u8; 16], [7_u8; 12]);
    let tag = if mode == CipherMode::Gcm { TAG } else { 0 };
    let encrypt = ControlMessage::AlgSetOp(&OP_ENCRYPT);
    let no_associated = 0;
    let mut control = vec![encrypt];
    if mode == CipherMode::Gcm {
        control.push(ControlMessage::AlgSetIv(&nonce));
        control.push(ControlMessage::AlgSetAeadAssoclen(&no_associated));
    } else {
        control.push(ControlMessage::AlgSetIv(&iv));
    }
    let mut sampler = Sampler::start(duration);
    loop {
        let input = [IoSlice::new(&text)];
        sendmsg::<()>(operation, &input, &control, MsgFlags::empty(), None)?;
        let mut got = 0;
        while got < CHUNK + tag {
            match recv(operation, &mut result[got..CHUNK + tag], MsgFlags::empty())? {
                0 => return Err(nix::Error::EIO),
                bytes => got += bytes,
            }
        }
        if !sampler.add(CHUNK) {
            return Ok(sampler.finish());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs_or_says_which_call_the_kernel_refused() {
        let cipher = CipherChoice {
            mode: CipherMode::Ctr,
            key_bits: 128,
        };
        match measure(cipher, Nanos(20_000_000)).1 {
            Ok(samples) => assert!(!samples.is_empty()),
            Err(why) => assert!(why.to_string().contains("AF_ALG"), "{why}"),
        }
    }
}
