//! Starting and stopping Corosync and Pacemaker, by the service manager that this machine has:
//! systemd, or an init of its own (a lab's node), which keeps the same promises.

use std::path::Path;
use std::time::Duration;

use hawser_tool::processes;

use super::{DeviceAction, NodeError, run};

/// What asks the init of a node without systemd. The program is there only in such a node.
const INIT: [&str; 3] = ["/run/hawser/lab/hawser", "lab", "node-service"];

/// systemd's own sign that it runs (sd_booted(3)).
const SYSTEMD: &str = "/run/systemd/system";

const COROSYNC: &str = "corosync.service";
const PACEMAKER: &str = "pacemaker.service";
/// Corosync, and what shows that Pacemaker runs: pacemakerd may be killed, and those that it began go on.
const ENGINE: [&str; 3] = ["corosync", "pacemakerd", "pacemaker-execd"];

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
    Init,
}

/// What it is to do with Corosync and Pacemaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
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
    tell(Action::Start)
}

pub(super) fn stop() -> Result<(), NodeError> {
    tell(Action::Stop)
}

pub(super) fn restart() -> Result<(), NodeError> {
    tell(Action::Restart)
}

pub(super) fn withdraw() -> Result<(), NodeError> {
    tell(Action::Withdraw)
}

/// Whether systemd manages the services of this machine.
pub(super) fn by_systemd() -> bool {
    here(|path| Path::new(path).exists()) == Some(Manager::Systemd)
}

/// systemd reads its files again, where it runs.
pub(super) fn reload_units() -> Result<(), NodeError> {
    match by_systemd() {
        true => run::tool("systemctl", &["daemon-reload"], None).map(drop),
        false => Ok(()),
    }
}

/// Starts the iSCSI target in user space where it is there and does not run.
pub(super) fn start_target() -> Result<(), NodeError> {
    if super::inventory::runs("tgtd") || !super::inventory::has("tgtd") {
        return Ok(());
    }
    match here(|path| Path::new(path).exists()) {
        // The init starts it with the node and not again.
        Some(Manager::Init) => {
            let [program, words @ ..] = INIT;
            run::tool(program, &[&words[..], &["target"]].concat(), None).map(drop)
        }
        // Debian's name; Red Hat's is that of the program.
        _ => run::tool("systemctl", &["start", "tgt"], None)
            .or_else(|_| run::tool("systemctl", &["start", "tgtd"], None))
            .map(drop),
    }
}

fn tell(action: Action) -> Result<(), NodeError> {
    let Some(manager) = here(|path| Path::new(path).exists()) else {
        let line = &commands(Manager::Systemd, action, true, false)[0];
        return Err(NodeError::Tool {
            command: line.join(" "),
            said: "this machine does not run systemd".into(),
        });
    };
    let limit = match action {
        Action::Start => STARTS,
        Action::Stop | Action::Withdraw | Action::Restart => STOPS,
    };
    let starts = matches!(action, Action::Start);
    let enabled = starts && starts_at_boot() == Some(true);
    let alone = starts && {
        let engine = processes::own_of(&ENGINE);
        corosync_is_alone(|name| engine.iter().any(|it| it.is_called(name)))
    };
    all(commands(manager, action, enabled, alone), limit)
}

/// Whether Corosync runs without any of Pacemaker, as packages and administrators leave it.
fn corosync_is_alone(runs: impl Fn(&str) -> bool) -> bool {
    let [corosync, pacemaker @ ..] = ENGINE;
    runs(corosync) && !pacemaker.iter().any(|name| runs(name))
}

fn all(lines: Vec<Vec<&str>>, limit: Duration) -> Result<(), NodeError> {
    let mut lines = lines.iter();
    lines.try_for_each(|line| run::tool_within(limit, line[0], &line[1..]).map(drop))
}

/// Starts or stops corosync-qdevice.
pub(super) fn device(action: DeviceAction) -> Result<(), NodeError> {
    let manager = here(|path| Path::new(path).exists()).unwrap_or(Manager::Systemd);
    let lines = match (manager, action) {
        (Manager::Systemd, DeviceAction::Start) => {
            vec![
                vec!["systemctl", "enable", DEVICE],
                vec!["systemctl", "start", DEVICE],
            ]
        }
        (Manager::Systemd, DeviceAction::Stop) => vec![vec!["systemctl", "stop", DEVICE]],
        (Manager::Systemd, DeviceAction::Withdraw) => {
            vec![vec!["systemctl", "disable", "--now", DEVICE]]
        }
        (Manager::Init, DeviceAction::Start) => by_init("start-device"),
        (Manager::Init, DeviceAction::Stop) => by_init("stop-device"),
        (Manager::Init, DeviceAction::Withdraw) => by_init("withdraw-device"),
    };
    all(lines, STARTS)
}

/// Whether systemd starts the engine at each boot; `None` where it is not systemd who does, or it does not say.
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
    all_enabled(&String::from_utf8_lossy(&said.ok()?.stdout), services.len())
}

