use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, Header};

use super::*;

/// 2026-11-27.
const NOW: u64 = 1_795_800_000;

fn taken(left: u64) -> Taken {
    Taken {
        left,
        ..Taken::empty(NOW)
    }
}

#[test]
fn what_unpacks_to_more_than_is_left_is_one_error() {
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    bomb.write_all(&[b'x'; 1 << 20]).expect("memory");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pacemaker.log-20261123.gz");
    fs::write(&path, bomb.finish().expect("memory")).expect("a file");
    let mut enough = taken(1 << 20);
    enough
        .file(&path, What::Log(LogKind::Pacemaker))
        .expect("it fits");
    assert_eq!((enough.logs[0].text.len(), enough.left), (1 << 20, 0));
    assert_eq!(enough.gaps, [""; 0]);
    let why = taken((1 << 20) - 1)
        .file(&path, What::Log(LogKind::Pacemaker))
        .expect_err("too large");
    let begins = format!("{}: ", path.display());
    assert!(why.to_string().starts_with(&begins), "{why}");
}

/// An archive with one log in it, whose entry has this name, given by an entry before it.
fn named_by(kind: EntryType, name: &[u8]) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    let mut entry = |kind: EntryType, path: &str, holds: &[u8]| {
        let mut header = Header::new_ustar();
        header.set_entry_type(kind);
        header.set_path(path).expect("it is short");
        header.set_size(holds.len() as u64);
        header.set_cksum();
        archive.append(&header, holds).expect("memory");
    };
    entry(kind, "name", name);
    entry(EntryType::Regular, "short", b"held");
    archive.into_inner().expect("memory")
}

fn logs_of(archive: &[u8]) -> (Vec<(String, String)>, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("report.tar");
    fs::write(&path, archive).expect("a file");
    let mut taken = taken(LARGEST);
    taken.archive(&path).expect("it is within all bounds");
    let logs = taken.logs.into_iter();
    (logs.map(|log| (log.folder, log.text)).collect(), taken.gaps)
}

#[test]
fn names_that_are_too_long_for_a_header_are_read_and_have_a_bound() {
    let long = format!("{}/head1/var/log/pacemaker/pacemaker.log", "x".repeat(300));
    let of_head1 = vec![("head1".to_owned(), "held".to_owned())];
    let gnu = named_by(EntryType::GNULongName, format!("{long}\0").as_bytes());
    assert_eq!(logs_of(&gnu), (of_head1.clone(), Vec::new()));
    let record = format!(" path={long}\n");
    // The length counts its own digits.
    let record = format!("{}{record}", record.len() + 3);
    let pax = named_by(EntryType::XHeader, record.as_bytes());
    assert_eq!(logs_of(&pax), (of_head1, Vec::new()));
    // No system has a longer one.
    let endless = [&[b'x'; 1 << 20][..], b"/corosync.log"].concat();
    let none = logs_of(&named_by(EntryType::GNULongName, &endless));
    assert_eq!(none, (Vec::new(), Vec::new()));
}

#[test]
fn links_and_devices_of_an_archive_are_no_logs() {
    for kind in [EntryType::Symlink, EntryType::Link, EntryType::Fifo] {
        let mut archive = Builder::new(Vec::new());
        let mut header = Header::new_ustar();
        header.set_entry_type(kind);
        header.set_path("head1/corosync.log").expect("it is short");
        header.set_link_name("/etc/shadow").expect("it is short");
        header.set_size(0);
        header.set_cksum();
        archive.append(&header, &b""[..]).expect("memory");
        let bytes = archive.into_inner().expect("memory");
        assert_eq!(logs_of(&bytes), (Vec::new(), Vec::new()), "{kind:?}");
    }
}

#[test]
fn an_archive_that_was_cut_gives_what_came_before_and_says_so() {
    let whole = named_by(EntryType::GNULongName, b"head1/pacemaker.log\0");
    // A header, the long name, a header, the text, and two blocks that end it; each of 512 bytes.
    for end in 0..whole.len() {
        let (logs, gaps) = logs_of(&whole[..end]);
        let said = gaps.len() == 1;
        assert!(
            logs.len() <= 1 && gaps.len() <= 1,
            "{end}: {logs:?} {gaps:?}"
        );
        let within = end % 512 != 0 && end < 4 * 512;
        assert!(said || !within, "{end}: {logs:?}");
    }
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xff;
        let (logs, gaps) = logs_of(&damaged);
        assert!(logs.len() <= 1 && gaps.len() <= 1, "{at}");
    }
    let text = named_by(EntryType::Regular, b"short");
    let garbage = logs_of(&[&[b'x'; 512][..], &text].concat());
    assert!(
        garbage.1[0].contains("is no archive, or a damaged one"),
        "{garbage:?}"
    );
}

#[test]
fn times_of_an_archive_are_believed_only_if_they_can_be() {
    for (mtime, recorded) in [(0, NOW), (u64::MAX >> 1, NOW), (NOW - 5, NOW - 5)] {
        let mut archive = Builder::new(Vec::new());
        let mut header = Header::new_gnu();
        header.set_path("head1/pacemaker.log").expect("it is short");
        header.set_size(4);
        header.set_mtime(mtime);
        header.set_cksum();
        archive.append(&header, &b"held"[..]).expect("memory");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("report.tar");
        fs::write(&path, archive.into_inner().expect("memory")).expect("a file");
        let taken = Taken::of(&path, NOW).expect("an archive");
        assert_eq!((taken.logs.len(), taken.recorded), (1, recorded));
    }
}

#[test]
fn what_a_header_of_tar_cannot_say_is_not_read_past_and_named() {
    let large = named_by(EntryType::XHeader, b"20 size=10000000000\n");
    let (logs, gaps) = logs_of(&large);
    assert_eq!(logs, []);
    assert!(gaps[0].contains("was not read to its end"), "{gaps:?}");
}

#[test]
fn a_kept_incident_of_a_watch_is_read_in_bounds_and_is_nobody_s_where_it_is_empty() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("20261122-111412.json");
    let text = r#"{"id":"20261122-111412","corosync":[],"pacemaker":["x"]}"#;
    fs::write(&path, text).expect("a file");
    let mut taken = taken(LARGEST);
    taken.file(&path, What::Kept).expect("it is small");
    let kinds: Vec<LogKind> = taken.logs.iter().map(|log| log.kind).collect();
    assert_eq!(kinds, [LogKind::Pacemaker]);
    let many = r#""","#.repeat(1 << 20);
    let text = format!(r#"{{"id":"1","corosync":[{many}""],"pacemaker":[]}}"#);
    fs::write(&path, text).expect("a file");
    taken.file(&path, What::Kept).expect("it is named");
    assert_eq!(taken.logs.len(), 1);
    assert!(
        taken.gaps[0].contains("more than 2 MiB"),
        "{:?}",
        taken.gaps
    );
}
