//! What is read of heads as metrics: names by Prometheus' conventions, base units, a sample a thing that was read. What
//! was not read has no sample.

mod cluster;
mod host;
mod probed;

use std::sync::atomic::AtomicU64;

use hawser_model::names::HostName;
use hawser_model::output::watch::WatchReading;
use hawser_model::visible;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::keeping::KeptCounts;
use crate::outbox::Counts;
use crate::shown::Shown;

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
    /// Whether the last message to people was taken.
    pub tells: bool,
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
    cluster::heads(&mut all, shown);
    cluster::members(&mut all, shown);
    cluster::token(&mut all, shown);
    cluster::links(&mut all, shown);
    cluster::pools(&mut all, shown);
    host::ports(&mut all, shown);
    host::port_counts(&mut all, shown);
    host::served(&mut all, shown);
    host::storage(&mut all, shown);
    host::drops(&mut all, shown);
    host::files(&mut all, shown);
    host::clocks(&mut all, shown);
    probed::probed(&mut all, shown);
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
