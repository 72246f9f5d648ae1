//! Which pools of a running cluster are kept as they are: their resources under their names, in their group, with their
//! parameters, so that nothing stops when Hawser takes them over.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use hawser_model::cluster_file::{is_interface_name, said_by_file};

use super::hooks;
use super::members::Owners;
use super::pools::kind_of;
use crate::crm::Primitive;
use crate::crm::by_id::ById;
use crate::page::Page;
use crate::picture::{Kept, Picture, Pool, PoolKind, Said, usable_resource};
use crate::place::quoted;

/// The parameters of a resource that follow from the file's own keys; `None` where its agent cannot be kept.
fn said(primitive: &Primitive) -> Option<&'static [&'static str]> {
    said_by_file(primitive.agent.strip_prefix("ocf:heartbeat:")?)
}

/// Marks the pools that can be kept, and says of the others why not.
pub(super) fn mark(crm: &ById, picture: &mut Picture, owners: &Owners, page: &mut Page) {
    let members = members(crm, picture, owners);
    let names: HashSet<&str> = picture
        .pools
        .iter()
        .map(|pool| pool.name.as_str())
        .collect();
    let kept: Vec<Result<Option<String>, String>> = picture
        .pools
        .iter()
        .map(|pool| {
            let of = members
                .get(pool.name.as_str())
                .map_or(&[][..], Vec::as_slice);
            group(crm, pool, of, &names, owners)
        })
        .collect();
    for (pool, kept) in picture.pools.iter_mut().zip(kept) {
        let what = format!("the resources of pool {}", quoted(&pool.name));
        match kept {
            Ok(group) => {
                if let Some(id) = own_name(pool) {
                    pool.zpool = Some(std::mem::replace(&mut pool.name, id));
                }
                let (at, stays) = (pool.at.clone(), "[pool.adopted]: they are kept as they are");
                let why = match &group {
                    Some(group) => format!("{stays}, in group {group}"),
                    None => stays.to_owned(),
                };
                page.understood(&at, what, why);
                let found = |id: &String| crm.primitive(id);
                pool.kept = pool
                    .resources
                    .iter()
                    .filter_map(found)
                    .map(kept_of)
                    .collect();
                // The agent of Hawser's own says otherwise.
                pool.exports = Some(Said::new("none".into(), &at));
                pool.adopted = Some(group);
            }
            Err(why) => page.changed(
                &pool.at,
                what,
                format!("{why}, so Hawser makes its own in their place: clients wait once"),
            ),
        }
    }
}

/// The name of a ZFS pool's resource, if it is not the pool's.
fn own_name(pool: &Pool) -> Option<String> {
    let storage = pool.resources.first()?;
    (pool.kind == PoolKind::Zfs && *storage != pool.name).then(|| storage.clone())
}

/// Each pool's resources: its storage, its addresses and its exports.
fn members<'a>(
    crm: &'a ById,
    picture: &Picture,
    owners: &'a Owners,
) -> BTreeMap<&'a str, Vec<&'a Primitive>> {
    let mut all: BTreeMap<&str, Vec<&Primitive>> = BTreeMap::new();
    for primitive in &crm.primitives {
        let hangs = matches!(
            kind_of(primitive),
            "IPaddr" | "IPaddr2" | "IPv6addr" | "exportfs"
        );
        let storage = owners.with_storage(&primitive.id, picture).is_some();
        if let (true, Some(pool)) = (hangs || storage, owners.get(&primitive.id)) {
            all.entry(pool).or_default().push(primitive);
        }
    }
    all
}

