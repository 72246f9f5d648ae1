//! What constraints say that a pool does not: colocations and orders.

use std::collections::BTreeSet;

use super::members::Owners;
use super::pools::kind_of;
use super::primitives_of;
use crate::crm::Score;
use crate::crm::by_id::ById;
use crate::page::Page;
use crate::picture::Picture;
use crate::place::quoted;

/// What constraints say that a pool does not.
pub(super) fn translate(crm: &ById, picture: &Picture, owners: &Owners, page: &mut Page) {
    let pools = |resources: &[String]| -> BTreeSet<&String> {
        let members = resources.iter().flat_map(|id| primitives_of(crm, id));
        members.filter_map(|id| owners.get(id)).collect()
    };
    let ours = |id: &str| {
        let found = crm.primitive(id);
        found.is_none_or(|p| {
            const OWN: [&str; 13] = [
                "ZFS",
                "Filesystem",
                "LVM-activate",
                "LVM",
                "IPaddr",
                "IPaddr2",
                "IPv6addr",
                "exportfs",
                "exports",
                "hooks",
                "iSCSITarget",
                "iSCSILogicalUnit",
                "portblock",
            ];
            OWN.contains(&kind_of(p))
        })
    };
    // A clone of these is not needed: each head's own ports are watched.
    let watches = |id: &str| {
        let found = crm.primitive(id);
        found.is_some_and(|p| matches!(kind_of(p), "ping" | "pingd" | "ethmonitor"))
    };
    // A clone is another's, whatever is cloned, and so is a group without a resource of a pool.
    let foreign = |id: &str| match crm.around(id) {
        Some(around) => {
            let mut members = around.members.iter().flat_map(|id| primitives_of(crm, id));
            match around.kind {
                "group" => !members.any(&ours),
                _ => !members.all(watches),
            }
        }
        None => crm.primitive(id).is_some() && !ours(id),
    };
    // What others have among themselves is theirs.
    let of_others = |resources: &[String]| resources.iter().all(|id| foreign(id));
    // A constraint of something foreign names what Hawser makes under another name.
    let about_foreign = |resources: &[String], of: &BTreeSet<&String>| {
        let foreign: Vec<&str> = resources
            .iter()
            .map(String::as_str)
            .filter(|id| foreign(id))
            .collect();
        (!foreign.is_empty() && !of.is_empty()).then(|| {
            let pools: Vec<&str> = of.iter().map(|pool| pool.as_str()).collect();
            let (foreign, pools) = (foreign.join(", "), pools.join(", "));
            let storage = |pool: &&String| resources.contains(pool);
            let grouped = |pool: &&String| crm.around(pool).is_some();
            match (of.iter().all(storage), of.iter().any(grouped)) {
                (true, false) => format!("{foreign} is foreign: it stays, {pools} is the pool's resource"),
                // By the group's name, which goes with the group.
                (true, true) => format!(
                    "{foreign} is foreign: write this constraint again once {pools}, the pool's resource, is made"
                ),
                (false, _) => format!("{foreign} is foreign: let its constraint name {pools}, the pool's resource"),
            }
        })
    };
    // What others have with a pool that is kept, they keep.
    let stays = |of: &BTreeSet<&String>| {
        let mut all = of.iter().filter_map(|name| owners.pool(name, picture));
        all.any(|pool| pool.adopted.is_some())
    };
    unknown(crm, page);
    for constraint in crm.colocations.iter().filter(|c| !of_others(&c.resources)) {
        let of = pools(&constraint.resources);
        if let (Some(_), true) = (about_foreign(&constraint.resources, &of), stays(&of)) {
            let what = format!("colocation of {}", constraint.resources.join(", "));
            page.foreign(&constraint.at, what, "it stays as it is");
            continue;
        }
        if let Some(why) = about_foreign(&constraint.resources, &of) {
            page.unsaid(
                &constraint.at,
                format!("colocation of {}", constraint.resources.join(", ")),
                why,
            );
            continue;
        }
        let what = format!("colocation of {}", constraint.resources.join(", "));
        let negative = constraint.score < Score::Finite(0);
        match (of.len(), negative) {
            (0, _) => {}
            (1, false) => page.understood(
                &constraint.at,
                what,
                "a pool and what hangs on it are together",
            ),
            (1, true) => page.unsaid(
                &constraint.at,
                what,
                "what belongs to a pool is always together with it",
            ),
            (_, true) => page.unsaid(
                &constraint.at,
                what,
                "pools have no wish to be apart: `prefer` says where each is",
            ),
            (_, false) => page.unsaid(&constraint.at, what, "each pool moves by itself"),
        }
    }
    let address = |id: &str| {
        let found = crm.primitive(id);
        found.is_some_and(|p| kind_of(p).starts_with("IP"))
    };
    for order in crm
        .orders
        .iter()
        .filter(|order| !of_others(&order.resources))
    {
        let of = pools(&order.resources);
        let what = format!("order of {}", order.resources.join(", "));
        if let (Some(_), true) = (about_foreign(&order.resources, &of), stays(&of)) {
            page.foreign(&order.at, what, "it stays as it is");
            continue;
        }
        if let Some(why) = about_foreign(&order.resources, &of) {
            page.unsaid(&order.at, what, why);
            continue;
        }
        let storage = |id: &String| owners.with_storage(id, picture).is_some();
        let first = order.resources.first();
        match of.len() {
            0 => {}
            1 if first.is_some_and(|id| address(id)) && order.resources.iter().any(storage) => {
                page.changed(
                    &order.at,
                    what,
                    "an address comes last and goes first, or clients find no disk behind it",
                );
            }
            1 => page.understood(&order.at, what, "storage, then exports, then addresses"),
            _ => page.unsaid(&order.at, what, "each pool starts by itself"),
        }
    }
}

/// Constraints and groups of what is nowhere.
fn unknown(crm: &ById, page: &mut Page) {
    let there = |id: &str| {
        let within = crm.around(id).is_some() || crm.set(id).is_some();
        within || crm.primitive(id).is_some()
    };
    let around = crm.around.iter();
    // What is in a bundle is its containers' as well.
    for around in around.filter(|around| around.kind != "bundle") {
        for id in around.members.iter().filter(|id| !there(id)) {
            let what = format!("{} {}", around.kind, quoted(&around.id));
            page.mistake(
                &around.at,
                what,
                format!("there is no resource {}", quoted(id)),
            );
        }
    }
    let locations = crm.locations.iter().map(|l| (&l.resources, &l.at));
    let together = crm.colocations.iter().chain(&crm.orders);
    let together = together.map(|together| (&together.resources, &together.at));
    for (resources, at) in locations.chain(together) {
        for id in resources {
            if !there(id) {
                let why = format!("there is no resource {}", quoted(id));
                page.mistake(at, "a constraint", why);
            }
        }
    }
}
