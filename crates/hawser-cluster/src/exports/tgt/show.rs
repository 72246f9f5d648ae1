//! What `tgtadm --lld iscsi --op show --mode target` prints: the only way tgtd tells what it has.

use std::collections::{BTreeMap, BTreeSet};

use crate::exports::desired::Portal;

/// A target that tgtd has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CurrentTarget {
    /// Its number in this tgtd.
    pub tid: u32,
    /// Its name.
    pub iqn: String,
    /// Its units by number; the controller, which is always LUN 0, is left out.
    pub units: BTreeMap<u16, CurrentUnit>,
    /// Clients that are logged in.
    pub sessions: Vec<Session>,
    /// Accounts that clients use.
    pub incoming: BTreeSet<String>,
    /// Accounts that the target itself uses.
    pub outgoing: BTreeSet<String>,
    /// Who may log in: `ALL`, addresses, networks, names.
    pub acl: BTreeSet<String>,
}

/// A unit that tgtd has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CurrentUnit {
    /// Its SCSI id, as it was set.
    pub scsi_id: String,
    /// Its serial number, as it was set.
    pub serial: String,
    /// Bytes of a block.
    pub block_size: u32,
    /// Whether clients may read only.
    pub read_only: bool,
    /// Whether it is online.
    pub online: bool,
    /// What is behind it.
    pub path: String,
    /// How that is opened (`sync`, `direct`).
    pub flags: BTreeSet<String>,
}

/// A client that is logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// tgtd's number of it (I_T nexus).
    pub id: u64,
    /// The client's name.
    pub initiator: String,
    /// Its connections.
    pub connections: Vec<u32>,
}

/// Output that is not understood. Acting on half of it could take another pool's target down.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tgtd's answer, line {line}: \"{text}\" is not understood")]
pub struct ShowError {
    /// The line, from 1.
    pub line: usize,
    /// What it says.
    pub text: String,
}

/// What part of a target the lines are about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    System,
    Sessions,
    Units,
    Accounts,
    Acl,
}

/// Reads it. Targets come by their names.
pub fn parse(text: &str) -> Result<BTreeMap<String, CurrentTarget>, ShowError> {
    let mut targets: Vec<CurrentTarget> = Vec::new();
    let mut part = Part::System;
    // `None`: the controller, or nothing yet.
    let mut lun: Option<u16> = None;
    for (i, raw) in text.lines().enumerate() {
        let wrong = || ShowError {
            line: i + 1,
            text: raw.trim().to_owned(),
        };
        let depth = raw.len() - raw.trim_start().len();
        let line = raw.trim();
        if line.is_empty() {
            continue;
        }
        if depth == 0 {
            let (tid, iqn) = line
                .strip_prefix("Target ")
                .and_then(|rest| rest.split_once(": "))
                .and_then(|(tid, iqn)| Some((tid.parse().ok()?, iqn.to_owned())))
                .ok_or_else(wrong)?;
            targets.push(CurrentTarget {
                tid,
                iqn,
                ..CurrentTarget::default()
            });
            part = Part::System;
            continue;
        }
        let target = targets.last_mut().ok_or_else(wrong)?;
        if depth == 4 {
            lun = None;
            part = match line {
                "System information:" => Part::System,
                "I_T nexus information:" => Part::Sessions,
                "LUN information:" => Part::Units,
                "Account information:" => Part::Accounts,
                "ACL information:" => Part::Acl,
                _ => return Err(wrong()),
            };
            continue;
        }
        match part {
            Part::System => {}
            Part::Sessions => session(target, line).ok_or_else(wrong)?,
            Part::Units => match line.strip_prefix("LUN: ") {
                Some(number) => {
                    let number = number.parse().map_err(|_| wrong())?;
                    lun = Some(number).filter(|number| *number != 0);
                    target
                        .units
                        .extend(lun.map(|lun| (lun, CurrentUnit::default())));
                }
                None => {
                    let unit = lun.and_then(|lun| target.units.get_mut(&lun));
                    unit.map_or(Some(()), |unit| detail(unit, line))
                        .ok_or_else(wrong)?;
                }
            },
            Part::Accounts => match line.strip_suffix(" (outgoing)") {
                Some(name) => drop(target.outgoing.insert(name.to_owned())),
                None => drop(target.incoming.insert(line.to_owned())),
            },
            Part::Acl => drop(target.acl.insert(line.to_owned())),
        }
    }
    Ok(targets
        .into_iter()
        .map(|target| (target.iqn.clone(), target))
        .collect())
}

