//! Serial and LUN numbers stay, whatever is added, removed, renamed or listed in another order.

use std::collections::BTreeMap;

use hawser_cluster::exports::lio::reservations::Reservations;
use hawser_cluster::exports::lio::{Is, entries};
use hawser_cluster::exports::tgt::Operation;
use hawser_cluster::exports::{ExportsError, State, Volume, naa};
use proptest::prelude::*;

use super::{context, resolved, volume};

const TARGET: &str = "iqn.2026-01.lab:tank";

/// LUN and serial number of each volume, by its identity.
fn numbers(volumes: &[Volume], state: &State) -> BTreeMap<String, (u16, String)> {
    let there = volumes.iter().map(|volume| {
        let known = &state.volumes[&volume.identity];
        (
            volume.identity.clone(),
            (known.luns[TARGET], known.serial.clone()),
        )
    });
    there.collect()
}

#[test]
fn a_renamed_volume_keeps_its_numbers_and_a_new_one_of_its_old_name_gets_others() {
    let first = resolved("", &[volume("a", "1"), volume("b", "2")], &State::default()).unwrap();
    let volumes = [volume("z", "1"), volume("b", "2"), volume("a", "3")];
    let second = resolved("", &volumes, &first.state).unwrap();
    let (before, after) = (&first.state.volumes, &second.state.volumes);
    assert_eq!(after["1"].serial, before["1"].serial);
    assert_eq!(after["1"].luns[TARGET], 1);
    assert_eq!(after["3"].luns[TARGET], 3);
    assert_ne!(after["3"].serial, before["1"].serial);
    assert_eq!(after["1"].name, "z");
}

/// ESXi knows a disk by this identifier alone, and wants to write a new signature onto one that it does not know.
#[test]
fn the_identifier_of_another_target_is_kept_with_its_company() {
    let guid = "600144f0c73abf0f0000526c0a1d0001";
    let text = format!(
        "[[unit]]\nvolume = \"a\"\nnaa = \"{}\"",
        guid.to_uppercase()
    );
    let first = resolved(&text, &[volume("a", "1")], &State::default()).unwrap();
    let shown = |it: &hawser_cluster::exports::Resolved| {
        let (serial, unit) = it.desired.units.iter().next().expect("a unit");
        naa(serial, unit.company.as_deref())
    };
    assert_eq!(shown(&first), guid);
    // It stays when the file no longer says it, and when the volume is renamed.
    let text = State::parse(&first.state.to_text(), "state").unwrap();
    let second = resolved("", &[volume("b", "1")], &text).unwrap();
    assert_eq!(shown(&second), guid);

    let (serial, unit) = second.desired.units.iter().next().expect("a unit");
    let made = entries(
        "tank",
        &second.desired,
        &BTreeMap::new(),
        &Reservations::default(),
    );
    let at = |end: &str| made.iter().position(|node| node.path.ends_with(end));
    let company = at("wwn/company_id").expect("the company");
    // The kernel refuses it once a target shows the unit.
    assert!(Some(company) < at("lun/lun_1"));
    let Is::Value { text, .. } = &made[company].is else {
        panic!("{:?}", made[company]);
    };
    assert_eq!(text, "0x00144f");
    let described = Operation::Describe {
        tid: 1,
        lun: 1,
        serial: serial.clone(),
        company: unit.company.clone(),
        volume: unit.name.clone(),
        read_only: false,
        write_cache: true,
    };
    let bytes = described.request("").bytes();
    let request = String::from_utf8_lossy(&bytes);
    assert!(request.contains(&format!("scsi_id={guid}")), "{request}");

    // LIO's own company needs nothing of the kernel.
    let text = "[[unit]]\nvolume = \"a\"\nnaa = \"6001405aaaaaaaaaaaaaaaaaaaaaaaaa\"";
    let own = resolved(text, &[volume("a", "1")], &State::default()).unwrap();
    assert_eq!(shown(&own), "6001405aaaaaaaaaaaaaaaaaaaaaaaaa");
    let made = entries(
        "tank",
        &own.desired,
        &BTreeMap::new(),
        &Reservations::default(),
    );
    assert!(!made.iter().any(|node| node.path.ends_with("company_id")));
}

