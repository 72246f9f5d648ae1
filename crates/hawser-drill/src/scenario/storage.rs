//! Pools that cannot be stopped, exports that cannot be started.

use std::time::Duration;

use hawser_model::drill::{Promises, ServicePromise};

use super::{Plan, Reaction, Scenario};
use crate::fault::{HostFault, How, OnHead, PowerCut, Program, Switchover};

pub(super) const ALL: &[Scenario] = &[
    Scenario {
        name: "pool-will-not-stop",
        about: "the head that has the pool is put in standby and cannot unmount it",
        reaction: Reaction::Moves,
        real: false,
        plan: |stage| {
            let watched = stage.watched.iter().find(|it| it.pool == stage.pool);
            let directory = watched
                .map(|it| it.directory.display().to_string())
                .unwrap_or_default();
            Plan {
                faults: vec![
                    Box::new(OnHead {
                        name: "pool-will-not-stop",
                        head: stage.active.clone(),
                        object: directory,
                        fault: HostFault::NothingUnmounts,
                    }),
                    Box::new(Switchover {
                        head: stage.active.clone(),
                    }),
                ],
                promises: Promises {
                    may_be_fenced: vec![stage.active.clone()],
                    must_be_fenced: vec![stage.active.clone()],
                    ..Promises::default()
                },
            }
        },
    },
    Scenario {
        name: "export-will-not-start",
        about: "the iSCSI target of the other heads is dead when the one that has the pool loses its power",
        reaction: Reaction::Within(Duration::from_secs(20)),
        real: false,
        plan: |stage| {
            let dead = |head: &hawser_model::names::HostName| -> Box<dyn crate::fault::Fault> {
                Box::new(OnHead::program(head, Program::Tgtd, How::Killed))
            };
            let mut faults: Vec<_> = stage.others().map(dead).collect();
            faults.push(Box::new(PowerCut {
                head: stage.active.clone(),
            }));
            Plan {
                faults,
                promises: Promises {
                    service: ServicePromise::Returns,
                    may_be_fenced: stage.heads.clone(),
                    operator_is_told: true,
                    ..Promises::default()
                },
            }
        },
    },
];
