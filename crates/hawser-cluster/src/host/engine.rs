//! Starting and stopping Corosync and Pacemaker, by the service manager that this machine has:
//! systemd, or in a lab the lab's own init, which keeps the same promises.

use std::path::Path;
use std::time::Duration;

use super::{DeviceWish, NodeError, run};

/// Where a lab's node has the lab's binary.
const LAB: &str = "/run/hawser/lab/hawser";

/// systemd's own sign that it runs (sd_booted(3)).
const SYSTEMD: &str = "/run/systemd/system";

const COROSYNC: &str = "corosync.service";
const PACEMAKER: &str = "pacemaker.service";
const DEVICE: &str = "corosync-qdevice.service";

/// systemd has limits of its own (a minute for Pacemaker, 90 s for Corosync and for what they need), and says better
/// than we what did not start; the order waits for 300 s.
const STARTS: Duration = Duration::from_secs(290);

/// A stop waits for every pool of the node: as long as systemd does (pacemaker.service has `TimeoutStopSec=30min`); the order
/// waits a little longer.
const STOPS: Duration = Duration::from_secs(1820);

/// A service manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manager {
    Systemd,
    Lab,
}

/// What it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    /// Start now and at each boot.
    Start,
    /// Stop now.
    Stop,
    /// Stop now, and do not start at boot.
    Withdraw,
    /// Stop now, and start again.
    Restart,
}

pub(super) fn start() -> Result<(), NodeError> {
    tell(Wish::Start)
}

pub(super) fn stop() -> Result<(), NodeError> {
    tell(Wish::Stop)
}

pub(super) fn restart() -> Result<(), NodeError> {
    tell(Wish::Restart)
}

pub(super) fn withdraw() -> Result<(), NodeError> {
    tell(Wish::Withdraw)
}

/// Whether systemd manages the services of this machine.
pub(super) fn by_systemd() -> bool {
    here(|path| Path::new(path).exists()) == Some(Manager::Systemd)
}

/// systemd reads its files anew, where it runs.
pub(super) fn reload_units() -> Result<(), NodeError> {
    match by_systemd() {
        true => run::tool("systemctl", &["daemon-reload"], None).map(drop),
        false => Ok(()),
    }
}

/// Starts the iSCSI target in user space where it does not run.
pub(super) fn start_target() -> Result<(), NodeError> {
    if super::inventory::runs("tgtd") {
        return Ok(());
    }
    match here(|path| Path::new(path).exists()) {
        // A lab's init starts it with the node and not again.
        Some(Manager::Lab) => run::tool(LAB, &["lab", "node-service", "target"], None).map(drop),
        // Debian's name; Red Hat's is that of the program.
        _ => run::tool("systemctl", &["start", "tgt"], None)
            .or_else(|_| run::tool("systemctl", &["start", "tgtd"], None))
            .map(drop),
    }
}

fn tell(wish: Wish) -> Result<(), NodeError> {
    let Some(manager) = here(|path| Path::new(path).exists()) else {
        let line = &commands(Manager::Systemd, wish, true)[0];
        return Err(NodeError::Tool {
            command: line.join(" "),
            said: "this machine does not run systemd".into(),
        });
    };
    let limit = match wish {
        Wish::Start => STARTS,
        Wish::Stop | Wish::Withdraw | Wish::Restart => STOPS,
    };
    all(
        commands(manager, wish, starts_at_boot() == Some(true)),
        limit,
    )
}

fn all(lines: Vec<Vec<&str>>, limit: Duration) -> Result<(), NodeError> {
    let mut lines = lines.iter();
    lines.try_for_each(|line| run::tool_within(limit, line[0], &line[1..]).map(drop))
}

/// Starts or stops corosync-qdevice.
pub(super) fn device(wish: DeviceWish) -> Result<(), NodeError> {
    let manager = here(|path| Path::new(path).exists()).unwrap_or(Manager::Systemd);
    let lines = match (manager, wish) {
        (Manager::Systemd, DeviceWish::Start) => {
            vec![
                vec!["systemctl", "enable", DEVICE],
                vec!["systemctl", "start", DEVICE],
            ]
        }
        (Manager::Systemd, DeviceWish::Stop) => vec![vec!["systemctl", "stop", DEVICE]],
        (Manager::Systemd, DeviceWish::Withdraw) => {
            vec![vec!["systemctl", "disable", "--now", DEVICE]]
        }
        (Manager::Lab, DeviceWish::Start) => vec![vec![LAB, "lab", "node-service", "start-device"]],
        (Manager::Lab, DeviceWish::Stop) => vec![vec![LAB, "lab", "node-service", "stop-device"]],
        (Manager::Lab, DeviceWish::Withdraw) => {
            vec![vec![LAB, "lab", "node-service", "withdraw-device"]]
        }
    };
    all(lines, STARTS)
}

