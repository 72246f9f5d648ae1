//! The operations on the client's pool, and when it was back.

use hawser_model::cluster_file::HookPlace;
use hawser_model::drill::{Moment, PoolFacts, ResourceFacts};

use super::{Facts, Span};
use crate::outage::log_lines::{Mark, Operation};
use crate::outage::phase::Phase;

/// What a resource is to its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The file system or the zpool.
    Storage,
    /// What offers it.
    Exports,
    /// What it is reached at.
    Address,
    /// What runs the site's programs before its storage.
    HooksBefore,
    /// The same after its storage.
    HooksAfter,
    /// Nothing says what it is.
    Unknown,
}

/// By the agent's name. What is neither exports nor an address holds data.
pub(crate) fn part(pool: &PoolFacts, resource: &ResourceFacts) -> Part {
    let agent = resource.agent.rsplit(':').next().unwrap_or_default();
    match agent {
        "" => by_name(pool, resource),
        "hooks" if resource.agent == "ocf:hawser:hooks" => {
            let place = resource.parameters.get("place");
            let said = place.and_then(|place| HookPlace::named(place));
            // Logs alone have no parameters.
            let before = HookPlace::Before.suffix();
            match said.unwrap_or(match resource.name.ends_with(before) {
                true => HookPlace::Before,
                false => HookPlace::After,
            }) {
                HookPlace::Before => Part::HooksBefore,
                HookPlace::After => Part::HooksAfter,
            }
        }
        "IPaddr2" | "IPaddr" | "IPsrcaddr" => Part::Address,
        "exports" | "exportfs" | "nfsserver" | "iSCSITarget" | "iSCSILogicalUnit" | "portblock"
        | "nfsnotify" => Part::Exports,
        _ => Part::Storage,
    }
}

/// By the name that Hawser gives it, where no log names its agent; `vmpool01-exports` shows that Hawser named them.
fn by_name(pool: &PoolFacts, resource: &ResourceFacts) -> Part {
    let own = |resource: &ResourceFacts| {
        let rest = resource.name.strip_prefix(pool.name.as_str())?;
        Some(rest.to_owned())
    };
    let mut all = pool.resources.iter().filter_map(own);
    if !all.any(|rest| rest == EXPORTS) {
        return Part::Unknown;
    }
    match own(resource).as_deref() {
        Some("") => Part::Storage,
        Some(EXPORTS) => Part::Exports,
        Some(rest) if rest == HookPlace::Before.suffix() => Part::HooksBefore,
        Some(rest) if rest == HookPlace::After.suffix() => Part::HooksAfter,
        // `-san01`, the link that the address is on.
        Some(rest) if rest.starts_with('-') => Part::Address,
        _ => Part::Unknown,
    }
}

/// How the name of what offers a pool ends (`hawser-cluster`, `cib`).
const EXPORTS: &str = "-exports";

/// An operation from its order to its result.
pub(crate) struct Ran<'a> {
    pub(crate) operation: &'a Operation,
    pub(crate) from: Moment,
    pub(crate) to: Moment,
    pub(crate) ok: bool,
    /// Whether a log says how it ended.
    pub(crate) ended: bool,
}

impl Ran<'_> {
    /// Whether it is a start of one of the pool's resources that has failed.
    pub(crate) fn is_failed_start(&self, pool: &PoolFacts) -> bool {
        let Operation { resource, task, .. } = self.operation;
        let is_own = || pool.resources.iter().any(|it| it.name == *resource);
        self.ended && !self.ok && task == "start" && is_own()
    }
}

/// All operations that began before the outage was over, in the order in which they began. One
/// that never ended lasts to the end of the outage, and did not succeed.
pub(crate) fn ran<'a>(facts: &Facts<'a>) -> Vec<Ran<'a>> {
    let marks = facts.marks.iter().enumerate();
    let begun = marks.filter_map(|(index, mark)| match &mark.mark {
        Mark::OperationBegun(operation) => Some((index, mark.at, operation)),
        _ => None,
    });
    let ran = begun.map(|(index, from, operation)| {
        let ended = facts.marks[index..]
            .iter()
            .find_map(|mark| match &mark.mark {
                Mark::OperationEnded(ended, ok) if ended == operation => Some((mark.at, *ok)),
                Mark::ProbeFailed(ended) if ended == operation => Some((mark.at, false)),
                _ => None,
            });
        let (to, ok) = ended.unwrap_or((facts.outage.to, false));
        Ran {
            operation,
            from,
            to,
            ok,
            ended: ended.is_some(),
        }
    });
    ran.filter(|ran| ran.from <= facts.outage.to && ran.to >= facts.outage.from)
        .collect()
}

