//! The kernel's own cipher through `AF_ALG`, 32 KiB at a time: what a kernel without the processor's instructions gives an
//! encrypted disk or tunnel. `hawser_cipher::kernel` asks for it.

use hawser_cipher::kernel::{KernelCipher, KernelError};
use hawser_cipher::{Direction, Mode};
use hawser_model::ladder::{CipherChoice, CipherMode, Sample};
use hawser_model::units::Nanos;

use crate::sampler::Sampler;
use crate::{Measured, RungError};

const CHUNK: usize = KernelCipher::LONGEST;

pub(crate) fn measure(cipher: CipherChoice, duration: Nanos) -> Measured {
    let how = format!("{}, AF_ALG, 32 KiB", cipher.name());
    let measured = encrypt(cipher, duration);
    let refused = |e: KernelError| RungError::call(e.call, e.object)(e.errno);
    (how, measured.map_err(refused))
}

fn encrypt(cipher: CipherChoice, duration: Nanos) -> Result<Vec<Sample>, KernelError> {
    let mode = match cipher.mode {
        CipherMode::Cbc => Mode::Cbc,
        CipherMode::Ctr => Mode::Ctr,
        CipherMode::Gcm => Mode::Gcm,
    };
    let key = vec![0x42_u8; cipher.key_bits as usize / 8];
    let mut kernel = KernelCipher::new(mode, Direction::Encrypt, &key)?;
    let text = vec![0x5a_u8; CHUNK];
    let mut result = vec![0_u8; CHUNK + kernel.tag()];
    let mut sampler = Sampler::start(duration);
    loop {
        kernel.message(&text, &mut result)?;
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
