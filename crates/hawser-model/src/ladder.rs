//! A ladder: what each part of a path can do by itself, and what the whole path did.
//!
//! MB are 10^6 bytes, as in every data sheet of a disk or a link.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counters::Counters;
use crate::iscsi::IscsiUnit;
use crate::names::{HostName, LinkName};
use crate::probe::PathMtu;
use crate::traffic::StreamState;
use crate::units::{Bytes, Nanos};

/// The facts of one `hawser ladder`: one directed path between two hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LadderRun {
    /// The host that reads and sends.
    pub from: HostName,
    /// The host that receives and writes.
    pub to: HostName,
    /// The link between them.
    pub link: LinkName,
    /// What is read.
    pub source: Storage,
    /// What is written.
    pub sink: Storage,
    /// What the whole path encrypts with; absent when it does not.
    pub cipher: Option<CipherChoice>,
    /// The iSCSI unit that the receiving host reads; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iscsi: Option<IscsiUnit>,
    /// The hosts' processors and memory, as far as they matter to a rung.
    pub hardware: BTreeMap<HostName, Hardware>,
    /// The rungs in the order in which they were measured, the whole path last.
    pub rungs: Vec<Rung>,
    /// The path-MTU search, where it could be made.
    pub path_mtu: Option<PathMtu>,
}

/// Where data is read from or written to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Storage {
    /// A file or block device to read, or a directory to write into; absent: memory (an unnamed
    /// file on a file system of memory, so that it goes through the page cache).
    pub path: Option<PathBuf>,
    /// Past the page cache (`O_DIRECT`).
    pub direct: bool,
}

/// AES in a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CipherChoice {
    /// The mode of operation.
    pub mode: CipherMode,
    /// Bits of the key: 128, 192 or 256.
    pub key_bits: u32,
}

/// A mode of operation in which a path can be encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CipherMode {
    /// Chained: encryption works off one block after the other.
    Cbc,
    /// Counters.
    Ctr,
    /// Counters with an authentication tag.
    Gcm,
}

impl CipherChoice {
    /// `aes-128-gcm`.
    pub fn name(self) -> String {
        let mode = match self.mode {
            CipherMode::Cbc => "cbc",
            CipherMode::Ctr => "ctr",
            CipherMode::Gcm => "gcm",
        };
        format!("aes-{}-{mode}", self.key_bits)
    }
}

/// What a rung measures.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum RungKind {
    /// Copying memory to memory, larger than the caches.
    MemoryCopy,
    /// Reading the source.
    SourceRead,
    /// The checksum of data in memory.
    Checksum,
    /// Encrypting in user space.
    Encrypt,
    /// Encrypting by the kernel (`AF_ALG`).
    EncryptKernel,
    /// The fastest SHA-256 that OpenZFS measured of its own when it was loaded.
    ZfsChecksum,
    /// One TCP stream within the sending host.
    LoopbackTcp,
    /// One TCP stream over the link.
    WireTcp,
    /// One TCP stream over the link with another congestion control than the host's own.
    WireTcpOther,
    /// Several TCP streams over the link at once.
    WireTcpMany,
    /// Full-size datagrams over the link, as fast as they go.
    WireUdp,
    /// Datagrams of 64 bytes over the link: what a frame costs.
    WireUdpSmall,
    /// Reading an iSCSI unit from its start to its end, with so many requests in flight.
    IscsiRead,
    /// Decrypting in user space.
    Decrypt,
    /// Writing the sink.
    SinkWrite,
    /// All of it: read, encrypt, send, receive, decrypt, write.
    Whole,
}

impl RungKind {
    /// As people call it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::MemoryCopy => "memory copy",
            Self::SourceRead => "source read",
            Self::Encrypt => "encrypt",
            Self::Checksum => "checksum",
            Self::EncryptKernel => "kernel encrypt",
            Self::ZfsChecksum => "zfs checksum",
            Self::LoopbackTcp => "loopback tcp",
            Self::WireTcp => "wire tcp, one stream",
            Self::WireTcpOther => "wire tcp, one stream, another congestion control",
            Self::WireTcpMany => "wire tcp, several streams",
            Self::WireUdp => "wire udp",
            Self::WireUdpSmall => "wire udp, small",
            Self::IscsiRead => "iscsi read",
            Self::Decrypt => "decrypt",
            Self::SinkWrite => "sink write",
            Self::Whole => "whole path",
        }
    }
}

