//! Kronosnet, Corosync's transport: its receive buffers, and what Corosync's statistics say of its links.
//!
//! It asks for 8 MiB with `SO_RCVBUF`, reads back what it got, and forces it (`SO_RCVBUFFORCE`) only where that is less
//! (`_configure_sockbuf`, `libknet/transport_common.c`). The kernel cuts the request at `net.core.rmem_max` and doubles
//! what is left (socket(7)), so a limit from 4 MiB to below 8 MiB reads as content and leaves half of the 16 MiB.

use std::collections::BTreeMap;
use std::ops::Range;

use hawser_model::case::PhaseKind;
use hawser_model::knob::Knob;
use hawser_model::names::{HostName, LinkName};
use hawser_model::sockets::SocketFacts;
use hawser_model::trial::TrialTraffic;
use hawser_model::units::Bytes;

use crate::fixes::{Candidate, Taken, TrialValue};
use crate::view::View;

/// What it asks for (`KNET_RING_RCVBUFF`, `libknet/internals.h`).
pub(crate) const ASKED: u64 = 8 << 20;

/// What is in force where it gets that.
const GRANTED: u64 = 2 * ASKED;

/// The values of `net.core.rmem_max` with which it gets half.
const HALVING: Range<u64> = 4 << 20..ASKED;

/// The warning that belongs to every advice to raise `rmem_max`.
pub(crate) const TRAP: &str = "Where Corosync runs, do not leave net.core.rmem_max between 4194304 and \
                               8388607: kronosnet would then get half its buffer.";

/// Whether the host's Corosync runs over it: its statistics have links.
pub(crate) fn used(view: &View<'_>, host: &HostName) -> bool {
    view.host(host)
        .and_then(|h| h.corosync.as_ref())
        .is_some_and(|c| c.stats.keys().any(|key| key.contains("knet")))
}

/// What it asks for, if this is a socket of it that has less.
pub(crate) fn asked(view: &View<'_>, host: &HostName, socket: &SocketFacts) -> Option<Bytes> {
    let its_own = socket.process.as_deref() == Some("corosync") && used(view, host);
    (its_own && socket.receive_buffer.0 < ASKED).then_some(Bytes(ASKED))
}

/// A socket of it whose buffer is smaller than what it asks for.
pub(crate) struct Low {
    socket: SocketFacts,
    /// `net.core.rmem_max`.
    limit: Option<u64>,
}

impl Low {
    /// Of this socket, if it is one.
    pub(crate) fn of(view: &View<'_>, host: &HostName, socket: &SocketFacts) -> Option<Self> {
        let its_own = socket.process.as_deref() == Some("corosync") && used(view, host);
        (its_own && socket.receive_buffer.0 < GRANTED).then(|| Self {
            socket: socket.clone(),
            limit: view.sysctl(host, "net.core.rmem_max"),
        })
    }

    /// What might cure it: the buffer that it asks for, set while it runs. Where it would not get that when it starts again,
    /// also the limit with which it does.
    pub(crate) fn candidates(&self) -> Vec<Option<Candidate>> {
        let knob = Knob::SocketBuffer {
            process: self.socket.process.clone().unwrap_or_default(),
            local: self.socket.local,
            inode: self.socket.inode,
        };
        let running = Candidate::new(knob, TrialValue::AtLeast(GRANTED));
        let limit = self.limit.filter(|limit| self.at_start(*limit) < GRANTED);
        let lasting = limit.map(|_| Candidate {
            taken: Taken::AtEngineStart,
            ..Candidate::new(
                Knob::Sysctl {
                    name: "net.core.rmem_max".to_owned(),
                },
                TrialValue::AtLeast(ASKED),
            )
        });
        vec![Some(running), lasting]
    }

    /// What the kernel grants it when it starts now. That it may not force a buffer shows in a socket that has what the
    /// limit grants unforced.
    fn at_start(&self, limit: u64) -> u64 {
        let unforced = 2 * limit.min(ASKED);
        match HALVING.contains(&limit) || self.socket.receive_buffer.0 == unforced {
            true => unforced,
            false => GRANTED,
        }
    }
}

/// What the engine of a host drops of its own traffic.
pub(crate) fn traffic(host: &HostName) -> TrialTraffic {
    TrialTraffic {
        from: host.clone(),
        to: host.clone(),
        link: LinkName::from("corosync"),
        phase: PhaseKind::Multicast,
        fanout: None,
        due: None,
        engine: true,
    }
}

/// An `rmem_max` of at least `bytes` that does not halve its buffers.
pub(crate) fn rmem_max(bytes: u64) -> u64 {
    match HALVING.contains(&bytes) {
        true => HALVING.end,
        false => bytes,
    }
}

/// The advice to raise `rmem_max` to at least `bytes`.
pub(crate) fn raise_rmem_max(bytes: u64) -> String {
    format!(
        "`sysctl -w net.core.rmem_max={}` (the whole machine's limit). {TRAP}",
        rmem_max(bytes)
    )
}

/// A link to a node, by Corosync's own numbers (cmap_keys(7), `stats.knet`).
pub(super) struct Link<'a> {
    /// Number of the node.
    pub node: &'a str,
    /// Number of the link.
    pub number: &'a str,
    stats: &'a BTreeMap<String, String>,
}

impl<'a> Link<'a> {
    /// A value of the link: `connected`, `enabled`, `mtu`.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        let key = format!("stats.knet.node{}.link{}.{name}", self.node, self.number);
        self.stats.get(&key).map(String::as_str)
    }
}

/// The links that say whether they are connected.
pub(super) fn links(stats: &BTreeMap<String, String>) -> impl Iterator<Item = Link<'_>> {
    stats.keys().filter_map(move |key| {
        let named = key.strip_prefix("stats.knet.node")?;
        let (node, number) = named.strip_suffix(".connected")?.split_once(".link")?;
        Some(Link {
            node,
            number,
            stats,
        })
    })
}
