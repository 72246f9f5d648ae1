//! A copy over TCP: what is asked for, and what both ends report of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counters::Counters;
use crate::host::Interface;
use crate::ladder::{CipherChoice, CipherMode, Storage};
use crate::names::{HostName, InterfaceName, LinkName};
use crate::units::{Bytes, Nanos};

/// The format of a copy's case file that this version writes and reads.
pub const COPY_FORMAT: &str = "hawser-copy/1";

/// Where the bytes come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CopySource {
    /// A file or block device of the sending host.
    Path(String),
    /// So many bytes made in memory: a measurement without a disk.
    Memory(Bytes),
    /// Storage that is read over and over: the source of a ladder's whole path.
    Repeated {
        /// What is read.
        storage: Storage,
        /// For how long.
        duration: Nanos,
    },
}

/// Where they go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CopySink {
    /// A file, directory or block device of the receiving host.
    Path {
        /// Its path. In a directory the file is called `name`.
        path: String,
        /// The source's own name.
        name: String,
        /// Replace what is there; a block device is always there.
        replace: bool,
    },
    /// Nowhere: a measurement without a disk.
    Discard,
    /// A file without a name that is written over and over: the sink of a ladder's whole path.
    Scratch(Storage),
}

/// AES for the data on the wire. A copy offers GCM; the other modes encrypt without noticing a
/// change, and are for a ladder of a path whose own program uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CopyCipher {
    /// 128-bit key.
    Aes128Gcm,
    /// 256-bit key.
    Aes256Gcm,
    /// 128-bit key, not authenticated.
    Aes128Ctr,
    /// 256-bit key, not authenticated.
    Aes256Ctr,
    /// 128-bit key, not authenticated.
    Aes128Cbc,
    /// 256-bit key, not authenticated.
    Aes256Cbc,
}

impl CopyCipher {
    /// Mode and key; `None` for a key of a size that a copy does not have.
    pub fn of(choice: CipherChoice) -> Option<Self> {
        [
            Self::Aes128Gcm,
            Self::Aes256Gcm,
            Self::Aes128Ctr,
            Self::Aes256Ctr,
            Self::Aes128Cbc,
            Self::Aes256Cbc,
        ]
        .into_iter()
        .find(|cipher| cipher.choice() == choice)
    }

    /// Mode and key.
    pub const fn choice(self) -> CipherChoice {
        let (mode, key_bits) = match self {
            Self::Aes128Gcm => (CipherMode::Gcm, 128),
            Self::Aes256Gcm => (CipherMode::Gcm, 256),
            Self::Aes128Ctr => (CipherMode::Ctr, 128),
            Self::Aes256Ctr => (CipherMode::Ctr, 256),
            Self::Aes128Cbc => (CipherMode::Cbc, 128),
            Self::Aes256Cbc => (CipherMode::Cbc, 256),
        };
        CipherChoice { mode, key_bits }
    }
}

/// How to copy; both ends must be given the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CopyOptions {
    /// TCP connections.
    pub streams: u32,
    /// Encrypt with this.
    pub cipher: Option<CopyCipher>,
    /// Compute and compare a checksum at both ends. Without it nothing can be resumed, and the
    /// data need not pass through the programs (`sendfile`, `splice`).
    pub checksum: bool,
    /// Bytes handled at once: a power of two from 32 KiB to 1 MiB.
    pub chunk: u32,
    /// A peer that is silent for so long is gone.
    pub patience: Nanos,
    /// A source that is written to meanwhile is accepted.
    #[serde(default)]
    pub live: bool,
}

impl Default for CopyOptions {
    fn default() -> Self {
        Self {
            streams: 1,
            cipher: None,
            checksum: true,
            chunk: 256 * 1024,
            patience: Nanos::from_millis(30_000),
            live: false,
        }
    }
}

