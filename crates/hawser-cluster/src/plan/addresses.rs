//! Addresses that a plan takes from clients: whoever uses one does not wait, but loses it.

use std::collections::BTreeSet;

use crate::simulate::{Directory, Part, PoolMove};
use crate::xml::Element;

/// The addresses of pools that stay, and that lose an address.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Readdressed {
    /// The resources whose address is another one afterwards, or none.
    resources: BTreeSet<String>,
    /// What it means, an address a line.
    pub lines: Vec<String>,
}

impl Readdressed {
    /// Compares two CIBs.
    pub fn of(live: &Element, target: &Element) -> Self {
        let (before, after) = (Directory::of(live), Directory::of(target));
        let stays: BTreeSet<&str> = after.pools().collect();
        let mut all = Self::default();
        for (id, resource) in &before.resources {
            let (Part::Address(old), Some(pool)) = (&resource.part, &resource.pool) else {
                continue;
            };
            let now = after.resources.get(id).map(|resource| &resource.part);
            let becomes = match now {
                Some(Part::Address(new)) if new == old => continue,
                Some(Part::Address(new)) => format!(" and find it at {new}"),
                _ => String::new(),
            };
            // What becomes of the clients of a pool that goes is said of the pool.
            if stays.contains(pool.as_str()) {
                all.resources.insert(id.clone());
                all.lines.push(format!(
                    "clients that use {pool} at {old} lose it for good{becomes}: they must be told"
                ));
            }
        }
        all
    }

    /// Whether nothing of a pool is stopped but such addresses.
    pub fn is_all(&self, pool: &str, place: &PoolMove) -> bool {
        let stays = place.before == place.after && !place.restarted.contains(pool);
        stays && !place.restarted.is_empty() && place.restarted.is_subset(&self.resources)
    }
}
