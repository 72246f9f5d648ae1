//! The quorum device's part on a node: corosync-qdevice, which lends the cluster the vote of a third machine.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use hawser_tool::Deadline;
use serde::{Deserialize, Serialize};

use super::{NodeError, engine, inventory, run};
use crate::plan::DeviceFacts;

/// What corosync-qdevice is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceAction {
    /// Run now and from each boot on.
    Start,
    /// End, and start again at the next boot.
    Stop,
    /// End, and do not start at boot.
    Withdraw,
}

const PROGRAM: &str = "corosync-qdevice";

/// Where corosync-qdevice-net-certutil keeps keys and certificates.
const DATABASE: &str = "/etc/corosync/qdevice/net/nssdb";

/// What it calls the cluster's certificate (`CLUSTER_NICKNAME`).
const CERTIFICATE: &str = "Cluster Cert";

/// What a plan must know of it.
pub(super) fn look() -> DeviceFacts {
    DeviceFacts {
        running: inventory::runs(PROGRAM),
        starts_at_boot: engine::device_starts_at_boot(),
        certificate: certificate(),
    }
}

/// Whether this node can speak TLS with the device: it has the cluster's certificate.
fn certificate() -> bool {
    let database = format!("sql:{DATABASE}");
    let arguments = ["-L", "-d", &database, "-n", CERTIFICATE];
    Path::new(DATABASE).exists() && run::tool("certutil", &arguments, None).is_ok()
}

/// Why the device has no vote on this node; nothing when it votes. Corosync and its device may take so many seconds: a Corosync
/// that hangs never answers.
pub(super) fn silent(limit: u32) -> Result<Option<String>, NodeError> {
    let until = Deadline::after(Duration::from_secs(limit.into()));
    if !inventory::runs(PROGRAM) {
        return Ok(Some("corosync-qdevice does not run there".into()));
    }
    // It ends with an error also when it has answered, and there is no quorum.
    let said = ask("corosync-quorumtool", until)?;
    if votes(&String::from_utf8_lossy(&said.stdout)) {
        return Ok(None);
    }
    let said = ask("corosync-qdevice-tool", until)?;
    Ok(Some(words(&String::from_utf8_lossy(&said.stdout))))
}

fn ask(program: &str, until: Deadline) -> Result<Output, NodeError> {
    run::within(until.left(), program, &["-s"], None).map_err(run::cannot(program, &["-s"]))
}

/// Whether the device votes, in the words of `corosync-quorumtool -s`: the column `Qdevice` of the local node's
/// line has `A` (alive), `V` (votes) and `MW` (master wins), each with an `N` before it when it is not so; `NR`
/// when no device is registered.
fn votes(said: &str) -> bool {
    let local = said.lines().find(|line| line.contains("(local)"));
    let flags = local.and_then(|line| line.split_whitespace().nth(2));
    flags.is_some_and(|flags| {
        ["A", "V"]
            .iter()
            .all(|flag| flags.split(',').any(|f| f == *flag))
    })
}

/// What `corosync-qdevice-tool -s` says of the connection.
fn words(said: &str) -> String {
    let of = |key: &str| {
        let mut values = said
            .lines()
            .filter_map(|line| line.trim().strip_prefix(key));
        values.next().map(|value| value.trim().to_owned())
    };
    match (of("State:"), of("QNetd host:")) {
        (Some(state), Some(host)) => format!("corosync-qdevice says of {host}: {state}"),
        _ => "corosync-qdevice has not registered itself".into(),
    }
}
