//! What a pool is called: as the group that it is in, which is the name that people know it by.

use super::primitives_of;
use crate::crm::Crm;
use crate::page::Page;
use crate::picture::{Picture, PoolKind, usable};
use crate::place::quoted;

/// Gives each pool that is alone in a group the group's name. A ZFS pool has its own, on its disks.
pub(super) fn of_groups(crm: &Crm, picture: &mut Picture, page: &mut Page) {
    for group in crm.around.iter().filter(|around| around.kind == "group") {
        let members = primitives_of(crm, &group.id);
        let of_group = |(i, pool): (usize, &crate::picture::Pool)| {
            let mut resources = pool.resources.iter();
            let within = resources.any(|id| members.contains(&id.as_str()));
            within.then_some(i)
        };
        let inside: Vec<usize> = picture
            .pools
            .iter()
            .enumerate()
            .filter_map(of_group)
            .collect();
        let [only] = inside[..] else { continue };
        let pool = &picture.pools[only];
        // One that is kept is called as its storage is.
        if pool.kind == PoolKind::Zfs || pool.name == group.id || pool.adopted.is_some() {
            continue;
        }
        let (at, was) = (pool.at.clone(), pool.name.clone());
        let what = format!("{}, in group {}", quoted(&was), quoted(&group.id));
        let taken = picture.pools.iter().any(|other| other.name == group.id);
        if taken || usable(&group.id).as_ref() != Some(&group.id) {
            let why = match taken {
                true => "another pool has the group's name".to_owned(),
                false => "a pool's name begins with a letter or digit".to_owned(),
            };
            page.changed(&at, what, format!("{why}: this one is called {was}"));
            continue;
        }
        page.understood(&at, what, format!("[[pool]] {}, by its group", group.id));
        picture.pools[only].name.clone_from(&group.id);
    }
}
