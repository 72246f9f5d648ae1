//! Several changes of one knob, and changes whose boot or object is gone.

use std::fs;

use hawser_model::knob::{Knob, Standing};

use super::tests::on_a_host;
use super::*;

fn knob() -> Knob {
    Knob::Sysctl {
        name: "net.ipv4.ipfrag_time".into(),
    }
}

fn file(place: &Path) -> PathBuf {
    place.join("proc/sys/net/ipv4/ipfrag_time")
}

fn value(place: &Path) -> String {
    let text = fs::read_to_string(file(place)).unwrap();
    text.trim().to_owned()
}

fn dead() -> Owner {
    Owner {
        start: 1,
        ..Owner::own().unwrap()
    }
}

/// One that ran before the host booted.
fn of_another_boot() -> Owner {
    Owner {
        boot: "other".to_owned(),
        ..Owner::own().unwrap()
    }
}

/// Another process, which runs as long as the tests.
fn foreign() -> Owner {
    let pid = nix::unistd::getppid();
    let process = hawser_tool::processes::Process::of(pid.as_raw()).unwrap();
    Owner {
        pid: pid.as_raw().unsigned_abs(),
        start: process.began,
        ..Owner::own().unwrap()
    }
}

fn keep(journal: &Journal, value: &str) -> Change {
    let change = journal.begin(&knob(), value, &dead()).unwrap();
    journal.keep(change.number, Vec::new()).unwrap()
}

/// As the journal has it after a boot.
fn entry(journal: &Journal, change: Change, owner: Owner) {
    let mut entry = Entry::new(change, owner);
    entry.settled = true;
    let folder = Folder::lock(&journal.folder, journal.expected).unwrap();
    folder.write(&entry).unwrap();
}

#[test]
fn changes_of_one_knob_are_undone_in_any_order() {
    for order in [
        [1, 2, 3],
        [1, 3, 2],
        [2, 1, 3],
        [2, 3, 1],
        [3, 1, 2],
        [3, 2, 1],
    ] {
        on_a_host(|journal, place| {
            for value in ["44", "50", "60"] {
                keep(&journal, value);
            }
            let conf = place.join("etc/sysctl.d/60-hawser.conf");
            let mut left = vec![(1, "44"), (2, "50"), (3, "60")];
            for number in order {
                let undone = journal.undo(number).unwrap();
                left.retain(|(n, _)| *n != number);
                let last = left.last().map(|(_, value)| *value);
                assert_eq!(value(place), last.unwrap_or("30"), "{number} of {order:?}");
                // What a later change has set is named.
                let later = left
                    .iter()
                    .any(|(n, _)| *n > number)
                    .then_some(value(place));
                assert_eq!(undone.left_at, later, "{number} of {order:?}");
                let text = fs::read_to_string(&conf).unwrap_or_default();
                let line = last.map_or(String::new(), |v| format!("net.ipv4.ipfrag_time = {v}\n"));
                assert!(text.ends_with(&line) && text.is_empty() == left.is_empty());
                if let [(_, last)] = left[..] {
                    assert!(text.contains(&format!("was 30\nnet.ipv4.ipfrag_time = {last}")));
                }
            }
            assert!(!place.join("a").exists());
        });
    }
}

#[test]
fn a_change_before_a_trial_is_undone_while_that_is_turned_either_way() {
    for (arm, then) in [(Arm::After, "50"), (Arm::Before, "30")] {
        on_a_host(|journal, place| {
            keep(&journal, "44");
            let owner = Owner::own().unwrap();
            let trial = journal.begin(&knob(), "50", &owner).unwrap();
            journal.turn(trial.number, arm).unwrap();
            journal.undo(1).unwrap();
            assert_eq!(value(place), then);
            journal.turn(trial.number, Arm::Before).unwrap();
            assert_eq!(value(place), "30");
            journal.turn(trial.number, Arm::After).unwrap();
            journal.undo(trial.number).unwrap();
            assert_eq!(value(place), "30");
        });
    }
}

#[test]
fn a_value_that_two_changes_have_set_belongs_to_the_later_one() {
    on_a_host(|journal, place| {
        for value in ["44", "30", "44"] {
            keep(&journal, value);
        }
        assert_eq!(journal.undo(1).unwrap().left_at.as_deref(), Some("44"));
        assert_eq!(value(place), "44");
        journal.undo(3).unwrap();
        journal.undo(2).unwrap();
        assert_eq!(value(place), "30");
    });
}

#[test]
fn what_somebody_else_set_between_two_changes_comes_back() {
    on_a_host(|journal, place| {
        keep(&journal, "44");
        fs::write(file(place), "99\n").unwrap();
        keep(&journal, "50");
        assert_eq!(journal.undo(1).unwrap().left_at.as_deref(), Some("50"));
        assert_eq!(journal.undo(2).unwrap().left_at, None);
        assert_eq!(value(place), "99");
    });
}

