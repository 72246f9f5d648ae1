//! Which interface has which address, and whether `ocf:pacemaker:ifspeed` can tell its carrier.

use std::collections::BTreeMap;
use std::net::IpAddr;

use nix::ifaddrs::InterfaceAddress;

use super::ifspeed::Ifspeed;
use crate::addresses;
use crate::plan::PortFacts;

/// Looks at this machine. Without an answer of the kernel nothing is known.
pub(super) fn look() -> BTreeMap<IpAddr, PortFacts> {
    let all = addresses::own().into_iter();
    let facts = |entry: InterfaceAddress| PortFacts {
        blind: Ifspeed::default().blind(&entry.interface_name),
        interface: entry.interface_name,
    };
    all.map(|(address, entry)| (address, facts(entry)))
        .collect()
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