/// Reads the answer about accounts: their names.
pub fn accounts(text: &str) -> BTreeSet<String> {
    let names = text.lines().filter(|line| line.starts_with(' '));
    names.map(|name| name.trim().to_owned()).collect()
}

/// Reads the answer about portals.
pub fn portals(text: &str) -> Result<BTreeSet<Portal>, ShowError> {
    let one = |(i, line): (usize, &str)| {
        let address = line
            .strip_prefix("Portal: ")
            .and_then(|rest| rest.rsplit_once(','));
        let portal = address.and_then(|(address, _)| address.parse().ok());
        portal.ok_or_else(|| ShowError {
            line: i + 1,
            text: line.to_owned(),
        })
    };
    text.lines().enumerate().map(one).collect()
}

fn session(target: &mut CurrentTarget, line: &str) -> Option<()> {
    let (key, value) = line.split_once(": ")?;
    match key {
        "I_T nexus" => target.sessions.push(Session {
            id: value.parse().ok()?,
            initiator: String::new(),
            connections: Vec::new(),
        }),
        "Initiator" => {
            let name = value.split(" alias: ").next()?;
            target.sessions.last_mut()?.initiator = name.to_owned();
        }
        "Connection" => target
            .sessions
            .last_mut()?
            .connections
            .push(value.parse().ok()?),
        // Addresses and what later versions add are of no interest here.
        _ => {}
    }
    Some(())
}

fn detail(unit: &mut CurrentUnit, line: &str) -> Option<()> {
    let (key, value) = line.split_once(':')?;
    let value = value.trim();
    match key {
        "SCSI ID" => unit.scsi_id = value.to_owned(),
        "SCSI SN" => unit.serial = value.to_owned(),
        "Size" => {
            let (_, size) = line.rsplit_once("Block size: ")?;
            unit.block_size = size.parse().ok()?;
        }
        "Online" => unit.online = value == "Yes",
        "Readonly" => unit.read_only = value == "Yes",
        "Backing store path" => unit.path = value.to_owned(),
        "Backing store flags" => {
            unit.flags = value.split_whitespace().map(str::to_owned).collect();
        }
        _ => {}
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From tgtd 1.0.85.
    const SHOWN: &str = include_str!("show.txt");

    #[test]
    fn what_tgtd_shows_is_read() {
        let targets = parse(SHOWN).unwrap();
        assert_eq!(targets.len(), 2);
        let tank = &targets["iqn.2026-01.example:tank"];
        assert_eq!(tank.tid, 1);
        assert_eq!(tank.units.keys().copied().collect::<Vec<_>>(), [1, 5]);
        let unit = &tank.units[&1];
        assert_eq!(unit.serial, "aabbccddeeff00112233445566778899");
        assert_eq!(unit.scsi_id, "6001405aabbccddeeff0011223344556");
        assert_eq!(
            (unit.block_size, unit.read_only, unit.online),
            (512, false, true)
        );
        assert_eq!(unit.path, "/tank/a.img");
        let other = &tank.units[&5];
        assert_eq!((other.block_size, other.read_only), (4096, true));
        assert!(other.flags.contains("sync"));
        let [session] = &tank.sessions[..] else {
            panic!("{:?}", tank.sessions)
        };
        assert_eq!(session.initiator, "iqn.2010-11.libiscsi:iscsi-perf");
        assert_eq!((session.id, &session.connections[..]), (1, &[0][..]));
        assert!(tank.incoming.contains("joe") && tank.outgoing.contains("out"));
        assert!(tank.acl.contains("ALL") && tank.acl.contains("192.0.2.0/24"));
        assert_eq!(targets["iqn.2026-01.example:other"].tid, 2);
        assert!(targets["iqn.2026-01.example:other"].units.is_empty());
    }

    #[test]
    fn accounts_and_portals_are_read() {
        let names = accounts("Account list:\n    joe\n    out\n");
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["joe", "out"]);
        assert!(accounts("").is_empty());
        let shown = portals("Portal: [::]:3260,1\nPortal: 0.0.0.0:3261,1\n").unwrap();
        let shown: Vec<String> = shown.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["0.0.0.0:3261", "[::]:3260"]);
        assert!(portals("Portal: everywhere\n").is_err());
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        assert_eq!(parse("").unwrap().len(), 0);
        assert_eq!(parse("tgtd: no such thing\n").unwrap_err().line, 1);
        assert!(parse("Target 1: a\n    New information:\n").is_err());
        assert!(parse("Target x: a\n").is_err());
    }
}
