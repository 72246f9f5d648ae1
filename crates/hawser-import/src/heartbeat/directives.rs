//! What becomes of each directive of ha.cf(5), Heartbeat 3.0.6, and of those that its parser knows beside them.

/// What becomes of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is in the file, under these keys.
    Translated(&'static str),
    /// It has no meaning for Hawser's cluster; why.
    NotNeeded(&'static str),
    /// It cannot be said; why.
    NotPossible(&'static str),
}

use Fate::{NotNeeded, NotPossible, Translated};

/// Why everything about logs is left out.
const LOGS: Fate =
    NotNeeded("corosync and pacemaker log to /var/log/corosync and /var/log/pacemaker");
/// Why everything about Heartbeat's own processes is left out.
const DAEMONS: Fate = NotNeeded("Heartbeat's own processes are not there any more");
/// Why everything about ping nodes is left out.
const PINGS: Fate =
    NotNeeded("each head's own SAN ports are watched instead (`hawser plan`: watch-NODE-LINK)");
/// Why everything about serial lines is left out.
const SERIAL: Fate = NotPossible(
    "Corosync speaks IP: make PPP over the null-modem cable, and a [[link]] with serial = true",
);

/// Every directive.
pub const DIRECTIVES: &[(&str, Fate)] = &[
    (
        "apiauth",
        NotNeeded("Pacemaker's own users and groups decide who may speak to it"),
    ),
    ("auto_failback", Translated("[cluster] failback")),
    (
        "autojoin",
        NotNeeded("the node list is complete, and Corosync lets nobody else in"),
    ),
    ("baud", SERIAL),
    ("bcast", Translated("[[link]] for each interface")),
    ("cluster", Translated("[cluster] name")),
    ("compression", Translated("[cluster] compression.model")),
    (
        "compression_threshold",
        Translated("[cluster] compression.threshold"),
    ),
    ("conn_logd_time", LOGS),
    ("coredumps", DAEMONS),
    ("coreroot", DAEMONS),
    (
        "crm",
        NotNeeded("Pacemaker always places, starts and fences"),
    ),
    ("crm_daemon_dir", DAEMONS),
    ("crmd_spawns_pengine", DAEMONS),
    ("deadping", PINGS),
    ("deadtime", Translated("[timing] dead")),
    ("debug", LOGS),
    ("debugfile", LOGS),
    ("enable_config_writes", DAEMONS),
    ("env", DAEMONS),
    ("hbaping", PINGS),
    (
        "hbgenmethod",
        NotNeeded("Corosync has no generation numbers"),
    ),
    ("hopfudge", SERIAL),
    ("initdead", Translated("[timing] initial")),
    ("keepalive", Translated("[timing] keepalive")),
    ("log_badpack", LOGS),
    ("logfacility", LOGS),
    ("logfile", LOGS),
    (
        "max_rexmit_delay",
        NotNeeded("Corosync orders retransmission by its token"),
    ),
    ("mcast", Translated("[[link]] for each interface")),
    ("mcast6", Translated("[[link]] for each interface")),
    ("memreserve", DAEMONS),
    ("msgfmt", DAEMONS),
    ("nice_failback", Translated("[cluster] failback")),
    ("node", Translated("[[node]]")),
    ("normalpoll", DAEMONS),
    (
        "pacemaker",
        NotNeeded("Pacemaker always places, starts and fences"),
    ),
    ("ping", PINGS),
    ("ping_group", PINGS),
    (
        "quorum_server",
        NotPossible("Heartbeat's quorum server is none: [quorum] device names a corosync-qnetd"),
    ),
    (
        "realtime",
        NotNeeded(
            "Corosync asks for real-time priority and locks its memory by itself; `hawser check` says whether it got them",
        ),
    ),
    ("record_config_changes", LOGS),
    ("record_pengine_inputs", LOGS),
    (
        "respawn",
        NotPossible("a program that is kept running is a unit of systemd"),
    ),
    (
        "rtprio",
        NotNeeded("Corosync takes the highest real-time priority"),
    ),
    ("serial", SERIAL),
    (
        "stonith",
        NotPossible("the parameters are in another file: write [node.bmc]"),
    ),
    (
        "stonith_host",
        Translated("[node.bmc], if it is external/ipmi"),
    ),
    ("syslogmsgfmt", LOGS),
    (
        "traditional_compression",
        NotNeeded("kronosnet compresses whole packets"),
    ),
    ("ucast", Translated("[[link]] for each interface")),
    ("ucast6", Translated("[[link]] for each interface")),
    ("udp", Translated("[[link]] for each interface")),
    ("udpport", NotNeeded("Corosync uses its own port, 5405")),
    ("use_apphbd", DAEMONS),
    ("use_logd", LOGS),
    (
        "uuidfrom",
        NotNeeded("a node is known by its name and number"),
    ),
    (
        "watchdog",
        NotPossible("Hawser fences by power; it does not drive a watchdog or sbd"),
    ),
    ("warntime", Translated("[timing] warning")),
];

/// The fate of a directive, which Heartbeat reads in any case.
pub(super) fn fate(directive: &str) -> Option<Fate> {
    let known = DIRECTIVES.iter();
    let mut named = known.filter(|(name, _)| name.eq_ignore_ascii_case(directive));
    named.next().map(|(_, fate)| *fate)
}

/// The table of every directive, for the page of the documentation.
pub fn table() -> String {
    let rows = DIRECTIVES.iter().map(|(name, fate)| match fate {
        Translated(keys) => format!("| `{name}` | translated | {keys} |\n"),
        NotNeeded(why) => format!("| `{name}` | not needed | {why} |\n"),
        NotPossible(why) => format!("| `{name}` | not possible | {why} |\n"),
    });
    let head = "| directive | | |\n| --- | --- | --- |\n";
    format!("{head}{}", rows.collect::<String>())
}
