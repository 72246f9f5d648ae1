//! What a driver says of itself and its device: `ethtool(8)`'s reading requests (`SIOCETHTOOL`).
//!
//! The `ioctl` is answered by every driver and every kernel that Hawser meets; its netlink
//! successor has no string for a driver's own statistics.

use std::io;
use std::os::fd::OwnedFd;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use crate::netlink::{text, u32_at, u64_at};
use crate::{KernelError, sys};

const GDRVINFO: u32 = 0x03;
const GSTRINGS: u32 = 0x1b;
const GSTATS: u32 = 0x1d;
const GSSET_INFO: u32 = 0x37;
const GFEATURES: u32 = 0x3a;
const SFEATURES: u32 = 0x3b;
const GLINKSETTINGS: u32 = 0x4c;

/// `ETH_GSTRING_LEN`.
const NAME: usize = 32;

/// A set of names (`enum ethtool_stringset`).
#[derive(Clone, Copy)]
enum Names {
    Statistics = 1,
    Features = 4,
}

/// `ETHTOOL_GDRVINFO`.
pub(crate) struct Driver {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) firmware: String,
    pub(crate) bus: String,
}

/// `ETHTOOL_GLINKSETTINGS`.
pub(crate) struct LinkSettings {
    /// Megabits a second.
    pub(crate) speed: Option<u32>,
    pub(crate) duplex: Option<&'static str>,
}

/// A socket to ask on; interfaces are those of the network namespace it was opened in.
pub(crate) struct Ethtool {
    socket: OwnedFd,
}

impl Ethtool {
    pub(crate) fn open() -> Result<Self, KernelError> {
        let socket = socket(
            AddressFamily::Inet,
            SockType::Datagram,
            SockFlag::SOCK_CLOEXEC,
            None,
        )
        .map_err(|e| KernelError::call("socket", "AF_INET", e))?;
        Ok(Self { socket })
    }

    pub(crate) fn driver(&self, interface: &str) -> io::Result<Driver> {
        let mut info = command(GDRVINFO, 196);
        sys::ethtool(&self.socket, interface, &mut info)?;
        Ok(Driver {
            name: text(&info[4..36]),
            version: text(&info[36..68]),
            firmware: text(&info[68..100]),
            bus: text(&info[100..132]),
        })
    }

    pub(crate) fn link_settings(&self, interface: &str) -> io::Result<LinkSettings> {
        // A handshake: with zero words the kernel answers with minus the number it wants.
        const WORDS: usize = 15;
        let mut settings = command(GLINKSETTINGS, 48);
        sys::ethtool(&self.socket, interface, &mut settings)?;
        let words = (settings[WORDS] as i8).unsigned_abs();
        let mut settings = command(GLINKSETTINGS, 48 + 3 * 4 * usize::from(words));
        settings[WORDS] = words;
        sys::ethtool(&self.socket, interface, &mut settings)?;
        Ok(LinkSettings {
            // SPEED_UNKNOWN is -1; drivers of virtual devices also say 0.
            speed: u32_at(&settings, 4).filter(|&speed| speed != 0 && speed != u32::MAX),
            duplex: match settings[8] {
                0 => Some("half"),
                1 => Some("full"),
                _ => None,
            },
        })
    }

    /// Names of the offload features that are on, as `ethtool -k` lists the kernel's.
    pub(crate) fn features_on(&self, interface: &str) -> io::Result<Vec<String>> {
        let features = self.features(interface)?.into_iter();
        Ok(features
            .filter(|(_, on)| *on)
            .map(|(name, _)| name)
            .collect())
    }

    /// Whether an offload feature is on; `None` when the kernel knows none of that name.
    pub(crate) fn feature(&self, interface: &str, feature: &str) -> io::Result<Option<bool>> {
        let features = self.features(interface)?;
        Ok(features
            .into_iter()
            .find(|(n, _)| n == feature)
            .map(|f| f.1))
    }

