//! Pools: storage, then exports, then addresses; together, in order, on one node.
//!
//! The address comes last and goes first. A client whose connection goes dead retries until the
//! address answers again, and when it answers, the units are there; one that finds the address
//! without its units is told that its disk is gone.

use hawser_model::cluster_file::{
    ClusterFile, ExportKind, HookPlace, Period, Pool, PoolKind, Role,
};

use super::build::{Op, avoids, order, pair, prefers, primitive, together};
use super::{OWN_CONSTRAINT, adopted, hooks};
use crate::exports::service::LOOK;
use crate::xml::Element;

/// What pools add to the CIB.
#[derive(Default)]
pub(super) struct PoolsXml {
    pub resources: Vec<Element>,
    pub constraints: Vec<Element>,
}

/// Exports of a hundred units start well within this; a stop that takes longer is one that hangs.
const EXPORTS_TIMEOUT: Period = Period::from_secs(120);

/// How often the exports are looked at. A look takes some milliseconds, and a target that hangs keeps every client
/// waiting from then on.
const EXPORTS_LOOK: Period = Period::from_secs(2);

/// How long a look may take. The agent gives up before and says what does not answer; this is for an agent that
/// does not come back at all.
const EXPORTS_ANSWER: Period = Period(LOOK);

/// A look at the storage may take so many times longer.
const STORAGE_TIMES: u32 = 10;

/// How often a pool's storage and its addresses are looked at.
const STORAGE_LOOK: Period = Period::from_secs(20);
const ADDRESS_LOOK: Period = Period::from_secs(10);

/// Of the time that a look may take, so many pass between two: a host that needs minutes for one does nothing else otherwise.
const SELDOM: u32 = 10;

/// What ocf:heartbeat:IPaddr2 advises for each operation.
const ADDRESS_TIMEOUT: Period = Period::from_secs(20);

pub(super) fn generate(file: &ClusterFile) -> PoolsXml {
    let mut xml = PoolsXml::default();
    for pool in &file.pools {
        one(file, pool, &mut xml);
    }
    xml
}

fn one(file: &ClusterFile, pool: &Pool, xml: &mut PoolsXml) {
    // A pool that cannot be stopped may still be written to, so the node is shot before the pool
    // starts elsewhere. Without fencing nothing else can be done than leave it blocked.
    let fenced = file
        .fencing
        .as_ref()
        .is_none_or(|fencing| fencing.none.is_none());
    let stuck = if fenced { "fence" } else { "block" };

    let mut made = PoolsXml::default();
    parts(file, pool, stuck, &mut made);
    xml.constraints.append(&mut made.constraints);
    adopted::keep(pool, &mut made.resources);
    xml.resources.append(&mut made.resources);
    placement(file, pool, xml);
}

fn parts(file: &ClusterFile, pool: &Pool, stuck: &'static str, xml: &mut PoolsXml) {
    let mut chain = Vec::new();
    hook(pool, HookPlace::Before, stuck, &mut chain, xml);
    xml.resources.push(storage(pool, stuck));
    link(pool, &mut chain, pool.storage_id(), xml);
    if *pool.kind == PoolKind::Lvm {
        let device = match &pool.device {
            Some(device) => device.to_string(),
            None => format!("/dev/{}/hawser", text(&pool.volume_group)),
        };
        xml.resources
            .push(filesystem(pool, &pool.files_id(), &device, stuck));
        link(pool, &mut chain, pool.files_id(), xml);
    }
    hook(pool, HookPlace::After, stuck, &mut chain, xml);
    if *pool.exports != ExportKind::None {
        xml.resources.push(exports(file, pool, stuck));
        link(pool, &mut chain, pool.exports_id(), xml);
    }
    let base = chain.last().cloned().unwrap_or_default();
    // Directories and addresses hang on what offers the pool, each for itself.
    let mut nfs_ids = Vec::new();
    for (i, nfs) in pool.nfs.iter().enumerate() {
        let id = pool.nfs_id(i);
        let parameters = [
            pair("clientspec", &nfs.clients),
            pair("directory", &nfs.directory),
            // Clients know a file by it, so it must be the same on every node.
            pair(
                "fsid",
                stable_number(&format!("{}:{}", pool.name, nfs.directory)),
            ),
            pair("options", nfs.options.as_deref().unwrap_or("rw")),
        ];
        let ops = [
            Op::once("start", Period::from_secs(40)),
            Op::once("stop", Period::from_secs(120)).on_fail(Some(stuck)),
            Op::monitor(Period::from_secs(20), Period::from_secs(20)),
        ];
        let what = format!("offers {} of pool {} by NFS", nfs.directory, pool.name);
        xml.resources.push(primitive(
            &id,
            "ocf:heartbeat:exportfs",
            &what,
            &parameters,
            &ops,
        ));
        hang(pool, &id, &base, xml);
        nfs_ids.push(id);
    }
    addresses(file, pool, &base, &nfs_ids, xml);
}