/// Whether all of so many services are, by a line for each: a systemd that does not answer has none.
fn all_enabled(said: &str, services: usize) -> Option<bool> {
    let known = said.lines().count() == services;
    known.then(|| said.lines().all(|line| line == "enabled"))
}

/// Who manages services where these files are. A systemd that runs beside the program comes first.
fn here(exists: impl Fn(&str) -> bool) -> Option<Manager> {
    let managers = [(SYSTEMD, Manager::Systemd), (INIT[0], Manager::Init)];
    let found = managers.into_iter().find(|(sign, _)| exists(sign));
    found.map(|(_, manager)| manager)
}

/// The command lines, one after the other: Corosync first when it starts, Pacemaker first when it
/// ends, because Pacemaker needs Corosync to stop what it runs.
///
/// Who enables a service has systemd read all its files again, so what is enabled is not enabled again. A Corosync that runs
/// alone may have another configuration than its file by now: nothing depends on it, so it is started anew.
fn commands(
    manager: Manager,
    action: Action,
    enabled: bool,
    alone: bool,
) -> Vec<Vec<&'static str>> {
    match (manager, action) {
        (Manager::Systemd, Action::Start) => {
            let enable = vec!["systemctl", "enable", COROSYNC, PACEMAKER];
            // Not stopped: systemd starts again what needs it, a quorum device.
            let anew = vec!["systemctl", "restart", COROSYNC];
            let start = vec!["systemctl", "start", COROSYNC, PACEMAKER];
            // Enabled first: one that was killed in between is not taken for one that is done.
            let lines = [(!enabled, enable), (alone, anew), (true, start)];
            lines
                .into_iter()
                .filter_map(|(does, line)| does.then_some(line))
                .collect()
        }
        (Manager::Systemd, Action::Stop) => vec![
            vec!["systemctl", "stop", PACEMAKER],
            vec!["systemctl", "stop", COROSYNC],
        ],
        (Manager::Systemd, Action::Withdraw) => vec![
            vec!["systemctl", "disable", "--now", PACEMAKER],
            vec!["systemctl", "disable", "--now", COROSYNC],
        ],
        // One transaction of systemd's: Pacemaker stops before the Corosync it needs, and whoever asked may end meanwhile.
        (Manager::Systemd, Action::Restart) => {
            vec![vec!["systemctl", "restart", COROSYNC, PACEMAKER]]
        }
        (Manager::Init, Action::Start) => by_init("start"),
        (Manager::Init, Action::Stop) => by_init("stop"),
        (Manager::Init, Action::Withdraw) => by_init("withdraw"),
        (Manager::Init, Action::Restart) => by_init("restart"),
    }
}

/// The command line with which the init is asked for this.
fn by_init(word: &'static str) -> Vec<Vec<&'static str>> {
    vec![[&INIT[..], &[word]].concat()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systemd_is_asked_where_it_runs_and_elsewhere_the_init_that_is_there() {
        assert_eq!(here(|path| path == SYSTEMD), Some(Manager::Systemd));
        assert_eq!(here(|_| true), Some(Manager::Systemd));
        assert_eq!(here(|path| path == INIT[0]), Some(Manager::Init));
        assert_eq!(here(|_| false), None);
    }

    #[test]
    fn a_systemd_that_says_nothing_is_not_one_that_starts_nothing() {
        assert_eq!(all_enabled("enabled\nenabled\n", 2), Some(true));
        assert_eq!(all_enabled("enabled\ndisabled\n", 2), Some(false));
        assert_eq!(all_enabled("", 2), None);
        assert_eq!(all_enabled("disabled\n", 2), None);
    }

    #[test]
    fn what_starts_at_boot_already_is_only_started() {
        let enable = "enable corosync.service pacemaker.service";
        assert_eq!(starts(true, false), [STARTED]);
        assert_eq!(starts(false, false), [enable, STARTED]);
    }

    #[test]
    fn a_corosync_that_runs_without_pacemaker_is_started_anew() {
        let with = |names: &'static [&str]| corosync_is_alone(|name| names.contains(&name));
        assert!(with(&["corosync"]));
        assert!(!with(&[]));
        assert!(!with(&["corosync", "pacemakerd"]));
        assert!(!with(&["corosync", "pacemaker-execd"]));
        assert_eq!(starts(true, true), ["restart corosync.service", STARTED]);
    }

    const STARTED: &str = "start corosync.service pacemaker.service";

    fn starts(enabled: bool, alone: bool) -> Vec<String> {
        let lines = commands(Manager::Systemd, Action::Start, enabled, alone);
        lines.iter().map(|line| line[1..].join(" ")).collect()
    }

    #[test]
    fn pacemaker_ends_before_the_corosync_it_needs() {
        for manager in [Manager::Systemd, Manager::Init] {
            for action in [Action::Stop, Action::Withdraw] {
                let lines: Vec<String> = commands(manager, action, true, false)
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
