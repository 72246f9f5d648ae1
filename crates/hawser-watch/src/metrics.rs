//! What is read of a head as metrics: names by Prometheus' conventions, base units, a sample a thing that was read. What
//! was not read has no sample.

use std::sync::atomic::AtomicU64;

use hawser_model::output::watch::{LinkState, WatchReading};
use hawser_model::visible;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::keeping::KeptCounts;
use crate::resident::Shown;
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
    all.gauge(
        "corosync_up",
        "Whether Corosync runs",
        [(labels(&[]), flag(shown.corosync))],
    );
    let seen = shown.corosync_seen.map(|at| (labels(&[]), at as f64));
    let help = "When Corosync was last seen to run";
    all.gauge("corosync_last_seen_timestamp_seconds", help, seen);
    let pacemaker = shown.pacemaker.map(|up| (labels(&[]), flag(up)));
    all.gauge("pacemaker_up", "Whether Pacemaker runs", pacemaker);
    let own = reading.heads.first();
    let quorate = own.and_then(|head| head.quorate);
    all.gauge(
        "quorate",
        "Whether Corosync says that it has quorum",
        quorate.map(|quorate| (labels(&[]), flag(quorate))),
    );
    links(&mut all, shown);
    pools(&mut all, reading);
    let ports = shown.interfaces.iter();
    let ports = ports.map(|(name, port)| (name.as_str(), port));
    let carrier = ports.clone().filter(|(_, port)| port.up);
    all.gauge(
        "interface_carrier",
        "Whether an interface that is up has a carrier",
        carrier.map(|(name, port)| (labels(&[("interface", name)]), flag(port.carrier))),
    );
    let speeds = ports.filter_map(|(name, port)| Some((name, port.speed?)));
    all.gauge(
        "interface_speed_bytes_per_second",
        "The speed that an interface's driver reports",
        speeds.map(|(name, speed)| (labels(&[("interface", name)]), speed.0 as f64 / 8.0)),
    );
    let help = "Packets that Corosync's own sockets had no room for";
    let drops = shown.socket_drops.map(|drops| (labels(&[]), drops));
    all.counter("corosync_socket_drops", help, drops);
    alarms(&mut all, reading);
    let of_watch = |value| [(labels(&[]), value)];
    let help = "Readings since the watch began";
    all.counter("watch_readings", help, of_watch(health.readings));
    let help = "Questions to this head that were not answered";
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
    let help = "When this head was last read";
    let read = [(labels(&[]), reading.read_at as f64)];
    all.gauge("watch_last_reading_timestamp_seconds", help, read);
    let mut text = String::new();
    // Writing into a String cannot fail.
    let _ = encode(&mut text, &registry);
    text
}

fn links(all: &mut All<'_>, shown: &Shown) {
    let own = shown.reading.heads.first();
    let links = own.into_iter().flat_map(|head| &head.links);
    let named = links.clone().map(|link| {
        let labels = labels(&[("link", link.name.as_str()), ("peer", link.peer.as_str())]);
        (labels, link)
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
        let of_key = shown.stats.iter().filter_map(|(full, value)| {
            let (node, number) = full
                .strip_prefix("stats.knet.node")?
                .strip_suffix(key)?
                .strip_suffix('.')?
                .split_once(".link")?;
            let value: u64 = value.parse().ok()?;
            Some((labels(&[("node", node), ("number", number)]), value))
        });
        all.counter(name, help, of_key);
    }
}

fn pools(all: &mut All<'_>, reading: &WatchReading) {
    let own = reading.heads.first().into_iter();
    let pools = own.clone().flat_map(|head| &head.pools);
    let here = pools.clone().filter_map(|pool| {
        let labels = labels(&[("pool", pool.name.as_str())]);
        Some((labels, flag(pool.here?)))
    });
    all.gauge("pool_here", "Whether a pool is on this head", here);
    let used = pools.filter_map(|pool| {
        let labels = labels(&[("pool", pool.name.as_str())]);
        Some((labels, f64::from(pool.used_percent?) / 100.0))
    });
    all.gauge("pool_used_ratio", "How full a pool is", used);
    let exports = own.flat_map(|head| &head.exports);
    let offered = exports.filter_map(|export| {
        let labels = labels(&[("pool", export.pool.as_str())]);
        Some((labels, flag(export.offered?)))
    });
    all.gauge(
        "pool_offered",
        "Whether all of a pool is offered as it was started",
        offered,
    );
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
