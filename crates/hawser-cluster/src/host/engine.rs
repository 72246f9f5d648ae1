//! Starting and stopping Corosync and Pacemaker: by systemd, or in a lab by the lab's own init.

use std::path::Path;

use super::{HostError, run};

/// Where a lab's node has the lab's binary.
const LAB: &str = "/run/hawser/lab/hawser";

/// systemd's own sign that it runs (sd_booted(3)).
const SYSTEMD: &str = "/run/systemd/system";

pub(super) fn start() -> Result<(), HostError> {
    if Path::new(LAB).exists() {
        return run::tool(LAB, &["lab", "node-service", "start"], None).map(drop);
    }
    systemd(&["enable", "--now", "corosync.service", "pacemaker.service"])
}

pub(super) fn stop() -> Result<(), HostError> {
    if Path::new(LAB).exists() {
        return run::tool(LAB, &["lab", "node-service", "stop"], None).map(drop);
    }
    // One after the other: Pacemaker needs Corosync to stop what it runs.
    systemd(&["stop", "pacemaker.service"])?;
    systemd(&["stop", "corosync.service"])
}

fn systemd(arguments: &[&str]) -> Result<(), HostError> {
    if !Path::new(SYSTEMD).exists() {
        return Err(HostError::Tool {
            command: format!("systemctl {}", arguments.join(" ")),
            said: "this machine does not run systemd".into(),
        });
    }
    run::tool("systemctl", arguments, None).map(drop)
}
