//! Of the cluster: Corosync, Pacemaker, links, pools.

use hawser_model::output::watch::LinkState;

use super::{All, flag, labels};
use crate::shown::Shown;

/// What of each head is whether it runs and answers.
pub(super) fn heads(all: &mut All<'_>, shown: &Shown) {
    let heads = || shown.heads.iter();
    all.gauge(
        "corosync_up",
        "Whether Corosync runs",
        heads().map(|(name, head)| (shown.labels(name, &[]), flag(head.corosync))),
    );
    let seen = heads()
        .filter_map(|(name, head)| Some((shown.labels(name, &[]), head.corosync_seen? as f64)));
    let help = "When Corosync was last seen to run";
    all.gauge("corosync_last_seen_timestamp_seconds", help, seen);
    let pacemaker =
        heads().filter_map(|(name, head)| Some((shown.labels(name, &[]), flag(head.pacemaker?))));
    all.gauge("pacemaker_up", "Whether Pacemaker runs", pacemaker);
    let readings = || shown.reading.heads.iter();
    let quorate =
        readings().filter_map(|head| Some((shown.labels(&head.name, &[]), flag(head.quorate?))));
    let help = "Whether Corosync says that it has quorum";
    all.gauge("quorate", help, quorate);
    let help = "Packets that Corosync's own sockets had no room for";
    let drops =
        heads().filter_map(|(name, head)| Some((shown.labels(name, &[]), head.socket_drops?)));
    all.counter("corosync_socket_drops", help, drops);
    if !shown.whole {
        return;
    }
    // Of one that was not asked yet nothing is known.
    let reached = readings().filter_map(|head| {
        let answers = shown.heads.contains_key(&head.name);
        let known = answers || head.unreached.is_some();
        known.then(|| (shown.labels(&head.name, &[]), flag(answers)))
    });
    let help = "Whether a head answered the last time";
    all.gauge("head_reached", help, reached);
    let seen = readings().filter_map(|head| {
        let answers = shown.heads.contains_key(&head.name);
        let seen = answers.then_some(shown.reading.read_at).or(head.seen_at)?;
        Some((shown.labels(&head.name, &[]), seen as f64))
    });
    let help = "When a head answered last";
    all.gauge("head_last_seen_timestamp_seconds", help, seen);
}

/// What the nodes of the cluster are.
pub(super) fn members(all: &mut All<'_>, shown: &Shown) {
    let states = shown.members.iter().map(|(node, state)| {
        let pairs = [("node", node.as_str()), ("state", state.word())];
        (labels(&pairs), 1.0)
    });
    let help = "What a node is in the cluster, as Pacemaker believes";
    all.gauge("node_state", help, states);
}

/// How the token goes round, and what is lost with it (`stats.srp`, cmap_keys(7)).
pub(super) fn token(all: &mut All<'_>, shown: &Shown) {
    let of = |key: &'static str| {
        let heads = shown.heads.iter();
        heads.filter_map(move |(head, known)| {
            let value: u64 = known.stats.get(&format!("stats.srp.{key}"))?.parse().ok()?;
            Some((head, value))
        })
    };
    let plain = |key| of(key).map(|(head, value)| (shown.labels(head, &[]), value));
    let interval = plain("mtt_rx_token").map(|(labels, ms)| (labels, ms as f64 / 1e3));
    all.gauge(
        "corosync_token_interval_seconds",
        "The mean time from one token to the next",
        interval,
    );
    let states = [
        ("operational", "operational_token_lost"),
        ("gather", "gather_token_lost"),
        ("commit", "commit_token_lost"),
        ("recovery", "recovery_token_lost"),
    ];
    let lost = states.into_iter().flat_map(|(state, key)| {
        of(key).map(move |(head, value)| (shown.labels(head, &[("state", state)]), value))
    });
    let help = "How often Corosync lost the token, by the state it was in";
    all.counter("corosync_token_losses", help, lost);
    let numbered = [
        (
            "consensus_timeouts",
            "corosync_consensus_timeouts",
            "How often the nodes did not agree in time on who is a member",
        ),
        (
            "mcast_retx",
            "corosync_messages_retransmitted",
            "Messages that Corosync sent again",
        ),
        (
            "rx_msg_dropped",
            "corosync_messages_dropped",
            "Messages that Corosync received and dropped",
        ),
    ];
    for (key, name, help) in numbered {
        all.counter(name, help, plain(key));
    }
}

