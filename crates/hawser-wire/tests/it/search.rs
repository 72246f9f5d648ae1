//! The search for a path's MTU, against paths that exist only here.

use hawser_wire::path_mtu::Strategy as Search;
use proptest::prelude::*;

/// Searches a path that carries `hop`; `lost` says which of the tried sizes get lost though
/// they fit. The result and the rounds it took.
fn search(floor: u32, full: u32, hop: u32, mut lost: impl FnMut(u32) -> bool) -> (Search, usize) {
    let mut search = Search::new(floor, full);
    for round in 0..100 {
        let sizes = search.round();
        if sizes.is_empty() {
            return (search, round);
        }
        for size in sizes {
            if size <= hop && !lost(size) {
                search.arrived(size);
            } else {
                search.vanished(size);
            }
        }
    }
    panic!("the search does not end");
}

proptest! {
    #[test]
    fn every_hop_is_found_to_the_byte_in_few_rounds(hop in 576..9_001_u32) {
        let (found, rounds) = search(576, 9_000, hop, |_| false);
        prop_assert_eq!(found.passed(), Some(hop.min(9_000)));
        let silent = (hop < 9_000).then_some(hop + 1);
        prop_assert_eq!(found.silent(), silent);
        prop_assert!(rounds <= 7, "{} rounds", rounds);
    }

    #[test]
    fn sizes_that_get_lost_once_do_not_mislead(
        hop in 576..9_001_u32, losses in proptest::collection::vec(any::<bool>(), 60),
    ) {
        // Not the first round: a path whose every early probe is lost looks dead.
        let mut tries = 0;
        let mut once = std::collections::BTreeSet::new();
        let (found, _) = search(576, 9_000, hop, |size| {
            tries += 1;
            let lose = tries > 2 && losses.get(tries).copied().unwrap_or(false);
            lose && once.insert(size)
        });
        prop_assert_eq!(found.passed(), Some(hop.min(9_000)));
    }

    #[test]
    fn any_answers_end_the_search(answers in proptest::collection::vec(0..3_u8, 400)) {
        let mut search = Search::new(1_280, 65_535);
        let mut answers = answers.into_iter();
        for _ in 0..400 {
            let sizes = search.round();
            if sizes.is_empty() {
                return Ok(());
            }
            for size in sizes {
                prop_assert!((1_280..=65_535).contains(&size));
                match answers.next() {
                    Some(0) => search.arrived(size),
                    Some(1) => search.refused(size),
                    _ => search.vanished(size),
                }
            }
        }
        prop_assert!(false, "the search does not end");
    }
}

#[test]
fn a_hint_is_tried_at_once() {
    let mut search = Search::new(576, 9_000);
    assert_eq!(search.round(), [576, 9_000]);
    search.arrived(576);
    search.vanished(9_000);
    search.hint(1_480);
    let sizes = search.round();
    assert!(
        sizes.contains(&1_480) && sizes.contains(&1_481),
        "{sizes:?}"
    );
}

#[test]
fn an_interface_smaller_than_the_floor_is_searched_at_its_own_size() {
    let (found, _) = search(576, 300, 300, |_| false);
    assert_eq!(found.passed(), Some(300));
}
