//! Of each host: ports, disks, what its kernel dropped, files.

use hawser_model::clock::ClockFacts;
use hawser_model::drops::DropTotals;
use hawser_model::host::PortCounts;
use hawser_model::served::SentSegments;
use hawser_model::storage::PathFacts;
use hawser_model::units::{Nanos, Packets};

use super::{All, flag};
use crate::shown::{Shown, ShownHead};

pub(super) fn ports(all: &mut All<'_>, shown: &Shown) {
    let ports = || {
        let heads = shown.heads.iter();
        heads.flat_map(|(head, of)| {
            of.interfaces.iter().map(move |(name, port)| {
                (shown.labels(head, &[("interface", name.as_str())]), port)
            })
        })
    };
    let carrier = ports().filter(|(_, port)| port.up);
    all.gauge(
        "interface_carrier",
        "Whether an interface that is up has a carrier",
        carrier.map(|(labels, port)| (labels, flag(port.carrier))),
    );
    all.gauge(
        "interface_speed_bytes_per_second",
        "The speed that an interface's driver reports",
        ports().filter_map(|(labels, port)| Some((labels, port.speed?.0 as f64 / 8.0))),
    );
}

/// Whether somebody keeps the clock of each host right, as its kernel knows it.
pub(super) fn clocks(all: &mut All<'_>, shown: &Shown) {
    let mut gauge = |name, help, of: fn(&ClockFacts) -> f64| {
        let heads = shown.heads.iter();
        let samples = heads
            .filter_map(|(head, known)| Some((shown.labels(head, &[]), of(known.clock.as_ref()?))));
        all.gauge(name, help, samples);
    };
    gauge(
        "clock_synchronised",
        "Whether somebody has told the kernel that he keeps the clock right (not STA_UNSYNC, adjtimex(2))",
        |clock| flag(clock.synchronised),
    );
    gauge(
        "clock_estimated_error_seconds",
        "How far the clock is off, as the program estimates that keeps it",
        |clock| seconds(clock.estimated_error),
    );
    gauge(
        "clock_greatest_error_seconds",
        "How far the clock can be off, as the kernel counts it",
        |clock| seconds(clock.greatest_error),
    );
}

/// What the kernels dropped, by their own reasons.
pub(super) fn drops(all: &mut All<'_>, shown: &Shown) {
    let counted = || {
        let heads = shown.heads.iter();
        heads.filter_map(|(head, known)| match known.drops.as_ref()? {
            DropTotals::Counted { drops, missed } => Some((head, drops, *missed)),
            DropTotals::NotCounted(_) => None,
        })
    };
    let by_reason = counted().flat_map(|(head, drops, _)| {
        drops.iter().map(move |drop| {
            let interface = drop.interface.as_ref().map(|name| name.as_str());
            let all = [
                ("interface", interface.unwrap_or_default()),
                ("reason", drop.reason.as_str()),
                ("function", drop.location.as_str()),
            ];
            let said: Vec<_> = all.into_iter().filter(|(_, it)| !it.is_empty()).collect();
            (shown.labels(head, &said), drop.packets.0)
        })
    });
    all.counter(
        "dropped_packets",
        "Packets that the kernel dropped since the watch began, by its own reason (enum skb_drop_reason)",
        by_reason,
    );
    all.counter(
        "dropped_packets_missed",
        "Packets that the kernel dropped and whose reason was not counted",
        counted().map(|(head, _, missed)| (shown.labels(head, &[]), missed)),
    );
}

/// What is known of files, by their names.
pub(super) fn files(all: &mut All<'_>, shown: &Shown) {
    let mut gauge = |name, help, of: fn(&ShownHead) -> Vec<(&str, u64)>| {
        let heads = shown.heads.iter();
        let samples = heads.flat_map(|(head, known)| {
            let labelled = |(file, at)| (shown.labels(head, &[("file", file)]), at as f64);
            of(known).into_iter().map(labelled)
        });
        all.gauge(name, help, samples);
    };
    gauge(
        "certificate_not_after_timestamp_seconds",
        "Until when a certificate is valid",
        |head| {
            let all = head.certificates.iter();
            all.map(|it| (it.file.as_str(), it.not_after)).collect()
        },
    );
    gauge(
        "secret_modified_timestamp_seconds",
        "When a file with a secret was written last",
        |head| {
            let all = head.secrets.iter();
            all.map(|it| (it.file.as_str(), it.modified)).collect()
        },
    );
}

