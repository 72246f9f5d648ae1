//! Storage, and what hangs on it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use hawser_model::cluster_file::is_interface_name;

use super::adopted::kept_of;
use super::members::{Owners, owners};
use super::parameters;
use super::targets::{own_exports, target, unit};
use super::timeouts::{self, own_timeout};
use super::{devices, hooks};
use super::{millis, primitives_of};
use crate::crm::Primitive;
use crate::crm::by_id::ById;
use crate::exports::Offered;
use crate::page::{LineVerdict, Page};
use crate::picture::{Address, Nfs, Picture, Pool, PoolKind, Said, usable, usable_resource};
use crate::place::quoted;

/// The last part of an agent's name: `ZFS` of `ocf:heartbeat:ZFS`.
pub(super) fn kind_of(primitive: &Primitive) -> &str {
    primitive.agent.rsplit(':').next().unwrap_or_default()
}

pub(super) fn translate(
    crm: &ById,
    adopt: bool,
    picture: &mut Picture,
    offered: &mut Offered,
    page: &mut Page,
) {
    let cloned: BTreeSet<&str> = crm
        .around
        .iter()
        .filter(|around| around.kind != "group")
        .flat_map(|around| primitives_of(crm, &around.id))
        .collect();
    let plain =
        |p: &&Primitive| !p.agent.starts_with("stonith:") && !cloned.contains(p.id.as_str());
    let all: Vec<&Primitive> = crm.primitives.iter().filter(plain).collect();
    for primitive in &all {
        if let Some(pool) = storage(primitive) {
            picture.pools.push(pool);
        }
    }
    let files = files_of_groups(&all, picture, page);
    if adopt {
        super::adopted::mark(crm, picture, &owners(crm, picture), page);
    }
    super::names::of_groups(crm, picture, page);
    let owners = owners(crm, picture);
    for primitive in &all {
        if let Some(pool) = owners.with_storage(&primitive.id, picture) {
            let why = match files.contains(&primitive.id) {
                true => format!("the files of [[pool]] {}", pool.name),
                false => format!("[[pool]] {}", pool.name),
            };
            page.understood(
                &primitive.at,
                format!("{}, {}", quoted(&primitive.id), primitive.agent),
                why,
            );
            if pool.adopted.is_none() {
                devices::activation(primitive, page);
                parameters::told(primitive, page);
            }
            continue;
        }
        hanging(primitive, &owners, picture, offered, page);
    }
    for pool in &mut picture.pools {
        let theirs = pool
            .adopted
            .is_none()
            .then_some(())
            .and(pool.import_options.as_deref());
        if let Some((was, on)) = theirs.and_then(|was| Some((was, devices::on_linux(was)?))) {
            let what = format!("importargs={}", quoted(was));
            page.changed(&pool.at, what, devices::LINUX_HAS_OTHERS);
            pool.import_options = Some(on);
        }
    }
    targets_of_units(crm, page);
    for id in &cloned {
        let clone = crm
            .primitive(id)
            .filter(|p| !p.agent.starts_with("stonith:"));
        if let Some(clone) = clone {
            cloned_one(clone, page);
        }
    }
    timeouts::translate(crm, picture, page);
    super::constraints::translate(crm, picture, &owners, page);
}

/// A pool of this resource's own.
fn storage(primitive: &Primitive) -> Option<Pool> {
    let param = |names: &[&str]| primitive.param(names).map(str::to_owned);
    let (kind, name) = match kind_of(primitive) {
        "ZFS" => (PoolKind::Zfs, param(&["pool"])?),
        "Filesystem" if devices::elsewhere(primitive).is_some() => return None,
        "Filesystem" => (PoolKind::Filesystem, primitive.id.clone()),
        "LVM-activate" | "LVM" => (PoolKind::Lvm, primitive.id.clone()),
        _ => return None,
    };
    let mut pool = Pool::new(&usable_resource(&name)?, kind, &primitive.at);
    pool.resources.push(primitive.id.clone());
    pool.import_options = param(&["importargs"]).filter(|_| kind == PoolKind::Zfs);
    pool.volume_group = param(&["vgname", "volgrpname"]);
    if kind == PoolKind::Filesystem {
        pool.device = param(&["device"]).map(|device| devices::path(&device));
        pool.directory = param(&["directory"]);
        pool.fstype = param(&["fstype"]);
        pool.options = param(&["options"]);
    }
    Some(pool)
}