pub(super) fn links(all: &mut All<'_>, shown: &Shown) {
    let heads = shown.reading.heads.iter();
    let named = heads.flat_map(|head| {
        head.links.iter().map(|link| {
            let pair = [("link", link.name.as_str()), ("peer", link.peer.as_str())];
            (shown.labels(&head.name, &pair), link)
        })
    });
    let known = named
        .clone()
        .filter(|(_, link)| link.state != LinkState::Unknown);
    all.gauge(
        "heartbeat_link_up",
        "Whether Corosync's transport holds a link to a peer for up",
        known.map(|(labels, link)| (labels, flag(link.state == LinkState::Up))),
    );
    let latency = named.filter_map(|(labels, link)| Some((labels, link.latency_s?)));
    all.gauge(
        "heartbeat_link_latency_seconds",
        "The running mean of the round trips of a link's pings",
        latency,
    );
    let numbered = [
        ("tx_ping_packets", "heartbeat_link_pings_sent", "Pings sent"),
        (
            "rx_pong_packets",
            "heartbeat_link_pings_answered",
            "Pings that were answered",
        ),
        (
            "down_count",
            "heartbeat_link_downs",
            "How often Corosync's transport took a link for down",
        ),
        // Corosync gives the transport's tx_total_retries by this name (exec/stats.c).
        (
            "rx_total_retries",
            "heartbeat_link_retries",
            "Packets that were sent again",
        ),
    ];
    for (key, name, help) in numbered {
        let stats = shown.heads.iter();
        let stats = stats.flat_map(|(head, of)| of.stats.iter().map(move |pair| (head, pair)));
        let of_key = stats.filter_map(|(head, (full, value))| {
            let (node, number) = full
                .strip_prefix("stats.knet.node")?
                .strip_suffix(key)?
                .strip_suffix('.')?
                .split_once(".link")?;
            let value: u64 = value.parse().ok()?;
            let labels = shown.labels(head, &[("node", node), ("number", number)]);
            Some((labels, value))
        });
        all.counter(name, help, of_key);
    }
}

pub(super) fn pools(all: &mut All<'_>, shown: &Shown) {
    let pools = || {
        let heads = shown.reading.heads.iter();
        heads.flat_map(|head| {
            head.pools.iter().map(move |pool| {
                (
                    shown.labels(&head.name, &[("pool", pool.name.as_str())]),
                    pool,
                )
            })
        })
    };
    let here = pools().filter_map(|(labels, pool)| Some((labels, flag(pool.here?))));
    all.gauge("pool_here", "Whether a pool is on this head", here);
    let used =
        pools().filter_map(|(labels, pool)| Some((labels, f64::from(pool.used_percent?) / 100.0)));
    all.gauge("pool_used_ratio", "How full a pool is", used);
    let free = pools().filter_map(|(labels, pool)| Some((labels, pool.free_bytes? as f64)));
    let help = "What is left of a pool's file system";
    all.gauge("pool_free_bytes", help, free);
    let heads = shown.reading.heads.iter();
    let offered = heads.flat_map(|head| {
        head.exports.iter().filter_map(|export| {
            let labels = shown.labels(&head.name, &[("pool", export.pool.as_str())]);
            Some((labels, flag(export.offered?)))
        })
    });
    all.gauge(
        "pool_offered",
        "Whether all of a pool is offered as it was started",
        offered,
    );
}
