//! The promises of a scenario, each judged by what was recorded of it and by nothing else.
//!
//! A promise that could not be watched is broken: a check that cannot fail proves nothing.

use hawser_model::drill::{Hold, Moment, ServicePromise, Watch, WrongWrite};
use hawser_model::names::HostName;
use hawser_model::output::drill::PromiseReport;

use super::view::DrillView;

/// Judges all of them. Those that a scenario does not make are left out.
pub(super) fn judge(view: &DrillView<'_>) -> Vec<PromiseReport> {
    let mut judged = Vec::new();
    judged.extend(faults(view));
    judged.push(heads(view));
    judged.extend(writes(view));
    judged.extend(service(view));
    judged.extend(fencing(view));
    judged.extend(takeover(view));
    judged.push(health(view));
    judged.push(complete(view));
    judged
}

fn promise(code: &str, held: bool, text: String) -> PromiseReport {
    PromiseReport {
        promise: code.to_owned(),
        held,
        text,
    }
}

/// A drill whose fault did not happen shows nothing.
fn faults(view: &DrillView<'_>) -> Vec<PromiseReport> {
    let faults = view.case.faults.iter();
    let judged = faults.map(|fault| {
        let text = match fault.verified {
            Some(_) => format!("{} really happened: {}", fault.name, fault.evidence),
            None => format!("{} was not seen to happen: {}", fault.name, fault.evidence),
        };
        promise("fault-happened", fault.verified.is_some(), text)
    });
    judged.collect()
}

/// Two nodes that surely had a pool at the same time, and since when.
pub(super) fn two_active(watch: &Watch) -> Option<(&Hold, &Hold, Moment)> {
    watch.holds.iter().enumerate().find_map(|(index, one)| {
        watch.holds[index + 1..].iter().find_map(|other| {
            let both_from = one.first.max(other.first);
            let both_to = one.last.min(other.last);
            let same = one.pool == other.pool && one.host != other.host;
            (same && both_from <= both_to).then_some((one, other, both_from))
        })
    })
}

fn heads(view: &DrillView<'_>) -> PromiseReport {
    let watch = &view.case.watch;
    const CODE: &str = "no-two-heads";
    if let Some((one, other, since)) = two_active(watch) {
        let at = view.fault().map_or(0.0, |fault| since.since(fault));
        return promise(
            CODE,
            false,
            format!(
                "{} was active on {} and on {} at the same time, {at:.3} s after the fault",
                one.pool, one.host, other.host
            ),
        );
    }
    if watch.samples == 0 {
        return promise(
            CODE,
            false,
            "the drill did not watch which head had the pools".to_owned(),
        );
    }
    // A node that could not be looked at although it was not known to be off may have had anything.
    if let Some(gap) = watch.gaps.first() {
        return promise(
            CODE,
            false,
            format!(
                "{} could not be looked at for {:.3} s: {}",
                gap.host,
                gap.to.since(gap.from),
                gap.why
            ),
        );
    }
    promise(
        CODE,
        true,
        format!(
            "no pool was active on two heads: {} looks, one each {} ms",
            watch.samples,
            watch.every_us / 1000
        ),
    )
}

fn writes(view: &DrillView<'_>) -> Vec<PromiseReport> {
    let client = &view.case.client;
    let writes = client.writes;
    let first = |wrong: &[WrongWrite]| {
        let breach = client
            .breaches
            .iter()
            .find(|breach| wrong.contains(&breach.wrong));
        breach.map_or(String::new(), |breach| {
            format!(
                ", first block {}: write {} was acknowledged, {} found",
                breach.block, breach.acknowledged, breach.found
            )
        })
    };
    let judged = |code, count: u64, what, wrong: &[WrongWrite]| {
        let text = format!(
            "{count} of {} acknowledged writes {what}{}",
            writes.acknowledged,
            first(wrong)
        );
        promise(code, count == 0, text)
    };
    let mut all = vec![
        judged("no-write-lost", writes.lost, "lost", &[WrongWrite::Lost]),
        judged(
            "no-write-stale",
            writes.stale,
            "stale",
            &[WrongWrite::Stale],
        ),
        judged(
            "no-write-torn",
            writes.torn,
            "torn",
            &[WrongWrite::Torn, WrongWrite::Foreign],
        ),
    ];
    let read = client.read_back && writes.unread == 0 && writes.acknowledged > 0;
    let text = match (writes.acknowledged, read) {
        (0, _) => "no write was ever acknowledged: nothing was tested".to_owned(),
        (_, true) => "everything that was acknowledged was read back at the end".to_owned(),
        (_, false) => format!(
            "{} acknowledged blocks could not be read back at the end",
            writes.unread
        ),
    };
    all.push(promise("all-read-back", read, text));
    all
}

