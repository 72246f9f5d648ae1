//! tgt's `targets.conf` and the files of its `conf.d`.

mod lines;

use std::collections::BTreeMap;

use hawser_cluster::exports::LAST_LUN;

use self::lines::{Line, Said, lines};
use super::{Offered, Shown, Target, Unit};
use crate::Secret;
use crate::page::Page;
use crate::picture;
use crate::place::{Malformed, SourceLine, quoted};
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

impl Open {
    fn new(iqn: &str, at: &SourceLine) -> Self {
        Self {
            target: Target::new(iqn, at),
            units: Vec::new(),
            lun: None,
            serial: None,
            hosts: Vec::new(),
            by_address: false,
            read_only: false,
            write_cache: None,
        }
    }

    fn store(&mut self, word: &str, path: &str, at: &SourceLine) -> Result<(), Malformed> {
        let wrong = |found: String, allowed: &str| Err(Malformed::new(at, found, allowed));
        if path.is_empty() || path.contains(" /") {
            let found = format!("{word} {}", quoted(path));
            return wrong(found, "one path: tgt-admin reads a line as one path");
        }
        if self.units.iter().any(|store| store.unit.path == path) {
            let found = format!("{} twice at {}", quoted(path), quoted(&self.target.iqn));
            return wrong(found, "each path once");
        }
        self.units.push(Store {
            unit: Unit::new(path, at),
            lun: None,
            direct: word == "direct-store",
        });
        Ok(())
    }
}

/// A unit, its number, and whether it is a `direct-store`.
struct Store {
    unit: Unit,
    lun: Option<u16>,
    direct: bool,
}

/// Reads the file (targets.conf(5)).
pub(crate) fn read(
    source: &Source,
    offered: &mut Offered,
    page: &mut Page,
) -> Result<(), Malformed> {
    let mut targets: Vec<Open> = Vec::new();
    // The target that is open, and a store within it.
    let mut open: Option<(usize, SourceLine)> = None;
    let mut inner = false;
    for Line { at, said, cut } in lines(source)? {
        let target = open.as_ref().and_then(|(i, _)| targets.get_mut(*i));
        match (said, target) {
            (Said::Opens(name, iqn), None) if name == "target" && plain(&iqn) => {
                // tgt-admin reads two blocks of one name as one.
                let same = targets.iter().position(|open| open.target.iqn == iqn);
                open = Some((same.unwrap_or(targets.len()), at.clone()));
                if same.is_none() {
                    targets.push(Open::new(&iqn, &at));
                }
            }
            (Said::Closes(name), Some(_)) if name == "target" && !inner => open = None,
            (Said::Opens(word, path), Some(open)) if is_store(&word) && !inner => {
                open.store(&word, &path, &at)?;
                inner = true;
            }
            (Said::Closes(word), Some(_)) if is_store(&word) && inner => inner = false,
            (Said::Opens(name, value), _) => {
                return Err(Malformed::new(
                    &at,
                    quoted(format!("<{name} {value}").trim_end()),
                    "<target IQN>, <backing-store PATH>, and each closed",
                ));
            }
            (Said::Closes(name), _) => {
                return Err(Malformed::new(
                    &at,
                    quoted(&format!("</{name}>")),
                    "<target IQN>, <backing-store PATH>, and each closed",
                ));
            }
            (Said::Sets(key, value), Some(open)) => {
                if cut && key.ends_with("user") {
                    page.mistake(
                        &at,
                        format!("{key}, with # behind the password and no blank between them"),
                        "the password ends before #, as tgt-admin reads it: it takes the rest for a comment",
                    );
                }
                setting(&at, &key, &value, open, inner, page)?;
            }
            (Said::Sets(key, value), None) => of_all(source, &at, &key, &value, page)?,
        }
    }
    if let Some((_, at)) = open {
        return Err(Malformed::new(
            &at,
            "a <target …> that is not closed",
            "</target>",
        ));
    }
    for open in targets {
        close(open, offered, page)?;
    }
    Ok(())
}

fn is_store(word: &str) -> bool {
    matches!(word, "backing-store" | "direct-store")
}

/// A name without blanks, and not `<NAME/>`.
fn plain(name: &str) -> bool {
    !name.is_empty() && !name.contains(char::is_whitespace) && !name.ends_with('/')
}

/// What holds for all targets.
fn of_all(
    source: &Source,
    at: &SourceLine,
    key: &str,
    value: &str,
    page: &mut Page,
) -> Result<(), Malformed> {
    let line = || quoted(&format!("{key} {value}"));
    match key {
        // Of a head all of them are asked for.
        "include" if source.node.is_some() && value == "/etc/tgt/conf.d/*.conf" => {}
        "include" => page.unsaid(at, line(), "give the files it names as sources too"),
        "default-driver" if value != "iscsi" => {
            page.unsaid(at, line(), "Hawser offers by iSCSI over TCP");
        }
        "default-driver" | "control-port" | "iscsi-in-address" => {
            page.not_needed(at, line(), "Hawser tells tgtd by itself");
        }
        "ignore-errors" | "incomingdiscoveryuser" | "outgoingdiscoveryuser" => {
            page.unsaid(at, quoted(key), "exports.toml has no key for it");
        }
        _ => return Err(Malformed::new(at, quoted(key), "<target IQN> around it")),
    }
    Ok(())
}

