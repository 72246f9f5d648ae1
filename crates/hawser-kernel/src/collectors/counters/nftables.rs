//! Counters of nftables rules, by netlink (`NFT_MSG_GETRULE`): no `nft` program is needed.
//!
//! `iptables-nft` makes rules of the same kind, each with a counter.

use hawser_model::counters::Counters;
use nix::sys::socket::SockProtocol;

use super::Source;
use crate::KernelError;
use crate::netlink::{Netlink, attributes, find, text};

/// `nft/FAMILY/TABLE/CHAIN/HANDLE/packets` for every rule with a counter, and `…/drops`, the
/// same number, where the rule then drops or rejects what it counted.
#[derive(Default)]
pub(super) struct Nftables {
    socket: Option<Netlink>,
}

/// Subsystem 10 (`NFNL_SUBSYS_NFTABLES`), message 7 (`NFT_MSG_GETRULE`).
const GET_RULE: u16 = 10 << 8 | 7;
/// `struct nfgenmsg`: family, version, resource.
const NFGEN_MESSAGE: usize = 4;
const NFTA_RULE_TABLE: u16 = 1;
const NFTA_RULE_CHAIN: u16 = 2;
const NFTA_RULE_HANDLE: u16 = 3;
const NFTA_RULE_EXPRESSIONS: u16 = 4;
const NFTA_LIST_ELEM: u16 = 1;
const NFTA_EXPR_NAME: u16 = 1;
const NFTA_EXPR_DATA: u16 = 2;
const NFTA_COUNTER_PACKETS: u16 = 2;
const NFTA_IMMEDIATE_DATA: u16 = 2;
const NFTA_DATA_VERDICT: u16 = 2;
const NFTA_VERDICT_CODE: u16 = 1;
const NF_DROP: u32 = 0;

impl Source for Nftables {
    fn name(&self) -> &'static str {
        "nftables"
    }

    fn read(&mut self, into: &mut Counters) -> Result<(), KernelError> {
        let socket = Netlink::in_slot(&mut self.socket, SockProtocol::NetlinkNetFilter)?;
        let rules = socket.dump(
            "NFT_MSG_GETRULE",
            GET_RULE,
            &[0; NFGEN_MESSAGE],
            Counters::default,
            |rules, message| {
                rule(message, rules);
            },
        )?;
        into.0.extend(rules.0);
        Ok(())
    }
}

fn rule(message: &[u8], into: &mut Counters) -> Option<()> {
    let family = family(*message.first()?);
    let (mut table, mut chain, mut handle) = (String::new(), String::new(), 0);
    let mut expressions: &[u8] = &[];
    for (kind, payload) in attributes(message.get(NFGEN_MESSAGE..)?) {
        match kind {
            NFTA_RULE_TABLE => table = text(payload),
            NFTA_RULE_CHAIN => chain = text(payload),
            NFTA_RULE_HANDLE => handle = big_endian(payload)?,
            NFTA_RULE_EXPRESSIONS => expressions = payload,
            _ => {}
        }
    }
    let path = format!("nft/{family}/{table}/{chain}/{handle}");
    let mut counted = None;
    for (_, expression) in attributes(expressions).filter(|(kind, _)| *kind == NFTA_LIST_ELEM) {
        let name = find(expression, NFTA_EXPR_NAME).map_or_else(String::new, text);
        let data = find(expression, NFTA_EXPR_DATA).unwrap_or(&[]);
        match name.as_str() {
            "counter" => {
                counted = big_endian(find(data, NFTA_COUNTER_PACKETS)?);
                into.0.insert(format!("{path}/packets"), counted?);
            }
            "log" => {}
            "reject" => drops(&path, counted, into),
            "immediate" if verdict(data) == Some(NF_DROP) => drops(&path, counted, into),
            // A condition after the counter: what was counted need not have been dropped.
            _ => counted = None,
        }
    }
    Some(())
}

fn drops(path: &str, counted: Option<u64>, into: &mut Counters) {
    if let Some(packets) = counted {
        into.0.insert(format!("{path}/drops"), packets);
    }
}

fn verdict(immediate: &[u8]) -> Option<u32> {
    let data = find(immediate, NFTA_IMMEDIATE_DATA)?;
    let code = find(find(data, NFTA_DATA_VERDICT)?, NFTA_VERDICT_CODE)?;
    Some(u32::from_be_bytes(*code.first_chunk()?))
}

fn big_endian(payload: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*payload.first_chunk()?))
}

/// `enum nf_inet_hooks`' families, by the names `nft` gives them.
fn family(number: u8) -> String {
    match number {
        1 => "inet".to_owned(),
        2 => "ip".to_owned(),
        3 => "arp".to_owned(),
        5 => "netdev".to_owned(),
        7 => "bridge".to_owned(),
        10 => "ip6".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::attribute;

    fn nested(parts: &[(u16, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        for (kind, payload) in parts {
            attribute(&mut out, *kind, payload);
        }
        out
    }

    fn expression(name: &str, data: &[u8]) -> Vec<u8> {
        let name = format!("{name}\0");
        nested(&[(NFTA_EXPR_NAME, name.as_bytes()), (NFTA_EXPR_DATA, data)])
    }

    fn read(expressions: &[Vec<u8>]) -> Counters {
        let list: Vec<(u16, &[u8])> = expressions
            .iter()
            .map(|e| (NFTA_LIST_ELEM, &e[..]))
            .collect();
        let mut message = vec![1, 0, 0, 0];
        message.extend(nested(&[
            (NFTA_RULE_TABLE, b"filter\0"),
            (NFTA_RULE_CHAIN, b"input\0"),
            (NFTA_RULE_HANDLE, &4u64.to_be_bytes()),
            (NFTA_RULE_EXPRESSIONS, &nested(&list)),
        ]));
        let mut into = Counters::default();
        rule(&message, &mut into);
        into
    }

    #[test]
    fn a_rule_that_drops_what_it_counted_says_so_and_another_does_not() {
        let counter = expression(
            "counter",
            &nested(&[(1, &900u64.to_be_bytes()), (2, &7u64.to_be_bytes())]),
        );
        let verdict = nested(&[(NFTA_VERDICT_CODE, &NF_DROP.to_be_bytes())]);
        let data = nested(&[(NFTA_DATA_VERDICT, &verdict)]);
        let drop = expression(
            "immediate",
            &nested(&[(1, &0u32.to_be_bytes()), (NFTA_IMMEDIATE_DATA, &data)]),
        );
        let compare = expression("cmp", &[]);
        let dropping = Counters::from_iter([
            ("nft/inet/filter/input/4/packets", 7),
            ("nft/inet/filter/input/4/drops", 7),
        ]);
        let counting = Counters::from_iter([("nft/inet/filter/input/4/packets", 7)]);
        assert_eq!(
            read(&[compare.clone(), counter.clone(), drop.clone()]),
            dropping
        );
        assert_eq!(read(&[counter.clone(), compare, drop.clone()]), counting);
        assert_eq!(read(&[counter]), counting);
        assert_eq!(read(&[drop]), Counters::default());
    }
}
