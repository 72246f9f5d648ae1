//! The fence agent waited after it had cut the power.
//!
//! `fence_ipmilan` sleeps `power_wait` (2 s) between the order and the question whether the node is
//! off, which it asks in any case. It does not wait for a node that is off already: after a plain power
//! cut nothing is lost to it, after a hang all of it is.
//!
//! Evidence: the device's parameter, or its agent's default, and a fencing of that device within the
//! outage that took at least as long. Certain where the BMC's own times show it, otherwise likely; a
//! warning. Case: `drill/power-wait`.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, Found, OutageCause, Words, as_number, host};
use crate::outage::millis::Millis;
use crate::outage::phase::Phase;
use crate::outage::spans::power_wait_us;
use crate::outage::view::DrillView;

#[derive(Serialize)]
pub(crate) struct PowerWait {
    power_wait_ms: Millis,
    /// Whether the agent's default is in force.
    #[serde(serialize_with = "as_number")]
    default: bool,
    fence_agent_ms: Millis,
    outage_ms: Millis,
}

impl OutageCause for PowerWait {
    fn find(view: &DrillView<'_>) -> Option<Found<Self>> {
        let devices = &view.case.cluster.fence_devices;
        let target = view.fenced.first()?;
        let waits = Millis(power_wait_us(devices, target) / 1000);
        let at_the_bmc = view.ms(Phase::PowerWait);
        let agent = view.ms(Phase::FenceAgent).0 + view.ms(Phase::Bmc).0 + at_the_bmc.0;
        let device = devices
            .iter()
            .find(|device| device.targets.contains(target))?;
        (waits.0 > 0 && agent >= waits.0).then(|| Found {
            severity: Severity::Warning,
            // Seen at the BMC, or only known of the agent.
            confidence: match at_the_bmc.0 {
                0 => Confidence::Likely,
                _ => Confidence::Certain,
            },
            place: Place::of(&device.name, Some(target)),
            evidence: Self {
                power_wait_ms: waits,
                default: !device.parameters.contains_key("power_wait"),
                fence_agent_ms: Millis(agent),
                outage_ms: view.outage_ms(),
            },
        })
    }
}

impl Cause for PowerWait {
    const CODE: &'static str = "power-wait";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let source = match self.default {
            true => "its agent's default",
            false => "as it is set",
        };
        Words {
            text: format!(
                "The fence device of {} waits {} after it has cut the power, {source}: fencing took {}.",
                host(at),
                self.power_wait_ms,
                self.fence_agent_ms.of(self.outage_ms),
            ),
            fix: "Set `power_wait = \"0s\"` at the node's BMC in the cluster file. The agent asks the BMC \
                  whether the node is off in any case, each second. Price: with a BMC that says «off» before \
                  the power is gone a takeover would begin too early; `hawser drill power-cut` and a look \
                  at the node's power supply show which kind yours is."
                .to_owned(),
        }
    }
}
