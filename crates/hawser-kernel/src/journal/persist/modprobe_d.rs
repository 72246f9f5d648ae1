//! `/etc/modprobe.d/60-hawser.conf`: parameters with which a module is loaded (modprobe.d(5)).

use std::fs;
use std::path::{Path, PathBuf};

const FILE: &str = "60-hawser.conf";

pub(super) fn plan(
    root: &Path,
    module: &str,
    parameter: &str,
    value: &str,
) -> Result<PathBuf, String> {
    if !loadable(root, module) {
        return Err(format!(
            "module {module} is built into the kernel: only its command line sets {module}.{parameter}"
        ));
    }
    let folder = root.join("etc/modprobe.d");
    if !folder.is_dir() {
        return Err(format!("this host has no {}", folder.display()));
    }
    match overrider(&folder, module, parameter, value) {
        Some(other) => Err(format!(
            "{other} is read later and sets {parameter} to something else: change it there"
        )),
        None => Ok(folder.join(FILE)),
    }
}

/// Where it may have written.
pub(super) fn files(root: &Path) -> Vec<PathBuf> {
    vec![root.join("etc/modprobe.d").join(FILE)]
}

pub(super) fn line(module: &str, parameter: &str, value: &str) -> String {
    format!("options {module} {parameter}={value}")
}

/// Whether some installed kernel has it as a file; in names `-` and `_` are the same.
pub(super) fn loadable(root: &Path, module: &str) -> bool {
    let wanted = module.replace('-', "_");
    let kernels = fs::read_dir(root.join("lib/modules"))
        .into_iter()
        .flatten()
        .flatten();
    kernels.into_iter().any(|kernel| {
        let text = fs::read_to_string(kernel.path().join("modules.dep")).unwrap_or_default();
        text.lines().any(|line| {
            let path = line.split(':').next().unwrap_or(line);
            let file = path.rsplit('/').next().unwrap_or(path);
            file.split('.')
                .next()
                .is_some_and(|n| n.replace('-', "_") == wanted)
        })
    })
}

/// Of one parameter given twice the later counts.
fn overrider(folder: &Path, module: &str, parameter: &str, value: &str) -> Option<String> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut later: Vec<PathBuf> = files
        .map(|f| f.path())
        .filter(|p| p.extension().is_some_and(|e| e == "conf"))
        .filter(|p| p.file_name().is_some_and(|n| n > FILE))
        .collect();
    later.sort();
    later.into_iter().find_map(|path| {
        let text = fs::read_to_string(&path).ok()?;
        let line = text.lines().position(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some("options")
                && words.next().map(|m| m.replace('-', "_")) == Some(module.replace('-', "_"))
                && words.any(|w| {
                    w.split_once('=')
                        .is_some_and(|(p, v)| p == parameter && v != value)
                })
        })?;
        Some(format!("{}:{}", path.display(), line + 1))
    })
}
