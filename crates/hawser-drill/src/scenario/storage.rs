//! Pools that cannot be stopped, exports that cannot be started, disks that are gone or ill.

use std::time::Duration;

use hawser_host::site::DiskTrouble;
use hawser_model::drill::{Promises, ServicePromise};

use super::power::dead_on_others_then_power_cut;
use super::{DrillPlan, Reaction, Scenario, nobody_is_fenced};
use crate::fault::{Extent, HostFault, OnHead, Program, ShelfDisk, ShelfGone, Switchover};

pub(super) const ALL: &[Scenario] = &[
    Scenario {
        name: "pool-will-not-stop",
        about: "the head that has the pool is put in standby and cannot unmount it",
        reaction: Reaction::Moves,
        real: false,
        plan: |context| DrillPlan {
            faults: vec![
                Box::new(OnHead {
                    name: "pool-will-not-stop",
                    head: context.active.clone(),
                    object: context.root(),
                    fault: HostFault::NothingUnmounts,
                }),
                Box::new(Switchover {
                    head: context.active.clone(),
                }),
            ],
            promises: Promises {
                may_be_fenced: vec![context.active.clone()],
                must_be_fenced: vec![context.active.clone()],
                ..Promises::default()
            },
        },
    },
    Scenario {
        name: "export-will-not-start",
        about: "the iSCSI target of the other heads is dead when the one that has the pool loses its power",
        reaction: Reaction::Within(Duration::from_secs(20)),
        real: false,
        plan: |context| DrillPlan {
            faults: dead_on_others_then_power_cut(context, Program::Tgtd),
            promises: Promises {
                service: ServicePromise::Returns,
                may_be_fenced: context.heads.clone(),
                operator_is_told: true,
                ..Promises::default()
            },
        },
    },
    Scenario {
        name: "path-gone",
        about: "one of several paths to a disk of the pool is gone at the head that has it",
        reaction: SEEN,
        real: true,
        plan: |context| {
            let fault = OnHead::disks("path-gone", context, Extent::OnePath);
            DrillPlan::of(fault, stays(5000))
        },
    },
    Scenario {
        name: "disk-gone",
        about: "a disk of which the pool has a copy is gone, with all its paths, at the head that has the pool",
        reaction: SEEN,
        real: true,
        plan: |context| {
            let fault = OnHead::disks("disk-gone", context, Extent::OneDisk);
            DrillPlan::of(fault, told(10_000))
        },
    },
    Scenario {
        name: "shelf-gone",
        about: "a shelf loses its power, and every pool has a copy of what was on it",
        reaction: Reaction::Within(Duration::from_secs(60)),
        real: false,
        plan: |context| DrillPlan::of(ShelfGone::of(context), told(60_000)),
    },
    Scenario {
        name: "disk-slow",
        about: "every access to one disk of the pool takes a second longer, at its shelf",
        reaction: SEEN,
        real: false,
        // A mirror writes to both of its disks: clients write, slowly, until it is healed.
        plan: |context| {
            let promises = Promises {
                service: ServicePromise::Returns,
                ..stays(10_000)
            };
            let slow = DiskTrouble::Slow(1000);
            DrillPlan::of(ShelfDisk::of("disk-slow", context, slow), promises)
        },
    },
    Scenario {
        name: "disk-errors",
        about: "every access to a disk of the pool fails at its shelf, for all heads",
        reaction: SEEN,
        real: false,
        plan: |context| {
            let errors = DiskTrouble::Errors;
            DrillPlan::of(ShelfDisk::of("disk-errors", context, errors), told(10_000))
        },
    },
];

/// Longer than a head takes to find out that a path is gone whose device says so at once.
const SEEN: Reaction = Reaction::Within(Duration::from_secs(15));

/// The pool stays where it is, nobody is fenced, and clients wait no longer than this.
fn stays(outage_ms: u64) -> Promises {
    Promises {
        no_takeover: true,
        ..nobody_is_fenced(outage_ms)
    }
}

/// The same, and `status` says that something is wrong.
fn told(outage_ms: u64) -> Promises {
    Promises {
        operator_is_told: true,
        ..stays(outage_ms)
    }
}
