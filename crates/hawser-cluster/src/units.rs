//! What systemd is told beside starting the engine: the iSCSI target of user space is a service of its own,
//! and pools are offered by it only while it runs.
//!
//! Nothing orders it with Pacemaker. At a boot a pool would be offered before it runs; at a reboot
//! systemd would end both at once, and clients be told that their units are gone while the pool is
//! on its way to the other head. `resource-agents-deps.target` is there for such services:
//! Pacemaker starts after it and stops before it (`pacemaker.service`).

use hawser_model::cluster_file::{ClusterFile, ExportKind};

use crate::cib::secrets::{Content, NodeFile};

/// The one file that Hawser adds to systemd's.
pub const DROP_IN: &str = "/etc/systemd/system/resource-agents-deps.target.d/hawser.conf";

/// The file, where the pools of a cluster need it.
pub fn drop_in(file: &ClusterFile) -> Option<NodeFile> {
    let mut pools = file.pools.iter();
    let offers = pools.any(|pool| *pool.exports.get() == ExportKind::Iscsi);
    // A service that is wanted and not there is passed over.
    let services = file.exports.backend.services();
    let needed = offers && !services.is_empty();
    needed.then(|| NodeFile {
        path: DROP_IN.into(),
        mode: 0o644,
        content: Content::Text(format!(
            "# Made by hawser: pools are offered by tgtd, so it starts before Pacemaker and ends after it.\n\
             [Unit]\n\
             Wants={services}\n\
             After={services}\n"
        )),
    })
}
