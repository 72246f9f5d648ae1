//! A rolling upgrade: one head after the other, and none before the last one is whole again.

use hawser_drill::fault::{HostFault, How, Program};
use hawser_drill::scenario::{Plan, Scenario};
use hawser_drill::stage::{Cluster, Stage};

use crate::bench::{CLUSTER, World};
use crate::whole::Again;

/// The drill's stage, and the upgrade of each head.
fn upgrade(real: bool, work: impl FnOnce(&World, &Stage<'_>, Plan)) {
    let again = Again::of("switchover", real);
    let world = again.world();
    let before = world.again().status().unwrap();
    again.on_stage(&world, |stage| {
        stage.aim(&before).unwrap();
        stage.packages = vec!["corosync".to_owned(), "/root/pacemaker.deb".to_owned()];
        let plan = Scenario::named("upgrade").unwrap().plan(stage);
        work(&world, stage, plan);
    });
}

/// What was done, by whom.
fn done(world: &World) -> Vec<(String, &'static str)> {
    let asked = world.wire.asked().into_iter();
    let done = asked.filter(|(_, what)| ["standby", "make a fault"].contains(what));
    done.map(|(host, what)| (host.to_string(), what)).collect()
}

#[test]
fn each_head_is_upgraded_in_standby_and_the_one_that_has_the_pool_last() {
    upgrade(true, |world, stage, plan| {
        for fault in &plan.faults {
            assert_eq!(
                fault.object().as_deref(),
                Some("corosync /root/pacemaker.deb")
            );
            fault.make(stage).unwrap();
            assert!(world.broken().standby.is_empty());
        }
        let other = stage.others().next().unwrap().to_string();
        let active = stage.active.to_string();
        let cluster = || CLUSTER.to_owned();
        let order = [
            (cluster(), "standby"),
            (other, "make a fault"),
            (cluster(), "standby"),
            (cluster(), "standby"),
            (active, "make a fault"),
            (cluster(), "standby"),
        ];
        assert_eq!(done(world), order);
    });
}

#[test]
fn no_head_is_touched_while_another_is_not_whole() {
    upgrade(true, |world, stage, plan| {
        plan.faults[0].make(stage).unwrap();
        let before = done(world).len();
        let program = HostFault::Program {
            program: Program::Corosync,
            how: How::Killed,
        };
        let other = stage.others().next().unwrap().clone();
        world.broken().on_heads.push((other, program));
        let said = plan.faults[1].make(stage).unwrap_err().to_string();
        let wanted = format!("{} was left as it is: ", stage.active);
        assert!(said.starts_with(&wanted), "{said}");
        assert_eq!(done(world).len(), before);
    });
}

#[test]
fn heads_that_share_this_machines_packages_are_not_upgraded() {
    upgrade(false, |world, stage, plan| {
        let why = plan.faults[0].unfit(stage).unwrap().unwrap();
        let wanted = "has no packages of its own, but this machine's";
        assert!(why.ends_with(wanted), "{why}");
        assert!(world.wire.asked().is_empty());
    });
}
