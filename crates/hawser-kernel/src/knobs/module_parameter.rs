//! Parameters of loaded kernel modules, as `/sys/module` shows them. Most are read by the module
//! once, when it is loaded: those have no write permission there, and writing them would say nothing
//! of what is in force.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::{KernelError, proc};

pub(super) fn read(module: &str, parameter: &str) -> Result<String, KernelError> {
    Ok(proc::file(path(module, parameter)?)?.trim_end().to_owned())
}

pub(super) fn write(module: &str, parameter: &str, value: &str) -> Result<(), KernelError> {
    let path = path(module, parameter)?;
    let failed = |call| {
        let path = path.clone();
        move |source| KernelError::File { call, path, source }
    };
    let mode = fs::metadata(&path).map_err(failed("stat"))?.permissions();
    if mode.mode() & 0o200 == 0 {
        return Err(KernelError::Absent(format!(
            "{parameter} of module {module}: takes effect when the module is loaded, which Hawser \
             does not do"
        )));
    }
    fs::write(&path, value).map_err(failed("write"))
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
