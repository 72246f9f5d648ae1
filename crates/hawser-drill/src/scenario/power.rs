//! Heads that die, hang, or are switched over; BMCs that cannot be asked.

use std::time::Duration;

use hawser_host::site::{BMC_LINK, SiteFault, Trouble};
use hawser_model::drill::{Promises, ServicePromise};
use hawser_model::names::HostName;

use super::{Plan, Reaction, Scenario, active_is_fenced, nobody_is_fenced};
use crate::fault::{AroundHeads, Fault, PowerCut, Reset, Switchover, Upgrade, WrongPassword};
use crate::stage::Stage;

pub(super) const ALL: &[Scenario] = &[
    Scenario {
        name: "power-cut",
        about: "the head that has the pool loses its power",
        reaction: Reaction::Moves,
        real: true,
        plan: |stage| {
            Plan::of(
                PowerCut {
                    head: stage.active.clone(),
                },
                active_is_fenced(stage, 2000),
            )
        },
    },
    Scenario {
        name: "switchover",
        about: "the head that has the pool is put in standby, as for maintenance",
        reaction: Reaction::Moves,
        real: true,
        plan: |stage| {
            let promises = Promises {
                outage_ms: Some(3000),
                ..Promises::default()
            };
            Plan::of(
                Switchover {
                    head: stage.active.clone(),
                },
                promises,
            )
        },
    },
    Scenario {
        name: "reboot",
        about: "the head that has the pool is rebooted in good order, and comes back",
        reaction: Reaction::Moves,
        real: true,
        plan: |stage| {
            let host = stage.active.clone();
            Plan::of(
                AroundHeads::one("reboot", SiteFault::Reboot { host }),
                nobody_is_fenced(3000),
            )
        },
    },
    Scenario {
        name: "upgrade",
        about: "packages are upgraded on one head after the other, each in standby meanwhile (--package)",
        reaction: Reaction::Within(Duration::from_secs(1)),
        real: true,
        plan: |stage| {
            // Who has the pool comes last: it moves once, to a head that is upgraded.
            let heads = stage.others().chain([&stage.active]);
            let upgrade = |head| -> Box<dyn Fault> { Box::new(Upgrade::of(head, &stage.packages)) };
            Plan {
                faults: heads.map(upgrade).collect(),
                promises: nobody_is_fenced(3000),
            }
        },
    },
    Scenario {
        name: "hang",
        about: "every process of the head that has the pool is frozen (SIGSTOP), and resumes later",
        reaction: Reaction::Moves,
        real: false,
        plan: |stage| Plan::of(hung(&stage.active), active_is_fenced(stage, 2000)),
    },
    Scenario {
        name: "reset",
        about: "the head that has the pool is reset, and boots while it is taken over from",
        reaction: Reaction::Moves,
        real: true,
        plan: |stage| {
            Plan::of(
                Reset {
                    head: stage.active.clone(),
                },
                active_is_fenced(stage, 6000),
            )
        },
    },
    Scenario {
        name: "bmc-unreachable",
        about: "no BMC can be reached, and then the head that has the pool loses its power",
        reaction: Reaction::Within(Duration::from_secs(20)),
        real: false,
        plan: |stage| Plan {
            faults: vec![
                Box::new(AroundHeads::switches(
                    "bmc-network-down",
                    &[BMC_LINK.into()],
                )),
                Box::new(PowerCut {
                    head: stage.active.clone(),
                }),
            ],
            promises: nothing_is_taken_over(stage),
        },
    },
    Scenario {
        name: "bmc-password",
        about: "a BMC's password is not what the others believe, and then its head loses its power",
        reaction: Reaction::Within(Duration::from_secs(20)),
        real: false,
        plan: |stage| Plan {
            faults: vec![
                Box::new(WrongPassword {
                    head: stage.active.clone(),
                }),
                Box::new(PowerCut {
                    head: stage.active.clone(),
                }),
            ],
            promises: nothing_is_taken_over(stage),
        },
    },
    Scenario {
        name: "slow-fencing",
        about: "BMCs answer slowly, and then the head that has the pool loses its power",
        reaction: Reaction::Moves,
        real: false,
        plan: |stage| {
            let slow = |head: &HostName| -> Box<dyn Fault> {
                let late = SiteFault::Impaired {
                    host: head.clone(),
                    link: BMC_LINK.into(),
                    to_host: true,
                    from_host: false,
                    trouble: Trouble::Late(300),
                };
                Box::new(AroundHeads::one("slow-bmc", late))
            };
            let mut faults: Vec<_> = stage.others().map(slow).collect();
            faults.push(Box::new(PowerCut {
                head: stage.active.clone(),
            }));
            Plan {
                faults,
                promises: active_is_fenced(stage, 26_000),
            }
        },
    },
    Scenario {
        name: "split-brain",
        about: "the head that has the pool loses all heartbeat links at once",
        reaction: Reaction::Within(Duration::from_secs(12)),
        real: true,
        plan: |stage| {
            let rings = super::links(stage, hawser_model::cluster_file::Role::Heartbeat);
            let promises = Promises {
                outage_ms: Some(8000),
                may_be_fenced: stage.heads.clone(),
                fenced_at_most: Some(1),
                ..Promises::default()
            };
            Plan::of(
                AroundHeads::cables("all-rings-down", &stage.active, &rings),
                promises,
            )
        },
    },
];

/// Every process of a head is stopped. Let go on, it believes that no time has passed; by then it must have lost its
/// power.
pub(super) fn hung(head: &HostName) -> AroundHeads {
    let host = head.clone();
    AroundHeads::one("hang", SiteFault::Hung { host })
}

/// Who cannot be known to be off must not be taken over from. It may be fenced once that is healed.
fn nothing_is_taken_over(stage: &Stage<'_>) -> Promises {
    Promises {
        service: ServicePromise::Returns,
        may_be_fenced: vec![stage.active.clone()],
        no_takeover: true,
        operator_is_told: true,
        ..Promises::default()
    }
}
