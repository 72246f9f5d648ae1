//! Whether this host has the memory and the disk that machines need.

use std::fs;
use std::path::Path;

use nix::sys::statvfs::statvfs;

use super::{Kind, plan};
use crate::error::LabError;
use crate::spec::LabSpec;

const MIB: u64 = 1 << 20;

/// What the host itself keeps.
const SPARE: u64 = 256;
/// What a machine may write to its disk before a lab is taken down: logs, and the programs of a test.
const DISK: u64 = 512;
/// What QEMU takes beside the memory of its machine: above all what it has translated.
const EMULATOR: u64 = 256;
/// The packages of a kernel while it is taken out of them, and the kernel.
pub(super) const KERNEL: u64 = 1024;
/// The packages while an image is made of them, and the image.
pub(super) const IMAGE: u64 = 2048;
/// The sources of a kernel and of ZFS, the compiler, and what is compiled.
pub(super) const MODULES: u64 = 4096;

/// Fails if the machines of a lab, whose disks lie in this folder, do not fit.
///
/// # Errors
/// What is missing.
pub(super) fn check(spec: &LabSpec, folder: &Path) -> Result<(), LabError> {
    let path = "/proc/meminfo";
    let text = fs::read_to_string(path).map_err(|e| LabError::io("read", path, e))?;
    let machines = spec.nodes.len() as u64;
    let memory = spec.nodes.iter().map(|node| {
        let emulator = match spec.kind_of(node) {
            Kind::Qemu => EMULATOR,
            _ => 0,
        };
        plan::memory(spec, node) + emulator
    });
    let memory: u64 = memory.sum();
    let fits = enough("memory", available(&text).unwrap_or(0), memory + SPARE);
    fits.map_err(|what| {
        LabError::Machines(format!("{machines} machines need more memory: {what}"))
    })?;
    disk(folder, machines * DISK, &format!("{machines} machines"))
}

/// Fails if so many MiB do not fit into the file system of a folder that may have yet to be made.
pub(super) fn disk(folder: &Path, wanted: u64, what: &str) -> Result<(), LabError> {
    let there = folder
        .ancestors()
        .find(|path| path.exists())
        .unwrap_or(Path::new("/"));
    let object = there.display().to_string();
    let stat = statvfs(there).map_err(|e| LabError::system("statvfs", &object, e))?;
    let free = stat.blocks_available() * stat.fragment_size() / MIB;
    enough(&format!("disk at {object}"), free, wanted)
        .map_err(|missing| LabError::Machines(format!("{what} need more disk: {missing}")))
}

fn enough(what: &str, found: u64, wanted: u64) -> Result<(), String> {
    match found >= wanted {
        true => Ok(()),
        false => Err(format!(
            "{wanted} MiB of {what} are needed, {found} MiB are free: {} MiB are missing",
            wanted - found
        )),
    }
}

/// `MemAvailable` in MiB.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_in_numbers() {
        assert_eq!(
            available("MemTotal: 9 kB\nMemAvailable:   2097152 kB\n"),
            Some(2048)
        );
        assert_eq!(enough("memory", 2048, 2048), Ok(()));
        assert_eq!(
            enough("memory", 1000, 1280).unwrap_err(),
            "1280 MiB of memory are needed, 1000 MiB are free: 280 MiB are missing"
        );
    }
}
