//! Where a drill itself runs.

use std::fs;
use std::sync::Arc;

use hawser_drill::context::{Cluster, DrillContext};
use hawser_model::drill::Moment;

use crate::bench::{Bench, World};
use crate::recorded::Recorded;

/// What is said of a drill on a cluster one of whose heads has this machine's name.
fn on_a_head(real: bool) -> Result<(), String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let bench = Bench::edited(|text| text.replace("head2", name.trim()));
    let story = Arc::new(Recorded::named("power-cut"));
    let begun = story.ordered().0 - 60_000_000;
    let mut world = bench.recorded(&story, Moment(begun));
    world.real = real;
    let before = world.again().status().unwrap();
    let aim = |context: &mut DrillContext<'_>| context.aim(&before).map_err(|e| e.to_string());
    // Its client is on another machine.
    bench.with(&world, Box::new(World::clone(&world)), aim)
}

#[test]
fn a_drill_that_would_switch_off_its_own_machine_is_refused() {
    let why = on_a_head(true).unwrap_err();
    assert!(
        why.starts_with("nothing was done: this machine is"),
        "{why}"
    );
    on_a_head(false).unwrap();
}
