//! A head begins without a cluster, whatever its host is. Its `/etc` and `/var` are the host's with its own changes on top:
//! if the host is a head too, the engine would start that one's CIB, and pools on the host's disks.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::Path;

use rustix::fs::{XattrFlags, setxattr};

use super::mounts::upper;
use crate::error::LabError;

/// What Corosync and Pacemaker of the host keep, and whom they trust. Their packages put nothing into these folders that
/// they need to start: the `corosync.conf` there is an example, and `uidgid.d` is empty.
const KEPT: [&str; 5] = [
    "etc/corosync",
    "etc/pacemaker",
    "var/lib/corosync",
    "var/lib/pacemaker/cib",
    "var/lib/pacemaker/pengine",
];

/// By this a folder of an upper layer hides all that the lower one has there (overlayfs.rst, "whiteouts and opaque
/// directories").
const OPAQUE: &str = "trusted.overlay.opaque";

/// Gives the upper layers below `node` an empty folder for each of these that the host has. One that is there, as after the
/// first boot, is the node's own and stays.
pub(super) fn prepare(host: &Path, node: &Path) -> Result<(), LabError> {
    for kept in KEPT {
        let place = host.join(kept);
        match fs::metadata(&place) {
            Ok(about) if about.is_dir() => hide(host, node, kept)?,
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(LabError::io("stat", place, e));
            }
            _ => {}
        }
    }
    Ok(())
}

fn hide(host: &Path, node: &Path, folder: &str) -> Result<(), LabError> {
    let mut steps = Path::new(folder).iter();
    let layer = steps.next().unwrap_or_default();
    let mut theirs = host.join(layer);
    let mut ours = upper(node, &layer.to_string_lossy());
    fs::create_dir_all(&ours).map_err(|e| LabError::io("create the folder", &ours, e))?;
    while let Some(step) = steps.next() {
        theirs.push(step);
        ours.push(step);
        let is_last = steps.as_path().as_os_str().is_empty();
        if !ours.exists() {
            like(&theirs, &ours, is_last)?;
        }
    }
    Ok(())
}

/// Makes a folder with the owner and the mode of another.
fn like(theirs: &Path, ours: &Path, opaque: bool) -> Result<(), LabError> {
    let about = fs::metadata(theirs).map_err(|e| LabError::io("stat", theirs, e))?;
    let failed = |e| LabError::io("create the folder", ours, e);
    DirBuilder::new().mode(0o700).create(ours).map_err(failed)?;
    if opaque {
        setxattr(ours, OPAQUE, b"y", XattrFlags::empty())
            .map_err(|e| LabError::io("set trusted.overlay.opaque of", ours, e.into()))?;
    }
    chown(ours, Some(about.uid()), Some(about.gid())).map_err(failed)?;
    fs::set_permissions(ours, fs::Permissions::from_mode(about.mode() & 0o7777)).map_err(failed)
}

#[cfg(test)]
mod tests {
    use nix::mount::{MsFlags, mount};

    use super::*;
    use crate::own_mounts::in_own_mounts;

    /// A host that is head1 of a cluster, and what its head1 of a lab sees of it.
    #[test]
    fn a_head_has_nothing_of_its_hosts_cluster_and_keeps_its_own() {
        in_own_mounts(|| {
            let place = tempfile::tempdir().unwrap();
            let place = place.path();
            // A tmpfs can carry an upper layer, whatever the folder for temporary files lies on.
            let tmpfs = Some("tmpfs");
            mount(tmpfs, place, tmpfs, MsFlags::empty(), None::<&str>).unwrap();
            let (host, node) = (place.join("host"), place.join("node"));
            let cib = "var/lib/pacemaker/cib";
            for file in [
                "etc/corosync/corosync.conf",
                "etc/corosync/authkey",
                "etc/pacemaker/authkey",
                "etc/hosts",
                "var/lib/corosync/ringid_1",
                "var/lib/pacemaker/cib/cib.xml",
                "var/lib/pacemaker/cores/core",
            ] {
                let path = host.join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "the host's").unwrap();
            }
            chown(host.join(cib), Some(107), Some(113)).unwrap();
            fs::set_permissions(host.join(cib), fs::Permissions::from_mode(0o750)).unwrap();

            let boot = || {
                prepare(&host, &node).unwrap();
                let merged = place.join("merged");
                for layer in ["etc", "var"] {
                    let (lower, at) = (host.join(layer), merged.join(layer));
                    let (upper, work) = (upper(&node, layer), node.join(layer).join("work"));
                    fs::create_dir_all(&work).unwrap();
                    fs::create_dir_all(&at).unwrap();
                    let [lower, upper, work] = [&lower, &upper, &work].map(|it| it.display());
                    let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
                    let overlay = Some("overlay");
                    mount(overlay, &at, overlay, MsFlags::empty(), Some(&*options)).unwrap();
                }
                merged
            };
            let off = || {
                for layer in ["etc", "var"] {
                    nix::mount::umount(&place.join("merged").join(layer)).unwrap();
                }
            };

            let head = boot();
            for kept in KEPT {
                let path = head.join(kept);
                let inside = fs::read_dir(&path).map(Iterator::count).unwrap_or(0);
                assert_eq!(inside, 0, "{kept}");
            }
            let about = head.join(cib).metadata().unwrap();
            let seen = (about.uid(), about.gid(), about.mode() & 0o7777);
            assert_eq!(seen, (107, 113, 0o750));
            for elsewhere in ["etc/hosts", "var/lib/pacemaker/cores/core"] {
                assert!(head.join(elsewhere).exists(), "{elsewhere}");
            }
            fs::write(head.join(cib).join("cib.xml"), "the lab's").unwrap();
            off();
            let head = boot();
            let own = fs::read_to_string(head.join(cib).join("cib.xml")).unwrap();
            assert_eq!(own, "the lab's");
            let hosts = fs::read_to_string(host.join(cib).join("cib.xml")).unwrap();
            assert_eq!(hosts, "the host's");
            off();
        });
    }
}
