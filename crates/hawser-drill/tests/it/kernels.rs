//! Heads of a lab that have kernels of their own: nobody looks at them from outside, and their clocks are theirs.

use hawser_account::outage::explain_drill;
use hawser_model::drill::DrillCase;

use crate::bench::{SITE, World};
use crate::whole::{Again, told};

/// The world of a recording, with kernels of their own or not.
fn world(again: &Again, kernels: bool) -> World {
    let mut world = again.world();
    world.kernels = kernels;
    world
}

fn gaps(case: &DrillCase) -> usize {
    case.watch.gaps.len()
}

#[test]
fn a_head_that_hangs_is_not_unwatched_until_it_is_fenced() {
    let again = Again::of("hang", false);
    let world = world(&again, true);
    let case = again.drill(&world).unwrap();
    assert_eq!(told(&explain_drill(&case)), told(&again.recorded()));
    assert_eq!(gaps(&case), 0, "{:?}", case.watch);
    // It answered nobody, and had the pool until it was shot.
    let hung = &case.faults[0];
    let mut holds = case.watch.holds.iter();
    let held = holds.find(|it| it.pool == "vmpool01" && it.host == hung.hosts[0]);
    let held = held.unwrap();
    assert!(held.last > hung.made && held.gone.is_none(), "{held:?}");
    assert!(world.is_whole());
}

/// Who was told to step a clock: a head, or what surrounds it.
fn who_steps(scenario: &str, kernels: bool) -> Vec<String> {
    let again = Again::another("sans-down", scenario, false);
    let world = world(&again, kernels);
    // The stamp of what its Pacemaker then writes shows it, or the drill would end there.
    let case = again.drill(&world).unwrap();
    assert!(case.faults[0].verified.is_some());
    assert!(world.broken().is_nothing());
    let asked = world.wire.asked().into_iter();
    let told = asked.filter(|(_, what)| matches!(*what, "make a fault" | "break"));
    told.map(|(who, _)| who.to_string()).collect()
}

#[test]
fn a_head_with_a_clock_of_its_own_steps_it_and_others_have_it_stepped() {
    for scenario in ["clock-step", "clock-back"] {
        assert_eq!(who_steps(scenario, true), ["head1"]);
        assert_eq!(who_steps(scenario, false), [SITE]);
    }
}
