//! The shot at the dead node was held back by a delay that is always waited for.
//!
//! `pcmk_delay_base` keeps two nodes that lost sight of each other from shooting each other; the
//! fencer cannot know that the other one is dead and waits all the same.
//!
//! Evidence: the delay in the fencer's log. Certain; a warning. Case: `drill/power-cut`.

use hawser_model::finding::{Confidence, Finding, Severity};

use super::{DrillCause, outage_ms, place};
use crate::causes::support::Draft;
use crate::outage::phase::Phase;
use crate::outage::view::DrillView;

pub(super) const CAUSE: DrillCause = DrillCause {
    code: "static-fence-delay",
    find,
};

fn find(view: &DrillView<'_>) -> Option<Finding> {
    let cluster = &view.case.cluster;
    let delayed = view.ms(Phase::FenceDelay);
    let target = view.fenced.first()?;
    let mut devices = cluster.fence_devices.iter();
    let device = devices.find(|device| {
        let given = ["pcmk_delay_base", "pcmk_delay_max"].map(|name| device.parameters.get(name));
        device.targets.contains(target) && given.iter().any(Option::is_some)
    })?;
    if delayed == 0 {
        return None;
    }
    let pools = cluster.pools.iter();
    let holders = pools
        .filter(|pool| pool.active_on.as_ref() == Some(target))
        .count();
    let draft = Draft::new(
        CAUSE.code,
        Severity::Warning,
        Confidence::Certain,
        place(Some(target), Some(&device.name)),
    );
    let draft = draft
        .number("delay_ms", delayed)
        .number("outage_ms", outage_ms(view))
        .number("nodes", cluster.nodes.len() as u64)
        .number("pools_of_the_dead", holders as u64)
        .number("pools", cluster.pools.len() as u64);
    Some(draft.done())
}
