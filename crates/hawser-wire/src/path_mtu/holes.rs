//! Sizes below the largest that passes of which nothing arrives: a filter by length, a driver or switch that breaks on
//! some. A search for the largest size never sends them, and neither does a flow of another size.

use std::collections::BTreeSet;

use hawser_model::probe::SizeHole;
use hawser_model::traffic::RunKey;
use hawser_model::units::{Mtu, Packets};

use super::probing::Probing;
use crate::error::WireError;

/// Sizes are tried this close to each other up to an Ethernet frame's, at a place of its own in each band: a hole
/// of 120 bytes is always found, a smaller one by chance, and by another chance in the next run.
const BAND: u32 = 60;
const ETHERNET: u32 = 1_500;

/// Bands above that.
const LARGE_BANDS: u32 = 8;

/// Sent at once: what a small receive buffer of the far end holds, in most cases.
const GROUP: usize = 8;

/// A size in doubt is sent so often by itself, and one beside it each time: at a loss of one in ten each way eight fail
/// by chance once in 600 000 times.
const CONFIRM: u64 = 8;

/// Of these so many must arrive, or the path is too lossy to tell.
const OUTSIDE_ARRIVE: u64 = 7;

/// More are not looked into.
const MOST: usize = 2;

/// Looks for holes between the smallest packet there is and `passed`. Nothing when the path is too lossy to tell, or
/// the time is over.
pub(super) fn search(
    probing: &mut Probing,
    smallest: u32,
    passed: u32,
    key: RunKey,
) -> Result<Option<Vec<SizeHole>>, WireError> {
    let sizes = plan(smallest, passed, key);
    let mut missing = BTreeSet::new();
    for group in sizes.chunks(GROUP) {
        let arrived = probing.ask(group)?;
        missing.extend(group.iter().filter(|size| !arrived.contains(size)));
    }
    if missing.len() * 2 > sizes.len() {
        return Ok(None);
    }
    for size in missing.clone() {
        if probing.ask(&[size])?.contains(&size) {
            missing.remove(&size);
        }
    }
    let mut holes = Vec::new();
    for doubt in doubts(&sizes, &missing, passed).into_iter().take(MOST) {
        if probing.time_is_over() {
            return Ok(None);
        }
        match look_into(probing, doubt)? {
            Look::Arrives => {}
            Look::Hole(hole) => holes.push(hole),
            Look::Lossy => return Ok(None),
        }
    }
    // What was lost while the time ran out says nothing.
    Ok((!probing.time_is_over()).then_some(holes))
}

/// Neighbouring sizes that did not arrive, and those on either side that did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Doubt {
    below: u32,
    first: u32,
    last: u32,
    above: u32,
}

/// Runs of missing sizes. One without a smaller size that arrives is none: then it is not the size.
fn doubts(sizes: &[u32], missing: &BTreeSet<u32>, passed: u32) -> Vec<Doubt> {
    let mut doubts: Vec<Doubt> = Vec::new();
    let mut below = None;
    let mut open: Option<Doubt> = None;
    for &size in sizes.iter().chain([&passed]) {
        let gone = size != passed && missing.contains(&size);
        match (gone, &mut open, below) {
            (true, Some(doubt), _) => doubt.last = size,
            (true, None, Some(below)) => {
                open = Some(Doubt {
                    below,
                    first: size,
                    last: size,
                    above: passed,
                });
            }
            (true, None, None) => {}
            (false, _, _) => {
                doubts.extend(open.take().map(|doubt| Doubt {
                    above: size,
                    ..doubt
                }));
                below = Some(size);
            }
        }
    }
    doubts
}

/// What a second look at a doubt came to.
enum Look {
    /// It was only lost before.
    Arrives,
    Hole(SizeHole),
    /// Sizes beside it do not arrive either, or too late.
    Lossy,
}

/// Makes sure of one, and finds its ends.
fn look_into(probing: &mut Probing, doubt: Doubt) -> Result<Look, WireError> {
    let tried = [doubt.first, doubt.last];
    let outside = [doubt.below, doubt.above];
    let mut outside_arrived = 0;
    for number in 0..2 * CONFIRM {
        let one = (number / 2 % 2) as usize;
        if turn(number) {
            outside_arrived += u64::from(probing.ask(&[outside[one]])?.contains(&outside[one]));
        } else if probing.ask(&[tried[one]])?.contains(&tried[one]) {
            return Ok(Look::Arrives);
        }
    }
    if outside_arrived < OUTSIDE_ARRIVE {
        return Ok(Look::Lossy);
    }
    let first = edge(probing, doubt.first, doubt.below)?;
    let last = edge(probing, doubt.last, doubt.above)?;
    Ok(Look::Hole(SizeHole {
        first: Mtu(first),
        last: Mtu(last),
        sent: Packets(CONFIRM),
        outside_sent: Packets(CONFIRM),
        outside_arrived: Packets(outside_arrived),
    }))
}