/// The start of a resource that succeeded; of one that was started again, the last.
pub(crate) fn started<'r, 'a>(ran: &'r [Ran<'a>], resource: &ResourceFacts) -> Option<&'r Ran<'a>> {
    ran.iter().rev().find(|ran| {
        ran.ok && ran.operation.task == "start" && ran.operation.resource == resource.name
    })
}

/// The pool the client writes to.
pub(crate) fn own_pool<'a>(facts: &Facts<'a>) -> Option<&'a PoolFacts> {
    let pools = &facts.case.cluster.pools;
    pools
        .iter()
        .find(|pool| pool.name == facts.case.client.pool)
}

/// A span for each operation, and for each failed start from then until it is forgotten.
pub(crate) fn spans(facts: &Facts<'_>) -> Vec<Span> {
    let ran = ran(facts);
    let mut spans = of_operations(facts, &ran);
    spans.extend(ran.iter().filter_map(|ran| kept(facts, ran)));
    spans
}

/// How long a failed start of the client's pool kept Pacemaker from trying it there again, where
/// that had an end within the outage.
fn kept(facts: &Facts<'_>, ran: &Ran<'_>) -> Option<Span> {
    if !ran.is_failed_start(own_pool(facts)?) {
        return None;
    }
    let Operation { resource, host, .. } = ran.operation;
    let of_this = |mark: &Mark| match mark {
        Mark::StartForgiven(f) => f.resource == *resource && f.host == *host,
        _ => false,
    };
    let mut marks = facts.marks.iter();
    let forgiven = marks.find(|at| at.at >= ran.to && of_this(&at.mark))?;
    (forgiven.at < facts.outage.to).then(|| Span {
        phase: Phase::FailureKept,
        host: host.clone(),
        from: ran.to,
        to: forgiven.at,
    })
}

fn of_operations(facts: &Facts<'_>, ran: &[Ran<'_>]) -> Vec<Span> {
    let own = own_pool(facts);
    ran.iter()
        .map(|ran| {
            let resource = own.and_then(|pool| {
                let mut resources = pool.resources.iter();
                resources.find(|resource| resource.name == ran.operation.resource)
            });
            let part = own
                .zip(resource)
                .map(|(pool, resource)| part(pool, resource));
            let phase = match (part, ran.operation.task.as_str()) {
                (None, _) => Phase::OtherResources,
                (Some(Part::HooksBefore), "stop") => Phase::PostExportHook,
                (Some(Part::HooksAfter), "stop") => Phase::PreExportHook,
                (Some(Part::HooksBefore), "start") => Phase::PreImportHook,
                (Some(Part::HooksAfter), "start") => Phase::PostImportHook,
                (Some(Part::Unknown), "stop") => Phase::ResourceStop,
                (Some(Part::Unknown), "start") => Phase::ResourceStart,
                (Some(Part::Storage), "stop") => Phase::PoolStop,
                (Some(Part::Exports), "stop") => Phase::ExportsStop,
                (Some(Part::Address), "stop") => Phase::AddressesStop,
                (Some(Part::Storage), "start") => Phase::Pool,
                (Some(Part::Exports), "start") => Phase::Exports,
                (Some(Part::Address), "start") => Phase::Addresses,
                (Some(_), _) => Phase::FirstCheck,
            };
            Span {
                phase,
                host: ran.operation.host.clone(),
                from: ran.from,
                to: ran.to,
            }
        })
        .collect()
}

/// The pool is back when its storage and its exports have started, and the first of its
/// addresses: a client needs one. What was not started again had not been away. Of a resource of which nothing says what
/// it is a client may need all.
pub(crate) fn ready(facts: &Facts<'_>) -> Option<Moment> {
    let pool = own_pool(facts)?;
    let ran = ran(facts);
    let of = |wanted: Part| {
        let resources = pool
            .resources
            .iter()
            .filter(move |r| part(pool, r) == wanted);
        resources.filter_map(|resource| started(&ran, resource))
    };
    let all = of(Part::Storage)
        .chain(of(Part::Exports))
        .chain(of(Part::Unknown))
        .max_by_key(|r| r.to);
    let address = of(Part::Address).min_by_key(|r| r.to);
    let last = all.into_iter().chain(address).max_by_key(|r| r.to)?;
    Some(last.to)
}