/// Whether systemd starts the engine at each boot; `None` where it is not systemd who does.
pub(super) fn starts_at_boot() -> Option<bool> {
    enabled(&[COROSYNC, PACEMAKER])
}

/// The same of corosync-qdevice.
pub(super) fn device_starts_at_boot() -> Option<bool> {
    enabled(&[DEVICE])
}

fn enabled(services: &[&str]) -> Option<bool> {
    let arguments = [&["is-enabled"], services].concat();
    let said = by_systemd().then(|| run::output("systemctl", &arguments, None))?;
    let said = said.map_or(Vec::new(), |output| output.stdout);
    let said = String::from_utf8_lossy(&said);
    Some(said.lines().filter(|line| *line == "enabled").count() == services.len())
}

/// Who manages services where these files are. A systemd that runs in a lab's node comes first.
fn here(exists: impl Fn(&str) -> bool) -> Option<Manager> {
    let managers = [(SYSTEMD, Manager::Systemd), (LAB, Manager::Lab)];
    let found = managers.into_iter().find(|(sign, _)| exists(sign));
    found.map(|(_, manager)| manager)
}

/// The command lines, one after the other: Corosync first when it starts, Pacemaker first when it
/// ends, because Pacemaker needs Corosync to stop what it runs.
///
/// Debian enables a service that also has an init script by running several programs that each have
/// systemd read all its files anew, so what is enabled is not enabled again.
fn commands(manager: Manager, wish: Wish, enabled: bool) -> Vec<Vec<&'static str>> {
    match (manager, wish) {
        (Manager::Systemd, Wish::Start) => {
            let enable = vec!["systemctl", "enable", COROSYNC, PACEMAKER];
            let start = vec!["systemctl", "start", COROSYNC, PACEMAKER];
            match enabled {
                true => vec![start],
                // Enabled first: one that was killed in between is not taken for one that is done.
                false => vec![enable, start],
            }
        }
        (Manager::Systemd, Wish::Stop) => vec![
            vec!["systemctl", "stop", PACEMAKER],
            vec!["systemctl", "stop", COROSYNC],
        ],
        (Manager::Systemd, Wish::Withdraw) => vec![
            vec!["systemctl", "disable", "--now", PACEMAKER],
            vec!["systemctl", "disable", "--now", COROSYNC],
        ],
        // One transaction of systemd's: Pacemaker stops before the Corosync it needs, and whoever asked may end meanwhile.
        (Manager::Systemd, Wish::Restart) => {
            vec![vec!["systemctl", "restart", COROSYNC, PACEMAKER]]
        }
        (Manager::Lab, Wish::Restart) => vec![vec![LAB, "lab", "node-service", "restart"]],
        (Manager::Lab, Wish::Start) => vec![vec![LAB, "lab", "node-service", "start"]],
        (Manager::Lab, Wish::Stop) => vec![vec![LAB, "lab", "node-service", "stop"]],
        (Manager::Lab, Wish::Withdraw) => vec![vec![LAB, "lab", "node-service", "withdraw"]],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systemd_is_asked_where_it_runs_and_the_labs_init_elsewhere_in_a_lab() {
        assert_eq!(here(|path| path == SYSTEMD), Some(Manager::Systemd));
        assert_eq!(here(|_| true), Some(Manager::Systemd));
        assert_eq!(here(|path| path == LAB), Some(Manager::Lab));
        assert_eq!(here(|_| false), None);
    }

    #[test]
    fn what_starts_at_boot_already_is_only_started() {
        let lines = |enabled| -> Vec<String> {
            let lines = commands(Manager::Systemd, Wish::Start, enabled);
            lines.iter().map(|line| line[1..].join(" ")).collect()
        };
        let start = "start corosync.service pacemaker.service";
        assert_eq!(lines(true), [start]);
        let enable = "enable corosync.service pacemaker.service";
        assert_eq!(lines(false), [enable, start]);
    }

    #[test]
    fn pacemaker_ends_before_the_corosync_it_needs() {
        for manager in [Manager::Systemd, Manager::Lab] {
            for wish in [Wish::Stop, Wish::Withdraw] {
                let lines: Vec<String> = commands(manager, wish, true)
                    .iter()
                    .map(|line| line.join(" "))
                    .collect();
                if let [first, second] = &lines[..] {
                    assert!(first.contains("pacemaker") && second.contains("corosync"));
                }
            }
        }
    }
}
