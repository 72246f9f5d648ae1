//! Real heads with two power supplies, each at a power switch of its own.

use hawser_cluster::host::questions::Power;
use hawser_drill::DrillError;
use hawser_host::Ask;

use crate::bench::{Bench, World};
use crate::whole::Again;

/// What the file says of BMCs is left out.
fn two_switches(text: String) -> String {
    let (mut file, mut bmc) = (String::new(), false);
    for line in text.lines() {
        bmc = line == "[node.bmc]" || (bmc && !line.starts_with('['));
        if !bmc {
            file += &format!("{line}\n");
        }
    }
    for (name, last) in [("pdu-a", 90), ("pdu-b", 91)] {
        file += &format!(
            "[[fencing.device]]\nname = \"{name}\"\nagent = \"fence_apc\"\n\
             ports = {{ head1 = \"head1\", head2 = \"head2\" }}\noptions = {{ ip = \"10.72.9.{last}\" }}\n"
        );
    }
    file
}

fn again() -> Again {
    Again::on(Bench::edited(two_switches), "power-cut")
}

/// Where in all that is asked a fence device is asked, or told, something.
fn power(again: &Again) -> Vec<usize> {
    let world = again.world();
    again.drill(&world).unwrap();
    let asked = world.wire.asked().into_iter().enumerate();
    let power = asked.filter(|(_, (_, what))| *what == Power::NAME);
    power.map(|(number, _)| number).collect()
}

#[test]
fn a_drill_that_cannot_switch_off_the_second_supply_gives_the_first_one_back() {
    let again = again();
    let second_off = power(&again)[1];
    let world = again.world();
    world.wire.decline(second_off);
    let ended = again.drill(&world).unwrap_err();
    assert!(matches!(ended, DrillError::Early { .. }), "{ended}");
    assert!(world.broken().outlets_off.is_empty());
    assert!(world.is_whole());
}

#[test]
fn no_supply_stays_off_unsaid_whatever_a_fence_device_declines() {
    let again = again();
    for number in power(&again) {
        let world = again.world();
        world.wire.decline(number);
        let ended = again.drill(&world);
        let told = matches!(ended, Err(DrillError::Unhealed { .. }));
        let all_on = world.broken().outlets_off.is_empty();
        assert!(told || all_on, "{number}: {:?}", ended.err());
    }
}

#[test]
fn both_supplies_are_switched_on_again_after_a_drill() {
    let again = again();
    let world = again.world();
    again.drill(&world).unwrap();
    assert!(world.is_whole());
}

#[test]
fn a_supply_is_not_given_back_while_the_fencers_shoot_at_its_head() {
    let again = again();
    let world = again.world();
    world.outlet("pdu-a", &"head1".into(), Some(false));
    world.broken().shooting = Some("head1".into());
    let on = |world: &World| {
        again.in_context(world, |context| {
            let on = context.site.power_on(&"head1".into());
            on.map_err(|e| (e.to_string(), e.later))
        })
    };
    let refused = on(&world).unwrap_err();
    assert_eq!(refused, ("head1 is being fenced".to_owned(), true));
    assert_eq!(world.broken().outlets_off.len(), 1);
    world.broken().shooting = None;
    on(&world).unwrap();
    assert!(world.broken().outlets_off.is_empty());
}
