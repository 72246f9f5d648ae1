//! Prefix lengths that two hosts have on the same links and that differ: a /32 leaves a link without its
//! subnet, a /16 takes the other links' packets too.

use std::collections::BTreeMap;

use hawser_model::names::{HostName, LinkName};
use serde::Serialize;

use crate::packets::facts::Side;
use crate::view::View;

/// The host with the odd prefix lengths.
#[derive(Serialize)]
pub(super) struct OddPrefixes {
    odd_prefix_host: HostName,
    /// With the addresses: `10.77.0.2/32 on ring0`.
    odd_prefixes: String,
    /// What its addresses have elsewhere.
    usual_prefix_bits: u8,
}

impl OddPrefixes {
    /// Those of `host` or `peer`, where they differ on a link and one length is the usual one.
    pub(super) fn of(view: &View<'_>, host: &HostName, peer: &HostName) -> Option<Self> {
        let own = addresses(view);
        let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
        for (bits, _) in own.values() {
            *counts.entry(*bits).or_default() += 1;
        }
        let most = *counts.values().max()?;
        let mut usual = counts.iter().filter(|(_, n)| **n == most);
        let (usual, second) = (*usual.next()?.0, usual.next());
        let differ: Vec<&LinkName> = own
            .iter()
            .filter(|((_, of), _)| of == host)
            .filter(|((link, _), (bits, _))| {
                let other = own.get(&((*link).clone(), peer.clone()));
                other.is_some_and(|(other, _)| other != bits)
            })
            .map(|((link, _), _)| link)
            .collect();
        let odd = |of: &HostName| -> Vec<String> {
            let on_links = differ
                .iter()
                .map(|link| (*link, own.get(&((*link).clone(), of.clone()))));
            on_links
                .filter_map(|(link, own)| own.map(|(bits, address)| (link, *bits, address)))
                .filter(|(_, bits, _)| *bits != usual)
                .map(|(link, _, address)| format!("{address} on {link}"))
                .collect()
        };
        if second.is_some() {
            return None;
        }
        let (odd_host, odd) = match (odd(host), odd(peer)) {
            (own, others) if !own.is_empty() && others.is_empty() => (host, own),
            (own, others) if own.is_empty() && !others.is_empty() => (peer, others),
            _ => return None,
        };
        Some(Self {
            odd_prefix_host: odd_host.clone(),
            odd_prefixes: odd.join(" and "),
            usual_prefix_bits: usual,
        })
    }

    /// What is odd.
    pub(super) fn text(&self) -> String {
        format!(
            " {} has {}, where the other addresses of the links have /{}.",
            self.odd_prefix_host, self.odd_prefixes, self.usual_prefix_bits
        )
    }

    /// What to do first.
    pub(super) fn fix(&self) -> String {
        format!(
            "Set /{} on {}. If packets still go the other way: ",
            self.usual_prefix_bits, self.odd_prefix_host
        )
    }
}

/// Prefix length, and address with it, of every host on every link that was measured, in the flows' family.
fn addresses(view: &View<'_>) -> BTreeMap<(LinkName, HostName), (u8, String)> {
    let mut found = BTreeMap::new();
    for phase in &view.phases {
        let facts = &phase.facts;
        let ends = [
            (Side::Sender, facts.phase.spec.source),
            (Side::Receiver, facts.phase.spec.receiver),
        ];
        for (side, address) in ends {
            let host = facts.host(side);
            let Some((_, interface)) = view.host(host).and_then(|h| h.interface_with(address))
            else {
                continue;
            };
            let mut own = interface.addresses.iter().filter(|(a, _)| *a == address);
            if let Some((_, bits)) = own.next() {
                let at = (facts.link().clone(), host.clone());
                found.insert(at, (*bits, format!("{address}/{bits}")));
            }
        }
    }
    found
}