/// The group that all of a pool is in, if it is in one; or why it is not kept.
fn group(
    crm: &ById,
    pool: &Pool,
    members: &[&Primitive],
    names: &HashSet<&str>,
    owners: &Owners,
) -> Result<Option<String>, String> {
    for member in members {
        if said(member).is_none() {
            return Err(format!("{} is {}", quoted(&member.id), member.agent));
        }
        if usable_resource(&member.id).as_ref() != Some(&member.id) {
            return Err(format!("{} is no name for the file", quoted(&member.id)));
        }
        let mode = member.param(&["vg_access_mode"]);
        if kind_of(member) == "LVM-activate" && mode != Some("system_id") {
            let mode = mode.unwrap_or_default();
            return Err(format!(
                "vg_access_mode of {} is {}",
                quoted(&member.id),
                quoted(mode)
            ));
        }
    }
    if let Some(group) = &pool.volume_group {
        let of_group = members
            .iter()
            .filter(|m| m.param(&["vgname", "volgrpname"]) == Some(group));
        if of_group.count() > 1 {
            return Err(format!(
                "volume group {} has several resources",
                quoted(group)
            ));
        }
    }
    let named = |member: &&&Primitive| {
        let device = member.param(&["device"]);
        kind_of(member) == "Filesystem" && device.is_some_and(|device| !device.starts_with('/'))
    };
    if let Some(member) = members.iter().find(named) {
        return Err(format!("the device of {} is no path", quoted(&member.id)));
    }
    if own_name(pool).is_some_and(|id| names.contains(id.as_str())) {
        return Err("another pool has the name of its resource".to_owned());
    }
    let groups: BTreeSet<Option<&str>> = members
        .iter()
        .map(|m| crm.holder(&m.id).map(|holder| holder.id.as_str()))
        .collect();
    let groups: Vec<Option<&str>> = groups.into_iter().collect();
    let group = match groups[..] {
        [group] => group,
        _ => return Err("not all of them are in one group".to_owned()),
    };
    let Some(group) = group else { return Ok(None) };
    let order = crm.around(group).map_or(&[][..], |around| &around.members);
    let owned = order.iter().filter_map(|id| owners.get(id));
    if owned.collect::<BTreeSet<_>>().len() > 1 {
        return Err(format!("group {} has two pools", quoted(group)));
    }
    if usable_resource(group).as_deref() != Some(group) {
        return Err(format!("{} is no name for the file", quoted(group)));
    }
    let mut inside = order.iter().filter_map(|id| crm.primitive(id));
    if inside.any(|p| ["ocf:hawser:exports", hooks::AGENT].contains(&p.agent.as_str())) {
        return Err(format!(
            "what Hawser offers or runs is in group {}",
            quoted(group)
        ));
    }
    // Its storage, then what it offers, then its addresses.
    let rank = |id: &String| {
        let member = members.iter().find(|m| m.id == *id)?;
        Some(match kind_of(member) {
            "exportfs" => 2,
            "IPaddr2" => 3,
            _ => pool.resources.iter().position(|it| it == id)?,
        })
    };
    let ranks: Vec<usize> = order.iter().filter_map(rank).collect();
    match ranks.is_sorted() {
        true => Ok(Some(group.to_owned())),
        false => Err(format!(
            "group {} starts them in another order",
            quoted(group)
        )),
    }
}

/// What the file says of one that is kept.
pub(super) fn kept_of(primitive: &Primitive) -> Kept {
    let said = said(primitive).unwrap_or_default();
    let more = primitive.params.iter();
    // An alias is no interface, and would be another parameter.
    let alias = |name: &str, value: &str| name == "nic" && !is_interface_name(value);
    let more = more.filter(|(name, value)| !said.contains(&name.as_str()) || alias(name, value));
    Kept {
        id: primitive.id.clone(),
        parameters: more
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    }
}

impl Kept {
    /// Whether Hawser would make the very same.
    pub fn is_own(&self, kind: PoolKind, own: &str, part: Part) -> bool {
        let is = |pairs: &[(&str, &str)]| {
            let own = pairs
                .iter()
                .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
            self.parameters == own.collect()
        };
        let same = match (part, kind) {
            (Part::Storage, PoolKind::Zfs) => is(&[("importforce", "true")]),
            (Part::Storage, PoolKind::Lvm) => is(&[("vg_access_mode", "system_id")]),
            (Part::Storage | Part::Files, _) => is(&[]),
            // What Hawser gives an agent beyond what it needs.
            (Part::Address, _) => self.parameters.contains_key("arp_count_refresh"),
            (Part::Nfs, _) => self.parameters.contains_key("fsid"),
        };
        same && self.id == own
    }
}

/// What a kept resource is of its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Storage,
    Files,
    Nfs,
    Address,
}