/// What the ports count, since their drivers began.
pub(super) fn port_counts(all: &mut All<'_>, shown: &Shown) {
    type Of = fn(&PortCounts) -> Option<Packets>;
    let counters: [(&str, &str, Of); 5] = [
        (
            "interface_receive_errors",
            "Packets that an interface received damaged",
            |port| port.rx_errors,
        ),
        (
            "interface_transmit_errors",
            "Packets that an interface could not send",
            |port| port.tx_errors,
        ),
        (
            "interface_receive_drops",
            "Packets that were received and dropped before a protocol saw them",
            |port| port.rx_dropped,
        ),
        (
            "interface_transmit_drops",
            "Packets that were dropped on their way to an interface",
            |port| port.tx_dropped,
        ),
        (
            "interface_receive_missed",
            "Packets for which a card had no room",
            |port| port.rx_missed,
        ),
    ];
    for (name, help, of) in counters {
        let heads = shown.heads.iter();
        let samples = heads.flat_map(|(head, known)| {
            known.port_counts.iter().filter_map(move |(port, counts)| {
                let labels = shown.labels(head, &[("interface", port.as_str())]);
                Some((labels, of(counts)?.0))
            })
        });
        all.counter(name, help, samples);
    }
}

/// What TCP sent to clients of the storage.
pub(super) fn served(all: &mut All<'_>, shown: &Shown) {
    type Of = fn(&SentSegments) -> Packets;
    let counters: [(&str, &str, Of); 3] = [
        (
            "storage_segments_sent",
            "Segments with data that were sent to clients of the storage since the watch began",
            |sent| sent.segments,
        ),
        (
            "storage_segments_resent",
            "Of them, those that were sent again",
            |sent| sent.resent,
        ),
        (
            "storage_segments_resent_needlessly",
            "Of those sent again, the ones that the client said it had already",
            |sent| sent.needless,
        ),
    ];
    for (name, help, of) in counters {
        let heads = shown.heads.iter();
        let samples = heads.flat_map(|(head, known)| {
            known.served.iter().map(move |(link, sent)| {
                (shown.labels(head, &[("link", link.as_str())]), of(sent).0)
            })
        });
        all.counter(name, help, samples);
    }
}

/// Disks, the paths to them, ZFS pools.
pub(super) fn storage(all: &mut All<'_>, shown: &Shown) {
    let storage = || {
        let heads = shown.heads.iter();
        heads.filter_map(|(head, known)| Some((head, known.storage.as_ref()?)))
    };
    let disks = storage().flat_map(|(head, storage)| {
        storage.disks.iter().map(move |(name, disk)| {
            let pairs = [("disk", name.as_str()), ("address", disk.address.as_str())];
            (shown.labels(head, &pairs), flag(disk.state == "running"))
        })
    });
    let help = "Whether the kernel gives a SCSI disk work (state running)";
    all.gauge("disk_running", help, disks);
    let devices = || {
        storage().flat_map(|(head, storage)| {
            storage.multipath.values().map(move |device| {
                let labels = shown.labels(head, &[("device", device.name.as_str())]);
                (labels, &device.paths)
            })
        })
    };
    let help = "Paths of a multipath device";
    let paths = devices().map(|(labels, paths)| (labels, paths.len() as f64));
    all.gauge("multipath_paths", help, paths);
    // Of a path of which multipathd says nothing it is not known.
    let is_known = |path: &PathFacts| path.used.is_some() || path.checked.is_some();
    let usable = devices().filter_map(|(labels, paths)| {
        let usable = paths.values().filter(|path| path.is_well()).count();
        let known = paths.values().all(is_known);
        known.then_some((labels, usable as f64))
    });
    let help = "Paths of a multipath device that multipathd finds well";
    all.gauge("multipath_paths_usable", help, usable);
    let pools = storage().flat_map(|(head, storage)| {
        storage.zpools.iter().map(move |(name, pool)| {
            let labels = shown.labels(head, &[("zpool", name.as_str())]);
            (labels, flag(pool.state == "ONLINE"))
        })
    });
    let help = "Whether an imported ZFS pool is ONLINE, with all its devices";
    all.gauge("zpool_online", help, pools);
}

fn seconds(span: Nanos) -> f64 {
    span.0 as f64 / 1e9
}
