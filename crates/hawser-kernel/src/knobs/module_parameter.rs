//! Parameters of loaded kernel modules, as `/sys/module` shows them. Most are read by the module
//! once, when it is loaded: those have no write permission there, and writing them would say nothing
//! of what is in force.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hawser_model::knob::{Scope, Setting};

use crate::{KernelError, proc};

/// A parameter that a loaded module does not show has no permissions at all (`module_param(…, 0)`): it is read at load.
pub(super) fn read(module: &str, parameter: &str) -> Result<Setting, KernelError> {
    let path = path(module, parameter)?;
    let loaded = Path::new("/sys/module").join(module);
    let (value, at_boot) = match path.exists() || !loaded.exists() {
        true => (proc::file(&path)?.trim_end().to_owned(), !writable(&path)),
        false => ("not shown".to_owned(), true),
    };
    Ok(Setting {
        value,
        scope: Scope::Machine,
        largest: None,
        at_boot,
    })
}

fn writable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o200 != 0)
}

pub(super) fn write(module: &str, parameter: &str, value: &str) -> Result<(), KernelError> {
    let path = path(module, parameter)?;
    if path.exists() && !writable(&path) {
        return Err(KernelError::Absent(format!(
            "{parameter} of module {module}: takes effect when the module is loaded, which Hawser \
             does not do"
        )));
    }
    proc::put(&path, value)
}

fn path(module: &str, parameter: &str) -> Result<PathBuf, KernelError> {
    let strange = |name: &str| name.is_empty() || name.contains(['/', '.']);
    if strange(module) || strange(parameter) {
        return Err(KernelError::Absent(format!(
            "module {module}: no parameter {parameter}"
        )));
    }
    Ok(Path::new("/sys/module")
        .join(module)
        .join("parameters")
        .join(parameter))
}
