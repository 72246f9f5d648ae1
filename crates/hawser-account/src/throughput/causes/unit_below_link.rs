//! An iSCSI unit gives less than the link to it carries, with as many requests in flight as serve it best:
//! the target or its storage is at its end.
//!
//! Evidence: the fastest of the unit's rungs at less than four fifths of what the link carried, and its
//! address in the network of that link. Certain; a warning. Case: `ladder-iscsi`.

use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::ladder::RungKind;

use super::LadderCause;
use crate::causes::support::Draft;
use crate::throughput::rates;
use crate::throughput::view::LadderView;

pub(super) const CAUSE: LadderCause = LadderCause {
    code: "unit-below-link",
    find,
};

fn find(view: &LadderView<'_>, _: &[Finding]) -> Vec<Finding> {
    unit(view).into_iter().collect()
}

fn unit(view: &LadderView<'_>) -> Option<Finding> {
    let (run, link) = (view.run, view.link_mb()?);
    let unit = run.iscsi.as_ref()?;
    let (_, port) = view.port(&run.to)?;
    let rungs = run.rungs.iter().filter(|r| r.kind == RungKind::IscsiRead);
    let rates: Vec<(u32, f64)> = rungs
        .filter_map(|rung| Some((rung.depth?, rates::rate(&rung.samples)?.mb_per_s)))
        .collect();
    let (depth, best) = rates.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    if *best >= 0.8 * link || !port.reaches(unit.portal.ip()) {
        return None;
    }
    let place = Place {
        host: Some(run.to.clone()),
        object: Some(unit.to_string()),
        ..Place::default()
    };
    let (_, single) = rates.iter().find(|(depth, _)| *depth == 1)?;
    let draft = Draft::new(CAUSE.code, Severity::Warning, Confidence::Certain, place)
        .decimal("unit_mb_per_s", *best)
        .number("queue_depth", u64::from(*depth))
        .decimal("link_mb_per_s", link);
    Some(draft.decimal("one_request_mb_per_s", *single).done())
}
