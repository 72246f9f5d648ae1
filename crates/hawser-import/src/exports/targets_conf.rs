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
    units: Vec<Store>,
    /// What holds for each unit that does not say it itself.
    lun: Option<u16>,
    serial: Option<String>,
    hosts: Vec<String>,
    /// Clients are chosen by what exports.toml does not know.
    by_address: bool,
    read_only: bool,
    write_cache: Option<bool>,
}

/// A unit, its number, and whether it is a `direct-store`.
struct Store {
    unit: Unit,
    lun: Option<u16>,
    direct: bool,
}

impl Store {
    fn new(word: &str, path: &str, at: &Place) -> Self {
        Self {
            unit: Unit::new(path, at),
            lun: None,
            direct: word == "direct-store",
        }
    }
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
        let mut words: Vec<&str> = tag.unwrap_or(line).split_whitespace().collect();
        // `key = value` is `key value`.
        if words.get(1) == Some(&"=") {
            words.remove(1);
        }
        match (tag.is_some(), &words[..], &mut open) {
            (true, ["target", iqn], None) => {
                open = Some(Open {
                    target: Target::new(iqn, &at),
                    units: Vec::new(),
                    lun: None,
                    serial: None,
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
            (true, [word @ ("backing-store" | "direct-store"), path], Some(open)) if !inner => {
                open.units.push(Store::new(word, path, &at));
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
                "default-driver" if words[1..] != ["iscsi"] => {
                    page.unsaid(&at, quoted(line), "Hawser offers by iSCSI over TCP");
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
        ("lun", unit) => match value.parse() {
            Ok(n) if n <= 16_383 => *unit.map_or(&mut open.lun, |store| &mut store.lun) = Some(n),
            _ => {
                return Err(Malformed::new(
                    at,
                    format!("lun {}", quoted(value)),
                    "a number from 1 to 16383",
                ));
            }
        },
        ("scsi_sn", Some(store)) => store.unit.serial = Some(value.to_owned()),
        ("scsi_sn", None) => open.serial = Some(value.to_owned()),
        ("scsi_id", Some(Store { unit, .. })) => {
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
        ("readonly", Some(Store { unit, .. })) => unit.read_only = on,
        ("readonly", None) => open.read_only = on,
        ("write-cache", Some(store)) => store.unit.write_cache = Some(on),
        ("write-cache", None) => open.write_cache = (!on).then_some(false),
        ("block-size", Some(Store { unit, .. })) => {
            unit.block_size = value.parse().ok().filter(|n| *n != 512)
        }
        ("backing-store" | "direct-store", None) => open.units.push(Store::new(key, value, at)),
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
        ("driver", _) => page.unsaid(
            at,
            format!("driver {}", quoted(value)),
            "Hawser offers by iSCSI over TCP",
        ),
        ("device-type", _) if value != "disk" => {
            page.unsaid(
                at,
                format!("device-type {}", quoted(value)),
                "Hawser offers disks",
            );
        }
        (
            "controller_tid"
            | "allow-in-use"
            | "bs-type"
            | "device-type"
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
        lun: every,
        serial,
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
    let taken: Vec<u16> = units.iter().filter_map(|store| store.lun).collect();
    let mut next = 0;
    for Store { mut unit, lun, .. } in counted(units, &target, every.is_some(), page) {
        // tgt-admin counts from 1 and leaves out what is taken.
        let lun = lun.or(every).unwrap_or_else(|| {
            next += 1;
            while taken.contains(&next) {
                next += 1;
            }
            next
        });
        unit.serial = unit.serial.or_else(|| serial.clone());
        unit.read_only |= read_only;
        // tgtd's own is on.
        unit.write_cache = unit.write_cache.or(write_cache).filter(|on| !*on);
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

/// In the order in which tgt-admin counts: backing stores before direct ones, and of each by path.
fn counted(units: Vec<Store>, target: &Target, one: bool, page: &mut Page) -> Vec<Store> {
    let free = units.iter().any(|store| store.lun.is_none());
    let mut counted = units;
    let before: Vec<String> = counted
        .iter()
        .map(|store| store.unit.path.clone())
        .collect();
    counted.sort_by(|a, b| (a.direct, &a.unit.path).cmp(&(b.direct, &b.unit.path)));
    let same = counted.iter().map(|store| &store.unit.path).eq(&before);
    if free && !same && !one {
        page.unsaid(
            &target.at,
            format!("the LUNs of {}, which the file does not say", quoted(&target.iqn)),
            "tgt-admin counts by path, backing stores first; older ones as the file has them: compare with `tgt-admin --show`",
        );
    }
    counted
}