fn setting(
    at: &SourceLine,
    key: &str,
    value: &str,
    open: &mut Open,
    inner: bool,
    page: &mut Page,
) -> Result<(), Malformed> {
    let wrong = |allowed: &str| {
        let found = format!("{key} {}", quoted(value));
        Err(Malformed::new(at, found, allowed))
    };
    let unit = open.units.last_mut().filter(|_| inner);
    match (key, unit) {
        ("lun", unit) => match value.parse() {
            Ok(n @ 1..=LAST_LUN) => *unit.map_or(&mut open.lun, |store| &mut store.lun) = Some(n),
            _ => return wrong("a number from 1 to 16383: LUN 0 is tgtd's controller"),
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
        ("readonly", store) => {
            let read_only = match value.parse::<u32>() {
                Ok(n) => n != 0,
                Err(_) if matches!(value, "off" | "no" | "false") => false,
                Err(_) if matches!(value, "on" | "yes" | "true") => {
                    page.mistake(
                        at,
                        format!("readonly {}", quoted(value)),
                        "tgtd takes a word for 0 and lets clients write; from now on they may only read",
                    );
                    true
                }
                Err(_) => return wrong("1 or 0: tgtd takes a word for 0"),
            };
            match store {
                Some(store) => store.unit.read_only = read_only,
                None => open.read_only = read_only,
            }
        }
        ("write-cache", store) => {
            let on = match value {
                "on" | "" => true,
                "off" => false,
                _ => return wrong("on or off: tgt-admin takes no other word, and leaves it on"),
            };
            match store {
                Some(store) => store.unit.write_cache = Some(on),
                None => open.write_cache = Some(on),
            }
        }
        ("block-size", Some(Store { unit, .. })) => match value.parse() {
            Ok(512) => {}
            Ok(size) => unit.block_size = Some(size),
            Err(_) => return wrong("512 or 4096"),
        },
        ("backing-store" | "direct-store", None) => open.store(key, value, at)?,
        ("initiator-name", _) if !plain(value) => {
            return wrong("one name: tgt-admin reads a line as one name");
        }
        ("initiator-name", _) => open.hosts.push(value.to_owned()),
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
            let account = Some(account(at, key, value)?);
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

/// `NAME PASSWORD`, which tgt-admin splits at each blank and hands to a shell. Nothing of it is shown.
fn account(at: &SourceLine, key: &str, value: &str) -> Result<(String, Secret), Malformed> {
    let odd = |c: char| c.is_whitespace() || "$`'\";&|<>()".contains(c);
    let fine = |word: &str| !word.is_empty() && !word.contains(odd);
    match value.split_once(' ') {
        Some((user, password)) if fine(user) && fine(password) => {
            Ok((user.to_owned(), Secret(password.to_owned())))
        }
        _ => Err(Malformed::new(
            at,
            format!("{key} that is not a name, one blank and a password"),
            "NAME PASSWORD without blanks, quotes or any of $ ` ; & | < > ( ): tgt-admin splits at each blank and hands them to a shell",
        )),
    }
}

fn close(open: Open, offered: &mut Offered, page: &mut Page) -> Result<(), Malformed> {
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
        .get_or_insert_with(|| picture::Said::new("tgt".into(), &target.at));
    let taken: Vec<u16> = units.iter().filter_map(|store| store.lun).collect();
    let mut next = 0;
    let mut numbers: BTreeMap<u16, String> = BTreeMap::new();
    for Store { mut unit, lun, .. } in counted(units, &target, every.is_some(), page) {
        // tgt-admin counts from 1 and leaves out what is taken.
        let lun = lun.or(every).unwrap_or_else(|| {
            next += 1;
            while taken.contains(&next) {
                next += 1;
            }
            next
        });
        if let Some(first) = numbers.insert(lun, unit.path.clone()) {
            let (iqn, second) = (quoted(&target.iqn), quoted(&unit.path));
            let found = format!("LUN {lun} of {iqn} is {} and {second}", quoted(&first));
            return Err(Malformed::new(&unit.at, found, "each number once"));
        }
        unit.serial = unit.serial.or_else(|| serial.clone());
        unit.read_only |= read_only;
        // tgtd has one unless it is told otherwise.
        unit.write_cache = unit.write_cache.or(write_cache).or(Some(true));
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
    Ok(())
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
