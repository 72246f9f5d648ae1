//! Other programs of the host have its processors, and the stages of the path wait for one: what the path can do is not seen.
//!
//! Evidence: the processors of this host are what limited the whole path, most of their time went into programs that are not
//! Hawser's (`/proc/stat` less the agents' own), and a stage that could run waited for half of its time (`schedstat`). Nothing
//! that the kernel calls a limit explains it ([`super::cpu_limit`]). Named are those that had a tenth of a processor. Certain; a
//! warning. Cases: `ladder-processors-taken`, `ladder-processors-named`; not `ladder-busy-hosts`, where nothing waited for them.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::ladder::RungKind;
use hawser_model::names::HostName;
use hawser_model::units::Nanos;
use serde::Serialize;

use super::claims::{Busy, busy, busy_words};
use super::cpu_limit::CpuLimit;
use crate::cause::{Before, Cause, Found, LadderCause, Words, host};
use crate::compare::topic::{About, Topic};
use crate::throughput::resources::{bottleneck, not_let, processors_of};
use crate::throughput::view::{LadderView, busy_share, share};

#[derive(Serialize)]
pub(crate) struct ProcessorsTaken {
    foreign_percent: u64,
    own_percent: u64,
    idle_percent: u64,
    waited_percent: u64,
    /// Those of them that the host's `/proc` shows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    busy: Vec<Busy>,
}

/// Of the processors' time, to others: more than half.
const TAKEN: f64 = 0.5;

/// Of a stage's time, for a processor.
const WAITED: f64 = 0.5;

impl LadderCause for ProcessorsTaken {
    fn find(view: &LadderView<'_>, before: &Before<'_>) -> Vec<Found<Self>> {
        if before.any(&[CpuLimit::CODE]) {
            return Vec::new();
        }
        let limit = bottleneck(view).map(|resource| resource.name);
        let named = |host: &&HostName| limit == Some(processors_of(host));
        let hosts = view.hosts().into_iter().filter(named);
        hosts.filter_map(|host| on(view, host)).collect()
    }
}

fn on(view: &LadderView<'_>, host: &HostName) -> Option<Found<ProcessorsTaken>> {
    let usage = view.usage(RungKind::Whole, host)?;
    // Two hosts of one kernel (containers, a lab) count the same processors: none of Hawser's time is foreign there.
    let agents = view.hosts().into_iter();
    let own = agents
        .filter_map(|host| view.usage(RungKind::Whole, host))
        .map(|usage| usage.own_cpu)
        .sum::<Nanos>();
    let times = usage.processors.values();
    let (programs, total) = times.fold((Nanos(0), Nanos(0)), |(programs, total), p| {
        (programs + p.user + p.system, total + p.total())
    });
    let foreign = share(programs.0.saturating_sub(own.0), total.0);
    let waited = not_let(view, host, usage);
    let percent = |part: f64| (part * 100.0).round() as u64;
    (foreign >= TAKEN && waited >= WAITED).then(|| Found {
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        place: Place::on(host),
        evidence: ProcessorsTaken {
            foreign_percent: percent(foreign),
            own_percent: percent(share(usage.own_cpu.0, total.0)),
            idle_percent: percent(1.0 - busy_share(usage)),
            waited_percent: percent(waited.min(1.0)),
            busy: busy(&usage.busy, usage.elapsed),
        },
    })
}

impl Cause for ProcessorsTaken {
    const CODE: &'static str = "processors-taken";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &'static [About] = &[Topic::Processor.any(), Topic::Governor.any()];

    fn words(&self, at: &Place) -> Words {
        let host = host(at);
        let names = busy_words(&self.busy);
        let named = names
            .as_ref()
            .map_or(String::new(), |names| format!(" {names}."));
        let look = match names {
            Some(_) => "`systemd-cgtop` shows their service".to_owned(),
            None => format!(
                "`top` or `ps -eo pid,ni,rtprio,pcpu,comm --sort=-pcpu | head` names them, `systemd-cgtop` their service; \
                 {host} shows Hawser none that had a tenth of a processor"
            ),
        };
        Words {
            text: format!(
                "Other programs had {} % of the time of {host}'s processors while the whole path ran, Hawser {} %, and {} % \
                 was idle.{named} A stage of the path waited for a processor for {} % of its time. So this ladder says what those \
                 programs leave, not what the path can do.",
                self.foreign_percent, self.own_percent, self.idle_percent, self.waited_percent,
            ),
            fix: format!(
                "On {host}, {look}. Stop what runs away, give it a lower priority or a CPU quota, \
                 and repeat the ladder. In a container or a lab the programs of its neighbours count too."
            ),
        }
    }
}
