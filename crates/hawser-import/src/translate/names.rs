//! What a pool is called: as the group that it is in, which is the name that people know it by.

use std::collections::{BTreeSet, HashMap};

use super::primitives_of;
use crate::crm::by_id::ById;
use crate::page::Page;
use crate::picture::{Picture, PoolKind, usable_resource};
use crate::place::quoted;

/// Gives each pool that is alone in a group the group's name. A ZFS pool has its own, on its disks.
pub(super) fn of_groups(crm: &ById, picture: &mut Picture, page: &mut Page) {
    // Two pools may have one resource where a source has one id twice.
    let mut storage: HashMap<String, Vec<usize>> = HashMap::new();
    for (i, pool) in picture.pools.iter().enumerate() {
        for id in &pool.resources {
            storage.entry(id.clone()).or_default().push(i);
        }
    }
    let mut names: HashMap<String, usize> = HashMap::new();
    for pool in &picture.pools {
        *names.entry(pool.name.clone()).or_default() += 1;
    }
    for group in crm.around.iter().filter(|around| around.kind == "group") {
        let members = primitives_of(crm, &group.id);
        let inside = members.iter().filter_map(|id| storage.get(*id)).flatten();
        let inside: BTreeSet<usize> = inside.copied().collect();
        let (Some(&only), 1) = (inside.first(), inside.len()) else {
            continue;
        };
        let pool = &picture.pools[only];
        // One that is kept is called as its storage is.
        if pool.kind == PoolKind::Zfs || pool.name == group.id || pool.adopted.is_some() {
            continue;
        }
        let (at, was) = (pool.at.clone(), pool.name.clone());
        let what = format!("{}, in group {}", quoted(&was), quoted(&group.id));
        let taken = names.get(&group.id).is_some_and(|n| *n > 0);
        if taken || usable_resource(&group.id).as_ref() != Some(&group.id) {
            let why = match taken {
                true => "another pool has the group's name".to_owned(),
                false => "a pool's name begins with a letter".to_owned(),
            };
            page.changed(&at, what, format!("{why}: this one is called {was}"));
            continue;
        }
        page.understood(&at, what, format!("[[pool]] {}, by its group", group.id));
        *names.entry(was).or_default() -= 1;
        *names.entry(group.id.clone()).or_default() += 1;
        picture.pools[only].name.clone_from(&group.id);
    }
}
