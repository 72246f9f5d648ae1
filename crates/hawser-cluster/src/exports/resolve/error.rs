//! Why a file does not give a whole target.

use super::limits::LIO_PATH;

/// Why nothing comes out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum ExportsError {
    /// A volume that the file offers is not there.
    #[error("there is no volume \"{volume}\" in pool {pool}{}", meant(.nearest))]
    NoVolume {
        /// The pool.
        pool: String,
        /// The volume.
        volume: String,
        /// The one it is most like.
        nearest: Option<String>,
    },
    /// A view that shows nothing.
    #[error("view \"{view}\" shows no unit: no volume is below \"{prefix}\"")]
    EmptyView {
        /// The view.
        view: String,
        /// Its prefix.
        prefix: String,
    },
    /// Two units want one number.
    #[error(
        "\"{second}\" is to have LUN {lun} on {target}, which \"{first}\" has or had: clients would \
         write to the wrong disk; give it another number, or take \"{first}\" out of the state file \
         when it is gone for good"
    )]
    LunTaken {
        /// The target.
        target: String,
        /// The number.
        lun: u16,
        /// The unit that has it.
        first: String,
        /// The unit that is to have it.
        second: String,
    },
    /// One unit with two numbers on one target.
    #[error("\"{unit}\" is to have both LUN {a} and LUN {b} on {target}")]
    TwoLuns {
        /// The unit.
        unit: String,
        /// The target.
        target: String,
        /// A number.
        a: u16,
        /// Another.
        b: u16,
    },
    /// A target group with a target that there is not.
    #[error("there is no target \"{found}\": the file has none, so the only one is \"{pool}\"")]
    NoTarget {
        /// What the file says.
        found: String,
        /// The default target, named like the pool.
        pool: String,
    },
    /// Nothing that could be a disk.
    #[error("volume \"{volume}\" has {bytes} bytes, less than one block of {block_size}")]
    TooSmall {
        /// The volume.
        volume: String,
        /// Its size.
        bytes: u64,
        /// The block.
        block_size: u32,
    },
    /// A path that a target would take for two parameters.
    #[error("{path}: no target takes a path with a comma or a line break: rename the volume")]
    Path {
        /// The path.
        path: String,
    },
    /// tgtd keeps a number for itself.
    #[error("\"{unit}\" cannot have LUN 0 on {target}: tgtd keeps LUN 0 for its controller")]
    LunZero {
        /// The unit.
        unit: String,
        /// The target.
        target: String,
    },
    /// No number is left.
    #[error("no LUN is free on {target}")]
    NoLunLeft {
        /// The target.
        target: String,
    },
    /// Two targets with one name.
    #[error("targets \"{first}\" and \"{second}\" are both {iqn} to clients")]
    IqnTwice {
        /// One target.
        first: String,
        /// The other.
        second: String,
        /// The name clients see.
        iqn: String,
    },
    /// Some units for everybody and some not, on one target.
    #[error(
        "target \"{0}\" shows some units to everybody and some to certain hosts only: give these a target of their own"
    )]
    MixedAccess(String),
    /// tgtd shows all units of a target to the same hosts.
    #[error(
        "target \"{0}\" shows different units to different hosts, which tgtd cannot: give each host group a target of its own, or use the back end \"lio\""
    )]
    TgtMasking(String),
    /// tgtd offers every target on every portal.
    #[error(
        "targets are on different portals, which tgtd cannot do: use one portal group, or the back end \"lio\""
    )]
    TgtPortals,
    /// tgtd cannot be told to refuse it.
    #[error(
        "volume \"{volume}\": {key} = false, and tgtd has no setting for it: remove the key, or use the back end \"lio\""
    )]
    TgtOffload {
        /// The volume.
        volume: String,
        /// The key.
        key: &'static str,
    },
    /// One account with two secrets.
    #[error(
        "account \"{user}\" has two secrets: tgtd knows an account by its name alone, for all targets"
    )]
    TgtTwoSecrets {
        /// The account.
        user: String,
    },
    /// The kernel listens only where it is told to.
    #[error(
        "target \"{0}\" has no portal: the pool has no address, and the file no portal group; name one"
    )]
    LioNoPortal(String),
    /// The kernel protects units of certain hosts one by one, for everybody the whole target.
    #[error(
        "target \"{0}\" shows read-only and writable units to everybody, which the kernel's target cannot: give the read-only ones a target of their own, or name the hosts in a host group"
    )]
    LioReadOnly(String),
    /// An account that is none to the kernel.
    #[error(
        "account \"{user}\": the kernel's target takes a name that begins with NULL as no name: choose another"
    )]
    LioUser {
        /// The account.
        user: String,
    },
    /// A volume that is a file of an exported directory.
    #[error(
        "volume \"{unit}\" is below a directory that is offered by NFS: two kinds of clients would write to it; move it out of there"
    )]
    AlsoNfs {
        /// The unit.
        unit: String,
    },
    /// A directory that the file offers is not there.
    #[error("there is no directory \"{directory}\" in pool {pool}")]
    NoDirectory {
        /// The pool.
        pool: String,
        /// The directory.
        directory: String,
    },
    /// A directory that is somewhere else.
    #[error("directory \"{0}\" is behind a symbolic link: name the directory itself")]
    Link(String),
    /// A directory whose own file system is not there.
    #[error(
        "directory \"{directory}\" is in the ZFS file system {dataset}, which is not mounted{}: clients would write to the folder below it; \
         mount it (zfs mount -l {dataset}), or say that it never is (zfs set canmount=off {dataset})",
        .why.map_or(String::new(), |why| format!(" ({why})"))
    )]
    NotMounted {
        /// The directory.
        directory: String,
        /// The file system.
        dataset: String,
        /// Why it is not, if that is known.
        why: Option<&'static str>,
    },
    /// A directory that another one has taken the place of.
    #[error(
        "directory \"{directory}\" is not the one that was exported before, and the ZFS file system {dataset}, which is mounted by \
         others than ZFS (mountpoint=legacy), is not mounted: if it belongs there, clients would write to the folder below it; \
         mount it first, or say that it never is (zfs set canmount=off {dataset})"
    )]
    NotTheSame {
        /// The directory.
        directory: String,
        /// The file system.
        dataset: String,
    },
    /// A path that the kernel's target would cut.
    #[error(
        "{path} has {} bytes, and the kernel's target takes {LIO_PATH} at most: give the volume, or the folders above it, a shorter name",
        .path.len()
    )]
    LioPath {
        /// The path.
        path: String,
    },
    /// A serial number that another unit has.
    #[error("\"{unit}\" is to have the serial number {serial}, which \"{other}\" has")]
    SerialTaken {
        /// The unit.
        unit: String,
        /// The serial number.
        serial: String,
        /// The other unit.
        other: String,
    },
}

fn meant(nearest: &Option<String>) -> String {
    nearest
        .as_ref()
        .map_or(String::new(), |name| format!(" (did you mean \"{name}\"?)"))
}
