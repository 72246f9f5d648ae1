//! `[pool.adopted]`: what a pool keeps of the cluster that it was on.

use std::fmt::Write as _;

use super::{key, quoted};
use crate::picture::{Kept, Pool, PoolKind};
use crate::translate::adopted::Part;

/// The tables of a pool whose resources are kept; nothing of one that Hawser made itself.
pub(super) fn adopted(out: &mut String, pool: &Pool) -> std::fmt::Result {
    let Some(group) = &pool.adopted else {
        return Ok(());
    };
    let all = resources(pool);
    let own = all
        .iter()
        .all(|(own, part, kept)| kept.is_own(pool.kind, own, *part));
    if group.is_none() && own {
        return Ok(());
    }
    writeln!(
        out,
        "\n# Not made by Hawser, and kept: nothing stops. Without this Hawser makes its own."
    )?;
    writeln!(out, "[pool.adopted]")?;
    if let Some(group) = group {
        writeln!(out, "group = {}", quoted(group))?;
    }
    for (own, part, kept) in all {
        if group.is_none() && kept.is_own(pool.kind, &own, part) {
            continue;
        }
        writeln!(out, "\n[pool.adopted.resources.{}]", key(&own))?;
        if kept.id != own {
            writeln!(out, "id = {}", quoted(&kept.id))?;
        }
        let pairs = kept.parameters.iter();
        let pairs: Vec<String> = pairs
            .map(|(n, v)| format!("{} = {}", key(n), quoted(v)))
            .collect();
        if !pairs.is_empty() {
            writeln!(out, "parameters = {{ {} }}", pairs.join(", "))?;
        }
    }
    Ok(())
}

/// What is kept, each with the name that Hawser would give it; see hawser-model's `Pool`.
fn resources(pool: &Pool) -> Vec<(String, Part, &Kept)> {
    let mut all = Vec::new();
    for (i, kept) in pool.kept.iter().enumerate() {
        match (i, pool.kind) {
            (1, PoolKind::Lvm) => all.push((format!("{}-files", pool.name), Part::Files, kept)),
            _ => all.push((pool.name.clone(), Part::Storage, kept)),
        }
    }
    for (i, nfs) in pool.nfs.iter().enumerate() {
        let kept = nfs.value.kept.iter();
        all.extend(kept.map(|kept| (format!("{}-nfs{}", pool.name, i + 1), Part::Nfs, kept)));
    }
    let mut links: Vec<&str> = Vec::new();
    for address in &pool.addresses {
        let Some(link) = address.link.as_deref() else {
            continue;
        };
        links.push(link);
        let own = match links.iter().filter(|other| **other == link).count() {
            1 => format!("{}-{link}", pool.name),
            n => format!("{}-{link}-{n}", pool.name),
        };
        all.extend(address.kept.as_ref().map(|kept| (own, Part::Address, kept)));
    }
    all
}
