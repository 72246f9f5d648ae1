//! What both eBPF collectors do with the loader.

use std::error::Error;

use aya::maps::{Map, MapError};
use aya::{Ebpf, EbpfLoader};
use hawser_model::traffic::PROBE_MAGIC;

use crate::{KernelError, sys};

/// An error with all its causes: the loader keeps the kernel's answer innermost.
pub(super) fn error(object: &'static str, error: impl Error) -> KernelError {
    let mut what = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // The verifier's log can be long; its first lines do not say what is wrong.
        let text = text.lines().next_back().unwrap_or_default().trim();
        if !what.contains(text) {
            what = format!("{what}: {text}");
        }
        cause = error.source();
    }
    KernelError::Ebpf { object, what }
}

/// Creates an object's maps, these with so many entries, and prepares its programs for the running kernel.
pub(super) fn load(
    object: &'static str,
    bytes: &[u8],
    globals: &[(&'static str, u32)],
    entries: &[(&'static str, u32)],
) -> Result<Ebpf, KernelError> {
    let magic = u64::from_ne_bytes(PROBE_MAGIC);
    let mut loader = EbpfLoader::new();
    loader.set_global("probe_magic", &magic, true);
    for (name, value) in globals {
        loader.set_global(name, value, true);
    }
    for (map, entries) in entries {
        loader.set_max_entries(map, *entries);
    }
    let loaded = loader.load(bytes).map_err(|e| error(object, e));
    sys::give_back_memory();
    loaded
}

/// A map of an object, taken out of it.
pub(super) fn map<T: TryFrom<Map, Error = MapError>>(
    ebpf: &mut Ebpf,
    name: &'static str,
) -> Result<T, KernelError> {
    let map = ebpf.take_map(name).ok_or_else(|| KernelError::Ebpf {
        object: name,
        what: "no such map".to_owned(),
    })?;
    T::try_from(map).map_err(|e| error(name, e))
}

/// The sum over CPUs of a per-CPU value made of `u64`s.
pub(super) fn sum<const N: usize>(values: &[[u64; N]]) -> [u64; N] {
    let mut sum = [0; N];
    for value in values {
        for (total, part) in sum.iter_mut().zip(value) {
            *total += part;
        }
    }
    sum
}
