//! What the whole path needs (its stages, the wire, the processors), how busy each was, and the
//! one that was busy longest.
//!
//! A stage's own work is its busy time less the time in which it could have run and got no
//! processor: that belongs to the processors, where they are short. Stages that share a thread take
//! turns, so together they are one resource, named after the one with most work. The wire was busy
//! while the sender waited for room in the socket *and* the receiver for data.

use hawser_model::ladder::{HostUsage, RungKind, Stage, StageKind};
use hawser_model::names::HostName;
use hawser_model::units::Nanos;

use super::view::{LadderView, busy_share, share, stolen_share};

/// Processors that have less than this to spare are what limits.
const SATURATED: f64 = 0.85;

/// Something the whole path needs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Resource {
    /// Its rung's name, or `processors of HOST`.
    pub(crate) name: String,
    /// The share of the time in which it was at work.
    pub(crate) utilisation: f64,
}

/// The resource that was busy longest; `None` when the whole path was not measured.
pub(crate) fn bottleneck(view: &LadderView<'_>) -> Option<Resource> {
    let mut all = resources(view);
    // Where processors have nothing to spare, whatever runs on them looks busy.
    let limit = processors(view);
    if let Some(limit) = limit.as_ref().filter(|p| p.utilisation >= SATURATED) {
        let busier = all.iter().any(|r| r.utilisation > limit.utilisation);
        if !busier {
            return Some(limit.clone());
        }
    }
    all.extend(limit);
    all.into_iter()
        .max_by(|a, b| a.utilisation.total_cmp(&b.utilisation))
}

/// Time at its own work.
fn own(view: &LadderView<'_>, stage: &Stage) -> Nanos {
    let delay = kept_from_running(view, stage);
    stage.cpu.max(stage.busy.saturating_sub(delay))
}

/// Time a stage could have run and was not let because its host's processors are short. Where they
/// have time to spare and nothing limits us, a thread waits only for its processor to wake: that is
/// part of what it waited for.
fn kept_from_running(view: &LadderView<'_>, stage: &Stage) -> Nanos {
    let host = view.host_of(stage.kind);
    let usage = view.usage(RungKind::Whole, host);
    let short = usage.is_none_or(|u| limited(view, host, u) || 1.0 - busy_share(u) < SPARE);
    match short {
        true => stage.run_delay.unwrap_or_default(),
        false => Nanos::ZERO,
    }
}

fn resources(view: &LadderView<'_>) -> Vec<Resource> {
    let mut all: Vec<Resource> = threads(view)
        .into_iter()
        .filter_map(|stages| {
            let most = stages.iter().max_by_key(|stage| own(view, stage))?;
            let work = stages.iter().map(|stage| own(view, stage)).sum::<Nanos>().0;
            Some(Resource {
                name: name(view, most.kind),
                utilisation: share(work, most.elapsed.0).min(1.0),
            })
        })
        .collect();
    all.extend(wire(view));
    all
}

/// The stages of the whole path, those of one thread together, in the order of the data.
fn threads<'a>(view: &LadderView<'a>) -> Vec<Vec<&'a Stage>> {
    let mut threads: Vec<Vec<&Stage>> = Vec::new();
    for kind in StageKind::ALL {
        let Some(stage) = view.stage(kind) else {
            continue;
        };
        let same = |other: &&Stage| {
            stage.thread.is_some()
                && other.thread == stage.thread
                && view.host_of(other.kind) == view.host_of(kind)
        };
        match threads.iter_mut().find(|t| t.iter().any(same)) {
            Some(thread) => thread.push(stage),
            None => threads.push(vec![stage]),
        }
    }
    threads
}

/// The name of a stage's rung on its host, else its own.
fn name(view: &LadderView<'_>, kind: StageKind) -> String {
    let host = view.host_of(kind);
    let rung = match kind {
        StageKind::Read => RungKind::SourceRead,
        StageKind::Checksum | StageKind::Verify => RungKind::Checksum,
        StageKind::Encrypt => RungKind::Encrypt,
        StageKind::Send => return format!("send {host}"),
        StageKind::Receive => return format!("receive {host}"),
        StageKind::Decrypt => RungKind::Decrypt,
        StageKind::Write => RungKind::SinkWrite,
    };
    view.run.rung(rung, Some(host)).map_or_else(
        || format!("{kind:?} {host}").to_lowercase(),
        |rung| view.name(rung),
    )
}

fn wire(view: &LadderView<'_>) -> Option<Resource> {
    let send = view.stage(StageKind::Send)?;
    let receive = view.stage(StageKind::Receive)?;
    let waited = |time: Nanos, stage: &Stage| time.saturating_sub(kept_from_running(view, stage));
    let both = waited(send.waiting_out, send).min(waited(receive.waiting_in, receive));
    let elapsed = send.elapsed.min(receive.elapsed);
    Some(Resource {
        name: "wire tcp, 1 stream".to_owned(),
        utilisation: share(both.0, elapsed.0).min(1.0),
    })
}