/// One step that every byte takes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Sender: from the source into memory (with `sendfile`: nothing).
    Read,
    /// Sender: the checksum.
    Checksum,
    /// Sender: encrypting.
    Cipher,
    /// Sender: into the socket.
    Send,
    /// Receiver: out of the socket.
    Receive,
    /// Receiver: decrypting and checking the tag.
    Decipher,
    /// Receiver: the checksum again.
    Verify,
    /// Receiver: into the destination.
    Write,
    /// Receiver: `fsync`, rename.
    Sync,
}

impl Stage {
    /// All of them, in the order of the data.
    pub const ALL: [Self; 9] = [
        Self::Read,
        Self::Checksum,
        Self::Cipher,
        Self::Send,
        Self::Receive,
        Self::Decipher,
        Self::Verify,
        Self::Write,
        Self::Sync,
    ];

    /// As people call it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Checksum => "checksum",
            Self::Cipher => "cipher",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Decipher => "decipher",
            Self::Verify => "verify",
            Self::Write => "write",
            Self::Sync => "sync",
        }
    }
}

/// How busy a stage was, all streams together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StageTime {
    /// The stage.
    pub stage: Stage,
    /// Bytes that passed it.
    pub bytes: Bytes,
    /// Time it worked: for `send` and `receive` CPU time of the call, for the others all of the
    /// call, since a disk that is waited for is what they do.
    pub busy: Nanos,
    /// Time the call of `send` or `receive` waited for the other end.
    pub waiting: Nanos,
    /// CPU time of the call.
    #[serde(default)]
    pub cpu: Nanos,
}

/// What a thread of an end did. The stages that share one take turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadTime {
    /// Its stages.
    pub stages: Vec<Stage>,
    /// How long it ran.
    pub elapsed: Nanos,
    /// Time it could have run and no processor was given to it (`/proc/…/schedstat`); absent
    /// where the kernel does not count it.
    pub run_delay: Option<Nanos>,
}

/// What was reached at a moment. All numbers count from the start, all streams together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RateSample {
    /// Since the first byte could be sent.
    pub at: Nanos,
    /// Sent (by the sender) or written (by the receiver).
    pub bytes: Bytes,
    /// Time in the stage that is the disk's: `read` at the sender, `write` at the receiver.
    pub disk: Nanos,
    /// Segments sent again (`tcpi_total_retrans`).
    pub retransmits: u64,
    /// Of them, those that the receiver had already (`tcpi_dsack_dups`).
    #[serde(default)]
    pub needless: u64,
    /// Time with data under way (`tcpi_busy_time`).
    pub tcp_busy: Nanos,
    /// Of that, held back by the receiver's window (`tcpi_rwnd_limited`).
    pub window_limited: Nanos,
    /// Of that, held back by the send buffer (`tcpi_sndbuf_limited`).
    pub send_buffer_limited: Nanos,
    /// Streams whose receiver had closed its window at this moment (`tcpi_snd_wnd` 0).
    pub zero_windows: u32,
}

/// What a TCP connection says of itself at the end (`TCP_INFO`, tcp(7)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpFacts {
    /// `TCP_CONGESTION`.
    pub congestion: String,
    /// `tcpi_snd_mss`.
    pub snd_mss: u32,
    /// `tcpi_rcv_mss`: on the receiver, the largest segment that came lately; more than the MTU
    /// holds means that segments were merged before TCP saw them (GRO, LRO).
    pub rcv_mss: u32,
    /// `tcpi_pmtu`.
    pub pmtu: u32,
    /// `tcpi_snd_cwnd`, segments.
    pub snd_cwnd: u32,
    /// `tcpi_snd_ssthresh`, segments.
    pub snd_ssthresh: u32,
    /// `tcpi_snd_wnd`: what the receiver last offered.
    pub snd_wnd: Bytes,
    /// `tcpi_rtt`.
    pub rtt: Nanos,
    /// `tcpi_min_rtt`.
    pub min_rtt: Nanos,
    /// `tcpi_rto`.
    pub rto: Nanos,
    /// `tcpi_total_retrans`.
    pub retransmits: u64,
    /// `tcpi_dsack_dups` (D-SACK, RFC 2883; since Linux 5.0): of those sent again, the ones that
    /// the receiver had already. They were overtaken or late, not lost.
    #[serde(default)]
    pub needless: u64,
    /// `tcpi_total_rto`: retransmission timeouts; 0 on kernels before 6.7.
    pub timeouts: u64,
    /// `tcpi_segs_out`.
    pub segments_out: u64,
    /// `tcpi_data_segs_in`.
    pub data_segments_in: u64,
    /// `tcpi_rcv_ooopack`: on the receiver, packets that came out of order.
    pub out_of_order: u64,
    /// `tcpi_busy_time`.
    pub busy: Nanos,
    /// `tcpi_rwnd_limited`.
    pub window_limited: Nanos,
    /// `tcpi_sndbuf_limited`.
    pub send_buffer_limited: Nanos,
    /// The receive buffer in force (`SO_RCVBUF`).
    pub receive_buffer: Bytes,
    /// The send buffer in force (`SO_SNDBUF`).
    pub send_buffer: Bytes,
}

