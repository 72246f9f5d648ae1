//! Which pool a resource belongs to: what constraints and groups join.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::primitives_of;
use crate::crm::Score;
use crate::crm::by_id::ById;
use crate::picture::{Picture, Pool};

/// The pool of each resource, and where the pools are in the picture.
pub(super) struct Owners {
    pools: BTreeMap<String, String>,
    named: HashMap<String, usize>,
    storage: HashMap<String, usize>,
}

impl Owners {
    /// The name of the pool that a resource belongs to.
    pub fn get(&self, id: &str) -> Option<&String> {
        self.pools.get(id)
    }

    /// The pool of that name.
    pub fn pool<'a>(&self, name: &str, picture: &'a Picture) -> Option<&'a Pool> {
        self.named.get(name).and_then(|i| picture.pools.get(*i))
    }

    /// The same, to be changed.
    pub fn pool_mut<'a>(&self, name: &str, picture: &'a mut Picture) -> Option<&'a mut Pool> {
        let i = self.named.get(name)?;
        picture.pools.get_mut(*i)
    }

    /// The pool whose storage a resource is.
    pub fn with_storage<'a>(&self, id: &str, picture: &'a Picture) -> Option<&'a Pool> {
        self.storage.get(id).and_then(|i| picture.pools.get(*i))
    }
}

/// The pool of each resource that is joined to a pool's storage, directly or over others. A resource that is joined to two
/// pools belongs to the nearer one.
pub(super) fn owners(crm: &ById, picture: &Picture) -> Owners {
    let mut near: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let join = |all: &[&str]| -> Vec<(String, String)> {
        let pairs = all.windows(2);
        pairs
            .map(|pair| (pair[0].to_owned(), pair[1].to_owned()))
            .collect()
    };
    let mut pairs: Vec<(String, String)> = Vec::new();
    let groups = crm.around.iter().filter(|around| around.kind == "group");
    for group in groups {
        let members: Vec<&str> = group.members.iter().map(String::as_str).collect();
        pairs.extend(join(&members));
    }
    let together = crm
        .colocations
        .iter()
        .filter(|c| c.score == Score::Infinity || c.score.is_positive());
    for constraint in together {
        let members = constraint
            .resources
            .iter()
            .flat_map(|id| primitives_of(crm, id));
        pairs.extend(join(&members.collect::<Vec<_>>()));
    }
    // A clone is on every node: what is with it is not therefore together. A promoted one is on one.
    let promotable = |around: &crate::crm::Around| {
        let said = around.meta.get("promotable");
        around.kind == "ms" || said.is_some_and(|said| said.eq_ignore_ascii_case("true"))
    };
    let clones = crm.around.iter();
    let clones = clones.filter(|around| around.kind != "group" && !promotable(around));
    let cloned: BTreeSet<&str> = clones
        .flat_map(|around| primitives_of(crm, &around.id))
        .collect();
    pairs.retain(|(a, b)| !cloned.contains(a.as_str()) && !cloned.contains(b.as_str()));
    for (a, b) in &pairs {
        near.entry(a).or_default().insert(b);
        near.entry(b).or_default().insert(a);
    }
    let storages = picture.pools.iter().flat_map(|pool| {
        let ids = pool.resources.iter().map(String::as_str);
        ids.map(|id| (id, pool.name.clone())).collect::<Vec<_>>()
    });
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    let mut border: Vec<(&str, String)> = storages.collect();
    // Breadth first: the nearer pool is there before the farther one.
    while !border.is_empty() {
        let mut next = Vec::new();
        for (id, pool) in border {
            if owners.contains_key(id) {
                continue;
            }
            owners.insert(id.to_owned(), pool.clone());
            for other in near.get(id).into_iter().flatten() {
                next.push((*other, pool.clone()));
            }
        }
        border = next;
    }
    let (mut named, mut storage) = (HashMap::new(), HashMap::new());
    for (i, pool) in picture.pools.iter().enumerate() {
        named.entry(pool.name.clone()).or_insert(i);
        for id in &pool.resources {
            storage.entry(id.clone()).or_insert(i);
        }
    }
    Owners {
        pools: owners,
        named,
        storage,
    }
}
