//! `netstat -su` and `/proc/net/snmp`: what the UDP layer of a host refused.
//!
//! `InErrors` holds `RcvbufErrors`, `MemErrors` and `InCsumErrors`, and packets that have none of these reasons: those that a
//! socket's filter or an IPsec policy refuses, and those that cannot be handed to the program
//! (`udp_queue_rcv_one_skb`, `__udp_queue_rcv_skb` and `udp_recvmsg` of `net/ipv4/udp.c`).

use std::collections::BTreeMap;

use hawser_model::output::paste::Pasted;

use super::{BOTH_ENDS, SINCE, number, shown, start};
use crate::place_words::listed;

/// The words of `netstat` (net-tools, `statistics.c`) for the kernel's names.
const WORDS: [(&str, &str); 6] = [
    ("packets to unknown port received", "NoPorts"),
    ("packet receive errors", "InErrors"),
    ("receive buffer errors", "RcvbufErrors"),
    ("send buffer errors", "SndbufErrors"),
    ("packets received", "InDatagrams"),
    ("packets sent", "OutDatagrams"),
];

/// The parts of `InErrors` that have a count of their own.
const PARTS: [&str; 3] = ["RcvbufErrors", "MemErrors", "InCsumErrors"];

pub(super) fn read(text: &str) -> Option<Pasted> {
    let (kind, counters) = match snmp(text) {
        Some(counters) => ("/proc/net/snmp", counters),
        None => ("netstat -su", netstat(text)?),
    };
    let get = |name: &str| counters.get(name).copied();
    let errors = get("InErrors")?;
    let mut said = start(kind);
    for name in [
        "InDatagrams",
        "NoPorts",
        "InErrors",
        "RcvbufErrors",
        "MemErrors",
        "InCsumErrors",
        "SndbufErrors",
    ] {
        said.numbers
            .extend(get(name).map(|value| number(name, value)));
    }
    if errors == 0 {
        said.follows
            .push("The UDP layer of this host refused no packet that reached it.".into());
    } else {
        self::errors(errors, &get, &mut said);
    }
    if let Some(lost) = get("NoPorts").filter(|n| *n > 0) {
        said.follows.push(format!(
            "{} came for a port on which no program listened, and were answered with ICMP port unreachable or ignored as \
             multicast (`hawser explain no-listener`).",
            packets(lost)
        ));
    }
    if let Some(lost) = get("SndbufErrors").filter(|n| *n > 0) {
        said.loss = true;
        said.follows.push(format!(
            "{} were not sent: the program was faster than its send buffer or the queue of the card (`hawser explain \
             sender-queue-drops`).",
            packets(lost)
        ));
    }
    said.open.push(
        "Packets lost before UDP: on the wire, in the card's ring, in the backlog, by a firewall, as a fragment without the \
         others. They are not counted here."
            .into(),
    );
    said.open
        .push("How many were sent: that only the other end knows.".into());
    said.open.push(format!("{SINCE}."));
    said.next.push(
        "`ss -uampn`: which socket dropped (`d` in skmem), how large its buffer is, whose it is"
            .into(),
    );
    said.next.push(BOTH_ENDS.into());
    Some(said)
}

fn packets(n: u64) -> String {
    match n {
        1 => "1 packet".into(),
        n => format!("{} packets", shown(n)),
    }
}

/// What is known of packets that reached UDP and no program.
fn errors(errors: u64, get: &impl Fn(&str) -> Option<u64>, said: &mut Pasted) {
    said.loss = true;
    let whole = get("InDatagrams").map(|delivered| delivered.saturating_add(errors));
    let of = whole.map_or(String::new(), |all| {
        format!(" of {} that reached UDP", shown(all))
    });
    said.follows.push(format!(
        "{}{of} were not given to a program: they arrived at this host, and the wire did not lose them.",
        packets(errors)
    ));
    let known = PARTS.iter().filter_map(|name| get(name));
    let known = known.fold(0_u64, u64::saturating_add);
    for (name, why) in [
        (
            "RcvbufErrors",
            "found the receive buffer of their socket full. Whether the buffer is too small or the reader too slow, the \
             count does not say (`hawser explain receive-buffer-too-small`, `hawser explain reader-too-slow`)",
        ),
        (
            "MemErrors",
            "found no memory left for UDP as a whole, net.ipv4.udp_mem (`hawser explain udp-memory-pressure`)",
        ),
        (
            "InCsumErrors",
            "had a wrong checksum: they were damaged on the way (`hawser explain checksum-errors`)",
        ),
    ] {
        if let Some(lost) = get(name).filter(|n| *n > 0) {
            said.follows.push(format!("{} of them {why}.", shown(lost)));
        }
    }
    match errors.checked_sub(known) {
        None => said.open.push(format!(
            "The parts are more ({}) than the whole ({}): the counters are not of one moment or of one host.",
            shown(known),
            shown(errors)
        )),
        Some(0) => {}
        Some(rest) => {
            let absent: Vec<&str> = PARTS.into_iter().filter(|name| get(name).is_none()).collect();
            let is = if absent.len() == 1 { "is" } else { "are" };
            let absent = match absent.is_empty() {
                true => String::new(),
                false => format!(" {} {is} not printed here and may be among them.", listed(&absent)),
            };
            said.open.push(format!(
                "Why {} of them were refused: no reason is counted.{absent} The kernel counts so also what a socket's own \
                 filter or an IPsec policy refuses, and what it cannot hand to the program.",
                shown(rest)
            ));
        }
    }
    if get("RcvbufErrors") == Some(0) {
        said.open.push(
            "A full receive buffer: it is not counted (RcvbufErrors 0), and InErrors alone does not show one. A larger \
             net.core.rmem_max is an experiment, not a conclusion (`hawser tune` makes it, measures it and takes it back)."
                .into(),
        );
    }
}

/// The two lines `Udp:` of `/proc/net/snmp`.
fn snmp(text: &str) -> Option<BTreeMap<String, u64>> {
    let mut lines = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Udp: "));
    let names = lines.next()?.split_whitespace();
    let mut values = lines.next()?.split_whitespace();
    let mut all = BTreeMap::new();
    for name in names {
        let value = values.next()?.parse().ok()?;
        all.insert(name.to_owned(), value);
    }
    all.contains_key("InErrors").then_some(all)
}

fn netstat(text: &str) -> Option<BTreeMap<String, u64>> {
    let mut all = BTreeMap::new();
    let mut section = "";
    for line in text.lines() {
        let line = line.trim();
        // `Udp:` begins a section; without any the lines are of UDP, or nobody would have pasted them.
        if let Some(name) = line.strip_suffix(':').filter(|name| !name.contains(' ')) {
            section = name;
            continue;
        }
        if !matches!(section, "" | "Udp") {
            continue;
        }
        if let Some((name, value)) = line.split_once(": ") {
            let known = PARTS.contains(&name) || name == "IgnoredMulti";
            if let (true, Ok(value)) = (known, value.trim().parse()) {
                all.insert(name.to_owned(), value);
            }
            continue;
        }
        let Some((value, words)) = line.split_once(' ') else {
            continue;
        };
        let words = words.trim().trim_end_matches('.');
        let known = WORDS.iter().find(|(known, _)| *known == words);
        if let (Some((_, name)), Ok(value)) = (known, value.parse()) {
            all.entry((*name).to_owned()).or_insert(value);
        }
    }
    all.contains_key("InErrors").then_some(all)
}
