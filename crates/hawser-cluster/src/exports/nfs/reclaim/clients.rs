//! Whose clients of the kernel's NFS server are a pool's, as `/proc` has it.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use super::super::server::{NFSD, holds};
use super::record::Bytes;

/// Where NFS is served.
const PORT: u16 = 2049;

/// The names of those of NFS 4 who are connected to the pool, or hold something of these file systems.
pub fn of_pool(connected: &BTreeSet<SocketAddr>, devices: &BTreeSet<String>) -> BTreeSet<Bytes> {
    let folders = fs::read_dir(Path::new(NFSD).join("clients"));
    let folders = folders.into_iter().flatten().flatten();
    let clients = folders.filter_map(|folder| {
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).ok();
        let client = Client::parse(&read("info")?)?;
        let is = |peer| connected.contains(&peer);
        let of_pool =
            client.address.is_some_and(is) || holds(&read("states").unwrap_or_default(), devices);
        of_pool.then_some(client.name)
    });
    clients.collect()
}

/// A client, as `info` has it (`client_info_show` in fs/nfsd/nfs4state.c).
#[derive(Debug, PartialEq, Eq)]
struct Client {
    name: Bytes,
    address: Option<SocketAddr>,
}

impl Client {
    fn parse(info: &str) -> Option<Self> {
        let field = |name: &str| {
            let mut lines = info.lines();
            let value = lines.find_map(|line| line.strip_prefix(name))?;
            value.strip_prefix(": \"")?.strip_suffix('"')
        };
        Some(Self {
            name: unquoted(field("name")?)?,
            address: field("address").and_then(|it| it.parse().ok()),
        })
    }
}

/// Bytes as `seq_quote_mem` writes them: a backslash, `x` and two digits for what is no letter of ASCII, a quote or a
/// backslash.
fn unquoted(text: &str) -> Option<Bytes> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'\\' {
            bytes.push(first);
            continue;
        }
        let digits = rest.strip_prefix(b"x")?;
        let digits = std::str::from_utf8(digits.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[3..];
    }
    Some(Bytes(bytes))
}

/// Who is connected to NFS at one of these addresses.
pub fn connected(portals: &[IpAddr]) -> BTreeSet<SocketAddr> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let texts = tables.map(|path| fs::read_to_string(path).unwrap_or_default());
    let all = texts.iter().flat_map(|text| text.lines().skip(1));
    all.filter_map(connection)
        .filter(|(local, _)| local.port() == PORT && portals.contains(&local.ip()))
        .map(|(_, peer)| peer)
        .collect()
}

/// Both ends of a connection that is established (`get_tcp4_sock` in net/ipv4/tcp_ipv4.c): an address is words of 32 bits in
/// the order of this host's bytes.
fn connection(line: &str) -> Option<(SocketAddr, SocketAddr)> {
    const ESTABLISHED: &str = "01";
    let mut fields = line.split_whitespace().skip(1);
    let (local, peer, state) = (fields.next()?, fields.next()?, fields.next()?);
    (state == ESTABLISHED).then_some((end(local)?, end(peer)?))
}

fn end(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let word = |at: usize| {
        let word = u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let ip = match address.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut octets = [0; 16];
            for (into, at) in octets.chunks_exact_mut(4).zip([0, 8, 16, 24]) {
                into.copy_from_slice(&word(at)?);
            }
            // A server that listens for both has clients of IPv4 there too.
            Ipv6Addr::from(octets).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_client_is_what_the_kernel_says_of_it() {
        let info = "clientid: 0xdb7529e86b0895d4\naddress: \"10.72.2.50:1015\"\nstatus: confirmed\n\
                    name: \"Linux NFSv4.1 \\x22client1\\x5c\\x0a\"\nminor version: 1\n";
        let client = Client::parse(info).unwrap();
        assert_eq!(client.name.0, b"Linux NFSv4.1 \"client1\\\n");
        assert_eq!(client.address, "10.72.2.50:1015".parse().ok());
        // IPv6, and what is no address.
        let at = |address: &str| Client::parse(&info.replace("10.72.2.50:1015", address)).unwrap();
        assert_eq!(at("[fd00::1]:7").address, "[fd00::1]:7".parse().ok());
        assert_eq!(at("(null)").address, None);
        // A name that contains a line of its own stays a name: the kernel escapes the line's end.
        assert_eq!(Client::parse("name: \"\\x1\"\n"), None);
        assert_eq!(Client::parse("address: \"10.0.0.1:1\"\n"), None);
    }

    #[test]
    fn connections_are_read_as_the_kernel_writes_them() {
        let line = "   0: CF02480A:0801 3202480A:0375 01 00000000:00000000 02:000AFC69 00000000     0        0 6150 2";
        let (local, peer) = connection(line).unwrap();
        assert_eq!(local, "10.72.2.207:2049".parse().unwrap());
        assert_eq!(peer, "10.72.2.50:885".parse().unwrap());
        assert_eq!(connection(&line.replace(" 01 ", " 0A ")), None);
        let six = "   1: 0000000000000000FFFF0000CF02480A:0801 000000FD0000000000000000010000FE:0007 01 0";
        let (local, peer) = connection(six).unwrap();
        assert_eq!(local, "10.72.2.207:2049".parse().unwrap());
        assert_eq!(peer, "[fd00::fe00:1]:7".parse().unwrap());
    }

    proptest! {
        #[test]
        fn nothing_that_is_said_is_a_panic(text in "\\PC*") {
            let _ = Client::parse(&format!("name: \"{text}\"\n"));
            let _ = connection(&text);
            let _ = end(&text);
        }
    }
}
