//! A run that is interrupted anywhere forgets nothing: whatever differs from the host as it was has
//! its entry, the files are what the entries say, and undoing all of them leaves no trace.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use hawser_model::knob::{Knob, Standing};

use super::interrupted::{self, How};
use super::tests::on_a_host;
use super::*;

const NAMES: [(&str, &str); 2] = [
    ("net.ipv4.ipfrag_time", "44"),
    ("net.ipv4.ip_default_ttl", "65"),
];

fn knob(name: &str) -> Knob {
    Knob::Sysctl { name: name.into() }
}

/// An agent that is gone when the next one recovers.
fn dead() -> Owner {
    Owner {
        start: 1,
        ..Owner::own().unwrap()
    }
}

fn values(journal: &Journal) -> Vec<String> {
    let value = |(name, _): (&str, &str)| journal.knobs.read(&knob(name)).unwrap().value;
    NAMES.map(value).to_vec()
}

/// The lines of the file that set something.
fn set(place: &Path) -> Vec<String> {
    let text = fs::read_to_string(place.join("etc/sysctl.d/60-hawser.conf")).unwrap_or_default();
    let lines = text.lines().filter(|line| line.contains(" = "));
    lines.map(str::to_owned).collect()
}

/// What the file has to set by the entries.
fn wanted(journal: &Journal) -> Vec<String> {
    let changes = journal.changes().unwrap().changes;
    let kept = changes.iter().filter(|c| c.persisted_in.is_some());
    let mut lines: Vec<String> = kept
        .map(|c| {
            format!(
                "{} = {}",
                c.knob.to_string().replace("sysctl ", ""),
                c.after
            )
        })
        .collect();
    lines.sort();
    lines
}

/// All that a tune and two undos do.
fn run(journal: &Journal) -> Result<(), KernelError> {
    let owner = dead();
    for (name, value) in NAMES {
        let change = journal.begin(&knob(name), value, &owner)?;
        journal.keep(change.number, Vec::new())?;
    }
    let trial = journal.begin(&knob(NAMES[0].0), "50", &owner)?;
    journal.undo(trial.number)?;
    journal.undo(1)?;
    journal.undo(2).map(drop)
}

#[test]
fn a_run_that_is_killed_or_finds_a_full_disk_anywhere_is_healed_by_the_next() {
    on_a_host(|journal, place| {
        let before = values(&journal);
        let mut ended = 0;
        for how in [How::Killed, How::Failing] {
            for things in 0.. {
                interrupted::after(Some((things, how)));
                let outcome = catch_unwind(AssertUnwindSafe(|| run(&journal)));
                interrupted::after(None);
                journal.recover().unwrap();
                let changes = journal.changes().unwrap().changes;
                let at = format!("{how:?} after {things}: {changes:?}");
                assert!(changes.iter().all(|c| c.standing == Standing::Kept), "{at}");
                let mut lines = set(place);
                lines.sort();
                assert_eq!(lines, wanted(&journal), "{at}");
                let now = values(&journal);
                for ((name, _), (now, before)) in NAMES.iter().zip(now.iter().zip(&before)) {
                    let known = changes.iter().any(|c| c.knob == knob(name));
                    assert!(known || now == before, "{name} is {now}: {at}");
                }
                for change in changes.iter().rev() {
                    assert_eq!(journal.undo(change.number).unwrap().left_at, None, "{at}");
                }
                assert_eq!(values(&journal), before, "{at}");
                assert_eq!(set(place), [""; 0], "{at}");
                assert!(!place.join("a").exists(), "{at}");
                if matches!(outcome, Ok(Ok(()))) {
                    ended += 1;
                    assert!(things > 15, "{things} things last in a run");
                    break;
                }
            }
        }
        assert_eq!(ended, 2);
    });
}