/// A file system on a volume of a group that is a pool is that pool's own files, not a second pool. A pool has one; what
/// else is on its volumes hangs on it.
fn files_of_groups(all: &[&Primitive], picture: &mut Picture, page: &mut Page) -> BTreeSet<String> {
    devices::one_group(picture, page);
    let of_kind = |pool: &Pool| pool.kind == PoolKind::Lvm;
    let groups: BTreeSet<String> = picture
        .pools
        .iter()
        .filter(|pool| of_kind(pool))
        .filter_map(|pool| pool.volume_group.clone())
        .collect();
    let mut on: BTreeMap<String, Vec<Pool>> = BTreeMap::new();
    let mut left = Vec::new();
    for pool in std::mem::take(&mut picture.pools) {
        match devices::group_of(&pool).filter(|group| groups.contains(group)) {
            Some(group) => on.entry(group).or_default().push(pool),
            None => left.push(pool),
        }
    }
    picture.pools = left;
    let exports: Vec<&Primitive> = all
        .iter()
        .copied()
        .filter(|p| kind_of(p) == "exportfs")
        .collect();
    let mut files = BTreeSet::new();
    for pool in picture.pools.iter_mut().filter(|pool| of_kind(pool)) {
        let Some(group) = pool.volume_group.clone() else {
            continue;
        };
        let Some(mut of_group) = on.remove(&group) else {
            continue;
        };
        // That which is offered, and else the first.
        let offered = of_group
            .iter()
            .position(|pool| devices::offered(pool, &exports));
        let inner = of_group.swap_remove(offered.unwrap_or(0));
        files.extend(inner.resources.clone());
        pool.directory = inner.directory;
        pool.fstype = inner.fstype;
        pool.options = inner.options;
        let own = format!("/dev/{group}/hawser");
        pool.device = inner.device.filter(|device| *device != own);
        pool.resources.extend(inner.resources);
    }
    files
}

/// What is no storage: an address, an export, or not Hawser's.
fn hanging(
    primitive: &Primitive,
    owners: &Owners,
    picture: &mut Picture,
    offered: &mut Offered,
    page: &mut Page,
) {
    let owner = owners.get(&primitive.id).map(String::as_str);
    let (at, id) = (&primitive.at, quoted(&primitive.id));
    let what = format!("{id}, {}", primitive.agent);
    let kind = kind_of(primitive);
    let own = owner.and_then(|name| owners.pool(name, picture));
    let stays = own.is_some_and(|pool| pool.adopted.is_some());
    if stays && matches!(kind, "iSCSITarget" | "iSCSILogicalUnit" | "portblock") {
        page.foreign(at, &what, "it offers a pool that is kept, and stays; its exports.toml says what Hawser would offer");
    }
    if owner.is_some() && !stays && !matches!(kind, "Filesystem" | "LVM" | "LVM-activate") {
        parameters::told(primitive, page);
    }
    match (kind, owner) {
        ("IPaddr" | "IPaddr2" | "IPv6addr", Some(name)) => {
            if let Some(pool) = owners.pool_mut(name, picture) {
                address(primitive, pool, page);
            }
        }
        ("IPaddr" | "IPaddr2" | "IPv6addr", None) => {
            page.foreign(at, what, "an address that no constraint joins to a pool");
        }
        ("exportfs", Some(name)) => {
            let (Some(directory), Some(clients)) = (primitive.param(&["directory"]), primitive.param(&["clientspec"]))
            else {
                return page.unsaid(at, what, "it has no directory or no clientspec");
            };
            if let Some(why) = own.and_then(|pool| devices::outside(pool, directory)) {
                return page.foreign(at, what, why);
            }
            if let (Some(fsid), false) = (primitive.param(&["fsid"]), stays) {
                page.changed(
                    at,
                    format!("fsid={} of {id}", quoted(fsid)),
                    "Hawser gives each directory a number of its own, the same on every head: clients mount it again",
                );
            }
            let options = primitive.param(&["options"]).map(str::to_owned);
            let nfs = Nfs {
                directory: directory.to_owned(),
                clients: clients.to_owned(),
                options,
                kept: None,
            };
            if let Some(pool) = owners.pool_mut(name, picture) {
                let kept = pool.adopted.is_some().then(|| kept_of(primitive));
                let nfs = Nfs { kept, ..nfs };
                pool.nfs.push(Said::new(nfs, at));
            }
            page.understood(at, what, format!("nfs of pool {name}"));
        }
        ("exports", Some(name)) if primitive.agent == "ocf:hawser:exports" => own_exports(primitive, name, owners, picture, page),
        ("hooks", Some(name)) if primitive.agent == hooks::AGENT => hooks::own_hooks(primitive, name, owners, picture, page),
        ("iSCSITarget", _) => target(primitive, offered, picture, page),
        ("iSCSILogicalUnit", _) => unit(primitive, stays, offered, page),
        ("ifspeed", _) if primitive.id.starts_with("watch-") => {
            page.not_needed(at, what, "`hawser apply` makes it from the heads' ports");
        }
        ("ethmonitor" | "ifspeed", _) => page.changed(at, what, "each head's own SAN ports are watched (watch-NODE-LINK)"),
        ("portblock", _) => page.not_needed(at, what, "an address comes last and goes first"),
        ("nfsserver", _) => page.unsaid(
            at,
            what,
            "every head runs its own NFS server (systemctl enable --now nfs-server); locks do not move with a pool",
        ),
        ("Filesystem", _) => devices::hanging(primitive, own, page),
        (_, Some(name)) => page.foreign(at, what, format!("it hangs on pool {name}; keep its constraints")),
        (_, None) => page.foreign(at, what, "kept, and left as it is"),
    }
}

