//! Another program's socket drops packets while the check runs, or while a watch looks: its buffer is too small or it
//! reads too slowly. Not our flow's loss, but a cluster engine's or storage server's, seen in
//! the act.
//!
//! Evidence: the socket's own drop count (sock_diag(7), `SK_MEMINFO_DROPS`) moved in a
//! window. Whether the buffer or the program is at fault cannot be told from outside; a queue
//! without room for the next packet at the window's end speaks for the program, an empty one for the
//! buffer. If the host counts no full buffer and as many errors, something in front of the buffer refuses the packets
//! (`socket-filter-drop`, `ipsec-policy-drop`), and that is said. Memory pressure is another cause, and what was damaged is left out. Likely; an error, a warning if they are refused. Cases:
//! `foreign-socket-dropping`, `foreign-socket-stopped`, `foreign-socket-never-read`, `foreign-noise`,
//! `corosync-buffer-shrunk`, `foreign-socket-filtered`, `foreign-socket-watched`, `foreign-socket-damaged-and-full`; not `foreign-socket-damaged`.

use std::collections::BTreeMap;

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use hawser_model::sockets::SocketFacts;
use hawser_model::trial::TrialTraffic;
use hawser_model::units::{Bytes, Packets};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, counted, host};
use crate::causes::claims::{is_many, seconds};
use crate::causes::corosync_buffer_halved::is_halved;
use crate::causes::knet;
use crate::causes::socket_drain::memory_of;
use crate::causes::udp_memory_pressure::{counter, memory_not_buffer};
use crate::fixes::Candidate;
use crate::fixes::knobs::{At, KERNEL_DEFAULT};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct ForeignSocketDropping {
    dropped_packets: Packets,
    /// What the host's sockets refused meanwhile, if that holds all of it and none of them had a full buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused_packets: Option<Packets>,
    buffer_bytes: Bytes,
    /// Of a watch: within so many seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    within_s: Option<u64>,
    /// What waited in it afterwards.
    queued_bytes: Bytes,
    /// What the program is known to ask for, where it has less.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_bytes: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rmem_default_bytes: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rmem_max_bytes: Option<Bytes>,
    /// What of it `tune` can turn.
    #[serde(skip)]
    low: Option<knet::Low>,
}

/// Other programs' sockets that dropped in some window of their host, with the sum: while something was measured, or, in a
/// watch, at any time.
pub(crate) fn dropping<'a>(view: &View<'a>) -> BTreeMap<(HostName, u64), (&'a SocketFacts, u64)> {
    let mut sums: BTreeMap<(HostName, u64), (&'a SocketFacts, u64)> = BTreeMap::new();
    for (host, window) in view.windows() {
        for socket in &window.sockets {
            let (_, sum) = sums
                .entry((host.clone(), socket.inode))
                .or_insert((socket, 0));
            *sum = sum.saturating_add(socket.drops.0);
        }
    }
    sums.retain(|_, (_, drops)| *drops > 0);
    sums
}

/// Of what a socket dropped, the most that was not damaged. A wrong checksum is a drop of the socket too, but no full buffer
/// (`udp_queue_rcv_one_skb` and `__first_packet_length`, net/ipv4/udp.c).
fn undamaged(view: &View<'_>, host: &HostName, drops: u64) -> u64 {
    match counter(view, host, "InCsumErrors") {
        0 => drops,
        damaged => {
            let full = counter(view, host, "RcvbufErrors");
            drops.min(full.max(drops.saturating_sub(damaged)))
        }
    }
}

/// What the host's sockets refused in all windows without a full buffer (see [`crate::packets`]), if that holds these drops and no
/// socket of the host had a full buffer or no memory.
fn refused(view: &View<'_>, host: &HostName, drops: u64) -> Option<Packets> {
    let counted = |name| counter(view, host, name);
    let none = ["RcvbufErrors", "MemErrors"]
        .iter()
        .all(|name| counted(name) == 0);
    let errors = counted("InErrors").saturating_sub(counted("InCsumErrors"));
    (none && errors >= drops).then_some(Packets(errors))
}

/// What the socket dropped in all windows.
pub(crate) fn drops_of(view: &View<'_>, host: &HostName, inode: u64) -> u64 {
    dropping(view)
        .get(&(host.clone(), inode))
        .map_or(0, |(_, drops)| *drops)
}

impl CheckCause for ForeignSocketDropping {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for ((host, _), (socket, drops)) in dropping(view) {
            if is_halved(view, &host, socket) || memory_not_buffer(view, &host) {
                continue;
            }
            let drops = undamaged(view, &host, drops);
            if drops == 0 {
                continue;
            }
            let name = socket.process.as_deref().unwrap_or("unknown process");
            let watched = view.case.counted.get(&host);
            // A watch sees every program at all times. A packet that Corosync loses is one too many.
            let is_engine = name == "corosync";
            let minor = watched.filter(|_| !is_engine);
            if minor.is_some_and(|window| !is_many(window, drops)) {
                continue;
            }
            let place = Place {
                host: Some(host.clone()),
                object: Some(match socket.pid {
                    Some(pid) => format!("{name} (pid {pid}) {}", socket.local),
                    None => format!("{name} {}", socket.local),
                }),
                ..Place::default()
            };
            let refused = refused(view, &host, drops);
            found.push(Found {
                // A program may filter its own socket on purpose.
                severity: match refused.is_some() || minor.is_some() {
                    true => Severity::Warning,
                    false => Severity::Error,
                },
                confidence: Confidence::Likely,
                place,
                evidence: Self {
                    dropped_packets: Packets(drops),
                    within_s: watched.map(seconds),
                    refused_packets: refused,
                    buffer_bytes: socket.receive_buffer,
                    queued_bytes: socket.receive_queued,
                    asked_bytes: knet::asked(view, &host, socket),
                    rmem_default_bytes: view.sysctl(&host, "net.core.rmem_default").map(Bytes),
                    rmem_max_bytes: view.sysctl(&host, "net.core.rmem_max").map(Bytes),
                    low: knet::Low::of(view, &host, socket),
                },
            });
        }
        found
    }

    fn cost(&self) -> Packets {
        self.dropped_packets
    }

    fn candidates(&self, _: &At<'_>) -> Vec<Option<Candidate>> {
        self.low
            .as_ref()
            .filter(|_| self.refused_packets.is_none())
            .map_or_else(Vec::new, knet::Low::candidates)
    }

    fn traffic(_: &View<'_>, _: &Place, host: &HostName) -> Option<TrialTraffic> {
        Some(knet::traffic(host))
    }
}