/// Whose turn it is: as often one's as the other's, and in no period (Thue and Morse), so that who drops every second
/// packet, a bond with a dead member, does not drop all of one kind.
pub(crate) fn turn(number: u64) -> bool {
    number.count_ones() % 2 == 1
}

/// A size beside a hole is believed to be in it after so many tries: a loss can only make a hole look wider.
const EDGE_TRIES: u32 = 3;

/// The last size, on the way from `inside` to `outside`, of which nothing arrives; halves the way.
fn edge(probing: &mut Probing, inside: u32, outside: u32) -> Result<u32, WireError> {
    let (mut inside, mut outside) = (inside, outside);
    while inside.abs_diff(outside) > 1 {
        let middle = inside.midpoint(outside);
        let mut arrives = false;
        for _ in 0..EDGE_TRIES {
            arrives = arrives || probing.ask(&[middle])?.contains(&middle);
        }
        match arrives {
            true => outside = middle,
            false => inside = middle,
        }
    }
    Ok(inside)
}

/// The sizes to try, ascending: one of each band, where the key puts it; `passed` itself is known.
fn plan(smallest: u32, passed: u32, key: RunKey) -> Vec<u32> {
    let mut bands = Vec::new();
    let mut from = smallest;
    while from < passed {
        let width = match from < ETHERNET {
            true => BAND,
            false => passed
                .saturating_sub(ETHERNET)
                .div_ceil(LARGE_BANDS)
                .max(BAND),
        };
        let to = (from + width).min(passed);
        bands.push((from, to));
        from = to;
    }
    bands
        .into_iter()
        .map(|(from, to)| {
            let mut hasher = crc32fast::Hasher::new();
            hasher.update(&key.0.to_be_bytes());
            hasher.update(&from.to_be_bytes());
            from + hasher.finalize() % (to - from)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_band_has_a_size_and_no_hole_of_two_bands_is_missed() {
        for (passed, key) in [(1_500, 1), (1_404, 99), (9_000, 7), (100, 3)] {
            let sizes = plan(68, passed, RunKey(key));
            assert!(sizes.is_sorted() && sizes.iter().all(|s| (68..passed).contains(s)));
            let small: Vec<u32> = sizes.iter().copied().filter(|s| *s < ETHERNET).collect();
            assert!(
                small.windows(2).all(|w| w[1] - w[0] < 2 * BAND),
                "{small:?}"
            );
        }
        assert!(plan(68, 68, RunKey(1)).is_empty());
        assert_ne!(plan(68, 1_500, RunKey(1)), plan(68, 1_500, RunKey(2)));
        assert!(plan(68, 65_535, RunKey(1)).len() < 40);
    }

    #[test]
    fn who_drops_every_nth_packet_drops_some_of_both_kinds() {
        let turns: Vec<bool> = (0..2 * CONFIRM).map(turn).collect();
        assert_eq!(turns.iter().filter(|t| **t).count() as u64, CONFIRM);
        for every in 2..8 {
            for first in 0..every {
                let passed = turns.iter().enumerate().filter(|(i, _)| i % every != first);
                assert!(passed.filter(|(_, outside)| !**outside).count() > 0);
            }
        }
    }

    #[test]
    fn a_doubt_lies_between_sizes_that_arrive() {
        let sizes = [100, 200, 300, 400];
        let of = |missing: &[u32]| doubts(&sizes, &missing.iter().copied().collect(), 500);
        let doubt = |below, first, last, above| Doubt {
            below,
            first,
            last,
            above,
        };
        assert_eq!(of(&[]), []);
        assert_eq!(of(&[200, 300]), [doubt(100, 200, 300, 400)]);
        assert_eq!(of(&[400]), [doubt(300, 400, 400, 500)]);
        assert_eq!(
            of(&[200, 400]),
            [doubt(100, 200, 200, 300), doubt(300, 400, 400, 500)]
        );
        assert_eq!(
            of(&[100]),
            [],
            "small ones do not arrive: it is not the size"
        );
    }
}
