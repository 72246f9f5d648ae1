//! What spreading the work gains over a way of working it off that does not.

use hawser_model::fanout::Spread;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::output::fanout::FanoutResult;
use hawser_model::units::{Packets, PacketsPerSec};
use serde::{Serialize, Serializer};

use super::FanoutView;
use crate::cause::counted;
use crate::cause::{Found, as_number, host};

/// Less than this is within what two searches differ by.
const GAIN: f64 = 1.2;

/// The others have so much to spare that spreading the work could have helped.
const SPARE: f64 = 0.15;

/// A way of spreading that serves so many more that it matters, and what was exhausted without it.
#[derive(Serialize)]
pub(crate) struct Gain {
    #[serde(rename = "rate_packets_per_s")]
    pub(crate) rate: PacketsPerSec,
    payload_bytes: u32,
    pub(crate) receivers_spread: u32,
    #[serde(serialize_with = "as_word")]
    pub(crate) spread: Spread,
    too_many_receivers: u32,
    processor: u32,
    busy_percent: u64,
    softirq_percent: u64,
    backlog_dropped_packets: Packets,
    #[serde(serialize_with = "as_number", skip_serializing_if = "is_not")]
    count_only: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    others_idle_percent: Option<u64>,
}

fn as_word<S: Serializer>(spread: &Spread, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(spread.word())
}

fn is_not(flag: &bool) -> bool {
    !flag
}

impl Gain {
    /// Over what `base` served; `None` where spreading gains nothing, or where every processor was
    /// exhausted, so that it is not for want of spreading.
    pub(crate) fn found<C>(
        view: &FanoutView<'_>,
        base: &FanoutResult,
        cause: impl FnOnce(u32, Self) -> C,
    ) -> Option<Found<C>> {
        let served = base.most_receivers?;
        let limit = base.limit.as_ref()?;
        let spread = |spread| {
            let result = view.result(&base.host, base.rate, spread)?;
            Some((result.most_receivers?, spread))
        };
        // Of equal ones the one that sets less.
        let (better, how) = [spread(Spread::Threaded), spread(Spread::Split)]
            .into_iter()
            .flatten()
            .max_by_key(|(most, _)| *most)?;
        if f64::from(better) < GAIN * f64::from(served.max(1)) || better <= served {
            return None;
        }
        let at_backlog = limit.backlog_drops > limit.socket_drops + limit.other_drops;
        // Where every processor is exhausted and programs do not get to read, it is not the context.
        if !at_backlog && limit.others_idle_share.is_none_or(|idle| idle < SPARE) {
            return None;
        }
        let percent = |share: f64| (share * 100.0).round() as u64;
        let gain = Self {
            rate: base.rate,
            payload_bytes: view.run.payload,
            receivers_spread: better,
            spread: how,
            too_many_receivers: limit.receivers,
            processor: limit.processor,
            busy_percent: percent(limit.busy_share),
            softirq_percent: percent(limit.softirq_share),
            backlog_dropped_packets: limit.backlog_drops,
            count_only: view.run.count_only,
            others_idle_percent: limit.others_idle_share.map(percent),
        };
        let flow = format!("{} of {} bytes", base.rate, view.run.payload);
        Some(Found {
            severity: Severity::Warning,
            confidence: match at_backlog {
                true => Confidence::Certain,
                false => Confidence::Likely,
            },
            place: Place::of(&flow, Some(&base.host)),
            evidence: cause(served, gain),
        })
    }

    /// How many it serves, set so (`how`), how many when the work is spread, and what is exhausted with one more.
    pub(crate) fn text(&self, at: &Place, served: u32, how: &str) -> String {
        let reads = match self.count_only {
            true => "; they count in the kernel and read nothing",
            false => "",
        };
        let idle = self.others_idle_percent.map_or(String::new(), |p| {
            format!(" while the others were idle for {p} % of theirs")
        });
        format!(
            "At {} of {} bytes each, {} serves {} {how}, and {} when several processors share the work ({}){reads}. With \
             {} receivers, processor {} was busy for {} % of its time ({} % in soft interrupts){idle}; its backlog \
             dropped {}.",
            self.rate,
            self.payload_bytes,
            host(at),
            counted(u64::from(served), "receiver"),
            self.receivers_spread,
            self.spread.word(),
            self.too_many_receivers,
            self.processor,
            self.busy_percent,
            self.softirq_percent,
            counted(self.backlog_dropped_packets.0, "packet"),
        )
    }

    /// What to set.
    pub(crate) fn advice(&self) -> &'static str {
        match self.spread {
            Spread::Threaded => {
                "Give each receiver's interface a thread of its own: in its namespace or guest, `ethtool -K IFACE gro \
                 on` and `echo 1 > /sys/class/net/IFACE/threaded`."
            }
            _ => {
                "Give each receiver's interface one processor of its own, in turn: in its namespace or guest, `echo 1 > \
                 /sys/class/net/IFACE/queues/rx-0/rps_cpus` for the first, 2 for the second, 4 for the third, and so \
                 on. One mask with several processors in it does nothing here: RPS chooses among them by the flow, and \
                 this is one flow."
            }
        }
    }
}