fn service(view: &DrillView<'_>) -> Vec<PromiseReport> {
    let promises = &view.case.scenario.promises;
    let seconds = view.outage.seconds();
    let mut judged = Vec::new();
    if let Some(budget) = promises.outage_ms {
        let held = view.outage.over && seconds * 1000.0 <= budget as f64;
        let text = format!(
            "the client waited {seconds:.3} s; {:.3} s were allowed",
            budget as f64 / 1000.0
        );
        judged.push(promise("outage-budget", held, text));
    }
    let healed = view
        .case
        .faults
        .iter()
        .filter_map(|fault| fault.heal_ordered)
        .min();
    // A wait that began only after the healing was none of the fault's.
    let by_itself =
        healed.is_none_or(|healed| view.outage.to <= healed || view.outage.from >= healed);
    let (code, held, text) = match promises.service {
        ServicePromise::Survives => (
            "service-survives",
            view.outage.over && by_itself,
            match (view.outage.over, by_itself) {
                (false, _) => "the service never came back",
                (true, false) => "the service came back only after the fault was healed",
                (true, true) => "the service came back by itself",
            },
        ),
        ServicePromise::Returns => (
            "service-returns",
            view.outage.over,
            match view.outage.over {
                true => "the service came back",
                false => "the service never came back",
            },
        ),
    };
    judged.push(promise(code, held, text.to_owned()));
    judged
}

fn fencing(view: &DrillView<'_>) -> Vec<PromiseReport> {
    let promises = &view.case.scenario.promises;
    let may = |host: &HostName| {
        promises.may_be_fenced.contains(host) || promises.must_be_fenced.contains(host)
    };
    let wrong: Vec<&HostName> = view.fenced.iter().filter(|host| !may(host)).collect();
    let missing: Vec<&HostName> = {
        let must = promises.must_be_fenced.iter();
        must.filter(|host| !view.fenced.contains(host)).collect()
    };
    let mut judged = vec![promise(
        "only-fenced",
        wrong.is_empty(),
        match wrong.is_empty() {
            true => format!("fenced: {}", names(view.fenced.iter())),
            false => format!("{} must not be fenced, and was", names(wrong.into_iter())),
        },
    )];
    if !promises.must_be_fenced.is_empty() {
        let text = match missing.is_empty() {
            true => format!("{} was fenced", names(promises.must_be_fenced.iter())),
            false => format!("{} was not fenced", names(missing.iter().copied())),
        };
        judged.push(promise("must-be-fenced", missing.is_empty(), text));
    }
    if let Some(most) = promises.fenced_at_most {
        let count = view.fenced.len();
        let text = format!("{count} fenced, at most {most} allowed");
        judged.push(promise("fenced-at-most", count <= most as usize, text));
    }
    judged
}

fn takeover(view: &DrillView<'_>) -> Vec<PromiseReport> {
    let promises = &view.case.scenario.promises;
    let mut judged = Vec::new();
    let (Some(fault), healed) = (
        view.fault(),
        view.case
            .faults
            .iter()
            .filter_map(|fault| fault.heal_ordered)
            .max(),
    ) else {
        return judged;
    };
    if promises.no_takeover {
        let holds = &view.case.watch.holds;
        let before = |hold: &Hold| {
            holds
                .iter()
                .any(|h| h.pool == hold.pool && h.host == hold.host && h.first <= fault)
        };
        let taken = holds.iter().find(|hold| {
            hold.first > fault && healed.is_none_or(|healed| hold.first < healed) && !before(hold)
        });
        let text = match taken {
            None => "nothing was taken over while the fault lasted".to_owned(),
            Some(hold) => format!(
                "{} took over {} {:.3} s after the fault",
                hold.host,
                hold.pool,
                hold.first.since(fault)
            ),
        };
        judged.push(promise("no-takeover", taken.is_none(), text));
    }
    if promises.operator_is_told {
        let said = &view.case.watch.degraded;
        let text = match said.first() {
            Some(first) => format!("the status said: {first}"),
            None => "the status said nothing while the fault lasted".to_owned(),
        };
        judged.push(promise("operator-is-told", !said.is_empty(), text));
    }
    judged
}

fn health(view: &DrillView<'_>) -> PromiseReport {
    let (held, text) = match &view.case.end {
        None => (
            false,
            "the cluster was not seen after the healing".to_owned(),
        ),
        Some(end) if end.redundant && end.degraded.is_empty() => {
            (true, "the cluster is whole again".to_owned())
        }
        Some(end) => (
            false,
            match end.degraded.first() {
                Some(first) => format!("after the healing: {first}"),
                None => "after the healing the cluster is not redundant".to_owned(),
            },
        ),
    };
    promise("healthy-at-the-end", held, text)
}

fn complete(view: &DrillView<'_>) -> PromiseReport {
    let why = view.case.stopped.as_ref();
    let text = why.map_or_else(|| "the drill ran to its end".to_owned(), Clone::clone);
    promise("complete", why.is_none(), text)
}

fn names<'a>(hosts: impl Iterator<Item = &'a HostName>) -> String {
    let names: Vec<&str> = hosts.map(HostName::as_str).collect();
    match names.is_empty() {
        true => "nobody".to_owned(),
        false => names.join(", "),
    }
}
