//! Links that go down, lose packets, or lose one direction.

use std::time::Duration;

use hawser_host::site::{SiteFault, Trouble};
use hawser_model::cluster_file::Role;
use hawser_model::drill::{Promises, ServicePromise};
use hawser_model::units::BitsPerSec;

use super::{DrillPlan, Reaction, Scenario, links, nobody_is_fenced};
use crate::context::DrillContext;
use crate::fault::AroundHeads;

/// Longer than any timeout of the heartbeat.
const SEEN: Reaction = Reaction::Within(Duration::from_secs(8));

pub(super) const ALL: &[Scenario] = &[
    Scenario {
        name: "ring-down",
        about: "the head that has the pool loses one heartbeat link",
        reaction: SEEN,
        real: true,
        plan: |context| {
            let ring: Vec<_> = links(context, Role::Heartbeat)
                .into_iter()
                .take(1)
                .collect();
            DrillPlan::of(
                AroundHeads::cables("ring-down", &context.active, &ring),
                told(2000),
            )
        },
    },
    Scenario {
        name: "switch-down",
        about: "the switch of one heartbeat link is down",
        reaction: SEEN,
        real: true,
        plan: |context| {
            let ring: Vec<_> = links(context, Role::Heartbeat)
                .into_iter()
                .take(1)
                .collect();
            DrillPlan::of(AroundHeads::switches("switch-down", &ring), told(2000))
        },
    },
    Scenario {
        name: "one-way-ring",
        about: "one heartbeat link loses everything that the head which has the pool sends",
        reaction: SEEN,
        real: true,
        plan: |context| {
            let fault = ring(context, "one-way-ring", false, Trouble::Lost(100));
            DrillPlan::of(fault, nobody_is_fenced(2000))
        },
    },
    Scenario {
        name: "lossy-ring",
        about: "one heartbeat link loses a fifth of all packets",
        reaction: SEEN,
        real: true,
        plan: |context| {
            let fault = ring(context, "lossy-ring", true, Trouble::Lost(20));
            DrillPlan::of(fault, nobody_is_fenced(2000))
        },
    },
    Scenario {
        name: "slow-ring",
        about: "one heartbeat link carries no more than 200 kbit/s",
        reaction: SEEN,
        real: false,
        plan: |context| {
            let slow = Trouble::Slow(BitsPerSec(200_000));
            DrillPlan::of(
                ring(context, "slow-ring", true, slow),
                nobody_is_fenced(2000),
            )
        },
    },
    Scenario {
        name: "san-down",
        about: "the switch of one SAN is down",
        reaction: SEEN,
        real: true,
        plan: |context| {
            let san: Vec<_> = links(context, Role::San).into_iter().take(1).collect();
            DrillPlan::of(
                AroundHeads::switches("san-down", &san),
                nobody_is_fenced(3000),
            )
        },
    },
    Scenario {
        name: "sans-down",
        about: "the switches of all SANs are down: nobody can write, and nothing is to be taken over",
        reaction: SEEN,
        real: true,
        plan: |context| {
            let promises = Promises {
                service: ServicePromise::Returns,
                no_takeover: true,
                ..Promises::default()
            };
            DrillPlan::of(
                AroundHeads::switches("sans-down", &links(context, Role::San)),
                promises,
            )
        },
    },
    Scenario {
        name: "san-unplugged",
        about: "the head that has the pool loses its own port to one SAN",
        reaction: SEEN,
        // A real head's packet filter leaves the carrier, which is what is looked at.
        real: false,
        plan: |context| {
            let san: Vec<_> = links(context, Role::San).into_iter().take(1).collect();
            let promises = Promises {
                no_takeover: true,
                ..nobody_is_fenced(3000)
            };
            DrillPlan::of(
                AroundHeads::cables("san-unplugged", &context.active, &san),
                promises,
            )
        },
    },
    Scenario {
        name: "sans-unplugged",
        about: "the head that has the pool loses its own ports to all SANs, and no other head does",
        reaction: Reaction::Moves,
        real: false,
        plan: |context| {
            DrillPlan::of(
                AroundHeads::cables(
                    "sans-unplugged",
                    &context.active,
                    &links(context, Role::San),
                ),
                nobody_is_fenced(10_000),
            )
        },
    },
];

fn told(outage_ms: u64) -> Promises {
    Promises {
        operator_is_told: true,
        ..nobody_is_fenced(outage_ms)
    }
}

/// The first heartbeat link, at the head that has the pool: what that sends, or both ways.
fn ring(
    context: &DrillContext<'_>,
    name: &'static str,
    both: bool,
    trouble: Trouble,
) -> AroundHeads {
    let link = links(context, Role::Heartbeat).into_iter().next();
    let impaired = SiteFault::Impaired {
        host: context.active.clone(),
        link: link.unwrap_or_else(|| "".into()),
        to_host: both,
        from_host: true,
        trouble,
    };
    AroundHeads::one(name, impaired)
}
