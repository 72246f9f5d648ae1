//! A ladder's case as the account and the causes look at it.

use hawser_model::case::Case;
use hawser_model::finding::Place;
use hawser_model::host::{HostFacts, Interface};
use hawser_model::ladder::{HostUsage, LadderRun, ProcessorTime, Rung, RungKind, Stage, StageKind};
use hawser_model::names::{HostName, InterfaceName};
use hawser_model::traffic::StreamState;
use hawser_model::units::Nanos;

use super::rates::{self, Rate};

/// The case as the causes look at it.
pub(crate) struct LadderView<'a> {
    pub(crate) case: &'a Case,
    pub(crate) run: &'a LadderRun,
}

impl<'a> LadderView<'a> {
    pub(crate) fn new(case: &'a Case) -> Option<Self> {
        let run = case.ladder.as_ref()?;
        Some(Self { case, run })
    }

    /// A rung's name: what, and where.
    pub(crate) fn name(&self, rung: &Rung) -> String {
        let what = match rung.kind {
            RungKind::WireTcp => "wire tcp, 1 stream",
            RungKind::WireTcpOther => {
                let congestion = rung.streams.first().map_or("", |s| &s.congestion);
                return format!("wire tcp, 1 stream, {congestion}");
            }
            RungKind::WireTcpMany if rung.streams.is_empty() => "wire tcp, several streams",
            RungKind::WireTcpMany => {
                return format!("wire tcp, {} streams", rung.streams.len());
            }
            RungKind::IscsiRead => {
                let depth = rung.depth.unwrap_or(1);
                let what = format!("iscsi read qd={depth}");
                return rung
                    .host
                    .as_ref()
                    .map_or(what.clone(), |host| format!("{what} {host}"));
            }
            kind => kind.word(),
        };
        match &rung.host {
            Some(host) => format!("{what} {host}"),
            None => what.to_owned(),
        }
    }

    /// A measured rung's rate.
    pub(crate) fn rate(&self, kind: RungKind) -> Option<Rate> {
        rates::rate(&self.run.rung(kind, None)?.samples)
    }

    /// A measured rung's rate in MB/s.
    pub(crate) fn mb(&self, kind: RungKind) -> Option<f64> {
        self.rate(kind).map(|rate| rate.mb_per_s)
    }

    /// What the whole path did, in MB/s.
    pub(crate) fn whole(&self) -> f64 {
        self.mb(RungKind::Whole).unwrap_or(0.0)
    }

    /// A stage of the whole path.
    pub(crate) fn stage(&self, kind: StageKind) -> Option<&'a Stage> {
        let whole = self.run.rung(RungKind::Whole, None)?;
        whole.stages.iter().find(|s| s.kind == kind)
    }

    /// The host of a stage.
    pub(crate) fn host_of(&self, kind: StageKind) -> &'a HostName {
        match kind {
            StageKind::Read | StageKind::Checksum | StageKind::Encrypt | StageKind::Send => {
                &self.run.from
            }
            StageKind::Receive | StageKind::Decrypt | StageKind::Verify | StageKind::Write => {
                &self.run.to
            }
        }
    }

    /// The interface of a host on the link.
    pub(crate) fn port(&self, host: &HostName) -> Option<(&'a InterfaceName, &'a Interface)> {
        let node = self.case.topology.node(host)?;
        let address = *node.addresses.get(&self.run.link)?;
        self.facts(host)?.interface_with(address)
    }

    pub(crate) fn facts(&self, host: &HostName) -> Option<&'a HostFacts> {
        self.case.hosts.get(host)
    }

    /// The only stream of the wire rung with one.
    pub(crate) fn stream(&self) -> Option<&'a StreamState> {
        self.run.rung(RungKind::WireTcp, None)?.streams.first()
    }

    /// The stream with another congestion control.
    pub(crate) fn other_stream(&self) -> Option<&'a StreamState> {
        let rung = self.run.rung(RungKind::WireTcpOther, None)?;
        rung.streams.first()
    }

    /// What a host's processors did during a rung.
    pub(crate) fn usage(&self, kind: RungKind, host: &HostName) -> Option<&'a HostUsage> {
        self.run.rung(kind, None)?.usage.get(host)
    }

    /// The slower of the two interfaces' speeds, in MB/s, when both report one.
    pub(crate) fn speed(&self) -> Option<f64> {
        let of = |host| self.port(host)?.1.speed.filter(|s| s.0 > 0);
        let (from, to) = (of(&self.run.from)?, of(&self.run.to)?);
        Some(from.min(to).0 as f64 / 8e6)
    }

    /// What the link could carry as far as is known: its speed, or what it was seen to carry.
    pub(crate) fn link(&self) -> Option<Rate> {
        let seen = [
            RungKind::WireTcp,
            RungKind::WireTcpOther,
            RungKind::WireTcpMany,
            RungKind::WireUdp,
        ];
        let seen = seen.into_iter().filter_map(|kind| self.rate(kind));
        let seen = seen.max_by(|a, b| a.mb_per_s.total_cmp(&b.mb_per_s))?;
        let above = |speed: &f64| *speed < seen.mb_per_s;
        Some(self.speed().filter(above).map_or(seen, |speed| Rate {
            mb_per_s: speed,
            spread: 0.0,
        }))
    }

    /// The same in MB/s.
    pub(crate) fn link_mb(&self) -> Option<f64> {
        self.link().map(|rate| rate.mb_per_s)
    }

    /// What one thread would have done with a processor to itself. Others may have had it meanwhile: programs,
    /// or the guests beside this one. A rung that says how much processor time it had is measured by that.
    pub(crate) fn undisturbed(&self, kind: RungKind) -> Option<Rate> {
        let rung = self.run.rung(kind, None)?;
        let rate = rates::rate(&rung.samples)?;
        let usage = rung.host.as_ref().and_then(|host| rung.usage.get(host));
        let had = usage.map_or(1.0, |u| {
            // Whether a thread's time includes what was stolen from it, each kernel says otherwise.
            share(u.own_cpu.0, u.elapsed.0).min(1.0) * (1.0 - stolen_share(u))
        });
        (had > 0.0).then_some(Rate {
            mb_per_s: rate.mb_per_s / had,
            ..rate
        })
    }

    /// Segments lost, as a share of those sent, in the wire rung with one stream. What was sent again although
    /// it had arrived says nothing of the path: a sender that moves between processors overtakes itself.
    pub(crate) fn lost(&self) -> f64 {
        self.stream()
            .map_or(0.0, |s| share(s.lost().0, s.segments.0))
    }

    /// A place on the sending or receiving host, on the link.
    pub(crate) fn place(&self, host: &HostName) -> Place {
        Place {
            host: Some(host.clone()),
            link: Some(self.run.link.clone()),
            interface: self.port(host).map(|(name, _)| name.clone()),
            ..Place::default()
        }
    }

    /// The path as a place.
    pub(crate) fn path(&self) -> Place {
        Place {
            host: Some(self.run.from.clone()),
            peer: Some(self.run.to.clone()),
            link: Some(self.run.link.clone()),
            ..Place::default()
        }
    }

    /// Both hosts, the sender first.
    pub(crate) fn hosts(&self) -> [&'a HostName; 2] {
        [&self.run.from, &self.run.to]
    }
}