/// The hooks of this place, if the pool has any there, as the next of the chain.
fn hook(
    pool: &Pool,
    place: HookPlace,
    stuck: &'static str,
    chain: &mut Vec<String>,
    xml: &mut PoolsXml,
) {
    if let (Some(id), Some(hook)) = (pool.hooks_id(place), hooks::resource(pool, place, stuck)) {
        xml.resources.push(hook);
        link(pool, chain, id, xml);
    }
}

/// `next` starts after the last of the chain and runs where it runs.
fn link(pool: &Pool, chain: &mut Vec<String>, next: String, xml: &mut PoolsXml) {
    if let Some(last) = chain.last() {
        hang(pool, &next, last, xml);
    }
    chain.push(next);
}

/// `id` starts after `base` and runs where it runs. Of what is in one group the group says so.
fn hang(pool: &Pool, id: &str, base: &str, xml: &mut PoolsXml) {
    if !adopted::in_one_group(pool, id, base) {
        xml.constraints.push(order(base, id));
        xml.constraints.push(together(id, base));
    }
}

fn storage(pool: &Pool, stuck: &'static str) -> Element {
    let id = pool.storage_id();
    let what = format!("pool {id}");
    let ops = storage_ops(pool, stuck);
    match *pool.kind {
        PoolKind::Zfs => {
            // The agent imports with `cachefile=none`, so that no head imports it at boot. It has
            // to be forced: a head that was shot has not exported it.
            let mut parameters = vec![pair("importforce", true), pair("pool", pool.zpool())];
            if let Some(options) = &pool.import_options {
                parameters.insert(0, pair("importargs", options));
            }
            primitive(&id, "ocf:heartbeat:ZFS", &what, &parameters, &ops)
        }
        PoolKind::Filesystem => filesystem(pool, &id, text(&pool.device), stuck),
        PoolKind::Lvm => {
            // The system ID of the active host is in the volume group itself, so no host takes a
            // group that another one has.
            let parameters = [
                pair("vg_access_mode", "system_id"),
                pair("vgname", text(&pool.volume_group)),
            ];
            primitive(&id, "ocf:heartbeat:LVM-activate", &what, &parameters, &ops)
        }
    }
}

fn filesystem(pool: &Pool, id: &str, device: &str, stuck: &'static str) -> Element {
    let mut parameters = vec![
        pair("device", device),
        pair("directory", text(&pool.directory)),
        pair("fstype", text(&pool.fstype)),
    ];
    parameters.extend(
        pool.options
            .as_ref()
            .map(|options| pair("options", options)),
    );
    let what = match *pool.kind {
        PoolKind::Lvm => format!("files of pool {}", pool.name),
        _ => format!("pool {}", pool.name),
    };
    let ops = storage_ops(pool, stuck);
    primitive(id, "ocf:heartbeat:Filesystem", &what, &parameters, &ops)
}

