//! The grace period of an NFS server, for which a client that creates files waits. A writer that has its file open reclaims it, and
//! does not wait.

use hawser_model::drill::{Moment, PathChange};
use hawser_model::names::HostName;

use super::{Facts, Span};
use crate::outage::phase::Phase;
use crate::outage::timeline::on_drills_clock;

/// A kernel that was refused asks again after 0.1 s, and then after twice as long each time, 15 s at most (`NFS4_POLL_RETRY_MAX` in
/// fs/nfs/nfs4proc.c). The answer takes a little longer: 15.02 s were seen.
const RETRY_US: u64 = 16_000_000;

/// The period, from when the pool was back and the same client's writers were answered to the look that found it over; and from
/// there to the first file, where nothing but the kernel's pause explains it.
pub(crate) fn spans(facts: &Facts<'_>, ready: Option<Moment>) -> Vec<Span> {
    let (outage, client) = (facts.outage, &facts.case.client);
    let Some(answered) = facts.answered().filter(|_| outage.over) else {
        return Vec::new();
    };
    let since = ready.map_or(answered, |ready| ready.max(answered));
    let watch = &facts.case.watch;
    let mut holds = watch.holds.iter();
    let hold = holds
        .find(|hold| hold.pool == client.pool && hold.first <= outage.to && hold.last >= outage.to);
    // If a file was created in a period, that period kept nobody from it.
    let graces = watch.graces.iter().filter(|grace| {
        hold.is_some_and(|hold| hold.host == grace.host) && grace.last <= outage.to
    });
    let Some(grace) = graces.max_by_key(|grace| grace.last) else {
        return Vec::new();
    };
    let to = grace.over.unwrap_or(grace.last).min(outage.to);
    let mut spans = vec![Span {
        phase: Phase::NfsGrace,
        host: grace.host.clone(),
        from: grace.first.max(since),
        to,
    }];
    let refused = client.paths.iter().any(|event| {
        let at = on_drills_clock(event.at, client.clock);
        event.writer == outage.writer
            && event.what == PathChange::Refused
            && at > to
            && at <= outage.to
    });
    let pause = outage.to.0.saturating_sub(to.0);
    if grace.over.is_some() && to > since && pause <= RETRY_US && !refused {
        let host = client.host.clone();
        spans.push(Span {
            phase: Phase::NfsRetry,
            host: host.unwrap_or_else(|| HostName::from("client")),
            from: to,
            to: outage.to,
        });
    }
    spans
}

#[cfg(test)]
mod tests {
    use hawser_model::drill::{ClientLoad, DrillCase, GracePeriod, Stall};

    use super::*;
    use crate::outage::explain_drill;

    /// Microseconds since 1970 of the base's last start, about which these stalls and periods are.
    const READY: u64 = 1_795_346_058_451_000;

    fn at(seconds: f64) -> Moment {
        Moment(READY).shifted((seconds * 1e6) as i64)
    }

    /// A power cut in which the writers are answered 0.1 s after the pool is back, and the first file is created after so many.
    fn case(created: f64, grace: (f64, f64, Option<f64>)) -> DrillCase {
        let text = include_str!("../../../../../cases/bases/drill-power-cut.json");
        let mut case: DrillCase = serde_json::from_str(text).unwrap();
        case.client.load = Some(ClientLoad {
            writers: 2,
            depth: 4,
            rate: 200,
            region_bytes: 1 << 21,
            order_bytes: 4096,
            reads: 6,
            creates: true,
        });
        case.client.stalls.push(Stall {
            writer: 2,
            from: case.client.stalls[0].from,
            to: at(created),
            over: true,
        });
        case.client.paths.clear();
        case.faults[0].heal_ordered = None;
        let (first, last, over) = grace;
        case.watch.graces = vec![GracePeriod {
            host: "head2".into(),
            first: at(first),
            last: at(last),
            over: over.map(at),
        }];
        case
    }

    /// The phases from the pool's return on, in tenths of a second, and what is unattributed.
    fn told(case: &DrillCase) -> (Vec<(String, i64)>, i64) {
        let tenths = |seconds: f64| (seconds * 10.0).round() as i64;
        let report = explain_drill(case);
        let phases = report.phases.iter();
        let after = phases.skip_while(|phase| phase.name != "addresses").skip(1);
        let after = after.map(|phase| (phase.name.clone(), tenths(phase.seconds)));
        (after.collect(), tenths(report.unattributed_s))
    }

    fn phases(phases: &[(&str, i64)]) -> Vec<(String, i64)> {
        let phases = phases.iter();
        phases
            .map(|(name, tenths)| ((*name).to_owned(), *tenths))
            .collect()
    }

    #[test]
    fn who_creates_a_file_waits_for_the_period_and_then_for_the_kernel() {
        let expected = phases(&[
            ("client reconnect", 1),
            ("nfs grace", 19),
            ("nfs retry", 10),
        ]);
        assert_eq!(told(&case(3.0, (-0.5, 1.9, Some(2.0)))), (expected, 0));
    }

    #[test]
    fn a_period_in_which_a_file_was_created_kept_nobody_from_it() {
        let expected = phases(&[("client reconnect", 1)]);
        assert_eq!(told(&case(3.0, (-0.5, 3.5, Some(4.0)))), (expected, 29));
    }

    #[test]
    fn no_pause_of_the_kernel_is_longer_than_it_makes_one() {
        let expected = phases(&[("client reconnect", 1), ("nfs grace", 19)]);
        let (told, unattributed) = told(&case(19.0, (-0.5, 1.9, Some(2.0))));
        assert_eq!((told, unattributed), (expected, 170));
    }

    #[test]
    fn until_writers_are_answered_nothing_but_the_way_to_them_is_told() {
        let mut late = case(3.0, (-0.5, 1.9, Some(2.0)));
        late.client.stalls[1].to = at(2.5);
        let expected = phases(&[("client reconnect", 25)]);
        assert_eq!(told(&late), (expected, 5));
        late.client.stalls[1].over = false;
        assert_eq!(told(&late).0, []);
    }

    #[test]
    fn the_period_of_another_head_is_none_of_this_pool_s() {
        let mut other = case(3.0, (-0.5, 1.9, Some(2.0)));
        other.watch.graces[0].host = "head1".into();
        assert_eq!(told(&other).0, phases(&[("client reconnect", 1)]));
    }
}
