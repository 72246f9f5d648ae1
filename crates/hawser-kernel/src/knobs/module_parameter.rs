//! Parameters of loaded kernel modules, as `/sys/module` shows them. Most are read by the module
//! once, when it is loaded, so writing them would say nothing of what is in force.

use std::path::Path;

use hawser_model::knob::Knob;

use crate::{KernelError, proc};

pub(super) fn read(module: &str, parameter: &str) -> Result<String, KernelError> {
    if [module, parameter].iter().any(|n| n.contains(['/', '.'])) {
        return Err(KernelError::Absent(format!(
            "module {module}: no parameter {parameter}"
        )));
    }
    let path = Path::new("/sys/module")
        .join(module)
        .join("parameters")
        .join(parameter);
    Ok(proc::file(path)?.trim_end().to_owned())
}

pub(super) fn read_only(knob: &Knob) -> KernelError {
    KernelError::Absent(format!(
        "{knob}: takes effect when the module is loaded, which Hawser does not do"
    ))
}
