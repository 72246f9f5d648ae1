//! A rolling upgrade: one head after the other, and none before the last one is whole again.

use hawser_drill::context::{Cluster, DrillContext};
use hawser_drill::fault::{HostFault, How, Program};
use hawser_drill::scenario::{DrillPlan, Scenario};

use crate::bench::{CLUSTER, World};
use crate::whole::Again;

/// The drill's context, and the upgrade of each head.
fn upgrade(real: bool, work: impl FnOnce(&World, &DrillContext<'_>, DrillPlan)) {
    let again = Again::of("switchover", real);
    let world = again.world();
    let before = world.again().status().unwrap();
    again.in_context(&world, |context| {
        context.aim(&before).unwrap();
        context.packages = vec!["corosync".to_owned(), "/root/pacemaker.deb".to_owned()];
        let plan = Scenario::named("upgrade").unwrap().plan(context);
        work(&world, context, plan);
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
    upgrade(true, |world, context, plan| {
        for fault in &plan.faults {
            assert_eq!(
                fault.object().as_deref(),
                Some("corosync /root/pacemaker.deb")
            );
            fault.make(context).unwrap();
            assert!(world.broken().standby.is_empty());
        }
        let other = context.others().next().unwrap().to_string();
        let active = context.active.to_string();
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
    upgrade(true, |world, context, plan| {
        plan.faults[0].make(context).unwrap();
        let before = done(world).len();
        let program = HostFault::Program {
            program: Program::Corosync,
            how: How::Killed,
        };
        let other = context.others().next().unwrap().clone();
        world.broken().on_heads.push((other, program));
        let said = plan.faults[1].make(context).unwrap_err().to_string();
        let wanted = format!("{} was left as it is: ", context.active);
        assert!(said.starts_with(&wanted), "{said}");
        assert_eq!(done(world).len(), before);
    });
}

#[test]
fn heads_that_share_this_machines_packages_are_not_upgraded() {
    upgrade(false, |world, context, plan| {
        let why = plan.faults[0].unfit(context).unwrap().unwrap();
        let wanted = "has no packages of its own, but this machine's";
        assert!(why.ends_with(wanted), "{why}");
        assert!(world.wire.asked().is_empty());
    });
}
