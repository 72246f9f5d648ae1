//! Resources that a pool keeps of a cluster that others made: their parameters, and the group that they are in.

use hawser_model::cluster_file::{Pool, said_by_file};

use super::build::{nvpairs, pair};
use crate::xml::Element;

/// Whether both are in the pool's group, which starts one after the other and keeps them together.
pub(super) fn in_one_group(pool: &Pool, a: &str, b: &str) -> bool {
    pool.group_of(a).is_some() && pool.group_of(b).is_some()
}

/// Gives what is kept its parameters, and puts it into its group.
pub(super) fn keep(pool: &Pool, resources: &mut Vec<Element>) {
    let id = |resource: &Element| resource.get("id").unwrap_or_default().to_owned();
    for resource in resources.iter_mut() {
        let id = id(resource);
        if let Some(kept) = pool.kept_parameters(&id) {
            let kind = resource.get("type").unwrap_or_default().to_owned();
            // Of Hawser's own parameters all others are left out: another parameter stops a resource and starts it again.
            let said = said_by_file(&kind).unwrap_or_default();
            // Options of an export that the file leaves out are Hawser's own.
            let unsaid =
                |name: &str| name == "options" && kind == "exportfs" && !options(pool, &id);
            let set = resource.first_or_new("instance_attributes");
            let own = set.children.iter().filter_map(|it| {
                let (name, value) = (it.get("name")?, it.get("value")?);
                (said.contains(&name) && !unsaid(name)).then(|| pair(name, value))
            });
            let mut all: Vec<_> = own.chain(kept.iter().map(|(n, v)| pair(n, v))).collect();
            all.sort();
            *set = nvpairs("instance_attributes", &format!("{id}-params"), &all);
        }
    }
    let group = pool.adopted.as_ref().and_then(|it| it.group.as_ref());
    let Some(group) = group else { return };
    let all = std::mem::take(resources);
    let (inside, outside): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|it| pool.group_of(&id(it)).is_some());
    let group = Element::new("group").with("id", group.as_str());
    resources.push(group.children(inside));
    resources.extend(outside);
}

/// Whether the file says the options of this export.
fn options(pool: &Pool, id: &str) -> bool {
    let mut all = pool.nfs.iter().enumerate();
    all.any(|(i, nfs)| nfs.options.is_some() && pool.nfs_id(i) == id)
}
