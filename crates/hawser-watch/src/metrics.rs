//! What is read of heads as metrics: names by Prometheus' conventions, base units, a sample a thing that was read. What
//! was not read has no sample.

use std::sync::atomic::AtomicU64;

use hawser_model::drops::DropTotals;
use hawser_model::names::HostName;
use hawser_model::output::watch::{LinkState, WatchReading};
use hawser_model::visible;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::keeping::KeptCounts;
use crate::shown::{Shown, ShownHead};
use crate::tell::Counts;

/// The media type of what [`text`] gives.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Labels = Vec<(String, String)>;
type Gauges = Family<Labels, Gauge<f64, AtomicU64>>;
type Counters = Family<Labels, Counter>;

/// How the watch itself does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Readings since it began.
    pub readings: u64,
    /// Questions that were not answered.
    pub failures: u64,
    /// Messages to people; absent when nobody is told.
    pub told: Option<Counts>,
    /// What became of readings; absent when none are kept.
    pub kept: Option<KeptCounts>,
}

/// The metrics in the OpenMetrics text format.
pub fn text(shown: &Shown, health: Health) -> String {
    let mut registry = Registry::with_prefix("hawser");
    let version = vec![("version", env!("CARGO_PKG_VERSION"))];
    registry.register("build", "The version of Hawser", Info::new(version));
    let mut all = All(&mut registry);
    let reading = &shown.reading;
    heads(&mut all, shown);
    members(&mut all, shown);
    token(&mut all, shown);
    links(&mut all, shown);
    pools(&mut all, shown);
    ports(&mut all, shown);
    drops(&mut all, shown);
    files(&mut all, shown);
    alarms(&mut all, reading);
    let of_watch = |value| [(labels(&[]), value)];
    let help = "Readings since the watch began";
    all.counter("watch_readings", help, of_watch(health.readings));
    let help = "Questions that were not answered";
    all.counter("watch_failures", help, of_watch(health.failures));
    let help = "Troubles that were not kept, since there were too many at once";
    all.counter("watch_troubles_dropped", help, of_watch(shown.not_kept));
    let told = |count: fn(&Counts) -> u64| health.told.map(|told| (labels(&[]), count(&told)));
    let help = "Messages that were delivered";
    all.counter("watch_messages_sent", help, told(|told| told.sent));
    let help = "Messages that were given up, since too many waited";
    all.counter("watch_messages_lost", help, told(|told| told.lost));
    let kept = |count: fn(&KeptCounts) -> u64| health.kept.map(|kept| (labels(&[]), count(&kept)));
    let help = "Readings that are on the disk";
    all.counter("watch_readings_kept", help, kept(|kept| kept.kept));
    let help = "Readings that the disk did not take";
    all.counter("watch_readings_lost", help, kept(|kept| kept.lost));
    let help = "How often this head's clock was stepped by a second or more";
    all.counter("watch_clock_steps", help, kept(|kept| kept.steps));
    let help = "When the last reading was made";
    let read = [(labels(&[]), reading.read_at as f64)];
    all.gauge("watch_last_reading_timestamp_seconds", help, read);
    let mut text = String::new();
    // Writing into a String cannot fail.
    let _ = encode(&mut text, &registry);
    text
}

/// What of each head is whether it runs and answers.
fn heads(all: &mut All<'_>, shown: &Shown) {
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
fn members(all: &mut All<'_>, shown: &Shown) {
    let states = shown.members.iter().map(|(node, state)| {
        let pairs = [("node", node.as_str()), ("state", state.word())];
        (labels(&pairs), 1.0)
    });
    let help = "What a node is in the cluster, as Pacemaker believes";
    all.gauge("node_state", help, states);
}

/// How the token goes round, and what is lost with it (`stats.srp`, cmap_keys(7)).
fn token(all: &mut All<'_>, shown: &Shown) {
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

fn ports(all: &mut All<'_>, shown: &Shown) {
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

/// What the kernels dropped, by their own reasons.
fn drops(all: &mut All<'_>, shown: &Shown) {
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
fn files(all: &mut All<'_>, shown: &Shown) {
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

fn links(all: &mut All<'_>, shown: &Shown) {
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

fn pools(all: &mut All<'_>, shown: &Shown) {
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

impl Shown {
    /// Labels of a sample, which says of which head it is if that is not known by where it was asked for.
    fn labels(&self, head: &HostName, pairs: &[(&str, &str)]) -> Labels {
        let whose = self.whole.then_some(("head", head.as_str()));
        let all: Vec<_> = whose.into_iter().chain(pairs.iter().copied()).collect();
        labels(&all)
    }
}

fn alarms(all: &mut All<'_>, reading: &WatchReading) {
    let named = reading.alarms.iter().map(|alarm| {
        let place = alarm.place.to_string();
        let labels = labels(&[
            ("code", alarm.code.as_str()),
            ("severity", alarm.severity.word()),
            ("where", place.as_str()),
        ]);
        (labels, alarm)
    });
    let active = named.clone().map(|(labels, _)| (labels, 1.0));
    all.gauge("alarm_active", "Alarms that stand", active);
    let since = named
        .clone()
        .filter_map(|(labels, alarm)| Some((labels, alarm.since? as f64)));
    all.gauge(
        "alarm_since_timestamp_seconds",
        "When an alarm began",
        since,
    );
    let times = named.map(|(labels, alarm)| (labels, alarm.times as f64));
    all.gauge("alarm_times", "How often an alarm has come so far", times);
}

/// Registers metrics that have a sample.
struct All<'a>(&'a mut Registry);

impl All<'_> {
    fn gauge(&mut self, name: &str, help: &str, samples: impl IntoIterator<Item = (Labels, f64)>) {
        let gauges = Gauges::default();
        let mut any = false;
        for (labels, value) in samples {
            gauges.get_or_create(&labels).set(value);
            any = true;
        }
        if any {
            self.0.register(name, help, gauges);
        }
    }

    /// The name has no `_total`: the encoder adds it.
    fn counter(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels, u64)>,
    ) {
        let counters = Counters::default();
        let mut any = false;
        for (labels, value) in samples {
            counters.get_or_create(&labels).inc_by(value);
            any = true;
        }
        if any {
            self.0.register(name, help, counters);
        }
    }
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    let pairs = pairs.iter();
    // What a head says is shown, and never acts on whoever reads it.
    pairs
        .map(|(name, value)| ((*name).to_owned(), visible::one_line(value).into_owned()))
        .collect()
}

fn flag(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}
