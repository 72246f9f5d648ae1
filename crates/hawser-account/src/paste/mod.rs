//! What people paste: counters of one host, without the other end and without a time.
//!
//! Such counters tell some things for certain and leave others open. Both are said, and what to run next; a cause that is
//! not proven is never named as one.

mod card;
mod corosync;
mod link;
mod udp;

use hawser_model::output::paste::{Pasted, PastedNumber};

/// What a text says, output by output; empty when it is none of those that are known.
pub fn pasted(text: &str) -> Vec<Pasted> {
    let all = [
        udp::read(text),
        link::read(text),
        card::read(text),
        corosync::read(text),
    ];
    all.into_iter().flatten().collect()
}

/// The outputs that are known.
pub const KNOWN: &str =
    "netstat -su, /proc/net/snmp, ip -s link, ethtool -S, corosync-cmapctl -m stats";

/// The command that answers what one side cannot.
const BOTH_ENDS: &str = "`hawser check --host A --host B` sends packets that it counts at both ends: each lost one gets \
                         a layer and a host, or stays unattributed";

/// What holds of every counter that is read once.
const SINCE: &str = "When it happened: the counters run since the host was started (or its network namespace was \
                     made). Read them twice under traffic, and what grew is what happens now";

fn start(kind: &str) -> Pasted {
    Pasted {
        kind: kind.to_owned(),
        numbers: Vec::new(),
        loss: false,
        follows: Vec::new(),
        open: Vec::new(),
        next: Vec::new(),
    }
}

fn number(name: &str, value: u64) -> PastedNumber {
    PastedNumber {
        name: name.to_owned(),
        value,
    }
}

/// A number as people read it: thousands apart.
fn shown(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}
