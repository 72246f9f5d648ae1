//! The wire or the whole path could not be measured: a port is filtered, a connection broke.
//!
//! Evidence: the rung's own error. Certain; an error, since nothing about the path is known then.
//! Case: `ladder-not-measured`.

use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::ladder::RungKind;

use super::LadderCause;
use crate::causes::support::Draft;
use crate::throughput::view::LadderView;

pub(super) const CAUSE: LadderCause = LadderCause {
    code: "rung-not-measured",
    find,
};

/// Rungs without which a ladder says little; of the others it is normal that one cannot run.
const NEEDED: [RungKind; 6] = [
    RungKind::SourceRead,
    RungKind::SinkWrite,
    RungKind::WireTcp,
    RungKind::WireTcpMany,
    RungKind::LoopbackTcp,
    RungKind::Whole,
];

fn find(view: &LadderView<'_>, _: &[Finding]) -> Vec<Finding> {
    let rungs = view.run.rungs.iter().filter(|r| NEEDED.contains(&r.kind));
    rungs
        .filter_map(|rung| {
            let why = rung.unavailable.as_ref()?;
            let place = Place {
                host: rung.host.clone().or(Some(view.run.from.clone())),
                peer: rung.host.is_none().then(|| view.run.to.clone()),
                link: Some(view.run.link.clone()),
                object: Some(view.name(rung)),
                ..Place::default()
            };
            let draft = Draft::new(CAUSE.code, Severity::Error, Confidence::Certain, place);
            Some(draft.name("error", why).done())
        })
        .collect()
}
