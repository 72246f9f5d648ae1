//! A reboot in good order. The cluster is stopped first, as an administrator does: systemd would end the sessions of ssh at the
//! same time, and nobody would see how the pools go.

use std::time::Duration;

use super::processes;
use crate::host::{NodeError, engine, run};

/// The cluster's own stop, and what orders the reboot.
pub(in crate::host) const TAKES: Duration = Duration::from_secs(1860);

/// By a timer, so that the answer is on its way before systemd ends the session that it goes through.
const ORDER: [&str; 5] = [
    "--quiet",
    "--on-active=1s",
    "--timer-property=AccuracySec=100ms",
    "systemctl",
    "reboot",
];

pub(super) fn make() -> Result<(), NodeError> {
    if !engine::by_systemd() {
        return Err(NodeError::Tool {
            command: "systemctl reboot".to_owned(),
            said: "this machine does not run systemd".to_owned(),
        });
    }
    engine::stop()?;
    run::tool("systemd-run", &ORDER, None).map(drop)
}

pub(super) fn shown() -> Option<String> {
    let stopped = processes::engine_age().is_none();
    stopped.then(|| "its Pacemaker does not run".to_owned())
}

/// What is left of one that did not come to its end: the cluster is stopped. systemd refuses to start anything while it shuts
/// down, and starts it at the boot itself.
pub(super) fn mend() -> Result<(), NodeError> {
    engine::start()
}
