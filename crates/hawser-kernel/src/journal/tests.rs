//! Undo, in a folder of its own, which stands for a host's root.

use std::fs;
use std::net::UdpSocket;

use hawser_model::knob::{Knob, Standing};
use nix::unistd::geteuid;

use super::*;

const NAME: &str = "net.ipv4.ipfrag_time";

fn knob() -> Knob {
    Knob::Sysctl { name: NAME.into() }
}

/// As files of the host are expected whose root is whoever runs the tests.
pub(super) fn ours() -> Expected {
    Expected {
        owner: geteuid().as_raw(),
        ..Expected::OF_ROOT
    }
}

/// A journal beside an `/etc` and a `/proc/sys` of its own.
pub(super) fn on_a_host(test: impl FnOnce(Journal, &Path)) {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let sysctls = place.join("proc/sys");
    for folder in ["etc/sysctl.d", "proc/sys/net/ipv4"] {
        fs::create_dir_all(place.join(folder)).unwrap();
    }
    for (name, value) in [("ipfrag_time", "30\n"), ("ip_default_ttl", "64\n")] {
        fs::write(sysctls.join("net/ipv4").join(name), value).unwrap();
    }
    let knobs = Knobs {
        root: place.into(),
        ..Knobs::default()
    };
    let journal = Journal {
        expected: ours(),
        ..Journal::new(place.join("a/changes"), place, knobs)
    };
    test(journal, place);
}

fn value(journal: &Journal) -> String {
    journal.knobs.read(&knob()).unwrap().value
}

#[test]
fn what_another_program_sets_during_a_trial_is_not_written_over() {
    on_a_host(|journal, place| {
        let owner = Owner::own().unwrap();
        journal.begin(&knob(), "44", &owner).unwrap();
        let theirs = place.join("proc/sys/net/ipv4/ipfrag_time");
        fs::write(&theirs, "99\n").unwrap();
        for refused in [
            journal.turn(1, Arm::Before).map(drop),
            journal.turn(1, Arm::After).map(drop),
            journal.keep(1, Vec::new()).map(drop),
        ] {
            let why = refused.unwrap_err().to_string();
            assert!(
                why.contains("is 99 now: another program has set it"),
                "{why}"
            );
        }
        assert_eq!(value(&journal), "99");
        assert!(!place.join("etc/sysctl.d/60-hawser.conf").exists());
        assert_eq!(journal.undo(1).unwrap().left_at.as_deref(), Some("99"));
        assert_eq!(value(&journal), "99");
    });
}

#[test]
fn a_kept_change_is_persisted_and_undone_without_a_trace() {
    on_a_host(|journal, place| {
        let file = place.join("etc/sysctl.d/60-hawser.conf");
        let owner = Owner::own().unwrap();
        let before = value(&journal);
        let change = journal.begin(&knob(), "44", &owner).unwrap();
        assert_eq!((change.number, change.after.as_str()), (1, "44"));
        assert_eq!(value(&journal), "44");
        journal.turn(1, Arm::Before).unwrap();
        assert_eq!(value(&journal), before);
        assert!(!file.exists(), "a trial is not persisted");
        let kept = journal.keep(1, Vec::new()).unwrap();
        assert_eq!(value(&journal), "44");
        assert_eq!(kept.standing, Standing::Kept);
        assert_eq!(kept.persisted_in.as_deref(), file.to_str());
        let text = fs::read_to_string(&file).unwrap();
        assert!(
            text.ends_with("# change 1; was 30\nnet.ipv4.ipfrag_time = 44\n"),
            "{text}"
        );

        assert_eq!(journal.recover().unwrap(), [], "what is kept stays");
        assert_eq!(journal.undo(1).unwrap().left_at, None);
        assert_eq!(value(&journal), before);
        assert!(!file.exists() && !place.join("a").exists());
        assert!(journal.undo(1).is_err());
    });
}

#[test]
fn what_a_dead_owner_tried_is_undone_and_what_somebody_else_set_is_left() {
    on_a_host(|journal, _| {
        let dead = Owner {
            start: 1,
            ..Owner::own().unwrap()
        };
        let before = value(&journal);
        journal.begin(&knob(), "44", &dead).unwrap();
        journal.begin(&knob(), "45", &dead).unwrap();
        assert_eq!(journal.recover().unwrap().len(), 2);
        assert_eq!(value(&journal), before);

        let alive = Owner::own().unwrap();
        journal.begin(&knob(), "46", &alive).unwrap();
        assert_eq!(journal.recover().unwrap(), [], "its owner lives");
        journal.knobs.write(&knob(), "99").unwrap();
        let undone = journal.undo_trials_of(&alive).unwrap();
        assert_eq!(undone[0].left_at.as_deref(), Some("99"));
        assert_eq!(value(&journal), "99");
        assert_eq!(journal.changes().unwrap().changes, []);
    });
}

