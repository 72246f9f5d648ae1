use std::fs::OpenOptions;

use hawser_model::output::watch::{LinkReading, LinkState};
use hawser_model::readings::Noted;
use proptest::prelude::*;

use super::*;

const LIMIT: u64 = 64 << 20;

fn at(second: u64) -> Moment {
    Moment(1_795_346_000_000_000 + second * 1_000_000)
}

fn link(state: LinkState, lost: u64) -> Noted {
    Noted::Link(LinkReading {
        name: "ring1".into(),
        peer: "head2".into(),
        state,
        latency_s: Some(0.000_312),
        lost: Some(lost),
        sent: Some(60),
    })
}

fn new(second: u64, now: &[Noted]) -> Reading {
    Reading {
        at: at(second),
        now: now.to_vec(),
        ..Reading::default()
    }
}

fn open(folder: &Path) -> RingOfReadings {
    RingOfReadings::open_in(folder, LIMIT, &[]).unwrap()
}

fn all(folder: &Path) -> KeptReadings {
    read_in(folder, at(0), at(1 << 30)).unwrap()
}

/// The number of lost pings that each reading of the ring tells, in their order.
fn told(kept: &KeptReadings) -> Vec<u64> {
    let now = kept.readings.iter().flat_map(|reading| &reading.now);
    let lost = now.filter_map(|noted| match noted {
        Noted::Link(link) => link.lost,
        _ => None,
    });
    lost.collect()
}

#[test]
fn what_is_kept_is_read_again_from_how_it_stood_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("below/readings");
    assert_eq!(all(&path), KeptReadings::default());
    let mut ring = open(&path);
    for second in 0..100 {
        let state = if second < 50 {
            LinkState::Up
        } else {
            LinkState::Down
        };
        let now = [link(state, second / 10)];
        let changed = second % 10 == 0;
        ring.keep(&new(second, if changed { &now } else { &[] }))
            .unwrap();
    }
    let kept = read_in(&path, at(45), at(75)).unwrap();
    assert_eq!(
        kept.readings[0],
        Reading::whole(
            at(45),
            &AllNoted::from([(link(LinkState::Up, 4).subject(), link(LinkState::Up, 4))])
        )
    );
    assert_eq!(
        kept.readings[1..],
        [
            new(50, &[link(LinkState::Down, 5)]),
            new(60, &[link(LinkState::Down, 6)]),
            new(70, &[link(LinkState::Down, 7)])
        ]
    );
    assert_eq!((kept.oldest, kept.newest), (Some(at(0)), Some(at(99))));
    assert_eq!(
        (kept.gaps, kept.thinned, kept.damaged),
        (Vec::new(), false, 0)
    );
    // Two watches would write over each other.
    let second = RingOfReadings::open_in(&path, LIMIT, &[]).unwrap_err();
    assert!(
        second.to_string().starts_with("another watch of this head"),
        "{second}"
    );
}

#[test]
fn a_watch_that_is_started_again_writes_on_and_the_time_between_is_a_gap() {
    let dir = tempfile::tempdir().unwrap();
    for begun in [0, 100] {
        let mut ring = open(dir.path());
        for second in begun..begun + 3 {
            ring.keep(&new(second, &[link(LinkState::Up, second)]))
                .unwrap();
        }
    }
    let kept = all(dir.path());
    assert_eq!(told(&kept), [0, 1, 2, 100, 101, 102]);
    assert_eq!(kept.gaps, [(at(2), at(100))]);
    assert_eq!(
        numbered(&Folder::open(dir.path()).unwrap()).unwrap(),
        [(1, false)]
    );
}

#[test]
fn a_ring_is_never_below_a_pool() {
    let dir = tempfile::tempdir().unwrap();
    let pool = dir.path().join("pool");
    std::fs::create_dir(&pool).unwrap();
    std::os::unix::fs::symlink(&pool, dir.path().join("lib")).unwrap();
    let pools = [pool.to_str().unwrap().to_owned()];
    let refused = RingOfReadings::open_in(&dir.path().join("lib/readings"), LIMIT, &pools);
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("is on the pool below"), "{said}");
    let by_link = [dir.path().join("lib").to_str().unwrap().to_owned()];
    let refused = RingOfReadings::open_in(&pool.join("readings"), LIMIT, &by_link);
    assert!(matches!(
        refused,
        Err(RingError::File(FileError::OnPool { .. }))
    ));
    RingOfReadings::open_in(&dir.path().join("readings"), LIMIT, &pools).unwrap();
}

