//! How long the operations of pools may take.

use std::collections::BTreeSet;

use super::millis;
use crate::crm::by_id::ById;
use crate::page::Page;
use crate::picture::{Picture, PoolKind, Said};
use crate::place::quoted;

/// What Hawser itself gives an operation, in milliseconds; see hawser-cluster's `cib/pools.rs`.
pub(super) fn own_timeout(kind: PoolKind, op: &str) -> u64 {
    match (kind, op) {
        (PoolKind::Zfs, "start") => 300_000,
        (PoolKind::Zfs, "stop") => 180_000,
        (_, "start" | "stop") => 120_000,
        _ => 60_000,
    }
}

/// The longest of each pool's storage.
pub(super) fn translate(crm: &ById, picture: &mut Picture, page: &mut Page) {
    let default = crm.operations.iter().find(|(name, ..)| name == "timeout");
    for pool in &mut picture.pools {
        let own = pool.resources.iter().filter_map(|id| crm.position(id));
        // In the order of the source.
        for i in own.collect::<BTreeSet<_>>() {
            let primitive = &crm.primitives[i];
            for op in ["start", "stop", "monitor"] {
                let default = default.map(|(_, value, _)| value.as_str());
                let Some(value) = primitive.op(op, "timeout").or(default) else {
                    continue;
                };
                let what = format!("{} op {op} timeout={value}", quoted(&primitive.id));
                match millis(value) {
                    Some(ms) if ms == own_timeout(pool.kind, op) => {}
                    Some(ms) if ms > 0 => {
                        let longer = pool.timeouts.get(op).is_none_or(|said| said.value < ms);
                        if longer {
                            page.understood(&primitive.at, what, format!("timeouts.{op}"));
                            pool.timeouts.insert(op, Said::new(ms, &primitive.at));
                        }
                    }
                    _ => page.unsaid(&primitive.at, what, "it is no time"),
                }
            }
        }
    }
}
