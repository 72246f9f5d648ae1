//! Several sources of what is offered, above all two heads: what they say alike is one, and what they do not is told.

use std::collections::BTreeSet;

use super::{Directory, Offered, Shown, Target, Unit, as_serial, path};
use crate::page::Page;
use crate::picture::{Picture, Pool};
use crate::place::quoted;
use crate::{Kind, Source, SourceLine};

/// What one source offers, or all that was read on one head.
#[derive(Clone, Debug)]
struct Part {
    /// The head, if it was read there.
    head: Option<String>,
    /// The file, if a person gave it.
    file: Option<String>,
    /// Some of its files could not be read.
    partly: bool,
    offered: Offered,
}

/// What is offered, by whose word it is. The first part is that of the cluster and of what goes with it.
#[derive(Clone, Debug)]
pub(crate) struct Parts(Vec<Part>);

impl Default for Parts {
    fn default() -> Self {
        Self(vec![Part {
            head: None,
            file: None,
            partly: false,
            offered: Offered::default(),
        }])
    }
}

impl Parts {
    /// Where the cluster's own resources go.
    pub(crate) fn of_cluster(&mut self) -> &mut Offered {
        &mut self.0[0].offered
    }

    /// Where a source goes.
    pub(crate) fn of(&mut self, source: &Source) -> &mut Offered {
        let whole = matches!(
            source.kind,
            Kind::Saveconfig | Kind::TargetsConf | Kind::EtcExports | Kind::Unread
        );
        if !whole {
            return self.of_cluster();
        }
        let head = source.node.clone();
        let file = head.is_none().then(|| source.path.clone());
        let known = |part: &Part| (&part.head, &part.file) == (&head, &file);
        let i = self.0[1..].iter().position(known).map(|i| i + 1);
        let i = i.unwrap_or_else(|| {
            self.0.push(Part {
                head,
                file,
                partly: false,
                offered: Offered::default(),
            });
            self.0.len() - 1
        });
        self.0[i].partly |= source.kind == Kind::Unread;
        &mut self.0[i].offered
    }
}

/// All that is offered. Of two that differ the first counts: the cluster's resources, then files, then heads as they were named.
pub(crate) fn agree(parts: Parts, picture: &Picture, page: &mut Page) -> Offered {
    missing(&parts, picture, page);
    let mut all = Offered::default();
    for Part { offered, .. } in parts.0 {
        let known = (all.units.len(), all.directories.len());
        for target in one_each(offered.targets, page) {
            let mut before = all.targets.iter_mut();
            match before.find(|first| first.iqn == target.iqn) {
                Some(first) => same_target(first, target, page),
                None => all.targets.push(target),
            }
        }
        for unit in offered.units {
            let same = all.units[..known.0].iter_mut();
            let mut same: Vec<&mut Unit> = same.filter(|first| first.path == unit.path).collect();
            if let Some(unit) = same_unit(&mut same, unit, page) {
                all.units.push(unit);
            }
        }
        for directory in offered.directories {
            let first = &all.directories[..known.1];
            if is_new(first, &directory, picture, page) {
                all.directories.push(directory);
            }
        }
        all.backend = all.backend.or(offered.backend);
        all.confs.extend(offered.confs);
    }
    for shown in all.units.iter_mut().flat_map(|unit| &mut unit.shown) {
        let target = all.targets.iter().find(|it| it.iqn == shown.target);
        if let (Some(_), Some(target)) = (&shown.hosts, target) {
            narrowed(&mut shown.hosts, target.hosts.clone());
        }
    }
    all
}

/// The targets of one head. Several of its files may say something of a target: as tgt-admin, which reads those of conf.d as
/// one (`MergeDuplicateBlocks`), it has all their clients, and is closed to others as soon as one file names a client.
fn one_each(targets: Vec<Target>, page: &mut Page) -> Vec<Target> {
    let mut one: Vec<Target> = Vec::new();
    for target in targets {
        let Some(first) = one.iter_mut().find(|first| first.iqn == target.iqn) else {
            one.push(target);
            continue;
        };
        if let Some(hosts) = target.hosts {
            let known = first.hosts.get_or_insert_default();
            known.extend(hosts);
            let mut seen = BTreeSet::new();
            known.retain(|host| seen.insert(host.clone()));
        }
        if first.chap.is_none() {
            first.chap = target.chap;
            first.mutual = first.mutual.take().or(target.mutual);
        } else if target.chap.is_some() && target.chap != first.chap {
            page.unsaid(
                &target.at,
                "a second incominguser",
                "a target has one account; the first is taken",
            );
        }
    }
    one
}

