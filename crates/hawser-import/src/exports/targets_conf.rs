//! tgt's `targets.conf` and the files of its `conf.d`.

use super::{Offered, Shown, Target, Unit};
use crate::Secret;
use crate::page::Page;
use crate::picture::Said;
use crate::place::{Malformed, Place, quoted};
use crate::source::Source;

/// A target that is being read, with its units.
struct Open {
    target: Target,
    units: Vec<(Unit, Option<u16>)>,
    hosts: Vec<String>,
    /// Clients are chosen by what exports.toml does not know.
    by_address: bool,
    read_only: bool,
    write_cache: Option<bool>,
}

/// Reads the file (targets.conf(5)).
pub(crate) fn read(
    source: &Source,
    offered: &mut Offered,
    page: &mut Page,
) -> Result<(), Malformed> {
    let mut open: Option<Open> = None;
    let mut inner = false;
    for (at, line) in source.lines() {
        let wrong = |found: &str, allowed: &str| Err(Malformed::new(&at, found, allowed));
        let tag = line
            .strip_prefix('<')
            .and_then(|rest| rest.strip_suffix('>'));
        let words: Vec<&str> = tag.unwrap_or(line).split_whitespace().collect();
        match (tag.is_some(), &words[..], &mut open) {
            (true, ["target", iqn], None) => {
                open = Some(Open {
                    target: Target::new(iqn, &at),
                    units: Vec::new(),
                    hosts: Vec::new(),
                    by_address: false,
                    read_only: false,
                    write_cache: None,
                });
            }
            (true, ["/target"], Some(_)) if !inner => {
                if let Some(open) = open.take() {
                    close(open, offered, page);
                }
            }
            (true, ["backing-store" | "direct-store", path], Some(open)) if !inner => {
                open.units.push((Unit::new(path, &at), None));
                inner = true;
            }
            (true, ["/backing-store" | "/direct-store"], Some(_)) if inner => inner = false,
            (true, ..) => {
                return wrong(
                    &quoted(line),
                    "<target IQN>, <backing-store PATH>, and each closed",
                );
            }
            (
                false,
                [
                    "include" | "default-driver" | "control-port" | "iscsi-in-address",
                    ..,
                ],
                None,
            ) => match words[0] {
                // Of a head all of them are asked for.
                "include" if source.node.is_some() && words[1..] == ["/etc/tgt/conf.d/*.conf"] => {}
                "include" => {
                    page.unsaid(&at, quoted(line), "give the files it names as sources too")
                }
                _ => page.not_needed(&at, quoted(line), "Hawser tells tgtd by itself"),
            },
            (
                false,
                [
                    "ignore-errors" | "incomingdiscoveryuser" | "outgoingdiscoveryuser",
                    ..,
                ],
                None,
            ) => {
                page.unsaid(&at, quoted(words[0]), "exports.toml has no key for it");
            }
            (false, [key, rest @ ..], Some(open)) => setting(&at, key, rest, open, inner, page)?,
            (false, ..) => {
                return wrong(
                    &quoted(words.first().unwrap_or(&"")),
                    "<target IQN> around it",
                );
            }
        }
    }
    match open {
        Some(open) => Err(Malformed::new(
            &open.target.at,
            "a <target …> that is not closed",
            "</target>",
        )),
        None => Ok(()),
    }
}

