//! Reading and writing the small text files of `/proc` and `/sys`.

use std::fs;
use std::path::Path;

use crate::KernelError;

/// The calling *thread's* network namespace. `/proc/net` is a link to `self/net`, the thread
/// group leader's, which may be another one.
const NET: &str = "/proc/thread-self/net";

/// A file of `/proc/net`.
pub(crate) fn net(name: &str) -> Result<String, KernelError> {
    file(Path::new(NET).join(name))
}

/// A whole file as text.
pub(crate) fn file(path: impl AsRef<Path>) -> Result<String, KernelError> {
    let path = path.as_ref();
    fs::read_to_string(path).map_err(|source| KernelError::File {
        call: "read",
        path: path.to_owned(),
        source,
    })
}

/// The kernel's name for this boot (random(4)): machines that have the same one are one machine.
pub(crate) fn boot_id() -> Result<String, KernelError> {
    Ok(file("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// Writes a whole file.
pub(crate) fn put(path: impl AsRef<Path>, value: &str) -> Result<(), KernelError> {
    let path = path.as_ref();
    fs::write(path, value).map_err(|source| KernelError::File {
        call: "write",
        path: path.to_owned(),
        source,
    })
}