/// One measured rung.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rung {
    /// What it measures.
    pub kind: RungKind,
    /// The host it was measured on; absent between hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostName>,
    /// How: the object, the block size, the implementation, the number of streams.
    pub how: String,
    /// Requests in flight at once, where that is what tells it from its neighbours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Why it could not be measured here; absent when it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
    /// What was done in each slice of time.
    pub samples: Vec<Sample>,
    /// What the hosts' processors and counters did meanwhile.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub usage: BTreeMap<HostName, HostUsage>,
    /// The sending ends of its TCP streams.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<StreamState>,
    /// The stages of the whole path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
}

/// What was done in a slice of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// How long it was.
    pub elapsed: Nanos,
    /// Bytes done in it.
    pub bytes: Bytes,
}

/// A stage of the whole path.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum StageKind {
    /// Reading the source.
    Read,
    /// The sender's checksum.
    Checksum,
    /// Encrypting.
    Encrypt,
    /// Handing to the kernel to send.
    Send,
    /// Taking from the kernel what arrived.
    Receive,
    /// Decrypting.
    Decrypt,
    /// The receiver's checksum.
    Verify,
    /// Writing the sink.
    Write,
}

impl StageKind {
    /// All of them, in the order of the data.
    pub const ALL: [Self; 8] = [
        Self::Read,
        Self::Checksum,
        Self::Encrypt,
        Self::Send,
        Self::Receive,
        Self::Decrypt,
        Self::Verify,
        Self::Write,
    ];
}

/// What a stage did while the whole path ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stage {
    /// Which.
    pub kind: StageKind,
    /// Which of its host's threads does it: stages of one thread take turns. Absent: it has one
    /// of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
    /// How long its thread ran.
    pub elapsed: Nanos,
    /// Time at its own work.
    pub busy: Nanos,
    /// Time it waited for input: for the stage before it, the receiver for data to arrive.
    pub waiting_in: Nanos,
    /// Time it waited to be rid of its output: the sender for room in the socket.
    pub waiting_out: Nanos,
    /// CPU time of its work.
    pub cpu: Nanos,
    /// Time it could have run and no processor was given to it (`/proc/…/schedstat`); absent
    /// where the kernel does not count it. That of a thread with several stages is divided among
    /// them like the time that each was not running.
    pub run_delay: Option<Nanos>,
    /// Bytes it handled.
    pub bytes: Bytes,
}

/// What a host's processors and counters did while something ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostUsage {
    /// How long.
    pub elapsed: Nanos,
    /// Each processor's time (`/proc/stat`), by its number.
    pub processors: BTreeMap<u32, ProcessorTime>,
    /// CPU time of this agent's own process.
    pub own_cpu: Nanos,
    /// Time threads of the agent's control group were held back by its CPU quota
    /// (`cpu.stat`); absent where there is no such group.
    pub throttled: Option<Nanos>,
    /// What each counter gained.
    pub counters: Counters,
    /// Who else had a good part of a processor, the busiest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub busy: Vec<BusyProgram>,
}

/// A program that had a good part of a processor, as `/proc/PID/stat` tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BusyProgram {
    /// Its process number.
    pub pid: i32,
    /// What it calls itself, of 15 characters at most.
    pub name: String,
    /// The processor time of all its threads.
    pub cpu: Nanos,
    /// Whether its first thread has a real-time priority.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub real_time: bool,
}

/// How a processor spent its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessorTime {
    /// Programs.
    pub user: Nanos,
    /// System calls.
    pub system: Nanos,
    /// Interrupts and soft interrupts: most of packet handling.
    pub softirq: Nanos,
    /// Taken by the hypervisor.
    pub steal: Nanos,
    /// Nothing to do, waiting for storage included.
    pub idle: Nanos,
}

impl ProcessorTime {
    /// All of it.
    pub fn total(self) -> Nanos {
        self.user + self.system + self.softirq + self.steal + self.idle
    }
}

/// What of a host's hardware decides how fast a rung can be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hardware {
    /// The processor's name (`/proc/cpuinfo`).
    pub processor: String,
    /// Those of its instruction sets that ciphers use: `aes`, `pclmulqdq`, `vaes`, `avx2`, …
    pub cipher_instructions: Vec<String>,
    /// Processors the agent may run on (`sched_getaffinity`).
    pub allowed_processors: u32,
    /// CPU quota of the agent's control group in thousandths of a processor, if it has one.
    pub quota_millis: Option<u64>,
}

impl LadderRun {
    /// The measured rung of a kind; of those measured on both hosts the one on `host`.
    pub fn rung(&self, kind: RungKind, host: Option<&HostName>) -> Option<&Rung> {
        self.rungs.iter().find(|r| {
            r.kind == kind && !r.samples.is_empty() && (host.is_none() || r.host.as_ref() == host)
        })
    }
}
