//! What a network card does badly, and what a card takes only when the host boots.

use hawser_host::sim::Wire;
use hawser_model::case::Case;
use hawser_model::knob::Knob;
use hawser_model::trial::{Trial, Tuning};

use crate::world::{World, tuned};

fn offload(feature: &str) -> Knob {
    Knob::Offload {
        interface: "ring0".into(),
        feature: feature.to_owned(),
    }
}

fn trial<'a>(tuning: &'a Tuning, knob: &str) -> &'a Trial {
    let mut all = tuning.trials.iter();
    all.find(|trial| trial.knob.to_string() == knob)
        .unwrap_or_else(|| panic!("{knob} is not listed"))
}

#[test]
fn a_card_that_computes_checksums_badly_is_cured_at_the_senders_end() {
    let world = World::cured_by(hawser_cases::read("checksum-errors"), |world| {
        let checksums = offload("tx-checksum-ip-generic");
        world.value(&"head1".into(), &checksums) == "off"
    });
    let tuning = tuned(&world, &Wire::default()).unwrap();
    let cure = "tx-checksum-ip-generic of ring0";
    assert_eq!(world.turned(), [(cure.to_owned(), true)]);
    assert_eq!(trial(&tuning, cure).host.as_str(), "head1");
    for feature in ["tx-udp-segmentation", "tx-scatter-gather"] {
        let tried = trial(&tuning, &format!("{feature} of ring0"));
        assert!(!tried.pairs.is_empty() && !tried.kept, "{feature}");
    }
}

#[test]
fn queues_and_interrupts_are_tried() {
    let mut case: Case = hawser_cases::read("nic-ring-overflow");
    let host = case.hosts.get_mut("head2").unwrap();
    host.cpus = 2;
    let card = host.interfaces.get_mut("ring0").unwrap();
    card.driver = Some("e1000e".to_owned());
    card.bus = Some("0000:01:00.0".to_owned());
    let world = World::cured_by(case, |world| {
        let interface = "ring0".into();
        let spread = Knob::Interrupts { interface };
        world.value(&"head2".into(), &spread) == "24=0 25=1"
    });
    let wire = Wire::default();
    let tuning = tuned(&world, &wire).unwrap();
    let channels = trial(&tuning, "channels of ring0");
    assert_eq!(channels.to.as_deref(), Some("rx 0 tx 0 other 1 combined 2"));
    assert!(!channels.pairs.is_empty() && !channels.kept);
    assert!(trial(&tuning, "interrupts of ring0").kept);
    assert_eq!(world.turned(), [("interrupts of ring0".to_owned(), true)]);
}

#[test]
fn what_takes_a_boot_is_not_turned() {
    let mut case: Case = hawser_cases::read("nic-ring-overflow");
    let card = case.hosts.get_mut("head2").unwrap();
    let card = card.interfaces.get_mut("ring0").unwrap();
    card.driver = Some("e1000e".to_owned());
    card.bus = Some("0000:01:00.0".to_owned());
    let world = World::cured_by(case, |_| false);
    let tuning = tuned(&world, &Wire::default()).unwrap();
    assert!(world.turned().is_empty());
    for (knob, line) in [
        (
            "InterruptThrottleRate of module e1000e",
            "options e1000e InterruptThrottleRate=0",
        ),
        (
            "boot parameter pci=nomsi",
            "`pci=nomsi` in GRUB_CMDLINE_LINUX",
        ),
    ] {
        let listed = trial(&tuning, knob);
        let why = listed.not_tried.as_deref().unwrap_or_default();
        assert!(
            why.starts_with("takes a reboot") && why.contains(line),
            "{why}"
        );
        assert!(listed.pairs.is_empty());
    }
}