#[test]
fn a_part_that_is_cut_or_removed_while_it_is_written_costs_what_was_cut_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let mut ring = open(dir.path());
    let mut keep = |second: u64| {
        let now = [link(LinkState::Up, second)];
        ring.keep(&new(second, &now)).unwrap();
    };
    (0..10).for_each(&mut keep);
    let path = dir.path().join("00000001.full");
    let half = std::fs::metadata(&path).unwrap().len() / 2;
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(half).unwrap();
    (10..15).for_each(&mut keep);
    let kept = all(dir.path());
    let found = told(&kept);
    let (before, after) = found.split_at(found.len() - 5);
    assert_eq!(after, [10, 11, 12, 13, 14]);
    assert!(before.len() > 2 && before.is_sorted(), "{found:?}");
    // The rest of a line at the end of a file is what a cut leaves, and no damage.
    assert_eq!(kept.damaged, 0);
    // The whole folder's files are gone: it begins again.
    for number in [1, 2] {
        std::fs::remove_file(dir.path().join(format!("{number:08}.full"))).unwrap();
    }
    (15..20).for_each(&mut keep);
    assert_eq!(told(&all(dir.path())), [15, 16, 17, 18, 19]);
}

/// The disk takes a part of a line, then nothing, then it has room again.
#[test]
fn a_full_disk_costs_the_readings_it_did_not_take_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let mut ring = open(dir.path());
    ring.keep(&new(0, &[link(LinkState::Up, 0)])).unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let open = ring.open.as_mut().unwrap();
    let file = std::mem::replace(&mut open.file, full);
    let refused = ring.keep(&new(1, &[link(LinkState::Down, 1)])).unwrap_err();
    assert!(refused.to_string().contains("No space left"), "{refused}");
    (&file).write_all(b"0123456").unwrap();
    ring.open.as_mut().unwrap().file = file;
    ring.keep(&new(2, &[])).unwrap();
    ring.keep(&new(3, &[link(LinkState::Down, 3)])).unwrap();
    let kept = all(dir.path());
    // What was not taken is known from the next reading on.
    assert_eq!((told(&kept), kept.damaged), (vec![0, 1, 3], 0));
}

#[test]
fn the_newest_day_stays_whole_and_older_parts_keep_each_change_of_state() {
    let dir = tempfile::tempdir().unwrap();
    let mut ring = open(dir.path());
    // Without the waits of a disk: parts as a watch leaves them.
    let hours = 27;
    for hour in 0..hours {
        ring.open = None;
        let readings = (0..3600).map(|second| {
            let second = hour * 3600 + second;
            let state = if second % 1000 == 999 {
                LinkState::Down
            } else {
                LinkState::Up
            };
            let now = [link(state, second % 7)];
            let known = now.iter().map(|one| (one.subject(), one.clone())).collect();
            if second % 3600 == 0 {
                Reading::whole(at(second), &known)
            } else {
                new(second, &now)
            }
        });
        let text: String = readings.map(|reading| line::encode(&reading)).collect();
        let number = hour + 1;
        std::fs::write(dir.path().join(name(number, false)), &text).unwrap();
        private(&dir.path().join(name(number, false)));
        ring.parts.push(Part {
            number,
            bytes: text.len() as u64,
            readings: 3600,
            thinned: false,
        });
        ring.next = number + 1;
    }
    ring.keep(&new(hours * 3600, &[])).unwrap();
    let forms = numbered(&Folder::open(dir.path()).unwrap()).unwrap();
    let thinned = forms.iter().filter(|(_, thinned)| *thinned).count();
    // Three hours are older than the 24 that are whole.
    assert_eq!((thinned, forms.len()), (3, 28));
    let kept = read_in(dir.path(), at(0), at(7199)).unwrap();
    assert!(kept.thinned);
    assert_eq!(kept.gaps, []);
    let downs = kept.readings.iter().flat_map(|reading| &reading.now);
    let downs =
        downs.filter(|noted| matches!(noted, Noted::Link(link) if link.state == LinkState::Down));
    assert_eq!(downs.count(), 7);
    assert!(kept.readings.len() < 160, "{}", kept.readings.len());
}