/// The name of a host's processors as a resource.
pub(crate) fn processors_of(host: &HostName) -> String {
    format!("processors of {host}")
}

/// The processors of the host on which they were busier, or kept from us; of equal ones the
/// sender's. How busy they were, and all of their time where they were kept.
fn processors(view: &LadderView<'_>) -> Option<Resource> {
    let of = |host| {
        let usage = view.usage(RungKind::Whole, host)?;
        Some(Resource {
            name: processors_of(host),
            utilisation: match held_back(view, host) {
                Some(_) => 1.0,
                None => demanded(view, host, usage),
            },
        })
    };
    let [from, to] = view.hosts().map(of);
    match (from, to) {
        (Some(from), Some(to)) if to.utilisation > from.utilisation + 0.02 => Some(to),
        (Some(from), _) => Some(from),
        (None, to) => to,
    }
}

/// How busy a host's processors were as far as it matters to us: when our threads had to wait for one,
/// as a whole, but no more than the neediest of them needed one; else only with us, whoever else may
/// use what we leave.
fn demanded(view: &LadderView<'_>, host: &HostName, usage: &HostUsage) -> f64 {
    match delayed(view, host) >= WAITED {
        true => busy_share(usage).min(needed(view, host) + stolen_share(usage)),
        false => share(
            usage.own_cpu.0,
            usage
                .elapsed
                .0
                .saturating_mul(usage.processors.len() as u64),
        ),
    }
}

/// The longest share of its time that a thread of the host ran or could have run. A thread that
/// mostly sleeps on a slow device or wire waits for a busy processor too each time it wakes. What a
/// hypervisor steals is in neither count.
fn needed(view: &LadderView<'_>, host: &HostName) -> f64 {
    longest(view, host, |stage| {
        stage.cpu + stage.run_delay.unwrap_or_default()
    })
}

/// A stage that waits for a processor for this share of its time wants more than it gets.
const WAITED: f64 = 0.1;

/// The longest share of its time that a thread of the host could have run and was not let.
fn delayed(view: &LadderView<'_>, host: &HostName) -> f64 {
    longest(view, host, |stage| stage.run_delay.unwrap_or_default())
}

/// The largest share that `part` of its stages has of a thread's time, of the host's threads.
fn longest(view: &LadderView<'_>, host: &HostName, part: impl Fn(&Stage) -> Nanos) -> f64 {
    threads(view)
        .into_iter()
        .filter(|stages| stages.iter().all(|s| view.host_of(s.kind) == host))
        .map(|stages| {
            let parts = stages.iter().map(|stage| part(stage)).sum::<Nanos>().0;
            share(parts, stages[0].elapsed.0)
        })
        .fold(0.0, f64::max)
}

/// A host on which stages often could have run and were not let for a reason that the kernel knows: it
/// throttled them, or processors had nothing to do beside a quota or fewer processors allowed than there
/// are. The share of the time in which the worst stage waited so.
pub(crate) fn held_back(view: &LadderView<'_>, host: &HostName) -> Option<f64> {
    let usage = view.usage(RungKind::Whole, host)?;
    if !limited(view, host, usage) {
        return None;
    }
    let idle = 1.0 - busy_share(usage);
    let kept = not_let(view, host, usage);
    // Time that the kernel counts as throttled needs no idle processor beside it for evidence.
    let held = throttled(usage) >= HELD || (kept >= HELD && idle >= SPARE);
    held.then_some(kept)
}

/// The longest share of its time that a stage of the host waited for a processor or was throttled.
pub(crate) fn not_let(view: &LadderView<'_>, host: &HostName, usage: &HostUsage) -> f64 {
    delayed(view, host).max(throttled(usage))
}

fn throttled(usage: &HostUsage) -> f64 {
    usage.throttled.map_or(0.0, |t| share(t.0, usage.elapsed.0))
}

/// Whether the kernel limits our processor time there. Waiting alone does not show it: a processor that
/// a hypervisor has put to sleep takes its time to wake, and a thread it is to run waits meanwhile.
fn limited(view: &LadderView<'_>, host: &HostName, usage: &HostUsage) -> bool {
    let hardware = view.run.hardware.get(host);
    let quota = || hardware.is_some_and(|h| h.quota_millis.is_some());
    let throttled = usage.throttled.map_or_else(quota, |t| !t.is_zero());
    let online = view.facts(host).map(|f| f.cpus);
    let fewer = hardware
        .zip(online)
        .is_some_and(|(h, online)| h.allowed_processors < online);
    throttled || fewer
}

/// A stage that waits for a processor for half of its time is held back (two threads that wake each
/// other for every packet reach a third) …
const HELD: f64 = 0.5;

/// … when meanwhile this share of the processors had nothing to do.
const SPARE: f64 = 0.15;
