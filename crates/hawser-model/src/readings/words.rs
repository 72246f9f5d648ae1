//! A reading in words.

use std::fmt;

use super::{Noted, Subject};
use crate::output::watch::{LinkReading, LinkState};

impl fmt::Display for Noted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = |runs: &bool| if *runs { "runs" } else { "does not run" };
        match self {
            Self::Port(port) => {
                write!(f, "port {} is ", port.interface)?;
                match (port.up, port.carrier, port.speed) {
                    (false, ..) => f.write_str("switched off"),
                    (true, false, _) => f.write_str("without carrier"),
                    (true, true, None) => f.write_str("up"),
                    (true, true, Some(speed)) => write!(f, "up, {speed}"),
                }
            }
            Self::Link(link) => of_link(link, f),
            Self::Corosync(up) => write!(f, "Corosync {}", runs(up)),
            Self::Pacemaker(up) => write!(f, "Pacemaker {}", runs(up)),
            Self::Quorum(true) => f.write_str("it has quorum"),
            Self::Quorum(false) => f.write_str("it has no quorum"),
            Self::Member(member) => write!(f, "node {} is {}", member.node, member.state.word()),
            Self::Pool(pool) => {
                write!(f, "pool {} is ", pool.name)?;
                match (pool.here, pool.used_percent) {
                    (Some(true), Some(used)) => write!(f, "here, {used} % full"),
                    (Some(true), None) => f.write_str("here"),
                    (Some(false), _) => f.write_str("not here"),
                    (None, _) => f.write_str("not seen: the look at it hangs"),
                }
            }
            Self::Exports(exports) => {
                write!(f, "the exports of {} are ", exports.pool)?;
                match exports.offered {
                    Some(true) => f.write_str("offered"),
                    Some(false) if exports.missing.is_empty() => f.write_str("not offered"),
                    Some(false) => write!(f, "missing: {}", exports.missing.join(", ")),
                    None => f.write_str("not seen: nothing answers"),
                }
            }
            Self::Token(token) => token.fmt(f),
            Self::Drops(drops) => drops.fmt(f),
            Self::Disks(disks) => disks.fmt(f),
            Self::Paths(paths) => paths.fmt(f),
            Self::Zpool(pool) => pool.fmt(f),
            Self::Alarm(alarm) => {
                let (severity, code) = (alarm.severity.word(), &alarm.code);
                write!(f, "alarm: {severity} {code}: {}", alarm.text)
            }
        }
    }
}

fn of_link(link: &LinkReading, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let state = match link.state {
        LinkState::Up => "up",
        LinkState::Down => "down",
        LinkState::Unknown => "not known to Corosync",
    };
    write!(f, "link {} to {} is {state}", link.name, link.peer)?;
    if let (LinkState::Up, Some(latency)) = (link.state, link.latency_s) {
        write!(f, ", round trip {:.3} ms", latency * 1e3)?;
    }
    match (link.lost, link.sent) {
        (Some(lost), Some(sent)) if lost > 0 => {
            write!(f, ", {lost} of {sent} pings not answered")
        }
        _ => Ok(()),
    }
}

/// As something that is gone.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(interface) => write!(f, "port {interface} is gone"),
            Self::Link(link, peer) => write!(f, "link {link} to {peer} is not told of"),
            Self::Corosync => f.write_str("Corosync is not told of"),
            Self::Pacemaker => f.write_str("Pacemaker is not told of"),
            Self::Quorum => f.write_str("quorum is not told of"),
            Self::Member(node) => write!(f, "node {node} is not told of"),
            Self::Pool(pool) => write!(f, "pool {pool} is not told of"),
            Self::Exports(pool) => write!(f, "the exports of {pool} are not on this head"),
            Self::Token => f.write_str("the token is not told of"),
            Self::Drops(why, interface) => {
                f.write_str("the kernel drops few or no packets")?;
                if let Some(interface) = interface {
                    write!(f, " of {interface}")?;
                }
                write!(f, " any more: {why}")
            }
            Self::Disks => f.write_str("there is no SCSI disk any more"),
            Self::Paths => f.write_str("there is no multipath device any more"),
            Self::Zpool(pool) => write!(f, "ZFS pool {pool} is not imported here any more"),
            Self::Alarm(code, place) => match place.to_string().trim() {
                "" => write!(f, "ended: {code}"),
                place => write!(f, "ended: {code}: {place}"),
            },
        }
    }
}
