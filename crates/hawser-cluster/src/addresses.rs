//! The addresses of this machine's interfaces.

use std::net::IpAddr;

use nix::ifaddrs::{InterfaceAddress, getifaddrs};

/// Each with the interface that has it. Without an answer of the kernel none is known.
pub fn own() -> Vec<(IpAddr, InterfaceAddress)> {
    let all = getifaddrs().into_iter().flatten();
    let with_address = all.filter_map(|entry| {
        let address = entry.address.as_ref()?;
        let v4 = address.as_sockaddr_in().map(|a| IpAddr::V4(a.ip()));
        let v6 = address.as_sockaddr_in6().map(|a| IpAddr::V6(a.ip()));
        Some((v4.or(v6)?, entry))
    });
    with_address.collect()
}
