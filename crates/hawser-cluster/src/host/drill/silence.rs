//! Packets of some interfaces vanish, as if the switch behind them had lost them: an nftables table of our
//! own, so that addresses and routes stay and one command takes all of it back.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};

use hawser_tool::is_installed;
use nix::net::if_::if_nametoindex;

use crate::host::{NodeError, run};

/// What makes and deletes it.
const NFT: &str = "nft";

/// The table. `create` fails when it is there: two drills do not mix.
const TABLE: [&str; 2] = ["inet", "hawser_drill"];

/// Where nobody answers (RFC 863).
const DISCARD: u16 = 9;

/// Where sshd says which of the head's addresses a session came to: client, port, server, port.
const SESSION: &str = "SSH_CONNECTION";

/// Why that cannot be made here; nothing if it can.
pub(super) fn unfit() -> Option<String> {
    (!is_installed(NFT)).then(|| format!("this machine has no {NFT} (nftables)"))
}

pub(super) fn make(
    addresses: &[IpAddr],
    incoming: bool,
    outgoing: bool,
    percent: u8,
) -> Result<(), NodeError> {
    let mut interfaces = BTreeSet::new();
    for address in addresses {
        interfaces.insert(interface(*address)?);
    }
    // What would be silenced must not be what the order to speak again comes over.
    let session = std::env::var(SESSION).unwrap_or_default();
    let ours = session.split(' ').nth(2).and_then(|it| it.parse().ok());
    if let Some(address) = ours {
        let ours = interface(address)?;
        if interfaces.contains(&ours) {
            return Err(NodeError::Tool {
                command: NFT.into(),
                said: format!(
                    "the drill's own ssh connection comes over {ours}: reach this head over another link"
                ),
            });
        }
    }
    let script = script(&interfaces, incoming, outgoing, percent);
    run::tool(NFT, &["-f", "-"], Some(&script)).map(drop)
}

pub(super) fn shown(addresses: &[IpAddr], outgoing: bool) -> Result<Option<String>, NodeError> {
    let mut packets = counted(&run::tool(NFT, &list(), None)?);
    // A head that nobody talks to on these links, such as one without a pool on a SAN, loses nothing by itself.
    if packets == 0 && outgoing {
        for address in addresses {
            knock(*address)?;
        }
        packets = counted(&run::tool(NFT, &list(), None)?);
    }
    Ok((packets > 0).then(|| format!("{packets} packets suffered it by now")))
}

/// Sends a datagram to nobody's service at all hosts of a link: a switch would not pass on more.
fn knock(from: IpAddr) -> Result<(), NodeError> {
    let to = match from {
        IpAddr::V4(_) => SocketAddr::from((Ipv4Addr::new(224, 0, 0, 1), DISCARD)),
        IpAddr::V6(_) => {
            let index = if_nametoindex(interface(from)?.as_str()).unwrap_or(0);
            let all = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
            SocketAddrV6::new(all, DISCARD, 0, index).into()
        }
    };
    // A packet that netfilter drops on its way out may be an error to who sent it.
    let _dropped = UdpSocket::bind((from, 0)).and_then(|socket| socket.send_to(b"", to));
    Ok(())
}

pub(super) fn mend() -> Result<(), NodeError> {
    mend_with(NFT)
}

/// Whoever has no such program has no table of ours.
fn mend_with(nft: &str) -> Result<(), NodeError> {
    let there = is_installed(nft) && run::output(nft, &list(), None)?.status.success();
    match there {
        true => run::tool(nft, &["delete", "table", TABLE[0], TABLE[1]], None).map(drop),
        false => Ok(()),
    }
}

fn list() -> [&'static str; 4] {
    ["list", "table", TABLE[0], TABLE[1]]
}

/// The interface with an address of this head's.
fn interface(address: IpAddr) -> Result<String, NodeError> {
    let text = address.to_string();
    let arguments = ["-o", "addr", "show", "to", &text];
    let said = run::tool("ip", &arguments, None)?;
    named(&said).ok_or_else(|| NodeError::Tool {
        command: format!("ip {}", arguments.join(" ")),
        said: format!("no interface of this head has {address}"),
    })
}

/// `2: ring0    inet 10.72.0.1/24 …`, with `ring0@if7` where there is a lower one.
fn named(line: &str) -> Option<String> {
    let word = line.split_whitespace().nth(1)?;
    Some(word.split('@').next()?.trim_end_matches(':').to_owned())
}

fn script(interfaces: &BTreeSet<String>, incoming: bool, outgoing: bool, percent: u8) -> String {
    let names: Vec<String> = interfaces
        .iter()
        .map(|name| format!("\"{name}\""))
        .collect();
    let names = names.join(", ");
    let chance = match percent {
        100.. => String::new(),
        some => format!("numgen random mod 100 < {some} "),
    };
    let [family, table] = TABLE;
    let mut script = format!("create table {family} {table}\n");
    // Before anything else of netfilter's: as lost on the wire.
    for (wanted, hook, key) in [
        (incoming, "prerouting", "iifname"),
        (outgoing, "postrouting", "oifname"),
    ] {
        if wanted {
            script += &format!(
                "add chain {family} {table} {hook} {{ type filter hook {hook} priority -300; }}\n\
                 add rule {family} {table} {hook} {key} {{ {names} }} {chance}counter drop\n"
            );
        }
    }
    script
}

/// The packets that the table's rules have counted.
fn counted(listing: &str) -> u64 {
    let counts = listing.split("counter packets ").skip(1);
    counts
        .filter_map(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_of_all_interfaces_vanish() {
        let both = BTreeSet::from(["ring0".to_owned(), "ring1".to_owned()]);
        let text = script(&both, true, true, 100);
        assert!(text.starts_with("create table inet hawser_drill\n"));
        assert!(text.contains("prerouting iifname { \"ring0\", \"ring1\" } counter drop"));
        assert!(text.contains("postrouting oifname { \"ring0\", \"ring1\" } counter drop"));
        let one_way = script(&both, false, true, 20);
        assert!(!one_way.contains("iifname"));
        assert!(one_way.contains("} numgen random mod 100 < 20 counter drop"));
    }

    #[test]
    fn nothing_is_left_to_mend_where_the_program_is_missing() {
        mend_with("nft-that-nobody-has").unwrap();
    }

    #[test]
    fn an_interface_is_named_and_packets_are_counted() {
        let line = "2: ring0@if7    inet 10.72.0.1/24 scope global ring0\\ valid_lft forever\n";
        assert_eq!(named(line).as_deref(), Some("ring0"));
        assert_eq!(named(""), None);
        let listing = "table inet hawser_drill {\n iifname \"ring0\" counter packets 12 bytes 900 drop\n\
                       oifname \"ring0\" counter packets 3 bytes 200 drop\n}";
        assert_eq!(counted(listing), 15);
    }
}
