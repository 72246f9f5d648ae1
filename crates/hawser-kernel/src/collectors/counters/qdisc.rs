//! Queueing disciplines and their classes: `TCA_STATS2` of `RTM_GETQDISC` and `RTM_GETTCLASS`.
//!
//! A root discipline's drops include those of everything below it (`qdisc_tree_reduce_backlog`,
//! and each classful discipline counts a failed enqueue of its child), so roots, `clsact` and
//! `ingress` stand under `qdisc/`, what is below under `qdisc-inner/` and `qdisc-class/`: the
//! sum over `qdisc/IF/` is right. `clsact` has one counter for both directions.

use std::collections::BTreeSet;

use hawser_model::counters::Counters;
use nix::net::if_::if_indextoname;
use nix::sys::socket::SockProtocol;

use super::Source;
use crate::KernelError;
use crate::netlink::{Netlink, attributes, text, u32_at, u64_at};

/// `qdisc/IF/HANDLE/KIND/{packets,bytes,drops,requeues,overlimits}`.
#[derive(Default)]
pub(super) struct Qdiscs {
    socket: Option<Netlink>,
}

const RTM_GETQDISC: u16 = 38;
const RTM_GETTCLASS: u16 = 42;
const TC_H_ROOT: u32 = 0xffff_ffff;
const TC_H_INGRESS: u32 = 0xffff_fff1;
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_PKT64: u16 = 8;
/// `struct tcmsg`: family, padding, interface index, handle, parent, info.
const TC_MESSAGE: usize = 20;

/// Disciplines without classes of their own, or (`tbf`) with one that counts nothing: asking
/// each interface for classes is a request more per interface.
const CLASSLESS: [&str; 11] = [
    "bfifo",
    "clsact",
    "codel",
    "fq",
    "fq_codel",
    "ingress",
    "noqueue",
    "pfifo",
    "pfifo_fast",
    "sfq",
    "tbf",
];

#[derive(Default)]
struct Found {
    counters: Counters,
    classful: BTreeSet<u32>,
}

impl Source for Qdiscs {
    fn name(&self) -> &'static str {
        "qdisc"
    }

    fn read(&mut self, into: &mut Counters) -> Result<(), KernelError> {
        let socket = Netlink::in_slot(&mut self.socket, SockProtocol::NetlinkRoute)?;
        let found = socket.dump(
            "RTM_GETQDISC",
            RTM_GETQDISC,
            &[0; TC_MESSAGE],
            Found::default,
            |found, message| {
                let Some(entry) = Entry::decode(message) else {
                    return;
                };
                if !CLASSLESS.contains(&entry.kind.as_str()) {
                    found.classful.insert(entry.index);
                }
                let family = match entry.parent {
                    TC_H_ROOT | TC_H_INGRESS => "qdisc",
                    _ => "qdisc-inner",
                };
                entry.count(family, &mut found.counters);
            },
        )?;
        into.0.extend(found.counters.0);
        for index in found.classful {
            let mut request = [0; TC_MESSAGE];
            request[4..8].copy_from_slice(&index.to_ne_bytes());
            let classes = socket.dump(
                "RTM_GETTCLASS",
                RTM_GETTCLASS,
                &request,
                Counters::default,
                |classes, message| {
                    if let Some(entry) = Entry::decode(message) {
                        entry.count("qdisc-class", classes);
                    }
                },
            );
            // An interface that was taken away since the first dump has no classes.
            if let Ok(classes) = classes {
                into.0.extend(classes.0);
            }
        }
        Ok(())
    }
}

struct Entry<'a> {
    index: u32,
    handle: u32,
    parent: u32,
    kind: String,
    stats: &'a [u8],
}

impl<'a> Entry<'a> {
    fn decode(message: &'a [u8]) -> Option<Self> {
        let mut entry = Self {
            index: u32_at(message, 4)?,
            handle: u32_at(message, 8)?,
            parent: u32_at(message, 12)?,
            kind: String::new(),
            stats: &[],
        };
        for (kind, payload) in attributes(message.get(TC_MESSAGE..)?) {
            match kind {
                TCA_KIND => entry.kind = text(payload),
                TCA_STATS2 => entry.stats = payload,
                _ => {}
            }
        }
        Some(entry)
    }