impl RateSample {
    /// Segments sent again because they were lost, as far as the receiver told.
    pub fn lost(&self) -> u64 {
        self.retransmits.saturating_sub(self.needless)
    }
}

impl TcpFacts {
    /// Segments sent again because they were lost, as far as the receiver told.
    pub fn lost(&self) -> u64 {
        self.retransmits.saturating_sub(self.needless)
    }
}

/// What is known of a source at the end of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SourceState {
    /// Nothing: a device does not tell who writes to it.
    #[default]
    Unknown,
    /// The same file of the same size, not changed since it was opened (`st_ctime`).
    Unchanged,
    /// It was changed: what was copied may be a mixture.
    Changed,
}

/// Why an end of a copy failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CopyFailure {
    /// The call and the object.
    pub error: String,
    /// The connection broke: the other end may know better why.
    pub connection: bool,
}

/// What one end reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CopyEnd {
    /// Length of the source.
    pub size: Bytes,
    /// Data that went over the wire.
    pub moved: Bytes,
    /// Data that an earlier run had left, found equal at both ends.
    pub kept: Bytes,
    /// Holes.
    pub holes: Bytes,
    /// From the first byte that could be sent to the end, `fsync` included at the receiver.
    pub elapsed: Nanos,
    /// The data went from file to socket, or from socket to file, inside the kernel.
    pub zero_copy: bool,
    /// Its stages.
    pub stages: Vec<StageTime>,
    /// Its threads, those of all streams.
    #[serde(default)]
    pub threads: Vec<ThreadTime>,
    /// How far it was when.
    pub samples: Vec<RateSample>,
    /// Its connections.
    pub tcp: Vec<TcpFacts>,
    /// Over all of the source: XXH3-128 of the XXH3-128 of each block, in hexadecimal.
    pub checksum: Option<String>,
    /// At the sender: what is known of the source at the end.
    #[serde(default)]
    pub source: SourceState,
    /// Connections that did not show the run's key and were refused.
    pub foreign: u64,
    /// What the host's counters gained meanwhile.
    pub counters: Counters,
    /// The interface that has this end's address, as it stood at the end.
    pub interface: Option<(InterfaceName, Interface)>,
    /// Why it failed, if it did.
    pub failure: Option<CopyFailure>,
}

impl CopyEnd {
    /// A stage's time, if this end has the stage.
    pub fn stage(&self, stage: Stage) -> Option<&StageTime> {
        self.stages.iter().find(|s| s.stage == stage)
    }
}

/// The facts of one `hawser copy`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CopyCase {
    /// `hawser-copy/1`.
    pub format: String,
    /// The version of Hawser that recorded it.
    pub hawser: String,
    /// When it began, seconds since 1970 UTC.
    pub recorded: u64,
    /// The sending host.
    pub from: HostName,
    /// The receiving host.
    pub to: HostName,
    /// The link between them.
    pub link: LinkName,
    /// What was copied.
    pub source: CopySource,
    /// Where to.
    pub sink: CopySink,
    /// How.
    pub options: CopyOptions,
    /// The sender's report.
    pub sender: CopyEnd,
    /// The receiver's report.
    pub receiver: CopyEnd,
}
