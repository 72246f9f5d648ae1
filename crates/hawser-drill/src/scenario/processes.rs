//! Programs that die, stop where they are, or have their clock stepped.

use std::time::Duration;

use super::{DrillPlan, Reaction, Scenario, active_is_fenced, may_be_fenced, nobody_is_fenced};
use crate::context::DrillContext;
use crate::fault::{ClockStep, HostFault, How, OnHead, Program};

/// Pacemaker sees a dead program within so long, or it does not matter to it.
const SEEN: Reaction = Reaction::Within(Duration::from_secs(10));

/// As far as a time zone that was mistaken for another, and further than a drill is long.
const HOUR: i32 = 3600;

pub(super) const ALL: &[Scenario] = &[
    Scenario {
        name: "stop-corosync",
        about: "Corosync is stopped (SIGSTOP) on the head that has the pool",
        reaction: Reaction::Moves,
        real: true,
        plan: |context| {
            DrillPlan::of(
                active(context, Program::Corosync, How::Stopped),
                active_is_fenced(context, 2000),
            )
        },
    },
    Scenario {
        name: "kill-corosync",
        about: "Corosync dies on the head that has the pool",
        reaction: Reaction::Moves,
        real: true,
        plan: |context| {
            DrillPlan::of(
                active(context, Program::Corosync, How::Killed),
                may_be_fenced(context, 4000),
            )
        },
    },
    Scenario {
        name: "stop-pacemakerd",
        about: "Pacemaker's first process is stopped (SIGSTOP) on the head that has the pool",
        reaction: SEEN,
        real: true,
        plan: |context| {
            DrillPlan::of(
                active(context, Program::Pacemakerd, How::Stopped),
                nobody_is_fenced(2000),
            )
        },
    },
    Scenario {
        name: "kill-pacemakerd",
        about: "Pacemaker's first process dies on the head that has the pool",
        reaction: SEEN,
        real: true,
        plan: |context| {
            DrillPlan::of(
                active(context, Program::Pacemakerd, How::Killed),
                nobody_is_fenced(2000),
            )
        },
    },
    Scenario {
        name: "kill-controld",
        about: "Pacemaker's controller dies on the head that has the pool",
        reaction: Reaction::Within(Duration::from_secs(15)),
        real: true,
        plan: |context| {
            DrillPlan::of(
                active(context, Program::Controld, How::Killed),
                may_be_fenced(context, 6000),
            )
        },
    },
    Scenario {
        name: "kill-tgtd",
        about: "the iSCSI target dies on the head that has the pool",
        reaction: Reaction::Within(Duration::from_secs(15)),
        real: true,
        plan: |context| {
            DrillPlan::of(
                active(context, Program::Tgtd, How::Killed),
                may_be_fenced(context, 11_000),
            )
        },
    },
    Scenario {
        name: "stop-tgtd",
        about: "the iSCSI target is stopped (SIGSTOP) on the head that has the pool",
        reaction: Reaction::Within(Duration::from_secs(20)),
        real: true,
        plan: |context| {
            DrillPlan::of(
                active(context, Program::Tgtd, How::Stopped),
                nobody_is_fenced(10_000),
            )
        },
    },
    Scenario {
        name: "kill-nfsd",
        about: "the threads of the NFS server end on the head that has the pool",
        reaction: Reaction::Moves,
        real: true,
        plan: |context| {
            let fault = HostFault::NoNfsThreads {
                root: context.root(),
            };
            let threads = broken(context, "kill", "nfsd", fault);
            DrillPlan::of(threads, nobody_is_fenced(15_000))
        },
    },
    Scenario {
        name: "clock-step",
        about: "the clock of the head that has the pool jumps an hour ahead, and later back",
        reaction: SEEN,
        real: true,
        plan: |context| DrillPlan::of(clock(context, HOUR), nobody_is_fenced(2000)),
    },
    Scenario {
        name: "clock-back",
        about: "the clock of the head that has the pool jumps an hour back, and later ahead",
        reaction: SEEN,
        real: true,
        plan: |context| DrillPlan::of(clock(context, -HOUR), nobody_is_fenced(2000)),
    },
    Scenario {
        name: "memory-pressure",
        about: "nearly all memory is used up on the head that has the pool",
        reaction: Reaction::Within(Duration::from_secs(30)),
        real: true,
        plan: |context| {
            let memory = broken(context, "use up", "memory", HostFault::NoMemory);
            DrillPlan::of(memory, nobody_is_fenced(30_000))
        },
    },
    Scenario {
        name: "full-var",
        about: "the folder of Pacemaker's files is full on the head that has the pool",
        reaction: SEEN,
        real: false,
        plan: |context| {
            let fault = HostFault::NoRoomForPacemaker;
            let full = broken(context, "full-var", "/var/lib/pacemaker", fault);
            DrillPlan::of(full, nobody_is_fenced(2000))
        },
    },
];

fn clock(context: &DrillContext<'_>, ahead_s: i32) -> ClockStep {
    let head = context.active.clone();
    ClockStep { head, ahead_s }
}

/// Something of the head that has the pool.
fn broken(
    context: &DrillContext<'_>,
    name: &'static str,
    object: &str,
    fault: HostFault,
) -> OnHead {
    OnHead {
        name,
        head: context.active.clone(),
        object: object.to_owned(),
        fault,
    }
}

fn active(context: &DrillContext<'_>, program: Program, how: How) -> OnHead {
    OnHead::program(&context.active, program, how)
}