/// How long a pool may take to start, its exports included, until Pacemaker calls that failed.
pub(crate) fn start_limit(pool: &Pool) -> Period {
    let (storage, _) = storage_limits(pool);
    let exports = at_least(EXPORTS_TIMEOUT, pool.timeouts.start);
    Period(storage.0 + exports.0 + hooks::start_limit(pool).0)
}

/// How long a pool's storage may take to start and to stop.
fn storage_limits(pool: &Pool) -> (Period, Period) {
    // An import reads every device of the shelves, and with multihost=on it also watches for
    // another writer, 20 to 30 s (docs/machines.md has what was seen). A stop that is cut
    // short by its timeout ends in a shot, so it is generous too.
    let (start, stop) = match *pool.kind {
        PoolKind::Zfs => (300, 180),
        PoolKind::Filesystem | PoolKind::Lvm => (120, 120),
    };
    let given = pool.timeouts;
    (
        given.start.unwrap_or(Period::from_secs(start)),
        given.stop.unwrap_or(Period::from_secs(stop)),
    )
}

fn storage_ops(pool: &Pool, stuck: &'static str) -> [Op; 3] {
    let (start, stop) = storage_limits(pool);
    let monitor = pool.timeouts.monitor;
    [
        Op::once("start", start),
        Op::once("stop", stop).on_fail(Some(stuck)),
        Op::monitor(
            every(STORAGE_LOOK, monitor),
            monitor.unwrap_or(Period(LOOK * STORAGE_TIMES)),
        ),
    ]
}

/// What an agent itself asks for; a pool on hosts that are slow enough to need more has it for its exports and addresses
/// as well: one that does not stop in time gets its node shot.
fn at_least(own: Period, given: Option<Period>) -> Period {
    given.map_or(own, |given| given.max(own))
}

/// How often something is looked at where a look may take so long.
fn every(own: Period, limit: Option<Period>) -> Period {
    at_least(own, limit.map(|limit| Period(limit.0 / SELDOM)))
}

fn exports(file: &ClusterFile, pool: &Pool, stuck: &'static str) -> Element {
    let backend = file.exports.backend.name();
    let iqn = file.exports.iqn.as_ref();
    let iqn = iqn.map_or("", |iqn| iqn.as_str());
    let addresses = pool
        .addresses
        .values()
        .flat_map(|addresses| addresses.ips());
    let portals: Vec<String> = addresses.map(|ip| ip.to_string()).collect();
    // Without a naming authority the agent offers nothing by iSCSI.
    let (by, mut parameters) = match *pool.exports {
        ExportKind::Nfs => {
            let offered = vec![pair("pool", &pool.name), pair("portals", portals.join(" "))];
            ("NFS", offered)
        }
        _ => {
            let target = vec![
                pair("backend", backend),
                pair("iqn", iqn),
                pair("pool", &pool.name),
                pair("portals", portals.join(" ")),
            ];
            ("iSCSI", target)
        }
    };
    parameters.push(pair("root", pool.root()));
    if *pool.kind == PoolKind::Lvm {
        parameters.push(pair("volume_group", text(&pool.volume_group)));
    }
    let timeouts = pool.timeouts;
    // In proportion, so that a target that hangs is noticed as soon as the host allows.
    let look = timeouts
        .monitor
        .map(|given| Period(given.0 / STORAGE_TIMES));
    let ops = [
        Op::once("start", at_least(EXPORTS_TIMEOUT, timeouts.start)),
        Op::once("stop", at_least(EXPORTS_TIMEOUT, timeouts.stop)).on_fail(Some(stuck)),
        Op::once("reload-agent", at_least(EXPORTS_TIMEOUT, timeouts.start)),
        Op::monitor(every(EXPORTS_LOOK, look), at_least(EXPORTS_ANSWER, look)),
    ];
    let what = format!("offers pool {} by {by}", pool.name);
    primitive(
        &pool.exports_id(),
        "ocf:hawser:exports",
        &what,
        &parameters,
        &ops,
    )
}

