//! The books of one phase: what is left to explain in each part of the path, and the lines.

use hawser_model::account::{Account, Basis, Layer, LayerLoss};
use hawser_model::names::HostName;
use hawser_model::units::Packets;

/// The parts into which the two taps cut a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Segment {
    /// From the system call to the sender's tap: socket, filter, IP, neighbour, qdisc.
    SenderHost,
    /// From tap to tap: sender's driver, the network, receiver's ring, XDP and backlog.
    Middle,
    /// From the receiver's tap to the program: tc, filter, IP, reassembly, socket.
    ReceiverHost,
}

/// What was lost in each segment, where the taps tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Lost before the sender's tap.
    pub(crate) sender: Option<u64>,
    /// Lost behind the receiver's tap.
    pub(crate) receiver: Option<u64>,
}

/// One booking.
pub(crate) struct Entry<'a> {
    pub(crate) segment: Segment,
    pub(crate) host: Option<&'a HostName>,
    pub(crate) layer: Layer,
    pub(crate) reason: &'a str,
    pub(crate) packets: u64,
    pub(crate) basis: Basis,
}

/// The books: nothing can be booked beyond what its segment lost.
pub(crate) struct Books {
    sent: u64,
    received: u64,
    /// What is not yet explained; segments without a tap between them share one cell.
    cells: [u64; 3],
    cell_of: [usize; 3],
    lines: Vec<LayerLoss>,
}

impl Books {
    /// Opens the books for `sent` packets of which `received` arrived and `refused` never
    /// passed the system call.
    pub(crate) fn open(sent: u64, received: u64) -> Self {
        Self {
            sent,
            received,
            cells: [0, 0, sent.saturating_sub(received)],
            cell_of: [2, 2, 2],
            lines: Vec::new(),
        }
    }

    /// Cuts what is left into segments. A bound beyond what is left is cut to it, so the
    /// cells always add up to the loss.
    pub(crate) fn cut(&mut self, bounds: Bounds) {
        let mut rest: u64 = self.cells.iter().sum();
        self.cells = [0; 3];
        let sender = bounds.sender.map(|n| n.min(rest));
        rest -= sender.unwrap_or(0);
        let receiver = bounds.receiver.map(|n| n.min(rest));
        rest -= receiver.unwrap_or(0);
        self.cells = [sender.unwrap_or(0), rest, receiver.unwrap_or(0)];
        self.cell_of = [
            if sender.is_some() { 0 } else { 1 },
            1,
            if receiver.is_some() { 2 } else { 1 },
        ];
    }

    /// What is not yet explained in the segment (and those it shares a cell with).
    pub(crate) fn left(&self, segment: Segment) -> u64 {
        self.cells[self.cell_of[segment as usize]]
    }

    /// Which cell a segment is in: equal for segments that no tap separates.
    pub(crate) fn cell(&self, segment: Segment) -> usize {
        self.cell_of[segment as usize]
    }

    /// Books as many of the packets as the segment still lacks and says how many.
    pub(crate) fn book(&mut self, entry: &Entry<'_>) -> u64 {
        let cell = &mut self.cells[self.cell_of[entry.segment as usize]];
        let packets = entry.packets.min(*cell);
        if packets > 0 {
            *cell -= packets;
            let loss = LayerLoss {
                host: entry.host.cloned(),
                layer: entry.layer,
                reason: entry.reason.to_owned(),
                packets: Packets(packets),
                basis: entry.basis,
            };
            add_line(&mut self.lines, &loss);
        }
        packets
    }

    /// The counts of a layer of a host.
    pub(crate) fn booked(&self, host: &HostName, layer: Layer) -> u64 {
        self.lines
            .iter()
            .filter(|l| l.host.as_ref() == Some(host) && l.layer == layer)
            .map(|l| l.packets.0)
            .sum()
    }

    /// The same, without what the own socket counted.
    pub(crate) fn booked_beside_socket(&self, host: &HostName, layer: Layer) -> u64 {
        let lines = self.lines.iter().filter(|l| l.basis != Basis::OwnSocket);
        lines
            .filter(|l| l.host.as_ref() == Some(host) && l.layer == layer)
            .map(|l| l.packets.0)
            .sum()
    }

    /// The reason of the first line in a layer of a host that rests on drop events.
    pub(crate) fn event_reason(&self, host: &HostName, layer: Layer) -> Option<&str> {
        self.lines
            .iter()
            .filter(|l| l.basis == Basis::PerFlow)
            .find(|l| l.host.as_ref() == Some(host) && l.layer == layer)
            .map(|l| l.reason.as_str())
    }

    /// Closes the books.
    pub(crate) fn close(self) -> Account {
        let lost = self.sent.saturating_sub(self.received);
        let attributed = self.lines.iter().map(|l| l.packets).sum::<Packets>().0;
        Account {
            sent: Packets(self.sent),
            received: Packets(self.received),
            lost: Packets(lost),
            attributed: Packets(attributed),
            unattributed: Packets(lost - attributed),
            layers: self.lines,
        }
    }
}

/// Adds a line, or its packets to the line with the same host, layer and reason. The weaker
/// basis stands for both.
pub(crate) fn add_line(lines: &mut Vec<LayerLoss>, loss: &LayerLoss) {
    let same = lines
        .iter_mut()
        .find(|l| l.host == loss.host && l.layer == loss.layer && l.reason == loss.reason);
    match same {
        Some(line) => {
            line.packets += loss.packets;
            line.basis = line.basis.max(loss.basis);
        }
        None => lines.push(loss.clone()),
    }
}

/// Adds one account to another, line by line.
pub(crate) fn add_account(sum: &mut Account, part: &Account) {
    sum.sent += part.sent;
    sum.received += part.received;
    sum.lost += part.lost;
    sum.attributed += part.attributed;
    sum.unattributed += part.unattributed;
    for line in &part.layers {
        add_line(&mut sum.layers, line);
    }
}
