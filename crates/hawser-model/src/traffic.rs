//! What traffic is asked for and what both ends report of it.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::InterfaceName;
use crate::units::{Bytes, Nanos, Packets, PacketsPerSec};

/// First eight bytes of every probe packet's payload: what a tap or drop collector looks for
/// after it matched addresses and port.
pub const PROBE_MAGIC: [u8; 8] = *b"HWSRPRB1";

/// Random per run; probe packets without it are foreign and never believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RunKey(pub u64);

/// What a host's collectors must know of a flow to tell its packets from others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedFlow {
    /// The flow.
    pub flow: FlowId,
    /// Sender's address.
    pub source: IpAddr,
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's address or group.
    pub destination: IpAddr,
    /// Receiver's port.
    pub destination_port: u16,
    /// The interface on this host that carries it.
    pub interface: InterfaceName,
}

/// Number of a flow within a run; carried in every probe packet.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct FlowId(pub u32);

impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The transport of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Unicast or multicast UDP, by the destination address.
    Udp,
    /// One TCP stream.
    Tcp,
}

/// How fast a flow is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rate {
    /// This many packets a second.
    PerSecond(PacketsPerSec),
    /// As fast as the sender can.
    Max,
}

/// How packets are handed to and taken from the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Batching {
    /// `sendmmsg`/`recvmmsg`: every packet passes the stack by itself.
    #[default]
    Mmsg,
    /// `UDP_SEGMENT` and `UDP_GRO`: one pass for many packets, cut before the wire.
    Segment,
}

/// A multicast membership's source filter and protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Membership {
    /// Only this source (IGMPv3 / MLDv2 source-specific); any source when absent.
    pub source: Option<IpAddr>,
    /// Time to live of what is sent; 1 stays on the link.
    pub ttl: u8,
}

/// One flow as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowSpec {
    /// Its number.
    pub flow: FlowId,
    /// UDP or TCP.
    pub transport: Transport,
    /// The sender's address; the socket is bound to it, so it also selects the link.
    pub source: IpAddr,
    /// The receiver's address, or a multicast group.
    pub destination: IpAddr,
    /// The receiver's own address on the link (equal to `destination` unless multicast).
    pub receiver: IpAddr,
    /// Set for multicast.
    pub membership: Option<Membership>,
    /// UDP payload bytes, probe header included; for TCP the size of one write.
    pub payload: u32,
    /// Packets a second.
    pub rate: Rate,
    /// Packets sent back to back; the rate is kept between bursts. 1 is evenly paced.
    pub burst: u32,
    /// How long to send.
    pub duration: Nanos,
    /// Set the don't-fragment bit (and never fragment locally).
    pub dont_fragment: bool,
    /// Ask for this receive buffer by `SO_RCVBUF`; absent: the socket asks for nothing and
    /// gets `net.core.rmem_default`, as most programs do.
    pub receive_buffer: Option<Bytes>,
    /// Ask for this send buffer by `SO_SNDBUF`.
    pub send_buffer: Option<Bytes>,
    /// TCP: ask for this congestion control (`TCP_CONGESTION`); absent: the route's or the host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// The receiver returns every packet and the sender records round trips.
    pub echo: bool,
    /// Run sender and receiver under `SCHED_RR` priority 1, as cluster engines run theirs
    /// (Corosync: 99), so that a busy host is not taken for a lossy path.
    pub realtime: bool,
    /// Time the receiver spends on each packet before the next read: an application that is
    /// slower than the rate. Zero for none.
    pub reader_delay: Nanos,
    /// Batching of system calls.
    pub batching: Batching,
    /// Pin the sending thread to this CPU.
    pub sender_cpu: Option<u32>,
    /// Pin the receiving thread to this CPU.
    pub receiver_cpu: Option<u32>,
}

impl FlowSpec {
    /// Unfragmented packets of `payload` bytes to one receiver, evenly paced, from sockets that ask
    /// for nothing on threads that nobody pins.
    pub fn plain(
        flow: FlowId,
        transport: Transport,
        (source, destination): (IpAddr, IpAddr),
        payload: u32,
        rate: Rate,
        duration: Nanos,
    ) -> Self {
        Self {
            flow,
            transport,
            source,
            destination,
            receiver: destination,
            membership: None,
            payload,
            rate,
            burst: 1,
            duration,
            dont_fragment: true,
            receive_buffer: None,
            send_buffer: None,
            congestion: None,
            echo: false,
            realtime: false,
            reader_delay: Nanos::ZERO,
            batching: Batching::default(),
            sender_cpu: None,
            receiver_cpu: None,
        }
    }
}

