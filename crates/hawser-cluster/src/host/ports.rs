//! Which interface has which address, and whether `ocf:pacemaker:ifspeed` can tell its carrier.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use nix::ifaddrs::getifaddrs;

use crate::plan::PortFacts;

/// The kernel's own view of its interfaces.
const INTERFACES: &str = "/sys/class/net";

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
                blind: blind(&Path::new(INTERFACES).join(&entry.interface_name)),
                interface: entry.interface_name,
            };
            ports.insert(address, facts);
        }
    }
    ports
}

/// Why the agent would say 0 for an interface that has a carrier.
fn blind(interface: &Path) -> Option<String> {
    if interface.join("bridge").exists() {
        // ifspeed 1.1 looks for a bridge's ports in `brif`, one folder too high, and finds none.
        return Some("it is a bridge, whose ports the agent does not find".into());
    }
    let read = |name: &str| fs::read_to_string(interface.join(name));
    let carrier = read("carrier").is_ok_and(|text| text.trim() == "1");
    match read("speed") {
        Err(e) if carrier => Some(format!("its driver tells no speed: {e}")),
        Ok(text) if carrier && text.trim() == "0" => Some("its driver tells a speed of 0".into()),
        // Without a carrier drivers tell none.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(files: &[(&str, &str)]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        blind(folder.path())
    }

    #[test]
    fn the_agent_sees_a_carrier_where_the_driver_tells_a_speed() {
        assert_eq!(interface(&[("carrier", "1\n"), ("speed", "10000\n")]), None);
        // Unknown, as virtio says it: not 0, so it counts as a carrier.
        assert_eq!(interface(&[("carrier", "1\n"), ("speed", "-1\n")]), None);
        assert_eq!(interface(&[("carrier", "0\n")]), None);
        for blind in [
            &[("carrier", "1\n")][..],
            &[("carrier", "1\n"), ("speed", "0\n")],
            &[("carrier", "1\n"), ("speed", "10000\n"), ("bridge", "")],
        ] {
            assert!(interface(blind).is_some(), "{blind:?}");
        }
    }

    #[test]
    fn this_machine_has_its_loopback() {
        let ports = look();
        let lo = ports.get(&IpAddr::from([127, 0, 0, 1]));
        assert_eq!(lo.map(|port| port.interface.as_str()), Some("lo"));
    }
}