/// `part` of `whole`, zero of nothing.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        whole => part as f64 / whole as f64,
    }
}

/// The share of its processors' time that a hypervisor gave to others.
pub(crate) fn stolen_share(usage: &HostUsage) -> f64 {
    share(
        spent(usage, |p| p.steal),
        spent(usage, ProcessorTime::total),
    )
}

/// The share of its time a host's processors were busy, all together.
pub(crate) fn busy_share(usage: &HostUsage) -> f64 {
    let total = spent(usage, ProcessorTime::total);
    share(total.saturating_sub(spent(usage, |p| p.idle)), total)
}

/// A part of all processors' time.
fn spent(usage: &HostUsage, part: fn(ProcessorTime) -> Nanos) -> u64 {
    usage
        .processors
        .values()
        .copied()
        .map(part)
        .sum::<Nanos>()
        .0
}

/// A processor that spends this share of its time in soft interrupts can handle no more packets …
pub(crate) const CORE_SATURATED: f64 = 0.8;

/// … and is what limits when the others have this share of theirs to spare.
pub(crate) const OTHERS_SPARE: f64 = 0.2;

/// A hypervisor that takes no more of a processor than this leaves it a time of which shares can be told.
const LEFT_ALONE: f64 = 0.25;

/// The share of `of`, in which a processor's time was counted, that it spent in soft interrupts: of what a
/// hypervisor left of it, since more than that it cannot spend. Where little was left, of all.
pub(crate) fn softirq_share(time: &ProcessorTime, of: Nanos) -> f64 {
    let stolen = match share(time.steal.0, of.0) <= LEFT_ALONE {
        true => time.steal,
        false => Nanos::ZERO,
    };
    share(time.softirq.0, of.saturating_sub(stolen).0).min(1.0)
}

/// A part of a processor's time as a share of all of it.
pub(crate) fn part(time: &ProcessorTime, of: impl Fn(&ProcessorTime) -> u64) -> f64 {
    share(of(time), time.total().0)
}

/// How much of one processor a host spent on us while something ran: the agent's own time, or the
/// soft interrupts of the processor that had most of them. What other programs use does not count.
pub(crate) fn at_work(usage: &HostUsage) -> f64 {
    let softirq = usage.processors.values().map(|p| part(p, |p| p.softirq.0));
    share(usage.own_cpu.0, usage.elapsed.0).max(softirq.fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_hypervisor_took_could_not_be_spent_on_packets() {
        let of = |softirq, steal| {
            let time = ProcessorTime {
                softirq: Nanos(softirq),
                steal: Nanos(steal),
                ..ProcessorTime::default()
            };
            softirq_share(&time, Nanos(100))
        };
        assert!((of(79, 0) - 0.79).abs() < 1e-9);
        assert!((of(79, 16) - 79.0 / 84.0).abs() < 1e-9);
        // Of what is left of the rest it spent all, and that says nothing of packets.
        assert!((of(20, 80) - 0.2).abs() < 1e-9);
        // Counted in ticks, the parts may be more than the whole.
        assert!((of(101, 0) - 1.0).abs() < 1e-9);
    }
}
