//! Who may mount a directory.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

/// An address, a network or everybody. No names: who asks a name server while a pool is taken over
/// waits for it, and may wait for one that lives on that pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    /// `*`.
    Everybody,
    /// `192.0.2.1`.
    Host(IpAddr),
    /// `192.0.2.0/24`.
    Network(IpNet),
}

/// It is none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAClient;

impl FromStr for Client {
    type Err = NotAClient;

    fn from_str(text: &str) -> Result<Self, NotAClient> {
        if text == "*" {
            return Ok(Self::Everybody);
        }
        if let Ok(host) = text.parse() {
            return Ok(Self::Host(host));
        }
        let network: IpNet = text.parse().map_err(|_| NotAClient)?;
        if network.trunc() != network {
            return Err(NotAClient);
        }
        Ok(match network.prefix_len() == network.max_prefix_len() {
            true => Self::Host(network.addr()),
            false => Self::Network(network),
        })
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everybody => f.write_str("*"),
            Self::Host(host) => host.fmt(f),
            Self::Network(network) => network.fmt(f),
        }
    }
}

/// A client as `exportfs` wants it before a colon: IPv6 addresses in brackets, the length behind
/// them (exportfs(8)).
pub(super) fn bracketed(client: &str) -> String {
    match client.split_once('/') {
        _ if !client.contains(':') => client.to_owned(),
        Some((address, length)) => format!("[{address}]/{length}"),
        None => format!("[{client}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_networks_and_everybody() {
        let read = |text: &str| text.parse::<Client>().map(|client| client.to_string());
        for text in ["*", "192.0.2.1", "192.0.2.0/24", "fd00::1", "fd00::/64"] {
            assert_eq!(read(text).as_deref(), Ok(text));
        }
        assert_eq!(read("192.0.2.1/32").as_deref(), Ok("192.0.2.1"));
        assert_eq!(read("fd00:0::/64").as_deref(), Ok("fd00::/64"));
        for text in ["client1", "*.example.com", "@hosts", "192.0.2.1/24", ""] {
            assert_eq!(read(text), Err(NotAClient), "{text}");
        }
    }

    #[test]
    fn colons_are_told_from_the_one_before_the_path() {
        assert_eq!(bracketed("192.0.2.0/24"), "192.0.2.0/24");
        assert_eq!(bracketed("fd00::1"), "[fd00::1]");
        assert_eq!(bracketed("fd00::/64"), "[fd00::]/64");
    }
}
