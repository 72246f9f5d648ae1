//! What a trial came to for a cluster engine, whose own sockets were watched: what they dropped, what the cluster sent again.

use std::collections::BTreeMap;

use hawser_model::host::CorosyncFacts;
use hawser_model::output::tune::EngineEffect;
use hawser_model::sockets::SocketFacts;
use hawser_model::trial::{Pair, Trial, Window};
use hawser_model::units::{Bytes, Packets};

use super::gained;

/// What is counted of a cluster engine at one moment.
#[derive(Clone, Debug, Default)]
pub struct EngineCounts {
    /// The sockets of the host.
    pub sockets: Vec<SocketFacts>,
    /// The engine of the host.
    pub own: Option<CorosyncFacts>,
    /// The engines of all hosts, that one included; absent where one does not tell.
    pub all: Vec<Option<CorosyncFacts>>,
}

/// What knet counts as received, on each link from each node (cmap_keys(7)).
const RECEIVED: [&str; 4] = [
    ".rx_data_packets",
    ".rx_ping_packets",
    ".rx_pong_packets",
    ".rx_pmtu_packets",
];

/// What a window showed, by the counts before and after it; `None` when no socket of the engine was open all the time.
pub fn engine_window(before: &EngineCounts, after: &EngineCounts) -> Option<Window> {
    let old = sockets(before);
    let now = sockets(after);
    let mut both = now
        .iter()
        .filter_map(|(inode, now)| Some((old.get(inode)?, now)));
    let (first, rest) = (both.next()?, both);
    let (lost, buffer) =
        std::iter::once(first)
            .chain(rest)
            .fold((0u64, u64::MAX), |(lost, least), (old, now)| {
                let dropped = now.drops.saturating_sub(old.drops).0;
                (
                    lost.saturating_add(dropped),
                    least.min(now.receive_buffer.0),
                )
            });
    let received = match (&before.own, &after.own) {
        (Some(old), Some(now)) if old.pid == now.pid => received(now).saturating_sub(received(old)),
        _ => 0,
    };
    let pairs = before.all.iter().zip(&after.all);
    let retransmits = pairs.map(|(old, now)| gained(old.as_ref(), now.as_ref()).retransmits);
    Some(Window {
        sent: Packets(received.saturating_add(lost)),
        lost: Packets(lost),
        buffer: Bytes(buffer),
        retransmits: retransmits.sum(),
        ..Window::default()
    })
}

/// The engine's sockets by inode.
fn sockets(counts: &EngineCounts) -> BTreeMap<u64, &SocketFacts> {
    let pid = counts.own.as_ref().map(|engine| engine.pid);
    let own = counts.sockets.iter().filter(|socket| {
        socket.process.as_deref() == Some("corosync") && pid.is_some() && socket.pid == pid
    });
    own.map(|socket| (socket.inode, socket)).collect()
}

fn received(engine: &CorosyncFacts) -> u64 {
    let of_links = engine.stats.iter().filter(|(key, _)| {
        key.starts_with("stats.knet.") && RECEIVED.iter().any(|name| key.ends_with(name))
    });
    let counted = of_links.filter_map(|(_, value)| value.parse::<u64>().ok());
    counted.fold(0, u64::saturating_add)
}

/// After a restart less than this share of the traffic before is too little to tell.
const LEFT: u64 = 4;

/// The sums of the windows; absent of other traffic.
pub(super) fn effect(trial: &Trial) -> Option<EngineEffect> {
    let of_engine = trial.traffic.as_ref().is_some_and(|traffic| traffic.engine);
    let pairs = &trial.pairs;
    if pairs.is_empty() || !of_engine {
        return None;
    }
    let without = |what: fn(&Window) -> Option<u64>| -> Option<u64> {
        pairs.iter().map(|pair| what(&pair.without)).sum()
    };
    let with = |what: fn(&Window) -> Option<u64>| -> Option<u64> {
        pairs.iter().map(|pair| what(&pair.with)).sum()
    };
    let packets = |sum: Option<u64>| sum.map_or(Packets::ZERO, Packets);
    Some(EngineEffect {
        dropped_without: packets(without(|w| Some(w.lost.0))),
        of_without: packets(without(|w| Some(w.sent.0))),
        dropped_with: packets(with(|w| Some(w.lost.0))),
        of_with: packets(with(|w| Some(w.sent.0))),
        retransmits_without: without(|w| w.retransmits),
        retransmits_with: with(|w| w.retransmits),
        restarted: trial.restarted,
    })
}

