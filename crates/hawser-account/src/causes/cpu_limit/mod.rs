//! A host's processors are kept from the path: a control group's CPU quota, fewer processors
//! allowed than there are, or a hypervisor that gives them to others.
//!
//! Evidence: a limit that the kernel knows (throttling counted, a quota, fewer processors allowed),
//! and stages that could run and were not let for half of their time (`schedstat`) while processors
//! had nothing to do; or time stolen (`/proc/stat`). Certain, an error. Cases: `ladder-cpu-limit`,
//! `ladder-cpu-stolen`; `ladder-slow-to-wake` has none.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::ladder::RungKind;
use hawser_model::names::HostName;
use serde::Serialize;

use crate::cause::{Before, Cause, Found, LadderCause, Words, host};
use crate::compare::topic::{About, Topic};
use crate::throughput::resources::{held_back, not_let};
use crate::throughput::view::{LadderView, busy_share, stolen_share};

#[derive(Serialize)]
pub(crate) struct CpuLimit {
    held_back_percent: u64,
    idle_percent: u64,
    stolen_percent: u64,
    allowed_processors: u32,
    online_processors: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    quota_millis: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    throttled_ms: Option<u64>,
}

/// Stolen time from which a hypervisor counts as the cause.
const STOLEN: f64 = 0.1;

impl LadderCause for CpuLimit {
    fn find(view: &LadderView<'_>, _: &Before<'_>) -> Vec<Found<Self>> {
        view.hosts()
            .into_iter()
            .filter_map(|host| on(view, host))
            .collect()
    }
}

fn on(view: &LadderView<'_>, host: &HostName) -> Option<Found<CpuLimit>> {
    let usage = view.usage(RungKind::Whole, host)?;
    let hardware = view.run.hardware.get(host)?;
    let online = view.facts(host)?.cpus;
    let stolen = stolen_share(usage);
    if held_back(view, host).is_none() && stolen < STOLEN {
        return None;
    }
    let percent = |part: f64| (part * 100.0).round() as u64;
    let throttled = usage.throttled.filter(|time| !time.is_zero());
    Some(Found {
        severity: Severity::Error,
        confidence: Confidence::Certain,
        place: Place::on(host),
        evidence: CpuLimit {
            held_back_percent: percent(not_let(view, host, usage)),
            idle_percent: percent(1.0 - busy_share(usage)),
            stolen_percent: percent(stolen),
            allowed_processors: hardware.allowed_processors,
            online_processors: online,
            quota_millis: hardware.quota_millis,
            throttled_ms: throttled.map(|time| time.0 / 1_000_000),
        },
    })
}

impl Cause for CpuLimit {
    const CODE: &'static str = "cpu-limit";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Processor.any(), Topic::Governor.any()];

    fn words(&self, at: &Place) -> Words {
        let stolen = self.stolen_percent;
        let allowed = self.allowed_processors >= self.online_processors;
        // Nothing of the host's own limits it.
        if stolen > 0 && allowed && self.quota_millis.is_none() && self.throttled_ms.is_none() {
            return Words {
                text: format!(
                    "The hypervisor took {stolen} % of the time of {}'s processors while the whole path \
                     ran; for {} % of it they had nothing to do.",
                    host(at),
                    self.idle_percent,
                ),
                fix: "Look on the hypervisor for this guest's limit and share of processors and for what its neighbours \
                      use; `vmstat 1` shows it here as `st`. Measure again when there is less of it."
                    .to_owned(),
            };
        }
        let quota = self.quota_millis.map_or(String::new(), |n| {
            let (whole, hundredths) = (n / 1_000, n % 1_000 / 10);
            format!(" A control group allows {whole}.{hundredths:02} processors.")
        });
        let throttled = self.throttled_ms.map_or(String::new(), |ms| {
            format!(" Its quota held threads back for {ms} ms.")
        });
        let steal = match stolen {
            0 => String::new(),
            n => format!(" {n} % of the processors' time was taken by the hypervisor."),
        };
        Words {
            text: format!(
                "On {} a stage of the path could have run and was not let for {} % of the time, while \
                 {} % of the processors' time was idle; {} of {} processors are allowed.{quota}{throttled}{steal}",
                host(at),
                self.held_back_percent,
                self.idle_percent,
                self.allowed_processors,
                self.online_processors,
            ),
            fix: "Look for a CPU quota (`systemctl show -p CPUQuotaPerSecUSec`, `cpu.max` or \
                  `cpu.cfs_quota_us` of the control group), a `cpuset` or `taskset` around the \
                  programs that carry the data; in a virtual machine, for its limit and its share."
                .to_owned(),
        }
    }
}