#[test]
fn a_volume_that_was_restored_under_its_name_is_the_old_one() {
    let first = resolved("", &[volume("a", "1"), volume("b", "2")], &State::default()).unwrap();
    let second = resolved("", &[volume("a", "9"), volume("b", "2")], &first.state).unwrap();
    assert_eq!(
        second.state.volumes["9"].serial,
        first.state.volumes["1"].serial
    );
    assert_eq!(second.state.volumes["9"].luns[TARGET], 1);
    assert!(!second.state.volumes.contains_key("1"));
}

#[test]
fn the_number_of_a_volume_that_is_gone_is_not_given_to_another() {
    let first = resolved("", &[volume("a", "1"), volume("b", "2")], &State::default()).unwrap();
    let second = resolved("", &[volume("b", "2"), volume("c", "3")], &first.state).unwrap();
    assert_eq!(second.state.volumes["3"].luns[TARGET], 3);
    let text = "[[unit]]\nvolume = \"c\"\nlun = 1";
    let errors = resolved(text, &[volume("c", "3")], &first.state).unwrap_err();
    assert!(matches!(&errors[0], ExportsError::LunTaken { first, .. } if first == "a"));
}

#[test]
fn new_units_of_a_view_are_numbered_above_its_offset_and_keep_their_numbers_without_it() {
    let volumes = [
        volume("a", "1"),
        volume("vm/x:05", "2"),
        volume("vm/y", "3"),
    ];
    let text = "[[view]]\nname = \"v\"\nprefix = \"vm\"\nlun_offset = 100\n\
                [[view]]\nname = \"w\"\nunits = [\"a\"]\n";
    let luns = |state: &State| -> Vec<u16> {
        state
            .volumes
            .values()
            .map(|volume| volume.luns[TARGET])
            .collect()
    };
    let first = resolved(text, &volumes, &State::default()).unwrap();
    assert_eq!(luns(&first.state), [1, 105, 101]);
    let second = resolved("", &volumes, &first.state).unwrap();
    assert_eq!(luns(&second.state), [1, 105, 101]);
    // Where no number is left above it, that is said.
    let text = "[[view]]\nname = \"v\"\nlun_offset = 16382\n";
    let errors = resolved(text, &volumes, &State::default()).unwrap_err();
    assert!(
        matches!(&errors[0], ExportsError::NoLunLeft { .. }),
        "{errors:?}"
    );
}

#[test]
fn two_units_can_change_places() {
    let first = resolved("", &[volume("a", "1"), volume("b", "2")], &State::default()).unwrap();
    let text = "[[unit]]\nvolume = \"a\"\nlun = 2\n[[unit]]\nvolume = \"b\"\nlun = 1";
    let swapped = resolved(text, &[volume("a", "1"), volume("b", "2")], &first.state).unwrap();
    let luns: Vec<u16> = swapped
        .state
        .volumes
        .values()
        .map(|v| v.luns[TARGET])
        .collect();
    assert_eq!(luns, [2, 1]);
}

/// Something that happens to a pool between two starts.
#[derive(Clone, Debug)]
enum Event {
    Add(usize),
    Remove(usize),
    Rename(usize, usize),
    Reverse,
    /// The file names its volumes, and one of them asks for a number.
    Ask(usize, u16),
    /// The file is empty again.
    Empty,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..12_usize).prop_map(Event::Add),
        2 => (0..12_usize).prop_map(Event::Remove),
        3 => (0..12_usize, 0..12_usize).prop_map(|(a, b)| Event::Rename(a, b)),
        1 => Just(Event::Reverse),
        2 => (0..12_usize, 1..9_u16).prop_map(|(a, lun)| Event::Ask(a, lun)),
        1 => Just(Event::Empty),
    ]
}