fn addresses(file: &ClusterFile, pool: &Pool, base: &str, nfs: &[String], xml: &mut PoolsXml) {
    for (link, addresses) in &pool.addresses {
        let Some(entry) = file
            .links_with(Role::San)
            .find(|l| l.name.get() == link.get())
        else {
            continue;
        };
        let prefix = entry
            .network
            .as_ref()
            .map_or(32, |network| network.0.prefix_len());
        let ids = pool.address_ids(link.as_str(), addresses);
        for (id, one) in ids.iter().zip(addresses.all()) {
            let address = one.ip();
            let mut parameters = vec![
                // Sent beside the start, which is over as soon as the address is there: five
                // announcements 200 ms apart, and one more at each monitor for a switch or client
                // that missed them.
                pair("arp_bg", true),
                pair("arp_count", 5),
                pair("arp_count_refresh", 1),
                pair("arp_interval", 200),
                pair("cidr_netmask", prefix),
                pair("ip", address),
            ];
            parameters.extend(one.nic().map(|nic| pair("nic", nic)));
            if address.is_ipv6() {
                // Duplicate address detection costs a second or two of outage to ask a question
                // that fencing has answered.
                parameters.push(pair("nodad", true));
            }
            let within = |given| at_least(ADDRESS_TIMEOUT, given);
            let timeouts = pool.timeouts;
            let ops = [
                Op::once("start", within(timeouts.start)),
                Op::once("stop", within(timeouts.stop)),
                Op::monitor(
                    every(ADDRESS_LOOK, timeouts.monitor),
                    within(timeouts.monitor),
                ),
            ];
            let what = format!("address of pool {} on {link}", pool.name);
            xml.resources.push(primitive(
                id,
                "ocf:heartbeat:IPaddr2",
                &what,
                &parameters,
                &ops,
            ));
            hang(pool, id, base, xml);
            let before = nfs
                .iter()
                .filter(|nfs| !adopted::in_one_group(pool, id, nfs));
            xml.constraints.extend(before.map(|nfs| order(nfs, id)));
        }
    }
}

fn placement(file: &ClusterFile, pool: &Pool, xml: &mut PoolsXml) {
    if let Some(prefer) = &pool.prefer {
        let preferred = prefers(&pool.placed_id(), prefer.as_str(), pool.preference());
        xml.constraints.push(preferred);
    }
    for node in &file.nodes {
        if pool.may_run_on(&node.name) {
            continue;
        }
        // Such a node need not even have the agents, so it is not asked whether something runs
        // there either.
        let id = format!("{OWN_CONSTRAINT}{}-not-on-{}", pool.name, node.name);
        // A group stands for what is in it.
        let outside = pool.resource_ids().into_iter();
        let outside = outside.filter(|id| pool.group_of(id).is_none());
        let group = pool.adopted.iter().filter_map(|it| it.group.as_ref());
        let references = group
            .map(ToString::to_string)
            .chain(outside)
            .map(|resource| Element::new("resource_ref").with("id", resource));
        let set = Element::new("resource_set")
            .with("id", format!("{id}-set"))
            .children(references);
        let mut constraint = avoids(&pool.placed_id(), node.name.as_str());
        constraint.attributes.retain(|(name, _)| name != "rsc");
        constraint.set("resource-discovery", "never");
        xml.constraints.push(constraint.child(set));
    }
}

fn text(value: &Option<hawser_model::cluster_file::At<String>>) -> &str {
    value.as_ref().map_or("", |value| value.as_str())
}

/// A positive 31-bit number that depends on the text alone (FNV-1a).
fn stable_number(text: &str) -> u32 {
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    (hash & 0x7fff_ffff).max(1)
}