fn setting(
    at: &Place,
    key: &str,
    rest: &[&str],
    open: &mut Open,
    inner: bool,
    page: &mut Page,
) -> Result<(), Malformed> {
    let value = rest.first().copied().unwrap_or_default();
    let value = value.trim_matches('"');
    let on = matches!(value, "on" | "1" | "yes");
    let unit = open.units.last_mut().filter(|_| inner);
    match (key, unit) {
        ("lun", Some((_, lun))) => match value.parse() {
            Ok(n) if n <= 16_383 => *lun = Some(n),
            _ => {
                return Err(Malformed::new(
                    at,
                    format!("lun {}", quoted(value)),
                    "a number from 1 to 16383",
                ));
            }
        },
        ("scsi_sn", Some((unit, _))) => unit.serial = Some(value.to_owned()),
        ("scsi_id", Some((unit, _))) => {
            let naa = value.len() == 32
                && value.starts_with('6')
                && value.chars().all(|c| c.is_ascii_hexdigit());
            match naa {
                true => unit.naa = Some(value.to_owned()),
                false => page.unsaid(
                    at,
                    format!("scsi_id {}", quoted(value)),
                    "it is no NAA identifier: clients see another one",
                ),
            }
        }
        ("readonly", Some((unit, _))) => unit.read_only = on,
        ("readonly", None) => open.read_only = on,
        ("write-cache", Some((unit, _))) => unit.write_cache = (!on).then_some(false),
        ("write-cache", None) => open.write_cache = (!on).then_some(false),
        ("block-size", Some((unit, _))) => {
            unit.block_size = value.parse().ok().filter(|n| *n != 512)
        }
        ("backing-store" | "direct-store", None) => open.units.push((Unit::new(value, at), None)),
        ("initiator-name", _) => open
            .hosts
            .extend(rest.iter().map(|host| (*host).to_owned())),
        ("initiator-address", _) if value == "ALL" => {}
        ("initiator-address", _) => {
            open.by_address = true;
            page.unsaid(
                at,
                format!("initiator-address {}", quoted(value)),
                "exports.toml knows clients by their iSCSI names: write them into its host group",
            );
        }
        ("incominguser" | "outgoinguser", _) => {
            let [user, password, ..] = rest else {
                return Err(Malformed::new(
                    at,
                    format!("{key} without a password"),
                    "a name and a password",
                ));
            };
            let account = Some((
                user.trim_matches('"').to_owned(),
                Secret(password.trim_matches('"').to_owned()),
            ));
            match key {
                "incominguser" if open.target.chap.is_some() => {
                    page.unsaid(
                        at,
                        "a second incominguser",
                        "a target has one account; the first is taken",
                    );
                }
                "incominguser" => open.target.chap = account,
                _ => open.target.mutual = account,
            }
            page.understood(at, key, "chap; its secret is in a file of its own");
        }
        ("vendor_id" | "product_id" | "product_rev", _) => {
            page.changed(
                at,
                quoted(key),
                "the vendor is HAWSER, the product the volume's name",
            );
        }
        ("driver", _) if value == "iscsi" => {}
        (
            "controller_tid"
            | "allow-in-use"
            | "bs-type"
            | "device-type"
            | "driver"
            | "MaxRecvDataSegmentLength",
            _,
        ) => {
            page.not_needed(at, quoted(key), "Hawser tells tgtd by itself");
        }
        (key, _) => page.unsaid(at, quoted(key), "exports.toml has no key for it"),
    }
    Ok(())
}

fn close(open: Open, offered: &mut Offered, page: &mut Page) {
    let Open {
        mut target,
        units,
        hosts,
        by_address,
        read_only,
        write_cache,
    } = open;
    // Where nobody can be named nobody sees it: a group without members is refused, everybody would not be.
    target.hosts = (by_address || !hosts.is_empty()).then_some(hosts);
    offered
        .backend
        .get_or_insert_with(|| Said::new("tgt".into(), &target.at));
    let taken: Vec<u16> = units.iter().filter_map(|(_, lun)| *lun).collect();
    let mut next = 0;
    for (mut unit, lun) in units {
        // tgt-admin counts from 1 and leaves out what is taken.
        let lun = lun.unwrap_or_else(|| {
            next += 1;
            while taken.contains(&next) {
                next += 1;
            }
            next
        });
        unit.read_only |= read_only;
        unit.write_cache = unit.write_cache.or(write_cache);
        if unit.naa.is_none() && unit.serial.is_none() {
            page.changed(
                &unit.at,
                quoted(&unit.path),
                "tgtd numbered it by target and LUN; it gets a serial number of its own: clients see a new disk",
            );
        }
        let target = target.iqn.clone();
        unit.shown.push(Shown {
            target,
            lun: Some(lun),
            hosts: None,
            read_only: false,
        });
        offered.units.push(unit);
    }
    page.understood(&target.at, quoted(&target.iqn), "[[target]] with its name");
    offered.targets.push(target);
}
