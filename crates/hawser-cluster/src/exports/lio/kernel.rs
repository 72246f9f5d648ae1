//! Whether this kernel has the target, and making it ready.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use hawser_files::FileError;
use hawser_model::mountinfo::{self, mounted};
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
    #[error(transparent)]
    File(#[from] FileError),
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
    load("configfs", CONFIGFS, &mut tried)?;
    if !Path::new(ROOT).exists() {
        let none: Option<&str> = None;
        let text = fs::read_to_string(mountinfo::OWN).unwrap_or_default();
        if !mounted(&text).any(|it| it.place == CONFIGFS && it.fstype == "configfs") {
            mount(
                Some("configfs"),
                CONFIGFS,
                Some("configfs"),
                MsFlags::empty(),
                none,
            )
            .map_err(FileError::io("mount configfs at", CONFIGFS))?;
        }
    }
    load("target_core_mod", ROOT, &mut tried)?;
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
        fs::create_dir_all(&path).map_err(FileError::io("create", &path))?;
    }
    Ok(())
}

/// Loads a module if what it makes is not there.
fn load(module: &str, makes: &str, tried: &mut Vec<String>) -> Result<(), KernelError> {
    if Path::new(makes).exists() {
        return Ok(());
    }
    tried.extend(modprobe(&[module]));
    if Path::new(makes).exists() {
        return Ok(());
    }
    tried.insert(0, format!("{makes} does not exist"));
    Err(missing(tried))
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
    let said = Tool::new("modprobe").args(arguments).text().err()?.reason();
    let said = said.lines().next().unwrap_or_default();
    Some(format!("modprobe {}: {said}", arguments.join(" ")))
}