    /// The path below the family: `ring0/8001:/tbf`.
    fn path(&self) -> Option<String> {
        let interface = if_indextoname(self.index).ok()?;
        let interface = interface.to_string_lossy();
        // Disciplines that the kernel attached by itself all have handle 0; where they sit
        // tells them apart (`tc` prints them as `0: parent :1`).
        let place = match (self.handle, self.parent) {
            (0, TC_H_ROOT) => "0:".to_owned(),
            (0, parent) => format!("0:@{}", handle(parent)),
            (own, _) => handle(own),
        };
        Some(format!("{interface}/{place}/{}", self.kind))
    }

    fn count(&self, family: &str, into: &mut Counters) {
        let Some(path) = self.path() else {
            return;
        };
        let mut put = |name: &str, value: Option<u64>| {
            if let Some(value) = value {
                into.0.insert(format!("{family}/{path}/{name}"), value);
            }
        };
        for (kind, payload) in attributes(self.stats) {
            let word = |i: usize| u32_at(payload, i * 4).map(u64::from);
            match kind {
                TCA_STATS_BASIC => {
                    put("bytes", u64_at(payload, 0));
                    put("packets", word(2));
                }
                // Sent after BASIC when the packet counter does not fit 32 bits.
                TCA_STATS_PKT64 => put("packets", u64_at(payload, 0)),
                TCA_STATS_QUEUE => {
                    put("drops", word(2));
                    put("requeues", word(3));
                    put("overlimits", word(4));
                }
                _ => {}
            }
        }
    }
}

/// `1:` or `1:10`, as `tc` prints it.
fn handle(number: u32) -> String {
    let (major, minor) = (number >> 16, number & 0xffff);
    match (major, minor) {
        (major, 0) => format!("{major:x}:"),
        (0, minor) => format!(":{minor:x}"),
        (major, minor) => format!("{major:x}:{minor:x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::attribute;

    #[test]
    fn handles_are_written_as_tc_writes_them() {
        assert_eq!(handle(0x8001_0000), "8001:");
        assert_eq!(handle(0x0001_0010), "1:10");
        assert_eq!(handle(2), ":2");
    }

    #[test]
    fn the_loopback_interface_s_discipline_is_decoded() {
        let mut stats = Vec::new();
        let mut basic = 1500u64.to_ne_bytes().to_vec();
        basic.extend(3u32.to_ne_bytes());
        basic.extend([0; 4]);
        attribute(&mut stats, TCA_STATS_BASIC, &basic);
        let queue: Vec<u8> = [0u32, 0, 41, 0, 5]
            .iter()
            .flat_map(|n| n.to_ne_bytes())
            .collect();
        attribute(&mut stats, TCA_STATS_QUEUE, &queue);
        let mut message = vec![0; TC_MESSAGE];
        // Interface 1 is `lo` in every network namespace.
        message[4..8].copy_from_slice(&1u32.to_ne_bytes());
        message[8..12].copy_from_slice(&0x8001_0000u32.to_ne_bytes());
        message[12..16].copy_from_slice(&TC_H_ROOT.to_ne_bytes());
        attribute(&mut message, TCA_KIND, b"tbf\0");
        attribute(&mut message, TCA_STATS2, &stats);
        let mut read = Counters::default();
        Entry::decode(&message).unwrap().count("qdisc", &mut read);
        assert_eq!(
            read,
            Counters::from_iter([
                ("qdisc/lo/8001:/tbf/bytes", 1500),
                ("qdisc/lo/8001:/tbf/packets", 3),
                ("qdisc/lo/8001:/tbf/drops", 41),
                ("qdisc/lo/8001:/tbf/requeues", 0),
                ("qdisc/lo/8001:/tbf/overlimits", 5),
            ])
        );
    }
}
