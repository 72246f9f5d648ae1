//! The folder that a machine shares with its host, and the keys of a lab.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use hawser_tool::Tool;

use super::{disks, plan};
use crate::cluster::ClusterSpec;
use crate::error::LabError;
use crate::init::checksum;
use crate::paths::LabDir;
use crate::spec::NodeSpec;
use crate::state::State;

/// The lab's key to its machines.
const DOOR: &str = "door";
/// The key by which its machines are known.
const HOST: &str = "host";
const KNOWN_HOSTS: &str = "known_hosts";

/// Makes the keys of a lab, before its first machine starts.
pub(crate) fn keys(dir: &LabDir) -> Result<(), LabError> {
    let folder = keys_folder(dir);
    let failed = |e| LabError::io("create the folder", &folder, e);
    DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .map_err(failed)?;
    for name in [DOOR, HOST] {
        let path = folder.join(name).display().to_string();
        let words = ["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", &path];
        Tool::new("ssh-keygen").args(words).text()?;
    }
    let public = read(&folder.join(format!("{HOST}.pub")))?;
    write(
        &folder.join(KNOWN_HOSTS),
        &format!("{} {public}", plan::MACHINE),
    )
}

fn keys_folder(dir: &LabDir) -> PathBuf {
    dir.path().join("keys")
}

/// Where the lab's key to its machines is.
pub(super) fn door_key(dir: &LabDir) -> PathBuf {
    keys_folder(dir).join(DOOR)
}

/// Where it is said how its machines are known.
pub(super) fn known_hosts(dir: &LabDir) -> PathBuf {
    keys_folder(dir).join(KNOWN_HOSTS)
}

/// The folder that a machine shares with its host.
pub(super) fn shared(dir: &LabDir, node: &str) -> PathBuf {
    dir.node(node).join("host")
}

/// What a machine makes there when it is up.
pub(super) fn ready(dir: &LabDir, node: &str) -> PathBuf {
    shared(dir, node).join("ready")
}

/// What is mounted there is the memory of its kernel.
pub(super) fn memory(dir: &LabDir, node: &str) -> PathBuf {
    dir.node(node).join("memory")
}

/// The lab's binaries as the machine finds them in that folder.
pub(super) fn binaries(dir: &LabDir, node: &str) -> PathBuf {
    shared(dir, node).join("bin")
}

/// A machine's own number, which it has at every boot.
fn machine_id(state: &State, node: &str) -> String {
    format!("{:.24}{:08x}", state.token, checksum(node.as_bytes()))
}

/// What its kernel is told of who it is.
pub(super) fn identity(state: &State, node: &NodeSpec) -> [String; 3] {
    let id = machine_id(state, node.name.as_str());
    plan::identity(state.name.as_str(), &node.name, &id)
}

/// Writes what makes a machine itself.
pub(super) fn fill(dir: &LabDir, state: &State, node: &NodeSpec) -> Result<(), LabError> {
    let name = node.name.as_str();
    let shared = shared(dir, name);
    let folders = [
        shared.join("etc/ssh"),
        shared.join("etc/iscsi"),
        shared.join("etc/udev/rules.d"),
        binaries(dir, name),
        memory(dir, name),
    ];
    for folder in folders {
        fs::create_dir_all(&folder).map_err(|e| LabError::io("create the folder", &folder, e))?;
    }
    let key = |name: &str| read(&keys_folder(dir).join(name));
    let files = [
        ("etc/hostname", format!("{name}\n")),
        ("etc/hosts", crate::plan::hosts_file(&state.spec)),
        (
            "etc/iscsi/initiatorname.iscsi",
            plan::initiator_name(&node.name),
        ),
        ("etc/ssh/ssh_host_ed25519_key", key(HOST)?),
        ("etc/ssh/lab_keys", key(&format!("{DOOR}.pub"))?),
        ("cards", plan::names_of_cards(&state.spec, node)),
        (
            "network",
            plan::machine_network(&state.spec, node).join("\n") + "\n",
        ),
    ];
    let serial = shared.join("serial");
    fs::create_dir_all(&serial).map_err(|e| LabError::io("create the folder", &serial, e))?;
    for (nth, line) in plan::serial_lines(&state.spec, node).iter().enumerate() {
        write(&serial.join(format!("ttyS{nth}")), &plan::ppp_options(line))?;
    }
    let mut files = Vec::from(files);
    files.extend(disks::files(&state.spec, node));
    files.extend(disks::script(&state.spec, node).map(|text| ("disks", text)));
    for (file, text) in files {
        write(&shared.join(file), &text)?;
    }
    let hostid = plan::hostid(&machine_id(state, name));
    hawser_files::replace(&shared.join("etc/hostid"), &hostid, 0o644)?;
    if state
        .spec
        .cluster
        .as_ref()
        .is_some_and(ClusterSpec::has_lvm)
    {
        let folder = shared.join("etc/lvm");
        fs::create_dir_all(&folder).map_err(|e| LabError::io("create the folder", &folder, e))?;
        write(&folder.join("lvmlocal.conf"), plan::SYSTEM_ID)?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, LabError> {
    fs::read_to_string(path).map_err(|e| LabError::io("read", path, e))
}

fn write(path: &Path, text: &str) -> Result<(), LabError> {
    Ok(hawser_files::replace(path, text.as_bytes(), 0o600)?)
}
