//! An iSCSI unit gives less than the link to it carries, with as many requests in flight as serve it best:
//! the target or its storage is at its end.
//!
//! Evidence: the fastest of the unit's rungs at less than four fifths of what the link carried, and its
//! address in the network of that link. Certain; a warning. Case: `ladder-iscsi`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::ladder::RungKind;
use serde::Serialize;

use crate::cause::{Before, Cause, Found, LadderCause, Words, host};
use crate::throughput::mb::MbPerS;
use crate::throughput::rates;
use crate::throughput::view::LadderView;

#[derive(Serialize)]
pub(crate) struct UnitBelowLink {
    unit_mb_per_s: MbPerS,
    queue_depth: u32,
    link_mb_per_s: MbPerS,
    one_request_mb_per_s: MbPerS,
}

impl LadderCause for UnitBelowLink {
    fn find(view: &LadderView<'_>, _: &Before<'_>) -> Vec<Found<Self>> {
        unit(view).into_iter().collect()
    }
}

fn unit(view: &LadderView<'_>) -> Option<Found<UnitBelowLink>> {
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
    let (_, single) = rates.iter().find(|(depth, _)| *depth == 1)?;
    Some(Found {
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        place: Place::of(&unit.to_string(), Some(&run.to)),
        evidence: UnitBelowLink {
            unit_mb_per_s: MbPerS::of(*best),
            queue_depth: *depth,
            link_mb_per_s: MbPerS::of(link),
            one_request_mb_per_s: MbPerS::of(*single),
        },
    })
}

impl Cause for UnitBelowLink {
    const CODE: &'static str = "unit-below-link";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "{} gives {} at most {}, with a queue depth of {} ({} when each request is waited for); the link \
                 carried {}.",
                at.object.as_deref().unwrap_or("The unit"),
                host(at),
                self.unit_mb_per_s,
                self.queue_depth,
                self.one_request_mb_per_s,
                self.link_mb_per_s,
            ),
            fix: "Look at the head that offers it while it is read: its disks (`iostat -x 1`), and the target's \
                  own threads (`top -H`: tgtd serves a connection with one). More requests in flight do not \
                  help, several sessions may."
                .to_owned(),
        }
    }
}
