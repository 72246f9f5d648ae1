//! Which rung to measure on a host.

use std::net::IpAddr;

use hawser_model::iscsi::IscsiUnit;
use hawser_model::ladder::{CipherChoice, RungKind, Storage};
use hawser_model::units::Nanos;
use serde::{Deserialize, Serialize};

/// A rung of one host, and for how long it is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RungSpec {
    /// Copying memory to memory.
    MemoryCopy {
        /// How long.
        duration: Nanos,
    },
    /// Reading a file, device or memory.
    SourceRead {
        /// What is read.
        storage: Storage,
        /// How long.
        duration: Nanos,
    },
    /// Writing an unnamed file, or memory.
    SinkWrite {
        /// Where to.
        storage: Storage,
        /// How long.
        duration: Nanos,
    },
    /// The checksum of data in memory.
    Checksum {
        /// How long.
        duration: Nanos,
    },
    /// A cipher in user space, one thread.
    Cipher {
        /// Which.
        cipher: CipherChoice,
        /// To ciphertext or back.
        direction: Direction,
        /// How long.
        duration: Nanos,
    },
    /// The kernel's cipher, through `AF_ALG`.
    KernelCipher {
        /// Which.
        cipher: CipherChoice,
        /// How long.
        duration: Nanos,
    },
    /// What OpenZFS measured of itself.
    ZfsChecksum,
    /// Reading an iSCSI unit by `hawser-client`.
    IscsiRead {
        /// Which.
        unit: IscsiUnit,
        /// Requests in flight.
        depth: u32,
        /// How long.
        duration: Nanos,
    },
    /// One TCP stream to this host's own address.
    Loopback {
        /// The address.
        address: IpAddr,
        /// How long.
        duration: Nanos,
    },
}

/// To ciphertext or to plaintext.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// To ciphertext.
    Encrypt,
    /// To plaintext.
    Decrypt,
}

impl RungSpec {
    /// What it measures.
    pub fn kind(&self) -> RungKind {
        match self {
            Self::MemoryCopy { .. } => RungKind::MemoryCopy,
            Self::SourceRead { .. } => RungKind::SourceRead,
            Self::SinkWrite { .. } => RungKind::SinkWrite,
            Self::Checksum { .. } => RungKind::Checksum,
            Self::Cipher {
                direction: Direction::Encrypt,
                ..
            } => RungKind::Encrypt,
            Self::Cipher { .. } => RungKind::Decrypt,
            Self::KernelCipher { .. } => RungKind::EncryptKernel,
            Self::ZfsChecksum => RungKind::ZfsChecksum,
            Self::IscsiRead { .. } => RungKind::IscsiRead,
            Self::Loopback { .. } => RungKind::LoopbackTcp,
        }
    }

    /// Requests in flight at once, where that is what tells it from its neighbours.
    pub fn depth(&self) -> Option<u32> {
        match self {
            Self::IscsiRead { depth, .. } => Some(*depth),
            _ => None,
        }
    }

    /// How long it takes at most, besides preparing.
    pub fn duration(&self) -> Nanos {
        match self {
            Self::MemoryCopy { duration }
            | Self::Checksum { duration }
            | Self::SourceRead { duration, .. }
            | Self::SinkWrite { duration, .. }
            | Self::Cipher { duration, .. }
            | Self::KernelCipher { duration, .. }
            | Self::IscsiRead { duration, .. }
            | Self::Loopback { duration, .. } => *duration,
            Self::ZfsChecksum => Nanos::ZERO,
        }
    }
}