impl Cause for ForeignSocketDropping {
    const CODE: &'static str = "foreign-socket-dropping";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (buffer, queued) = (self.buffer_bytes, self.queued_bytes);
        let socket = at.object.as_deref().unwrap_or("A socket");
        let within = match self.within_s {
            Some(seconds) => format!("within {seconds} s"),
            None => "while the check ran".to_owned(),
        };
        if let Some(refused) = self.refused_packets {
            return Words {
                text: format!(
                    "{socket} on {} dropped {} {within}, and its receive buffer was not full: InErrors counted {refused} and \
                     RcvbufErrors none. A program of its cgroup (eBPF), an IPsec policy, or a filter that the program set itself refuses them.",
                    host(at),
                    counted(self.dropped_packets.0, "packet"),
                ),
                fix: format!(
                    "On {}: `bpftool cgroup tree` and `systemctl show -p IPAddressDeny UNIT` for the program's unit; `ip xfrm policy` and \
                     `grep XfrmIn /proc/net/xfrm_stat`. No larger buffer will help.",
                    host(at),
                ),
            };
        }
        let (state, fix) = match self.full() {
            true => (
                format!(
                    "{queued} of it were still waiting afterwards, so the program reads too slowly or has \
                     stopped"
                ),
                "See why the program does not read (CPU, a lock, SIGSTOP); a larger buffer will \
                 not help."
                    .to_owned(),
            ),
            false if queued.is_zero() => (
                "it was read empty again afterwards, so bursts are larger than the buffer"
                    .to_owned(),
                self.larger(),
            ),
            false => (
                format!(
                    "{queued} of it were waiting afterwards, so bursts are larger than the buffer or the program reads too \
                     slowly"
                ),
                format!(
                    "See whether the program reads in time (CPU, a lock). {}",
                    self.larger()
                ),
            ),
        };
        Words {
            text: format!(
                "{socket} on {} dropped {} {within}. Its receive buffer is {buffer}; {state}.",
                host(at),
                counted(self.dropped_packets.0, "packet"),
            ),
            fix,
        }
    }
}

/// A full frame of Ethernet: the size of other programs' packets is not known.
const FRAME: u64 = memory_of(1500);

impl ForeignSocketDropping {
    /// Whether the queue has no room for the next packet.
    fn full(&self) -> bool {
        let (buffer, queued) = (self.buffer_bytes.0, self.queued_bytes.0);
        let nearly = queued.saturating_mul(10) >= buffer.saturating_mul(9);
        queued > 0 && (nearly || queued.saturating_add(FRAME) > buffer)
    }

    /// How the program gets a larger buffer.
    fn larger(&self) -> String {
        let buffer = self.buffer_bytes;
        if let Some(asked) = self.asked_bytes {
            return format!(
                "Restart Corosync: kronosnet asks for {asked} when it opens the socket. If the socket has {buffer} again, \
                 see buffer-not-granted."
            );
        }
        // In force it is twice that.
        let ask = buffer.0.saturating_mul(2).max(KERNEL_DEFAULT);
        let limit = match self.rmem_max_bytes {
            Some(limit) if limit.0 < ask => format!(", after {}", knet::raise_rmem_max(ask)),
            _ => format!("; both cut at net.core.rmem_max. {}", knet::TRAP),
        };
        format!(
            "Let the program ask for a larger buffer than the {buffer} it has (SO_RCVBUF {ask}, which the kernel doubles), or \
             raise `net.core.rmem_default` if it asks for none{limit}"
        )
    }
}
