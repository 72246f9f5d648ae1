//! Heads that die, hang, or are switched over; BMCs that cannot be asked.

use std::time::Duration;

use hawser_cluster::cib::fencing::{is_by_reservation, levels_of};
use hawser_host::site::{BMC_LINK, SiteFault, Trouble};
use hawser_model::cluster_file::{ClusterFile, FenceDevice};
use hawser_model::drill::{Promises, ServicePromise};
use hawser_model::names::HostName;

use super::{DrillPlan, Reaction, Scenario, active_is_fenced, nobody_is_fenced};
use crate::context::DrillContext;
use crate::fault::{
    AroundHeads, Fault, How, OnHead, PowerCut, Program, Reset, Switchover, Upgrade, WrongPassword,
};

pub(super) const ALL: &[Scenario] = &[
    Scenario {
        name: "power-cut",
        about: "the head that has the pool loses its power",
        reaction: Reaction::Moves,
        real: true,
        plan: |context| {
            DrillPlan::of(
                PowerCut {
                    head: context.active.clone(),
                },
                active_is_fenced(context, 2000),
            )
        },
    },
    Scenario {
        name: "switchover",
        about: "the head that has the pool is put in standby, as for maintenance",
        reaction: Reaction::Moves,
        real: true,
        plan: |context| {
            let promises = Promises {
                outage_ms: Some(3000),
                ..Promises::default()
            };
            DrillPlan::of(
                Switchover {
                    head: context.active.clone(),
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
        plan: |context| {
            let host = context.active.clone();
            DrillPlan::of(
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
        plan: |context| {
            // Who has the pool comes last: it moves once, to a head that is upgraded.
            let heads = context.others().chain([&context.active]);
            let upgrade =
                |head| -> Box<dyn Fault> { Box::new(Upgrade::of(head, &context.packages)) };
            DrillPlan {
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
        plan: |context| DrillPlan::of(hung(&context.active), active_is_fenced(context, 2000)),
    },
    Scenario {
        name: "reset",
        about: "the head that has the pool is reset, and boots while it is taken over from",
        reaction: Reaction::Moves,
        real: true,
        plan: |context| {
            DrillPlan::of(
                Reset {
                    head: context.active.clone(),
                },
                active_is_fenced(context, 6000),
            )
        },
    },
    Scenario {
        name: "bmc-unreachable",
        about: "no BMC can be reached, and then the head that has the pool loses its power",
        reaction: Reaction::Within(Duration::from_secs(20)),
        real: false,
        plan: |context| DrillPlan {
            faults: vec![
                Box::new(AroundHeads::switches(
                    "bmc-network-down",
                    &[BMC_LINK.into()],
                )),
                Box::new(PowerCut {
                    head: context.active.clone(),
                }),
            ],
            // What else has an address may be behind the same switch.
            promises: without_bmc(context, |device| is_by_reservation(&device.agent)),
        },
    },
    Scenario {
        name: "bmc-password",
        about: "a BMC's password is not what the others believe, and then its head loses its power",
        reaction: Reaction::Within(Duration::from_secs(20)),
        real: false,
        plan: |context| DrillPlan {
            faults: vec![
                Box::new(WrongPassword {
                    head: context.active.clone(),
                }),
                Box::new(PowerCut {
                    head: context.active.clone(),
                }),
            ],
            promises: without_bmc(context, |_| true),
        },
    },
    Scenario {
        name: "slow-fencing",
        about: "BMCs answer slowly, and then the head that has the pool loses its power",
        reaction: Reaction::Moves,
        real: false,
        plan: |context| {
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
            let mut faults: Vec<_> = context.others().map(slow).collect();
            faults.push(Box::new(PowerCut {
                head: context.active.clone(),
            }));
            DrillPlan {
                faults,
                promises: active_is_fenced(context, 26_000),
            }
        },
    },
    Scenario {
        name: "kill-fenced",
        about: "Pacemaker's fencer dies on the other heads, and then the head that has the pool loses its power",
        reaction: Reaction::Moves,
        real: true,
        plan: |context| DrillPlan {
            faults: dead_on_others_then_power_cut(context, Program::Fenced),
            promises: active_is_fenced(context, 2000),
        },
    },
    Scenario {
        name: "split-brain",
        about: "the head that has the pool loses all heartbeat links at once",
        reaction: Reaction::Fences,
        real: true,
        plan: |context| {
            let rings = super::links(context, hawser_model::cluster_file::Role::Heartbeat);
            let promises = Promises {
                outage_ms: Some(8000),
                may_be_fenced: context.heads.clone(),
                fenced_at_most: Some(1),
                ..Promises::default()
            };
            DrillPlan::of(
                AroundHeads::cables("all-rings-down", &context.active, &rings),
                promises,
            )
        },
    },
];

/// A program of the other heads dies, and then the head that has the pool loses its power.
pub(super) fn dead_on_others_then_power_cut(
    context: &DrillContext<'_>,
    program: Program,
) -> Vec<Box<dyn Fault>> {
    let dead = |head: &HostName| -> Box<dyn Fault> {
        Box::new(OnHead::program(head, program, How::Killed))
    };
    let mut faults: Vec<_> = context.others().map(dead).collect();
    faults.push(Box::new(PowerCut {
        head: context.active.clone(),
    }));
    faults
}

/// Every process of a head is stopped. Let go on, it believes that no time has passed; by then it must have lost its
/// power.
pub(super) fn hung(head: &HostName) -> AroundHeads {
    let host = head.clone();
    AroundHeads::one("hang", SiteFault::Hung { host })
}

/// Who cannot be known to be off must not be taken over from, unless a level of devices that are `left` shuts it out. It may be
/// fenced once that is healed.
fn without_bmc(context: &DrillContext<'_>, left: impl Fn(&FenceDevice) -> bool) -> Promises {
    if has_level_of(context.file, &context.active, left) {
        return Promises {
            must_be_fenced: vec![context.active.clone()],
            ..Promises::default()
        };
    }
    Promises {
        service: ServicePromise::Returns,
        may_be_fenced: vec![context.active.clone()],
        no_takeover: true,
        operator_is_told: true,
        ..Promises::default()
    }
}

/// Whether one of a head's fencing levels consists of such devices alone.
fn has_level_of(file: &ClusterFile, head: &HostName, fit: impl Fn(&FenceDevice) -> bool) -> bool {
    let devices = file.fencing.iter().flat_map(|it| &it.devices);
    let fit = devices.filter(|device| fit(device));
    let fit: Vec<&str> = fit.map(|device| device.name.as_str()).collect();
    let mut levels = levels_of(file, head.as_str()).into_iter();
    levels.any(|level| level.iter().all(|it| fit.contains(&it.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_taken_over_from_without_its_bmc_where_its_disks_shut_it_out() {
        let text = include_str!("../../../../examples/lab/machines-shelves.toml");
        let of = |text: &str, fit: fn(&FenceDevice) -> bool| {
            let file = hawser_model::cluster_file::parse(text, "x.toml").unwrap();
            has_level_of(&file, &"head1".into(), fit)
        };
        let by_reservation = |it: &FenceDevice| is_by_reservation(&it.agent);
        assert!(of(text, by_reservation));
        let other = text.replace("fence_scsi", "fence_apc");
        assert!(!of(&other, by_reservation));
        assert!(of(&other, |_| true));
        // Both must succeed, and the BMC does not.
        let beside = text.replace(
            "agent = \"fence_scsi\"",
            "agent = \"fence_scsi\"\nlevel = 1",
        );
        assert!(!of(&beside, |_| true));
        let none = include_str!("../../../../examples/lab/machines-zfs.toml");
        assert!(!of(none, |_| true));
    }
}
