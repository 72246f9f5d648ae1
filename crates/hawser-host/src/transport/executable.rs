//! The executable that is copied to nodes: our own.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// An executable and what identifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executable {
    /// Where it can be read.
    pub path: PathBuf,
    /// SHA-256 of its bytes, in hexadecimal as `sha256sum` prints it.
    pub digest: String,
    /// Its size in bytes.
    pub size: u64,
}

impl Executable {
    /// The running program itself, also when its file was replaced meanwhile.
    ///
    /// # Errors
    /// It could not be read.
    pub fn own() -> io::Result<Self> {
        Self::read(Path::new("/proc/self/exe"))
    }

    /// An executable built for this machine.
    ///
    /// # Errors
    /// It could not be read.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut hasher = Sha256::new();
        let mut chunk = vec![0; 64 << 10];
        let mut size = 0;
        loop {
            let n = file.read(&mut chunk)?;
            if n == 0 {
                break;
            }
            hasher.update(&chunk[..n]);
            size += n as u64;
        }
        let digest = hasher
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Ok(Self {
            path: path.to_owned(),
            digest,
            size,
        })
    }

    /// The machine it is built for, as `uname -m` names it.
    pub fn machine() -> &'static str {
        match std::env::consts::ARCH {
            "x86" => "i686",
            "arm" => "armv7l",
            "powerpc64" if cfg!(target_endian = "little") => "ppc64le",
            "powerpc64" => "ppc64",
            // x86_64, aarch64, riscv64, s390x, loongarch64 have one name everywhere.
            same => same,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_the_one_sha256sum_prints() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        io::Write::write_all(&mut file, b"abc").unwrap();
        let read = Executable::read(file.path()).unwrap();
        // FIPS 180-2, appendix B.1.
        assert_eq!(
            read.digest,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(read.size, 3);
    }

    #[test]
    fn the_machine_is_what_uname_says_here() {
        let uname = nix::sys::utsname::uname().unwrap();
        assert_eq!(uname.machine().to_str(), Some(Executable::machine()));
    }
}
