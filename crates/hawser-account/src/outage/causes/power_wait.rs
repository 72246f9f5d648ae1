//! The fence agent waited after it had cut the power.
//!
//! `fence_ipmilan` sleeps `power_wait` (2 s) between the order and the question whether the node is
//! off, which it asks in any case. A node that is off already is not waited for: after a plain power
//! cut nobody pays for it, after a hang everybody does.
//!
//! Evidence: the device's parameter, or its agent's default, and a fencing of that device within the
//! outage that took at least as long. Certain where the BMC's own times show it, otherwise likely; a
//! warning. Case: `drill/power-wait`.

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
    // Seen at the BMC, or only known of the agent.
    let confidence = match view.ms(Phase::PowerWait) {
        0 => Confidence::Likely,
        _ => Confidence::Certain,
    };
    let given = device.parameters.contains_key("power_wait");
    let draft = Draft::new(
        CAUSE.code,
        Severity::Warning,
        confidence,
        place(Some(target), Some(&device.name)),
    );
    let draft = draft
        .number("power_wait_ms", waits)
        .number("default", u64::from(!given))
        .number("fence_agent_ms", agent)
        .number("outage_ms", outage_ms(view));
    Some(draft.done())
}