/// Quantiles of a measured time, in nanoseconds, from an HDR histogram.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quantiles {
    /// Values recorded.
    pub count: u64,
    /// Smallest.
    pub min: Nanos,
    /// Median.
    pub p50: Nanos,
    /// 90th percentile.
    pub p90: Nanos,
    /// 99th percentile.
    pub p99: Nanos,
    /// 99.9th percentile.
    pub p999: Nanos,
    /// Largest.
    pub max: Nanos,
}

/// What the sender of a flow reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SenderReport {
    /// Sequence numbers used: packets handed to the kernel, refused ones included.
    pub sent: Packets,
    /// Packets the kernel refused at the system call, by error name (`EPERM`, `EMSGSIZE`).
    pub refused: BTreeMap<String, Packets>,
    /// Sending lasted.
    pub elapsed: Nanos,
    /// CPU time of the sending thread.
    pub cpu: Nanos,
    /// The send buffer in force.
    pub send_buffer: Bytes,
    /// Round trips, with `echo`.
    pub round_trip: Option<Quantiles>,
    /// Echoes that came back, with `echo`.
    pub echoed_back: Packets,
    /// TCP: bytes accepted by the kernel.
    pub stream_bytes: Bytes,
    /// TCP: segments sent again (`tcpi_total_retrans`).
    pub retransmits: Packets,
    /// TCP: the segment size in force at the end (`tcpi_snd_mss`).
    pub segment_size: Option<Bytes>,
    /// TCP: the connection's state when the last byte had been written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamState>,
    /// What was asked of the kernel and not granted, with the error's name: `SCHED_RR` →
    /// `EPERM`, `cpu` → `EINVAL`, `UDP_SEGMENT` → `ENOPROTOOPT`. The flow ran without it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_granted: BTreeMap<String, String>,
}

/// A run of consecutive lost packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LossRun {
    /// First missing sequence number.
    pub first: u64,
    /// How many in a row.
    pub length: u64,
    /// When the packet after the gap arrived, from the flow's first packet.
    pub at: Nanos,
}

/// What the receiver of a flow reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiverReport {
    /// Distinct, intact packets of the flow.
    pub received: Packets,
    /// Further copies of packets already received.
    pub duplicates: Packets,
    /// Packets that arrived after a later one.
    pub reordered: Packets,
    /// Packets from the flow's sender whose checksum or header is wrong.
    pub corrupted: Packets,
    /// Packets from somebody else, or with another run's key: counted, never believed.
    pub foreign: Packets,
    /// How many runs of loss, by length.
    pub loss_runs_by_length: BTreeMap<u64, u64>,
    /// The first runs (at most 64).
    pub first_loss_runs: Vec<LossRun>,
    /// From first to last packet.
    pub elapsed: Nanos,
    /// Interarrival jitter against the sender's clock (RFC 3550, 6.4.1), as quantiles.
    pub jitter: Quantiles,
    /// Mean of arrival by the receiver's clock less departure by the sender's, in nanoseconds. It holds the
    /// difference of the clocks: only what it gains from one flow to the next means something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transit: Option<i64>,
    /// How much longer the slowest packet was on its way than the quickest: queues, and fragments that
    /// were waited for. Absent of streams, and when nothing arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest: Option<Nanos>,
    /// Longest time without a packet while the flow ran.
    pub longest_gap: Nanos,
    /// CPU time of the receiving thread.
    pub cpu: Nanos,
    /// What the reading loop did.
    pub drain: Drain,
    /// The receive buffer asked for, if any.
    pub buffer_asked: Option<Bytes>,
    /// The receive buffer in force (`SO_MEMINFO`, `SK_MEMINFO_RCVBUF`).
    pub buffer_granted: Bytes,
    /// Packets this very socket dropped (`SO_MEMINFO`, `SK_MEMINFO_DROPS`): full buffer and
    /// bad checksum together.
    pub socket_drops: Packets,
    /// Memory one packet of the flow takes in the buffer (`skb->truesize`, from
    /// `SK_MEMINFO_RMEM_ALLOC` over queued packets), when it could be measured.
    pub packet_memory: Option<Bytes>,
    /// Echoes sent back, with `echo`.
    pub echoed: Packets,
    /// TCP: bytes read.
    pub stream_bytes: Bytes,
    /// TCP: bytes read in each full slice of [`SLICE`] since the stream began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<Bytes>,
    /// What was asked of the kernel and not granted, with the error's name: `SCHED_RR` →
    /// `EPERM`, `cpu` → `EINVAL`, `UDP_SEGMENT` → `ENOPROTOOPT`. The flow ran without it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_granted: BTreeMap<String, String>,
}