#[test]
fn all_parts_together_stay_below_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let limit = 4 << 20;
    let mut ring = RingOfReadings::open_in(dir.path(), limit, &[]).unwrap();
    for part in 1..=12 {
        let readings = (0..2000).map(|second| {
            let second = part * 2000 + second;
            let state = if second % 2 == 0 {
                LinkState::Up
            } else {
                LinkState::Down
            };
            new(second, &vec![link(state, second); 3])
        });
        let text: String = readings.map(|reading| line::encode(&reading)).collect();
        let file = dir.path().join(name(part, false));
        std::fs::write(&file, &text).unwrap();
        private(&file);
        ring.open = None;
        ring.parts.push(Part {
            number: part,
            bytes: text.len() as u64,
            readings: 2000,
            thinned: false,
        });
        ring.next = part + 1;
        ring.keep(&new((part + 1) * 2000, &[])).unwrap();
        let files = std::fs::read_dir(dir.path()).unwrap();
        let bytes: u64 = files
            .map(|file| file.unwrap().metadata().unwrap().len())
            .sum();
        assert!(bytes <= limit, "{bytes}");
        // The one that was just begun is another's number next.
        ring.folder.remove(&name(part + 1, false)).unwrap();
    }
    let kept = all(dir.path());
    assert!(kept.oldest > Some(at(2000)));
    assert_eq!(told(&kept).last(), Some(&25_999));
}

fn private(file: &Path) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(file, mode).unwrap();
}

/// A ring of twenty readings in one file, and what is in it.
fn twenty() -> (tempfile::TempDir, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let mut ring = open(dir.path());
    for second in 0..20 {
        ring.keep(&new(second, &[link(LinkState::Up, second)]))
            .unwrap();
    }
    let bytes = std::fs::read(dir.path().join(name(1, false))).unwrap();
    (dir, bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_file_that_is_cut_at_any_byte_loses_no_earlier_reading(share in 0.0..=1.0_f64) {
        let (dir, bytes) = twenty();
        let cut = (bytes.len() as f64 * share) as usize;
        let whole = bytes[..cut].iter().filter(|byte| **byte == b'\n').count() as u64;
        let file = OpenOptions::new().write(true).open(dir.path().join(name(1, false))).unwrap();
        file.set_len(cut as u64).unwrap();
        let before: Vec<u64> = (0..whole).collect();
        prop_assert_eq!(told(&all(dir.path())), before.clone());
        // A watch that is started on it writes on, and all of both is there.
        let mut ring = open(dir.path());
        for second in 30..33 {
            ring.keep(&new(second, &[link(LinkState::Up, second)])).unwrap();
        }
        let kept = all(dir.path());
        prop_assert_eq!(told(&kept), [before, vec![30, 31, 32]].concat());
        prop_assert_eq!(kept.damaged, 0);
    }

    #[test]
    fn a_byte_that_is_another_costs_its_lines_alone(at_byte in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let (dir, mut bytes) = twenty();
        let at_byte = at_byte.index(bytes.len());
        let changed = std::mem::replace(&mut bytes[at_byte], byte) != byte;
        std::fs::write(dir.path().join(name(1, false)), &bytes).unwrap();
        let kept = all(dir.path());
        let lost = 20 - told(&kept).len();
        // A line feed that is none any more makes one line of two.
        prop_assert!(lost <= 2 * usize::from(changed), "{} of 20", lost);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let lines = line::decode(&bytes);
        prop_assert!(lines.whole_bytes <= bytes.len() as u64);
    }
}