#[test]
fn a_knob_that_another_process_tries_is_not_turned() {
    on_a_host(|journal, place| {
        let other = foreign();
        assert!(other.lives());
        journal.begin(&knob(), "44", &other).unwrap();
        let own = Owner::own().unwrap();
        let error = journal.begin(&knob(), "50", &own).unwrap_err().to_string();
        assert_eq!(
            error,
            "net.ipv4.ipfrag_time: another hawser tries it now (change 1)"
        );
        assert_eq!(value(place), "44");
        let ttl = Knob::Sysctl {
            name: "net.ipv4.ip_default_ttl".into(),
        };
        let change = journal.begin(&ttl, "65", &own).unwrap();
        journal.undo(change.number).unwrap();
        // What was kept is in nobody's way.
        journal.keep(1, Vec::new()).unwrap();
        assert_eq!(journal.begin(&knob(), "50", &own).unwrap().before, "44");
    });
}

#[test]
fn a_trial_that_cannot_be_undone_blocks_its_own_knob_alone() {
    on_a_host(|journal, place| {
        let own = Owner::own().unwrap();
        journal.begin(&knob(), "44", &dead()).unwrap();
        fs::remove_file(file(place)).unwrap();
        fs::create_dir(file(place)).unwrap();
        journal.recover().unwrap_err();
        let left = &journal.changes().unwrap().changes[0];
        assert_eq!(
            left.not_persisted.as_deref(),
            Some("its agent is gone, and it is not undone yet")
        );
        let ttl = Knob::Sysctl {
            name: "net.ipv4.ip_default_ttl".into(),
        };
        let change = journal.begin(&ttl, "65", &own).unwrap();
        assert_eq!(journal.changes().unwrap().changes[1].not_persisted, None);
        journal.undo(change.number).unwrap();
        journal.begin(&knob(), "50", &own).unwrap_err();
        // Now it can: the trial begins on the host's own value.
        fs::remove_dir(file(place)).unwrap();
        fs::write(file(place), "44\n").unwrap();
        let change = journal.begin(&knob(), "50", &own).unwrap();
        assert_eq!(change.before, "30");
        assert_eq!(journal.changes().unwrap().changes.len(), 1);
    });
}

#[test]
fn what_a_boot_has_ended_is_forgotten_and_the_hosts_own_value_left() {
    for (standing, persisted, then) in [
        (Standing::Trial, false, "44"),
        (Standing::Kept, false, "44"),
        (Standing::Kept, true, "30"),
    ] {
        on_a_host(|journal, place| {
            let mut change = keep(&journal, "44");
            change.standing = standing;
            if !persisted {
                change.persisted_in = None;
            }
            entry(&journal, change, of_another_boot());
            let undone = journal.recover().unwrap();
            assert_eq!(undone.len(), usize::from(!persisted));
            assert!(undone.iter().all(|it| it.gone && it.left_at.is_none()));
            assert_eq!(value(place), "44");
            // What its file has set again is still Hawser's.
            if persisted {
                journal.undo(1).unwrap();
            }
            assert_eq!(value(place), then);
            assert!(!place.join("a").exists());
            assert!(!place.join("etc/sysctl.d/60-hawser.conf").exists());
        });
    }
}

#[test]
fn a_change_of_what_is_gone_is_undone_with_its_file() {
    on_a_host(|journal, place| {
        let conf = place.join("etc/sysctl.d/60-hawser.conf");
        keep(&journal, "44");
        fs::remove_file(file(place)).unwrap();
        assert_eq!(journal.recover().unwrap(), [], "it may come back");
        assert!(conf.exists());
        let undone = journal.undo(1).unwrap();
        assert!(undone.gone && undone.left_at.is_none());
        assert!(!conf.exists() && !place.join("a").exists());
    });
}

#[test]
fn a_dead_owners_trial_of_what_is_gone_is_forgotten() {
    on_a_host(|journal, place| {
        fs::create_dir_all(place.join("sys/class/net/eth0")).unwrap();
        let change = journal.begin(&knob(), "44", &dead()).unwrap();
        fs::remove_file(file(place)).unwrap();
        for (number, interface) in [(2, "eth0"), (3, "eth1")] {
            let interface = interface.into();
            let of_card = Change {
                number,
                knob: Knob::Interrupts { interface },
                ..change.clone()
            };
            entry(&journal, of_card, dead());
        }
        // That of eth0, which is there and has no such setting in these tests.
        journal.recover().unwrap_err();
        let left = journal.changes().unwrap().changes;
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].number, 2);
    });
}