/// What becomes of clients that one source lets in and another does not.
const WHO: &str = "only clients that each of them lets in are taken";

/// Nobody gets in whom one of two keeps out; nobody is kept out by `None`. Whether the two differ.
fn narrowed(hosts: &mut Option<Vec<String>>, other: Option<Vec<String>>) -> bool {
    let set = |hosts: &Option<Vec<String>>| hosts.as_ref().map(|it| it.iter().cloned().collect());
    let (is, was): (Option<BTreeSet<String>>, _) = (set(hosts), set(&other));
    match (&mut *hosts, &was) {
        (Some(hosts), Some(was)) => hosts.retain(|host| was.contains(host)),
        (None, Some(_)) => *hosts = other,
        (_, None) => {}
    }
    is != was
}

fn told(page: &mut Page, at: &SourceLine, what: &str, others: &[String], first: &SourceLine) {
    if !others.is_empty() {
        let what = format!("{what} has {}", others.join(", "));
        page.mistake(at, what, format!("what {first} says is taken"));
    }
}

/// No value of an account is shown.
fn same_target(first: &mut Target, other: Target, page: &mut Page) {
    let portals = |target: &Target| -> BTreeSet<String> {
        let everywhere = |p: &&String| p.starts_with("0.0.0.0") || p.starts_with("[::");
        let plain = |p: &String| p.strip_suffix(":3260").unwrap_or(p).to_owned();
        target
            .portals
            .iter()
            .filter(|p| !everywhere(p))
            .map(plain)
            .collect()
    };
    if let (Some((user, secret)), Some((same, known))) = (&mut first.chap, &other.chap) {
        if secret.0.is_empty() && user == same {
            secret.clone_from(known);
        }
    }
    let mut others = Vec::new();
    if portals(first) != portals(&other) {
        others.push("other portals".to_owned());
    }
    if first.chap != other.chap || first.mutual != other.mutual {
        others.push("another account".to_owned());
    }
    let what = format!("target {}", quoted(&first.iqn));
    told(page, &other.at, &what, &others, &first.at);
    if narrowed(&mut first.hosts, other.hosts) {
        page.mistake(&other.at, format!("{what} has other clients"), WHO);
    }
    if first.chap.is_none() {
        first.chap = other.chap;
        first.mutual = other.mutual;
    }
}

/// What of a unit is left when another source had it before.
fn same_unit(known: &mut [&mut Unit], mut unit: Unit, page: &mut Page) -> Option<Unit> {
    let Some(first) = known.first_mut() else {
        return Some(unit);
    };
    let mut others = Vec::new();
    let mut differs = |is: bool, what: &str| {
        if is {
            others.push(what.to_owned());
        }
    };
    let serial = |text: &str| as_serial(text).unwrap_or_else(|| text.to_owned());
    let naa = |text: &str| text.to_ascii_lowercase();
    differs(
        both(&first.serial, &unit.serial).is_some_and(|(a, b)| serial(a) != serial(b)),
        "another serial number",
    );
    differs(
        both(&first.naa, &unit.naa).is_some_and(|(a, b)| naa(a) != naa(b)),
        "another NAA identifier",
    );
    differs(
        both(&first.block_size, &unit.block_size).is_some_and(|(a, b)| a != b),
        "another block size",
    );
    differs(
        both(&first.write_cache, &unit.write_cache).is_some_and(|(a, b)| a != b),
        "another write cache",
    );
    differs(first.read_only != unit.read_only, "another readonly");
    first.serial = first.serial.take().or(unit.serial.take());
    first.naa = first.naa.take().or(unit.naa.take());
    first.block_size = first.block_size.or(unit.block_size);
    first.write_cache = first.write_cache.or(unit.write_cache);
    first.offloads = first.offloads.or(unit.offloads);
    first.read_only |= unit.read_only;
    let at = first.at.clone();
    let mut clients = Vec::new();
    unit.shown.retain_mut(|shown| {
        let mut before = known.iter_mut().flat_map(|known| &mut known.shown);
        let Some(first) = before.find(|first| first.target == shown.target) else {
            return true;
        };
        others.extend(shown_otherwise(first, shown));
        if narrowed(&mut first.hosts, shown.hosts.take()) {
            clients.push(quoted(&shown.target));
        }
        false
    });
    if !clients.is_empty() {
        let what = format!(
            "{} has other clients on {}",
            quoted(&unit.path),
            clients.join(", ")
        );
        page.mistake(&unit.at, what, WHO);
    }
    told(page, &unit.at, &quoted(&unit.path), &others, &at);
    // It was filled in above.
    let more = !unit.shown.is_empty();
    more.then_some(unit)
}