/// Why the windows of an engine that was started again prove nothing: too little reached it to be lost. They are held against
/// the windows of the trial `before` it in which the running engine had the larger buffer; where there is none, against those
/// without the change, whose packets may be repetitions for the most part. Where a coin chose the order of the windows,
/// less traffic is the change's own doing.
pub fn too_quiet(trial: &Trial, before: &[Trial]) -> Option<String> {
    if !trial.restarted || trial.pairs.is_empty() {
        return None;
    }
    let mut before = before.iter().rev();
    let running = before
        .find(|other| other.host == trial.host && !other.restarted && effect(other).is_some());
    let mean = |pairs: &[Pair], of: fn(&Pair) -> &Window| {
        let sum = pairs.iter().map(|pair| of(pair).sent.0);
        sum.fold(0, u64::saturating_add) / pairs.len().max(1) as u64
    };
    let now = mean(&trial.pairs, |pair| &pair.with);
    let then = match running {
        Some(running) => mean(&running.pairs, |pair| &pair.with),
        None => mean(&trial.pairs, |pair| &pair.without),
    };
    let quiet = now.saturating_mul(LEFT) < then;
    quiet.then(|| {
        format!(
            "after the restart {} packets a window reached the engine, {} before: too few to tell",
            Packets(now),
            Packets(then)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(with: u64, restarted: bool) -> Trial {
        let window = |sent, lost| Window {
            sent: Packets(sent),
            lost: Packets(lost),
            retransmits: Some(lost / 2),
            ..Window::default()
        };
        let pair = Pair {
            with_first: false,
            without: window(1_000, 100),
            with: window(with, 0),
        };
        let text = r#"{"cause": "", "knob": {"kind": "placebo"}, "scope": null, "host": "head1", "from": null,
            "to": null, "traffic": {"from": "head1", "to": "head1", "link": "corosync", "phase": "multicast",
            "engine": true}, "pairs": [], "not_tried": null, "kept": false}"#;
        Trial {
            pairs: vec![pair; 8],
            restarted,
            ..serde_json::from_str(text).unwrap()
        }
    }

    #[test]
    fn a_window_counts_what_the_engines_own_sockets_dropped_and_what_it_received() {
        let socket = |process: &str, pid, inode, drops| SocketFacts {
            inode,
            local: ([10, 0, 0, 2], 5405).into(),
            process: Some(process.to_owned()),
            pid: Some(pid),
            receive_buffer: Bytes(4_096 * inode),
            send_buffer: Bytes::ZERO,
            receive_queued: Bytes::ZERO,
            drops: Packets(drops),
        };
        let engine = |pid, received: u64, again: u64| {
            let stats = [
                ("stats.knet.node1.link0.rx_data_packets", received),
                ("stats.knet.node1.link0.tx_data_packets", 7_000),
                ("stats.knet.node1.link1.rx_ping_packets", 10 + received / 10),
                ("stats.srp.mcast_retx", again),
            ];
            let stats = stats.map(|(key, value)| (key.to_owned(), value.to_string()));
            CorosyncFacts {
                pid,
                stats: stats.into(),
                ..CorosyncFacts::default()
            }
        };
        let counts = |drops, engine: CorosyncFacts, other: Option<CorosyncFacts>| EngineCounts {
            sockets: vec![
                socket("corosync", 17, 1, drops),
                socket("corosync", 17, 2, 5),
                // Another node's, in a container of this host.
                socket("corosync", 900, 3, 100 * drops),
                socket("tgtd", 20, 4, 100 * drops),
            ],
            own: Some(engine.clone()),
            all: vec![Some(engine), other],
        };
        let before = counts(10, engine(17, 1_000, 4), Some(engine(30, 0, 50)));
        let after = counts(70, engine(17, 2_000, 9), Some(engine(30, 0, 60)));
        let window = engine_window(&before, &after).unwrap();
        assert_eq!((window.lost, window.sent), (Packets(60), Packets(1_160)));
        assert_eq!(
            (window.buffer, window.retransmits),
            (Bytes(4_096), Some(15))
        );
        let mute = counts(70, engine(17, 2_000, 9), None);
        assert_eq!(engine_window(&before, &mute).unwrap().retransmits, None);
        let anew = counts(0, engine(18, 5, 0), None);
        assert_eq!(engine_window(&before, &anew), None, "its sockets are new");
    }

    #[test]
    fn windows_after_a_restart_that_carry_nothing_prove_nothing() {
        let effect = effect(&trial(900, true)).unwrap();
        assert_eq!(effect.dropped_without, Packets(800));
        assert_eq!(effect.retransmits_without, Some(400));
        let quiet = |with, restarted, before: &[Trial]| too_quiet(&trial(with, restarted), before);
        assert_eq!(quiet(900, true, &[]), None);
        assert!(quiet(200, true, &[]).is_some());
        assert_eq!(quiet(200, false, &[]), None);
        // Without loss nothing is sent again, so the running engine had as little.
        let running = [trial(220, false)];
        assert_eq!(quiet(200, true, &running), None);
        assert!(quiet(50, true, &running).is_some());
    }
}
