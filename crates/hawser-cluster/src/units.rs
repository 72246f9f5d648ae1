//! What systemd is told beside starting the engine: the iSCSI target of user space and the NFS server are services of
//! their own, and pools are offered by them only while they run.
//!
//! Nothing orders them with Pacemaker. At a boot a pool would be offered before they run. At a reboot systemd would stop
//! all of them at once, while pools are still on their way to the other head: tgtd tells its clients that their units are
//! gone; an NFS server that has ended names no clients any more, so that one that connected last is missing from the pool's list
//! and loses its locks. `resource-agents-deps.target` is there for such services: Pacemaker starts after it and stops before
//! it (`pacemaker.service`).

use hawser_model::cluster_file::{ClusterFile, ExportKind, Pool};

use crate::cib::secrets::{Content, NodeFile};

/// The one file that Hawser adds to systemd's.
pub const DROP_IN: &str = "/etc/systemd/system/resource-agents-deps.target.d/hawser.conf";

/// The unit of the watch that an apply installs. One of a package lies in `/usr/lib` and is not touched.
pub const WATCH_UNIT: &str = "/etc/systemd/system/hawser-watch.service";

/// What the unit runs.
pub const WATCH_PROGRAM: &str = "/usr/bin/hawser";

/// The cluster file that the unit's watch judges by.
pub const WATCH_FILE: &str = "/etc/hawser/hawser.toml";

/// The program that Pacemaker runs after an event.
pub const ALERT: &str = "/etc/hawser/alert";

/// What that program touches, and the watch looks at each second. Who runs Pacemaker may write it, and nobody else.
pub const WOKEN: &str = "/run/hawser-watch/woken";

/// The program, where the file wants a watch. It takes nothing of what Pacemaker tells it (`CRM_alert_…`), parts of which
/// come from other machines; opening a file in memory waits for nothing; and it never fails.
pub fn alert(file: &ClusterFile) -> Option<NodeFile> {
    file.watch.unit.then(|| NodeFile {
        path: ALERT.into(),
        mode: 0o755,
        content: Content::Text(format!(
            "#!/bin/sh\n\
             {APPLY_MARK}: Pacemaker runs it after an event, and it wakes the watch of this head, if there is one.\n\
             if [ -f {WOKEN} ] && [ -w {WOKEN} ]; then : >{WOKEN}; fi\n\
             exit 0\n"
        )),
    })
}

/// How each of these files says whose it is. One of that name that does not say so is the site's own.
pub const OURS: &str = "# Made by hawser";

/// Files of an apply that the file does not want: the path of each, and what a plan calls it.
pub fn not_wanted(file: &ClusterFile) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = [
        (ALERT, "alert", file.watch.unit),
        (DROP_IN, "systemd", drop_in(file).is_some()),
    ];
    let not_wanted = all.into_iter().filter(|(_, _, wanted)| !wanted);
    not_wanted.map(|(path, object, _)| (path, object))
}

/// How what an apply installed for the watch says so. A unit that begins otherwise is the site's own.
pub const APPLY_MARK: &str = "# Made by hawser apply";

/// The unit as an apply installs it.
pub fn watch_unit() -> String {
    format!(
        "{APPLY_MARK}: the cluster file has `[watch] unit = true`. Settings of your own: `systemctl edit hawser-watch`.\n{}",
        include_str!("../../../packaging/hawser-watch.service")
    )
}

/// The kernel's NFS server, as every distribution calls it.
const NFS_SERVER: &str = "nfs-server.service";

/// The file, where pools are offered. That of an iSCSI pool may offer directories too: its own `exports.toml` says.
pub fn drop_in(file: &ClusterFile) -> Option<NodeFile> {
    let any = |is: fn(&Pool) -> bool| file.pools.iter().any(is);
    let target = match any(|pool| *pool.exports.get() == ExportKind::Iscsi) {
        true => file.exports.backend.services(),
        false => "",
    };
    let directories = any(|pool| *pool.exports.get() != ExportKind::None || !pool.nfs.is_empty());
    let server = if directories { NFS_SERVER } else { "" };
    let services = format!("{target} {server}");
    let services = services.trim();
    // A service that is wanted and not there is passed over. Whether the NFS server starts at boot is the operator's.
    let wants = match target {
        "" => String::new(),
        target => format!("Wants={target}\n"),
    };
    (!services.is_empty()).then(|| NodeFile {
        path: DROP_IN.into(),
        mode: 0o644,
        content: Content::Text(format!(
            "{OURS}: what offers pools starts before Pacemaker and ends after it.\n\
             [Unit]\n\
             {wants}\
             After={services}\n"
        )),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_of_the_watch_takes_no_device_away_and_hides_no_folder() {
        let unit = watch_unit();
        let set = |name: &str| {
            let mut lines = unit.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
        };
        // An allowed device takes all others away: that of ProtectClock= does in systemd 245 to 252.
        for name in [
            "DeviceAllow",
            "DevicePolicy",
            "PrivateDevices",
            "ProtectClock",
        ] {
            assert_eq!(set(name), None, "{name}");
        }
        // What a pool, a key or a fence agent needs lies below /root or /home on some heads.
        assert_eq!(set("ProtectHome"), Some("read-only"));
        assert_eq!(set("InaccessiblePaths"), None);
        // A head with four pools has some fifty tasks in a look.
        assert_eq!(set("TasksMax"), Some("512"));
    }
}
