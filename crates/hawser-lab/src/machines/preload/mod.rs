//! The library that is loaded before a machine's kernel: it hands on the processor's registers whole, however many the
//! host's processor has, and spares the host what nobody needs (`preload.c`).

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::LabError;

const NAME: &str = "preload.so";

const LIBRARY_CODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/preload.so"));

/// Puts it into a folder that only the machine's case sees; where it is, for a program that is started there: what is loaded
/// before a program may have no blank or colon in its path (ld.so(8)).
///
/// # Errors
/// It cannot be written.
pub(super) fn put(folder: &Path) -> Result<PathBuf, LabError> {
    let library = folder.join(NAME);
    fs::write(&library, LIBRARY_CODE).map_err(|e| LabError::io("write", &library, e))?;
    Ok(Path::new(".").join(NAME))
}