    /// Switches an offload feature. The kernel ignores one that the device cannot switch.
    pub(crate) fn set_feature(&self, interface: &str, feature: &str, on: bool) -> io::Result<()> {
        let names = self.names(interface, Names::Features)?;
        let bit = names
            .iter()
            .position(|n| n == feature)
            .ok_or(io::ErrorKind::NotFound)?;
        // A block of 32 features is two words: those meant, and those of them to be on.
        let blocks = names.len().div_ceil(32);
        let mut features = command(SFEATURES, 8 + blocks * 8);
        features[4..8].copy_from_slice(&(blocks as u32).to_ne_bytes());
        let mask = (1u32 << (bit % 32)).to_ne_bytes();
        let at = 8 + bit / 32 * 8;
        features[at..at + 4].copy_from_slice(&mask);
        if on {
            features[at + 4..at + 8].copy_from_slice(&mask);
        }
        sys::ethtool(&self.socket, interface, &mut features)
    }

    /// A request whose structure is 32-bit words: the command, then `words`. Answers all of them.
    pub(crate) fn words(
        &self,
        interface: &str,
        number: u32,
        words: &[u32],
    ) -> io::Result<Vec<u32>> {
        let size = 4 * (1 + words.len());
        let mut structure = command(number, size);
        for (place, word) in structure[4..].chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        sys::ethtool(&self.socket, interface, &mut structure)?;
        Ok((0..size)
            .step_by(4)
            .filter_map(|at| u32_at(&structure, at))
            .collect())
    }

    /// Every offload feature that has a name, and whether it is on.
    fn features(&self, interface: &str) -> io::Result<Vec<(String, bool)>> {
        let names = self.names(interface, Names::Features)?;
        // A block of 32 features is four words: available, requested, active, never changed.
        let blocks = names.len().div_ceil(32);
        let mut features = command(GFEATURES, 8 + blocks * 16);
        features[4..8].copy_from_slice(&(blocks as u32).to_ne_bytes());
        sys::ethtool(&self.socket, interface, &mut features)?;
        let on = |bit: usize| {
            u32_at(&features, 8 + bit / 32 * 16 + 8).is_some_and(|word| word >> (bit % 32) & 1 == 1)
        };
        Ok(names
            .into_iter()
            .enumerate()
            .filter(|(_, name)| !name.is_empty())
            .map(|(bit, name)| (name, on(bit)))
            .collect())
    }

    /// How many statistics of its own the driver has.
    pub(crate) fn statistics_count(&self, interface: &str) -> io::Result<usize> {
        self.count(interface, Names::Statistics)
    }

    pub(crate) fn statistics_names(&self, interface: &str) -> io::Result<Vec<String>> {
        self.names(interface, Names::Statistics)
    }

    /// The values of `count` statistics, in the order of their names.
    pub(crate) fn statistics(&self, interface: &str, count: usize) -> io::Result<Vec<u64>> {
        let mut stats = command(GSTATS, 8 + with_room(count) * 8);
        stats[4..8].copy_from_slice(&(count as u32).to_ne_bytes());
        sys::ethtool(&self.socket, interface, &mut stats)?;
        Ok((0..count)
            .filter_map(|i| u64_at(&stats, 8 + i * 8))
            .collect())
    }

    fn count(&self, interface: &str, set: Names) -> io::Result<usize> {
        let mut info = command(GSSET_INFO, 16 + 4);
        info[8..16].copy_from_slice(&(1u64 << set as u64).to_ne_bytes());
        sys::ethtool(&self.socket, interface, &mut info)?;
        match u64_at(&info, 8) {
            Some(0) => Ok(0),
            _ => Ok(u32_at(&info, 16).unwrap_or(0) as usize),
        }
    }

    fn names(&self, interface: &str, set: Names) -> io::Result<Vec<String>> {
        let count = self.count(interface, set)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut strings = command(GSTRINGS, 12 + with_room(count) * NAME);
        strings[4..8].copy_from_slice(&(set as u32).to_ne_bytes());
        strings[8..12].copy_from_slice(&(count as u32).to_ne_bytes());
        sys::ethtool(&self.socket, interface, &mut strings)?;
        Ok(strings[12..12 + count * NAME]
            .chunks(NAME)
            .map(text)
            .collect())
    }
}

fn command(number: u32, size: usize) -> Vec<u8> {
    let mut buffer = vec![0; size];
    buffer[..4].copy_from_slice(&number.to_ne_bytes());
    buffer
}

/// The kernel asks the driver again how many there are and, before 6.0, writes them all whatever
/// the buffer was made for; a driver has more after its queues were doubled.
fn with_room(count: usize) -> usize {
    count * 4 + 512
}