fn both<'a, T>(a: &'a Option<T>, b: &'a Option<T>) -> Option<(&'a T, &'a T)> {
    a.as_ref().zip(b.as_ref())
}

fn shown_otherwise(first: &Shown, other: &Shown) -> Option<String> {
    let lun = |lun: Option<u16>| lun.map_or("no LUN".into(), |lun| format!("LUN {lun}"));
    let on = quoted(&other.target);
    let (was, is) = (lun(first.lun), lun(other.lun));
    (first.lun != other.lun).then(|| format!("{is} on {on} instead of {was}"))
}

fn is_new(first: &[Directory], other: &Directory, picture: &Picture, page: &mut Page) -> bool {
    let what = quoted(&other.path);
    let by_resource = |pool: &Pool| {
        let mut nfs = pool.nfs.iter();
        nfs.any(|nfs| {
            nfs.value.directory == other.path && other.clients.contains(&nfs.value.clients)
        })
    };
    if let Some(pool) = picture.pools.iter().find(|pool| by_resource(pool)) {
        let why = format!(
            "a resource of pool {} offers it to the same clients",
            pool.name
        );
        page.not_needed(&other.at, what, why);
        return false;
    }
    let same = |known: &&Directory| known.path == other.path && known.clients == other.clients;
    let Some(known) = first.iter().find(same) else {
        return true;
    };
    if known.options != other.options {
        let options = other.options.as_deref().unwrap_or("no options");
        told(page, &other.at, &what, &[quoted(options)], &known.at);
    }
    false
}

/// What one head offers of a pool and another does not.
fn missing(Parts(parts): &Parts, picture: &Picture, page: &mut Page) {
    let heads: Vec<(&String, &Part)> = parts
        .iter()
        .filter_map(|part| Some((part.head.as_ref()?, part)))
        .collect();
    let mut seen = BTreeSet::new();
    for (head, part) in &heads {
        let of_pools = items(&part.offered, picture);
        let new: Vec<&Item<'_>> = of_pools
            .iter()
            .filter(|item| seen.insert(item.words.clone()))
            .collect();
        // Of one that was read in part nobody knows.
        let others = heads
            .iter()
            .filter(|(other, part)| other != head && !part.partly);
        for (other, there) in others {
            let has: BTreeSet<String> = items(&there.offered, picture)
                .into_iter()
                .map(|item| item.words)
                .collect();
            let lacks: Vec<&&Item<'_>> = new
                .iter()
                .filter(|item| !has.contains(&item.words))
                .collect();
            let Some(first) = lacks.first() else { continue };
            let mut words: Vec<&str> = lacks.iter().map(|item| &*item.words).take(4).collect();
            let more = format!("{} more", lacks.len() - words.len());
            if lacks.len() > words.len() {
                words.push(&more);
            }
            page.mistake(
                first.at,
                format!("{}: {other} does not offer it", words.join(", ")),
                format!(
                    "clients lose it with a takeover by {other}; exports.toml counts on every head"
                ),
            );
        }
    }
}

/// Something that is offered of a pool.
struct Item<'a> {
    at: &'a SourceLine,
    words: String,
}

fn items<'a>(offered: &'a Offered, picture: &Picture) -> Vec<Item<'a>> {
    let in_pool = |unit: &&Unit| path::volume(&unit.path, picture).is_ok();
    let units = offered.units.iter().filter(in_pool);
    let shown: BTreeSet<&str> = units
        .clone()
        .flat_map(|unit| unit.shown.iter().map(|shown| &*shown.target))
        .collect();
    let targets = offered.targets.iter();
    let targets = targets.filter(|target| shown.contains(&*target.iqn));
    let directories = offered.directories.iter();
    let directories = directories.filter(|d| path::directory(&d.path, picture).is_some());
    let item = |at: &'a SourceLine, words: String| Item { at, words };
    targets
        .map(|target| item(&target.at, format!("target {}", quoted(&target.iqn))))
        .chain(units.map(|unit| item(&unit.at, quoted(&unit.path))))
        .chain(directories.map(|d| {
            item(
                &d.at,
                format!("{} for {}", quoted(&d.path), d.clients.join(" ")),
            )
        }))
        .collect()
}
