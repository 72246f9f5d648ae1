//! The fence agent waited after it had cut the power.
//!
//! `fence_ipmilan` sleeps `power_wait` (2 s) between the order and the question whether the node is
//! off, which it asks in any case.
//!
//! Evidence: the device's parameter, or its agent's default, and a fencing of that device within the
//! outage. Certain; a warning. Case: `drill/stock-power-cut`.

use hawser_model::finding::{Confidence, Finding, Severity};

use super::{DrillCause, outage_ms, place};
use crate::causes::support::Draft;
use crate::outage::phase::Phase;
use crate::outage::spans::power_wait_us;
use crate::outage::view::DrillView;

pub(super) const CAUSE: DrillCause = DrillCause {
    code: "power-wait",
    find,
};

fn find(view: &DrillView<'_>) -> Option<Finding> {
    let devices = &view.case.cluster.fence_devices;
    let target = view.fenced.first()?;
    let waits = power_wait_us(devices, target) / 1000;
    let agent = view.ms(Phase::FenceAgent) + view.ms(Phase::Bmc) + view.ms(Phase::PowerWait);
    let device = devices
        .iter()
        .find(|device| device.targets.contains(target))?;
    if waits == 0 || agent < waits {
        return None;
    }
    let given = device.parameters.contains_key("power_wait");
    let draft = Draft::new(
        CAUSE.code,
        Severity::Warning,
        Confidence::Certain,
        place(Some(target), Some(&device.name)),
    );
    let draft = draft
        .number("power_wait_ms", waits)
        .number("default", u64::from(!given))
        .number("fence_agent_ms", agent)
        .number("outage_ms", outage_ms(view));
    Some(draft.done())
}