/// Of a card of two, whose CPUs the kernel is told one after the other.
fn interrupts(place: &Path) -> Knob {
    for number in [24, 25] {
        let folder = place.join(format!("proc/irq/{number}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("smp_affinity_list"), "0-3\n").unwrap();
        let card = place.join("sys/class/net/eth0/device/msi_irqs");
        fs::create_dir_all(&card).unwrap();
        fs::write(card.join(number.to_string()), "").unwrap();
    }
    Knob::Interrupts {
        interface: "eth0".into(),
    }
}

#[test]
fn a_turn_that_is_ended_between_two_parts_of_a_knob_is_undone_in_both() {
    on_a_host(|journal, place| {
        let knob = interrupts(place);
        let value = || journal.knobs.read(&knob).unwrap().value;
        let run = || {
            let number = journal.begin(&knob, "24=0 25=1", &dead())?.number;
            journal.turn(number, Arm::Before)?;
            journal.turn(number, Arm::After)?;
            journal.keep(number, Vec::new())?;
            journal.undo(number).map(drop)
        };
        for how in [How::Killed, How::Failing] {
            for things in 0.. {
                interrupted::after(Some((things, how)));
                let outcome = catch_unwind(AssertUnwindSafe(run));
                interrupted::after(None);
                let at = format!("{how:?} after {things}: {}", value());
                journal.recover().unwrap();
                for change in journal.changes().unwrap().changes {
                    assert_eq!(journal.undo(change.number).unwrap().left_at, None, "{at}");
                }
                assert_eq!(value(), "24=0-3 25=0-3", "{at}");
                assert!(!place.join("a").exists(), "{at}");
                if matches!(outcome, Ok(Ok(()))) {
                    assert!(things > 15, "{things} things last in a run");
                    break;
                }
            }
        }
        // A part that somebody else has set is left, and the others come back.
        journal.begin(&knob, "24=0 25=1", &dead()).unwrap();
        journal.knobs.write(&knob, "25=2").unwrap();
        let undone = journal.recover().unwrap();
        assert_eq!(undone[0].left_at.as_deref(), Some("24=0-3 25=2"));
        assert_eq!(value(), "24=0-3 25=2");
    });
}

#[test]
fn an_undo_whose_file_cannot_be_written_keeps_its_entry() {
    on_a_host(|journal, place| {
        let before = values(&journal);
        let change = journal.begin(&knob(NAMES[0].0), "44", &dead()).unwrap();
        journal.keep(change.number, Vec::new()).unwrap();
        // The value, and then the file.
        interrupted::after(Some((1, How::Failing)));
        let error = journal.undo(1).unwrap_err().to_string();
        interrupted::after(None);
        assert_eq!(error, "no space left");
        assert_eq!(values(&journal), before);
        assert_eq!(journal.changes().unwrap().changes.len(), 1);
        assert_eq!(set(place).len(), 1);
        assert_eq!(journal.undo(1).unwrap().left_at, None);
        assert_eq!(set(place).len(), 0);
    });
}

#[test]
fn files_are_made_from_the_entries_again_and_a_foreign_one_is_left() {
    on_a_host(|journal, place| {
        let file = place.join("etc/sysctl.d/60-hawser.conf");
        for (name, value) in NAMES {
            let change = journal.begin(&knob(name), value, &dead()).unwrap();
            journal.keep(change.number, Vec::new()).unwrap();
        }
        let good = fs::read_to_string(&file).unwrap();
        fs::remove_file(&file).unwrap();
        journal.recover().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), good);
        // As an interrupted undo of an older version left it: a line without an entry.
        let rule = place.join("etc/udev/rules.d/90-hawser-eth0.rules");
        fs::create_dir_all(rule.parent().unwrap()).unwrap();
        let header = good.split("\n\n").next().unwrap();
        fs::write(&rule, format!("{header}\n\n# change 9; was 1500\nACTION\n")).unwrap();
        fs::write(&file, format!("{good}\n# change 9; was 1\nnet.x = 2\n")).unwrap();
        let foreign = place.join("etc/udev/rules.d/90-hawser-eth1.rules");
        fs::write(&foreign, "# mine\n").unwrap();
        journal.recover().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), good);
        assert!(!rule.exists() && foreign.exists());
    });
}

#[test]
fn an_entry_that_cannot_be_read_is_named_and_blocks_nothing_else() {
    on_a_host(|journal, place| {
        let before = values(&journal);
        for (name, value) in NAMES {
            let change = journal.begin(&knob(name), value, &dead()).unwrap();
            journal.keep(change.number, Vec::new()).unwrap();
        }
        let folder = journal.folder().to_owned();
        fs::write(folder.join("2.json"), "{").unwrap();
        fs::write(folder.join("7.json"), r#"{"version": 2}"#).unwrap();
        fs::write(folder.join("notes.json"), "{}").unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.join("8.json")).unwrap();
        let recorded = journal.changes().unwrap();
        assert_eq!(recorded.changes.len(), 1);
        let said = recorded.unreadable.join("\n");
        for part in [
            "2.json: EOF",
            "7.json: an entry of version 2, and this program reads up to 1",
            "notes.json: no entry has such a name",
            "8.json is a symbolic link",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }

        // A trial is begun and undone by the guard, with a number of its own.
        let trial = journal.begin(&knob(NAMES[0].0), "50", &dead()).unwrap();
        assert_eq!(trial.number, 9);
        assert_eq!(journal.undo_trials_of(&dead()).unwrap().len(), 1);
        journal.recover().unwrap();
        // What the unreadable entry had written stays; the other's part goes with it.
        assert_eq!(set(place).len(), 2);
        assert_eq!(journal.undo(1).unwrap().left_at, None);
        assert_eq!(set(place), ["net.ipv4.ip_default_ttl = 65"]);
        assert_eq!(values(&journal), [before[0].as_str(), "65"]);
        assert!(journal.undo(2).unwrap_err().to_string().contains("2.json"));
        assert_eq!(journal.changes().unwrap().unreadable.len(), 4);
    });
}

#[test]
fn entries_from_before_they_had_a_version_are_read() {
    on_a_host(|journal, _| {
        let before = values(&journal);
        journal.begin(&knob(NAMES[0].0), "44", &dead()).unwrap();
        let path = journal.folder().join("1.json");
        let text = fs::read_to_string(&path).unwrap();
        let mut entry: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(entry["version"], 1);
        entry.as_object_mut().unwrap().remove("version");
        fs::write(&path, entry.to_string()).unwrap();
        assert_eq!(journal.recover().unwrap().len(), 1);
        assert_eq!(values(&journal), before);
    });
}