#[test]
fn a_sockets_buffer_comes_back_and_is_forgotten_with_its_socket() {
    if !geteuid().is_root() {
        eprintln!("skipped: SO_RCVBUFFORCE needs root");
        return;
    }
    on_a_host(|journal, _| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let local = socket.local_addr().unwrap();
        let all = crate::udp_sockets().unwrap();
        let own = all.iter().find(|socket| socket.local == local).unwrap();
        let knob = Knob::SocketBuffer {
            process: own.process.clone().unwrap(),
            local,
            inode: own.inode,
        };
        let read = || journal.knobs.read(&knob).map(|setting| setting.value);
        let (before, large) = (read().unwrap(), "16777216");
        let dead = Owner {
            start: 1,
            ..Owner::own().unwrap()
        };
        journal.begin(&knob, large, &dead).unwrap();
        assert_eq!(read().unwrap(), large);
        let undone = journal.recover().unwrap();
        assert_eq!((undone.len(), undone[0].gone), (1, false));
        assert_eq!(read().unwrap(), before);

        let change = journal.begin(&knob, large, &Owner::own().unwrap());
        let kept = journal.keep(change.unwrap().number, Vec::new()).unwrap();
        assert!(kept.persisted_in.is_none() && kept.not_persisted.is_some());
        assert_eq!(journal.recover().unwrap(), [], "what is kept stays");
        drop(socket);
        let undone = journal.recover().unwrap();
        assert_eq!((undone.len(), undone[0].gone), (1, true));
        assert_eq!(journal.changes().unwrap().changes, []);
    });
}

#[test]
fn a_crash_between_the_journal_and_the_kernel_loses_nothing() {
    on_a_host(|journal, _| {
        let before = value(&journal);
        let owner = Owner::own().unwrap();
        let change = journal.begin(&knob(), "44", &owner).unwrap();
        let mut entry = Entry::new(change, owner);
        // The kernel rounded, and we died before it was read back.
        entry.change.after = "43".to_owned();
        Folder::lock(&journal.folder, ours())
            .unwrap()
            .write(&entry)
            .unwrap();
        assert_eq!(journal.undo(1).unwrap().left_at, None);
        assert_eq!(value(&journal), before);
    });
}

#[test]
fn a_value_that_the_kernel_refuses_leaves_nothing_behind() {
    on_a_host(|mut journal, place| {
        // The kernel's own: it refuses words from root, and all from anybody else.
        journal.knobs = Knobs::default();
        let error = journal.begin(&knob(), "soon", &Owner::own().unwrap());
        assert!(error.unwrap_err().to_string().contains("ipfrag_time"));
        assert!(!place.join("a").exists());
    });
}

#[test]
fn no_other_file_is_touched_and_a_later_one_is_named() {
    on_a_host(|journal, place| {
        let owner = Owner::own().unwrap();
        let file = place.join("etc/sysctl.d/60-hawser.conf");
        fs::write(&file, "# mine\n").unwrap();
        journal.begin(&knob(), "44", &owner).unwrap();
        let kept = journal.keep(1, Vec::new()).unwrap();
        assert!(kept.not_persisted.unwrap().contains("not Hawser's own"));
        journal.undo(1).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "# mine\n");

        fs::remove_file(&file).unwrap();
        let later = place.join("etc/sysctl.d/90-site.conf");
        fs::write(&later, "# ours\nnet/ipv4/ipfrag_time=30\n").unwrap();
        journal.begin(&knob(), "44", &owner).unwrap();
        let why = journal.keep(1, Vec::new()).unwrap().not_persisted.unwrap();
        assert!(why.contains("90-site.conf:2 is read later"), "{why}");
        assert!(!file.exists());
    });
}

#[test]
fn what_another_user_could_have_written_is_named_and_not_believed() {
    on_a_host(|mut journal, place| {
        journal
            .begin(&knob(), "44", &Owner::own().unwrap())
            .unwrap();
        let host = Journal::new(place.join("a/changes"), place, Knobs::default());
        assert_eq!(host.expected, Expected::OF_ROOT);
        journal.expected.owner = ours().owner + 1;
        let recorded = journal.changes().unwrap();
        assert_eq!(recorded.changes, []);
        assert!(recorded.unreadable[0].contains("1.json belongs to user "));
        assert!(journal.undo(1).is_err());
    });
}
