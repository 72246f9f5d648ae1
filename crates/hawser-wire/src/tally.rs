//! Whose packet it is: ours, damaged on its way, or somebody else's. Pure.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use hawser_model::traffic::ReceiverReport;
use hawser_model::units::{Nanos, Packets};

use crate::jitter::Jitter;
use crate::packet::{self, Template};
use crate::sequence::{Arrival, Sequence};
use crate::transit::Transit;

/// Ports of damaged packets remembered until the sender's own is known.
const UNDECIDED_PORTS: usize = 64;

/// What a receiver knows of one flow, packet by packet.
#[derive(Debug)]
pub struct Tally {
    template: Template,
    source: IpAddr,
    sender_port: Option<u16>,
    sequence: Sequence,
    jitter: Jitter,
    transit: Transit,
    corrupted: u64,
    foreign: u64,
    /// Damaged packets from the sender's address, by port, while its port is unknown.
    undecided: BTreeMap<u16, u64>,
}

impl Tally {
    /// Nothing has arrived of the packets like `template`, which `source` sends.
    pub fn new(template: Template, source: IpAddr) -> Self {
        Self {
            template,
            source,
            sender_port: None,
            sequence: Sequence::default(),
            jitter: Jitter::default(),
            transit: Transit::default(),
            corrupted: 0,
            foreign: 0,
            undecided: BTreeMap::new(),
        }
    }

    /// The sender's port is known: what came damaged from there was ours.
    pub fn expect_from(&mut self, port: u16) {
        self.sender_port = Some(port);
    }

    /// Distinct packets of the flow so far.
    pub fn received(&self) -> Packets {
        self.sequence.received()
    }

    /// A datagram arrived. True when it is an intact packet of the flow.
    #[inline]
    pub fn arrived(
        &mut self,
        payload: &[u8],
        from: impl FnOnce() -> Option<SocketAddr>,
        at: Nanos,
    ) -> bool {
        let Some(probe) = self.template.read(payload) else {
            self.not_ours(payload, from());
            return false;
        };
        if self.sender_port.is_none() {
            self.sender_port = from().filter(|a| a.ip() == self.source).map(|a| a.port());
        }
        if self.sequence.arrived(probe.sequence, at) != Arrival::Duplicate {
            self.jitter.arrived(probe.sent_at, at);
            self.transit.arrived(probe.sent_at, at);
        }
        true
    }

    /// An intact packet of another run or flow is foreign, wherever it came from; of the
    /// others those from the sender were packets of the flow.
    #[cold]
    fn not_ours(&mut self, payload: &[u8], from: Option<SocketAddr>) {
        if packet::parse(payload).is_ok() {
            self.foreign += 1;
        } else {
            self.damaged(from);
        }
    }

    fn damaged(&mut self, from: Option<SocketAddr>) {
        let port = from.filter(|a| a.ip() == self.source).map(|a| a.port());
        match (port, self.sender_port) {
            (Some(port), Some(senders)) if port == senders => self.corrupted += 1,
            (Some(port), None) => {
                let room = self.undecided.len() < UNDECIDED_PORTS;
                if room || self.undecided.contains_key(&port) {
                    *self.undecided.entry(port).or_default() += 1;
                } else {
                    self.foreign += 1;
                }
            }
            _ => self.foreign += 1,
        }
    }

    /// The flow is over: its part of the receiver's report, `sent` being the sender's count.
    pub fn finish(mut self, sent: Packets) -> ReceiverReport {
        for (port, count) in std::mem::take(&mut self.undecided) {
            // Without any sign of the sender's port its address is the best that is known.
            if self.sender_port.is_none_or(|senders| senders == port) {
                self.corrupted += count;
            } else {
                self.foreign += count;
            }
        }
        let sequenced = self.sequence.finish(sent);
        ReceiverReport {
            received: sequenced.received,
            duplicates: sequenced.duplicates,
            reordered: sequenced.reordered,
            corrupted: Packets(self.corrupted),
            foreign: Packets(self.foreign),
            loss_runs_by_length: sequenced.runs_by_length,
            first_loss_runs: sequenced.first_runs,
            elapsed: sequenced.elapsed,
            jitter: self.jitter.quantiles(),
            transit: self.transit.mean(),
            latest: self.transit.latest(),
            longest_gap: sequenced.longest_gap,
            ..ReceiverReport::default()
        }
    }
}
