//! Which interface has which address, and whether `ocf:pacemaker:ifspeed` can tell its carrier.

use std::collections::BTreeMap;
use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;

use super::ifspeed::Ifspeed;
use crate::plan::PortFacts;

/// Looks at this machine. Without an answer of the kernel nothing is known.
pub(super) fn look() -> BTreeMap<IpAddr, PortFacts> {
    let mut ports = BTreeMap::new();
    for entry in getifaddrs().into_iter().flatten() {
        let address = entry.address.as_ref().and_then(|address| {
            let v4 = address.as_sockaddr_in().map(|a| IpAddr::V4(a.ip()));
            v4.or_else(|| address.as_sockaddr_in6().map(|a| IpAddr::V6(a.ip())))
        });
        if let Some(address) = address {
            let facts = PortFacts {
                blind: Ifspeed::default().blind(&entry.interface_name),
                interface: entry.interface_name,
            };
            ports.insert(address, facts);
        }
    }
    ports
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_its_loopback() {
        let ports = look();
        let lo = ports.get(&IpAddr::from([127, 0, 0, 1]));
        assert_eq!(lo.map(|port| port.interface.as_str()), Some("lo"));
    }
}
