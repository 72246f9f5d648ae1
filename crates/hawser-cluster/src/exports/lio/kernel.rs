//! Whether this kernel has the target, and making it ready.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use hawser_tool::Tool;
use nix::mount::{MsFlags, mount};
use nix::sys::utsname::uname;

use super::configfs::ROOT;

/// Where configfs is mounted.
const CONFIGFS: &str = "/sys/kernel/config";

/// The kernel's target cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// It has none.
    #[error(
        "this kernel ({release}) has no iSCSI target: {reason}. Run a kernel with CONFIG_CONFIGFS_FS, CONFIG_TARGET_CORE and CONFIG_ISCSI_TARGET, or write backend = \"tgt\" under [exports] of hawser.toml"
    )]
    Missing {
        /// The kernel's release.
        release: String,
        /// What was tried and did not work.
        reason: String,
    },
    /// A call fails.
    #[error("{call} {path}: {source}")]
    Io {
        /// The call.
        call: &'static str,
        /// Where.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

/// What [`ready`] would say, found by looking alone: nothing is loaded, mounted or made.
pub fn lacking() -> Option<KernelError> {
    let iscsi = format!("{ROOT}/iscsi");
    let steps = [
        (CONFIGFS, "configfs"),
        (ROOT, "target_core_mod"),
        (&iscsi, "iscsi_target_mod"),
    ];
    let absent = steps.iter().filter(|(path, _)| !Path::new(path).exists());
    let tried: Vec<String> = absent
        .filter_map(|(_, module)| modprobe(&["--dry-run", module]))
        .collect();
    (!tried.is_empty()).then(|| missing(&tried))
}

/// Loads what is not loaded and mounts configfs where it is not mounted.
pub fn ready() -> Result<(), KernelError> {
    let mut tried = Vec::new();
    if !Path::new(CONFIGFS).exists() {
        tried.extend(modprobe(&["configfs"]));
    }
    if !Path::new(CONFIGFS).exists() {
        tried.insert(0, format!("{CONFIGFS} does not exist"));
        return Err(missing(&tried));
    }
    if !Path::new(ROOT).exists() {
        let none: Option<&str> = None;
        let mounted = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        if !mounted.contains(&format!(" {CONFIGFS} configfs ")) {
            mount(
                Some("configfs"),
                CONFIGFS,
                Some("configfs"),
                MsFlags::empty(),
                none,
            )
            .map_err(|errno| KernelError::Io {
                call: "mount configfs at",
                path: CONFIGFS.into(),
                source: errno.into(),
            })?;
        }
        tried.extend(modprobe(&["target_core_mod"]));
    }
    if !Path::new(ROOT).exists() {
        tried.insert(0, format!("{ROOT} does not exist"));
        return Err(missing(&tried));
    }
    let iscsi = format!("{ROOT}/iscsi");
    if !Path::new(&iscsi).exists() {
        // The kernel would load it by itself, with a less clear error.
        tried.extend(modprobe(&["iscsi_target_mod"]));
        match fs::create_dir(&iscsi) {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => {
                tried.insert(0, format!("mkdir {iscsi}: {e}"));
                return Err(missing(&tried));
            }
            _ => {}
        }
    }
    // Persistent reservations that are to survive a loss of power are kept there, and refused when the
    // folder is not (`__core_scsi3_write_aptpl_to_file`).
    let root = fs::read_to_string(format!("{ROOT}/dbroot")).unwrap_or_default();
    let root = root.trim();
    if !root.is_empty() {
        let path = format!("{root}/pr");
        fs::create_dir_all(&path).map_err(|source| KernelError::Io {
            call: "create",
            path,
            source,
        })?;
    }
    Ok(())
}

fn missing(tried: &[String]) -> KernelError {
    let release = uname().map_or_else(
        |_| "of unknown release".to_owned(),
        |name| name.release().to_string_lossy().into_owned(),
    );
    KernelError::Missing {
        release,
        reason: tried.join("; "),
    }
}

/// What it says when it fails.
fn modprobe(arguments: &[&str]) -> Option<String> {
    let line = arguments.join(" ");
    match Tool::new("modprobe").args(arguments).output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().next().unwrap_or("no reason is given").trim();
            Some(format!("modprobe {line}: {said}"))
        }
        Err(error) => Some(format!("modprobe {line}: {}", error.reason())),
    }
}