/// How long a slice of [`ReceiverReport::slices`] is.
pub const SLICE: Nanos = Nanos::from_millis(50);

/// What a TCP connection's sending end says of itself (`TCP_INFO`, tcp(7)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamState {
    /// Its congestion control (`TCP_CONGESTION`).
    pub congestion: String,
    /// Segment size in force (`tcpi_snd_mss`).
    pub segment: Bytes,
    /// Smoothed round trip (`tcpi_rtt`).
    pub round_trip: Nanos,
    /// Smallest round trip seen (`tcpi_min_rtt`).
    pub least_round_trip: Nanos,
    /// Congestion window (`tcpi_snd_cwnd` segments).
    pub congestion_window: Bytes,
    /// The receiver's window (`tcpi_snd_wnd`, since Linux 5.4).
    pub receive_window: Bytes,
    /// Time with data under way (`tcpi_busy_time`).
    pub busy: Nanos,
    /// Of it, held up by the receiver's window (`tcpi_rwnd_limited`).
    pub receive_window_limited: Nanos,
    /// Of it, held up by the send buffer (`tcpi_sndbuf_limited`).
    pub send_buffer_limited: Nanos,
    /// Segments sent with data, those sent again included (`tcpi_data_segs_out`).
    pub segments: Packets,
    /// Segments sent again (`tcpi_total_retrans`).
    pub retransmits: Packets,
    /// Of them, those that the receiver said it had already (D-SACK, RFC 2883; `tcpi_dsack_dups`,
    /// since Linux 5.0): overtaken or late, not lost.
    #[serde(default)]
    pub needless: Packets,
    /// Whether both ends have agreed on selective acknowledgements (SACK, RFC 2018; `tcpi_options`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selective: Option<bool>,
}

impl StreamState {
    /// Segments sent again because they were lost, as far as the receiver told.
    pub fn lost(&self) -> Packets {
        self.retransmits.saturating_sub(self.needless)
    }
}

/// How busy the receiving loop was: tells a small buffer from a slow reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Drain {
    /// Time spent working off packets (between a read that returned some and the next read
    /// that had to wait).
    pub busy: Nanos,
    /// Time spent waiting for packets with an empty queue.
    pub idle: Nanos,
    /// Reads that found the queue empty and waited.
    pub waits: u64,
    /// Time for which the reader was ready to run and waited for a processor, in `busy` or in `idle`
    /// (`/proc/PID/task/TID/schedstat`, the second number); absent where the kernel does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runnable: Option<Nanos>,
}

impl Drain {
    /// Packets a second the reader can take: what it read over the time it was busy.
    pub fn capacity(&self, read: Packets) -> Option<PacketsPerSec> {
        (self.busy.0 > 0).then(|| {
            PacketsPerSec((u128::from(read.0) * 1_000_000_000 / u128::from(self.busy.0)) as u64)
        })
    }
}

impl SenderReport {
    /// Refused at the system call, all errors together.
    pub fn refused_total(&self) -> Packets {
        self.refused.values().copied().sum()
    }

    /// The rate that was really reached.
    pub fn achieved(&self) -> Option<PacketsPerSec> {
        (self.elapsed.0 > 0).then(|| {
            PacketsPerSec(
                (u128::from(self.sent.0) * 1_000_000_000 / u128::from(self.elapsed.0)) as u64,
            )
        })
    }
}
