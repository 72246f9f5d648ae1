//! Which rungs a ladder has, where each is measured and for how long. Pure.

use hawser_model::host::HostFacts;
use hawser_model::iscsi::IscsiUnit;
use hawser_model::ladder::{CipherChoice, RungKind, Storage};
use hawser_model::names::{HostName, LinkName};
use hawser_model::units::{Bytes, Nanos};

/// What the user asked of a ladder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LadderOptions {
    /// The sending host; absent: the first.
    pub from: Option<HostName>,
    /// The receiving host; absent: the first other one.
    pub to: Option<HostName>,
    /// The link; absent: the first they share.
    pub link: Option<LinkName>,
    /// What is read.
    pub source: Storage,
    /// What is written.
    pub sink: Storage,
    /// What the path is encrypted with; absent: it is not.
    pub cipher: Option<CipherChoice>,
    /// A unit that the receiving host reads; absent: none.
    pub iscsi: Option<IscsiUnit>,
    /// Streams of the rung with several.
    pub streams: u32,
    /// How long one rung is measured; the whole path three times, the wire twice as long.
    pub duration: Nanos,
    /// A block that is told of beside 8 KiB.
    pub block: Option<Bytes>,
    /// Go on although a cluster engine runs on the hosts.
    pub beside_a_cluster: bool,
}

/// Where a rung is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// On the sending host.
    Sender,
    /// On the receiving host.
    Receiver,
    /// Between the two.
    Between,
}

/// One rung to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// What.
    pub kind: RungKind,
    /// Where.
    pub place: Where,
    /// How long.
    pub duration: Nanos,
    /// Requests in flight at once, of rungs that are measured with several numbers of them.
    pub depth: u32,
}

/// Requests in flight of the rungs that read a unit: what one that waits for each gets, and what the
/// target has to give.
const DEPTHS: [u32; 4] = [1, 4, 16, 64];

/// The congestion control to measure beside `own`, which the path has: of those that hosts really run, bbr and cubic
/// (RFC 9438), one that the sender's kernel has. They differ most where a path is short and fast (bbr paces
/// by what it measured) and where it loses without being full (cubic takes that for congestion).
pub(super) fn other_congestion_control(own: &str, sender: &HostFacts) -> Option<&'static str> {
    let available = sender
        .sysctls
        .get("net.ipv4.tcp_available_congestion_control")?;
    let has = |name: &str| available.split_whitespace().any(|a| a == name);
    let mut known = ["bbr", "cubic"].into_iter();
    known.find(|name| *name != own && has(name))
}

/// The rungs in the order in which they are measured. A stream with the path's own congestion control and one with
/// another take turns, since what else happens on a host changes between any two of them.
pub fn tasks(options: &LadderOptions) -> Vec<Task> {
    use RungKind as Kind;
    use Where::{Between, Receiver, Sender};
    // In tenths of a rung's time.
    let mut tasks = vec![
        (Kind::MemoryCopy, Sender, 4),
        (Kind::MemoryCopy, Receiver, 4),
        (Kind::SourceRead, Sender, 8),
    ];
    tasks.push((Kind::Checksum, Sender, 3));
    if options.cipher.is_some() {
        tasks.push((Kind::Encrypt, Sender, 6));
        tasks.push((Kind::EncryptKernel, Sender, 6));
    }
    tasks.push((Kind::ZfsChecksum, Sender, 0));
    tasks.push((Kind::LoopbackTcp, Sender, 10));
    tasks.push((Kind::WireTcp, Between, 20));
    tasks.push((Kind::WireTcpOther, Between, 10));
    tasks.push((Kind::WireTcp, Between, 10));
    tasks.push((Kind::WireTcpOther, Between, 10));
    tasks.push((Kind::WireTcpMany, Between, 20));
    tasks.push((Kind::WireUdp, Between, 10));
    tasks.push((Kind::WireUdpSmall, Between, 5));
    if options.cipher.is_some() {
        tasks.push((Kind::Decrypt, Receiver, 6));
    }
    tasks.push((Kind::Checksum, Receiver, 3));
    tasks.push((Kind::SinkWrite, Receiver, 8));
    let task = |kind, place, tenths, depth| Task {
        kind,
        place,
        duration: Nanos(options.duration.0 / 10 * tenths),
        depth,
    };
    let mut tasks: Vec<Task> = tasks
        .into_iter()
        .map(|(kind, place, tenths)| task(kind, place, tenths, 1))
        .collect();
    // Without a unit one of them says so.
    let depths = if options.iscsi.is_some() {
        &DEPTHS[..]
    } else {
        &DEPTHS[..1]
    };
    tasks.extend(
        depths
            .iter()
            .map(|&depth| task(Kind::IscsiRead, Receiver, 5, depth)),
    );
    tasks.push(task(Kind::Whole, Between, 30, 1));
    tasks
}

#[cfg(test)]
mod tests {
    use hawser_model::ladder::CipherMode;

    use super::*;

    #[test]
    fn a_ladder_of_one_second_takes_less_than_half_a_minute() {
        let options = LadderOptions {
            from: None,
            to: None,
            link: None,
            source: Storage::default(),
            sink: Storage::default(),
            cipher: Some(CipherChoice {
                mode: CipherMode::Gcm,
                key_bits: 128,
            }),
            iscsi: "10.77.0.1/iqn.2026-01.lab.hawser:pool/1".parse().ok(),
            streams: 4,
            duration: Nanos::from_millis(1_000),
            block: None,
            beside_a_cluster: false,
        };
        let all = tasks(&options);
        let total: u64 = all.iter().map(|t| t.duration.0).sum();
        assert!(total < 20_000_000_000, "{total}");
        let reads = all.iter().filter(|t| t.kind == RungKind::IscsiRead);
        let depths: Vec<u32> = reads.map(|t| t.depth).collect();
        assert_eq!(depths, DEPTHS);
        assert_eq!(all.last().map(|t| t.kind), Some(RungKind::Whole));
    }

    #[test]
    fn the_other_congestion_control_is_one_that_the_kernel_has() {
        let other = |own: &str, available: &str| {
            let mut host = HostFacts::default();
            let name = "net.ipv4.tcp_available_congestion_control";
            host.sysctls.insert(name.to_owned(), available.to_owned());
            other_congestion_control(own, &host)
        };
        assert_eq!(other("bbr", "reno bbr cubic"), Some("cubic"));
        assert_eq!(other("cubic", "reno cubic bbr"), Some("bbr"));
        assert_eq!(other("reno", "reno cubic bbr"), Some("bbr"));
        assert_eq!(other("reno", "reno cubic"), Some("cubic"));
        assert_eq!(other("cubic", "reno cubic"), None);
        assert_eq!(
            other_congestion_control("cubic", &HostFacts::default()),
            None
        );
    }
}