/// Some names ask for numbers, the same ones.
fn name(i: usize) -> String {
    match i % 3 {
        0 => format!("v{i}:{:02}", i / 3),
        1 => format!("vm/v{i}"),
        _ => format!("v{i}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn numbers_never_change_and_never_collide(events in prop::collection::vec(event(), 1..40)) {
        let mut volumes: Vec<Volume> = Vec::new();
        let mut state = State::default();
        let mut asked: Option<(String, u16)> = None;
        let mut born = 0;
        // Whoever had a number once, by target: nobody else may get it.
        let mut ever: BTreeMap<u16, String> = BTreeMap::new();
        for event in events {
            let taken = |i: usize, volumes: &[Volume]| volumes.iter().any(|v| v.name == name(i));
            match event {
                Event::Add(i) if !taken(i, &volumes) => {
                    born += 1;
                    volumes.push(volume(&name(i), &format!("id{born}")));
                }
                Event::Remove(i) => {
                    volumes.retain(|volume| volume.name != name(i));
                    asked = asked.filter(|(name, _)| volumes.iter().any(|v| v.name == *name));
                }
                Event::Rename(from, to) if !taken(to, &volumes) => {
                    if let Some(volume) = volumes.iter_mut().find(|v| v.name == name(from)) {
                        volume.name = name(to);
                        asked = None;
                    }
                }
                Event::Reverse => volumes.reverse(),
                Event::Ask(i, lun) if taken(i, &volumes) => asked = Some((name(i), lun)),
                Event::Empty => asked = None,
                _ => {}
            }
            let text: String = match &asked {
                None => String::new(),
                Some((name, lun)) => volumes.iter().map(|volume| {
                    let lun = if volume.name == *name { format!("lun = {lun}\n") } else { String::new() };
                    format!("[[unit]]\nvolume = \"{}\"\n{lun}", volume.name)
                }).collect(),
            };
            let before = state.clone();
            let made = match resolved(&text, &volumes, &state) {
                Ok(made) => made,
                Err(errors) => {
                    // The one thing that can be refused here: a number that another one has or had.
                    let taken = errors.iter().all(|e| matches!(e, ExportsError::LunTaken { .. }));
                    prop_assert!(taken, "{:?}", errors);
                    asked = None;
                    continue;
                }
            };
            state = made.state;
            let now = numbers(&volumes, &state);
            let mut luns: Vec<u16> = now.values().map(|(lun, _)| *lun).collect();
            luns.sort_unstable();
            luns.dedup();
            prop_assert_eq!(luns.len(), volumes.len(), "two volumes have one number");
            let mut serials: Vec<&String> = now.values().map(|(_, serial)| serial).collect();
            serials.sort_unstable();
            serials.dedup();
            prop_assert_eq!(serials.len(), volumes.len(), "two volumes have one serial number");
            for volume in &volumes {
                let (lun, serial) = &now[&volume.identity];
                if let Some(known) = before.volumes.get(&volume.identity) {
                    prop_assert_eq!(&known.serial, serial);
                    let moved = asked.as_ref().is_some_and(|(name, lun)| {
                        *name == volume.name && known.luns[TARGET] != *lun
                    });
                    if moved {
                        ever.remove(&known.luns[TARGET]);
                    } else {
                        prop_assert_eq!(known.luns[TARGET], *lun, "a number changed by itself");
                    }
                }
                let owner = ever.entry(*lun).or_insert_with(|| serial.clone());
                prop_assert_eq!(&*owner, serial, "a number went to another volume");
            }
            let desired = &made.desired.targets[TARGET];
            prop_assert_eq!(desired.luns.len(), volumes.len());
            prop_assert_eq!(context().iqn("tank"), TARGET);
            let text = state.to_text();
            prop_assert_eq!(State::parse(&text, "x").unwrap(), state.clone());
        }
    }
}