/// A unit that a target shows which no resource makes.
fn targets_of_units(crm: &ById, page: &mut Page) {
    let of = |kind: &'static str| crm.primitives.iter().filter(move |p| kind_of(p) == kind);
    let made: BTreeSet<&str> = of("iSCSITarget")
        .filter_map(|p| p.param(&["iqn"]))
        .collect();
    for unit in of("iSCSILogicalUnit") {
        let iqn = unit.param(&["target_iqn"]);
        if let Some(iqn) = iqn.filter(|iqn| !made.contains(iqn)) {
            let what = format!("target_iqn={} of {}", quoted(iqn), quoted(&unit.id));
            page.mistake(&unit.at, what, "no iSCSITarget has this iqn");
        }
    }
}

fn cloned_one(clone: &Primitive, page: &mut Page) {
    let what = format!("{}, {}, cloned", quoted(&clone.id), clone.agent);
    match kind_of(clone) {
        "ping" | "pingd" | "ethmonitor" => {
            page.changed(
                &clone.at,
                what,
                "each head's own SAN ports are watched (watch-NODE-LINK)",
            );
        }
        "Filesystem" => page.foreign(
            &clone.at,
            what,
            "a file system of all nodes at a time is no pool",
        ),
        _ => page.foreign(&clone.at, what, "kept, and left as it is"),
    }
}

fn address(primitive: &Primitive, pool: &mut Pool, page: &mut Page) {
    let owner = pool.name.clone();
    let at = &primitive.at;
    let text = primitive.param(&["ip", "ipv6addr"]).unwrap_or_default();
    // IPv6addr writes the prefix behind the address.
    let (ip, behind) = text
        .split_once('/')
        .map_or((text, None), |(ip, p)| (ip, Some(p)));
    let Ok(ip) = ip.parse::<IpAddr>() else {
        let why = format!("{} is no address", quoted(text));
        page.unsaid(at, quoted(&primitive.id), &why);
        let what = format!("an address of pool {}", quoted(&owner));
        return page.add(LineVerdict::Missing, Some(at), what, why);
    };
    let mask = primitive.param(&["cidr_netmask", "netmask"]).or(behind);
    // IPaddr takes 255.255.255.0 as well.
    let prefix = mask.and_then(|mask| match mask.parse::<IpAddr>() {
        Ok(mask) => ipnet::ip_mask_to_prefix(mask).ok(),
        Err(_) => mask.parse().ok(),
    });
    let longest = if ip.is_ipv4() { 32 } else { 128 };
    let prefix = prefix.filter(|prefix| (1..=longest).contains(prefix));
    if let (Some(mask), None) = (mask, prefix) {
        page.mistake(
            at,
            format!("the netmask {} of {}", quoted(mask), quoted(&primitive.id)),
            format!("a prefix of {ip} is a number from 1 to {longest}; IPv4 has masks such as 255.255.255.0 as well"),
        );
    }
    let hint = primitive.id.strip_prefix(&format!("{owner}-")).map(|link| {
        // Further addresses of a pool on a link are numbered.
        let (name, number) = link.rsplit_once('-').unwrap_or((link, ""));
        match number.parse::<u32>() {
            Ok(2..) => name.to_owned(),
            _ => link.to_owned(),
        }
    });
    let hint = hint.and_then(|hint| usable(&hint));
    let interface = primitive
        .param(&["nic"])
        .map(|nic| nic.split(':').next().unwrap_or(nic).to_owned());
    let nic = primitive
        .param(&["nic"])
        .filter(|nic| is_interface_name(nic));
    let nic = nic.or(interface.as_deref().filter(|it| is_interface_name(it)));
    let nic = nic.map(str::to_owned);
    // What is kept has what it had, an alias too.
    let stays = pool.adopted.is_some();
    let nic = nic.filter(|nic| !stays || primitive.param(&["nic"]) == Some(nic));
    if let (Some(name), None, false) = (&interface, &nic, stays) {
        let why =
            "no interface can have this name: the agent takes the one that has the link's network";
        page.changed(at, format!("nic={}", quoted(name)), why);
    }
    // A pool's addresses have its times where these are longer than their own 20 s: told by nothing else when the
    // pool's are what they would be anyway.
    for op in ["start", "stop", "monitor"] {
        let Some(value) = primitive.op(op, "timeout") else {
            continue;
        };
        let Some(ms) = millis(value) else {
            let what = format!("{} op {op} timeout={value}", quoted(&primitive.id));
            page.unsaid(at, what, "it is no time");
            continue;
        };
        if ms > 20_000 && ms == own_timeout(pool.kind, op) {
            pool.timeouts.insert(op, Said::new(ms, at));
        }
    }
    let link = hint;
    pool.addresses.push(Address {
        at: at.clone(),
        ip,
        prefix,
        link,
        interface,
        nic,
        kept: pool.adopted.is_some().then(|| kept_of(primitive)),
    });
    page.understood(
        at,
        format!("{}, {ip}", quoted(&primitive.id)),
        format!("an address of pool {owner}"),
    );
}
