//! Nearly all memory is used up. It is held by a file system in memory whose pages go neither to swap nor away, not by a
//! process that the kernel could kill: whatever gives way, it is something of the head's own.

use std::fs;
use std::io::Write;
use std::time::Duration;

use nix::mount::{MsFlags, mount, umount};

use super::is_mounted;
use crate::host::NodeError;

/// Where it is held.
const HELD: &str = "/run/hawser/drill-memory";

/// What the table of mounts calls it.
const NAME: &str = "hawser-drill";

/// How much is left, KiB: 5 % of all memory, and no less than this.
const LEFT: u64 = 48 * 1024;

/// How long a head may take to give up so much of what it keeps for later.
pub(super) const TAKES: Duration = Duration::from_secs(60);

/// Taken at once, KiB.
const PIECE: u64 = 1024;

pub(super) fn make() -> Result<(), NodeError> {
    fs::create_dir_all(HELD).map_err(NodeError::file("create", HELD))?;
    let nothing: Option<&str> = None;
    mount(Some(NAME), HELD, Some("ramfs"), MsFlags::empty(), nothing)
        .map_err(|e| NodeError::file("mount a file system on", HELD)(e.into()))?;
    let taken = format!("{HELD}/taken");
    let mut file = fs::File::create(&taken).map_err(NodeError::file("create", &taken))?;
    let piece = vec![0; 1024 * PIECE as usize];
    while Memory::now()?.is_enough() {
        file.write_all(&piece)
            .map_err(NodeError::file("write", &taken))?;
    }
    Ok(())
}

pub(super) fn shown() -> Result<Option<String>, NodeError> {
    let memory = Memory::now()?;
    // What the head has given up since is no memory that is there for anybody.
    let short = memory.available <= 2 * memory.left();
    Ok((is_mounted(NAME, HELD)? && short)
        .then(|| format!("{} MiB of memory are left", memory.available / 1024)))
}

/// Gives it back, also when nothing is held.
pub(super) fn mend() -> Result<(), NodeError> {
    while is_mounted(NAME, HELD)? {
        umount(HELD).map_err(|e| NodeError::file("unmount", HELD)(e.into()))?;
    }
    match fs::remove_dir(HELD) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(NodeError::file("remove", HELD)(e))
        }
        _ => Ok(()),
    }
}

/// Of proc_meminfo(5), KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Memory {
    total: u64,
    available: u64,
}

impl Memory {
    fn now() -> Result<Self, NodeError> {
        let path = "/proc/meminfo";
        let text = fs::read_to_string(path).map_err(NodeError::file("read", path))?;
        Self::parse(&text).ok_or_else(|| {
            let what = "it does not say MemTotal and MemAvailable";
            NodeError::file("read", path)(std::io::Error::other(what))
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name))?;
            value.split_whitespace().next()?.parse().ok()
        };
        Some(Self {
            total: field("MemTotal:")?,
            available: field("MemAvailable:")?,
        })
    }

    fn left(self) -> u64 {
        (self.total / 20).max(LEFT)
    }

    fn is_enough(self) -> bool {
        self.available > self.left() + PIECE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_twentieth_is_left_and_never_less_than_a_head_needs_to_say_so() {
        let of = |total: u64, available: u64| {
            let text =
                format!("MemTotal: {total} kB\nMemFree: 1 kB\nMemAvailable: {available} kB\n");
            Memory::parse(&text).unwrap()
        };
        assert_eq!(of(1_000_000, 1).left(), 50_000);
        assert_eq!(of(500_000, 1).left(), 49_152);
        assert!(of(1_000_000, 52_000).is_enough() && !of(1_000_000, 51_000).is_enough());
        assert_eq!(Memory::parse("MemTotal: 1 kB\n"), None);
        assert!(Memory::now().is_ok());
    }
}
