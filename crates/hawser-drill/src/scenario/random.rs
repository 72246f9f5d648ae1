//! What chance decides: which scenario comes next, which two faults fall together. All of it comes from a
//! number, so that it can be had again.

use hawser_client::stamp::mixed;
use hawser_model::cluster_file::Role;

use super::power::hung;
use super::{DrillPlan, Reaction, Scenario, active_is_fenced, all, links, may_be_fenced};
use crate::context::DrillContext;
use crate::fault::{AroundHeads, Fault, PowerCut, Switchover};

pub(super) const ALL: &[Scenario] = &[Scenario {
    name: "two-faults",
    about: "a link goes down, and the head that has the pool dies, hangs or is switched over, in the order of \
            chance (--seed)",
    reaction: Reaction::Moves,
    real: false,
    plan: two_faults,
}];

/// The scenario that the sequence of `seed` has at a place, and the seed of that drill.
pub fn drawn(seed: u64, place: u64) -> (&'static Scenario, u64) {
    let mut state = seed.wrapping_add(place);
    let own = mixed(&mut state);
    let count = all().count() as u64;
    let index = usize::try_from(mixed(&mut state) % count.max(1)).unwrap_or(0);
    let scenario = all().nth(index).unwrap_or(&ALL[0]);
    (scenario, own)
}

fn two_faults(context: &DrillContext<'_>) -> DrillPlan {
    let mut state = context.seed;
    let mut choice = |of: u64| mixed(&mut state) % of;
    let head = context.active.clone();
    let first = |role| links(context, role).into_iter().take(1).collect::<Vec<_>>();
    let link: Box<dyn Fault> = match choice(2) {
        0 => Box::new(AroundHeads::cables(
            "ring-down",
            &head,
            &first(Role::Heartbeat),
        )),
        _ => Box::new(AroundHeads::switches("san-down", &first(Role::San))),
    };
    let (head_fault, fenced): (Box<dyn Fault>, bool) = match choice(3) {
        0 => (Box::new(PowerCut { head: head.clone() }), true),
        1 => (Box::new(hung(&head)), true),
        _ => (Box::new(Switchover { head: head.clone() }), false),
    };
    let mut faults = vec![link, head_fault];
    if choice(2) == 1 {
        faults.reverse();
    }
    DrillPlan {
        faults,
        promises: match fenced {
            true => active_is_fenced(context, 6000),
            false => may_be_fenced(context, 6000),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_is_the_same_for_the_same_seed_and_another_for_another() {
        let names = |seed| {
            (0..20)
                .map(|place| drawn(seed, place).0.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(7), names(7));
        assert_ne!(names(7), names(8));
        let (scenario, own) = drawn(7, 3);
        assert_eq!((scenario.name, own), (drawn(7, 3).0.name, drawn(7, 3).1));
    }
}
