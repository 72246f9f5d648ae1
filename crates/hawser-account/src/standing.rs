//! What is wrong with hosts as they stand, without any traffic: what `hawser watch` reads all the time.

use hawser_model::case::Case;
use hawser_model::finding::WordedFinding;

use crate::causes::CAUSES;
use crate::losses::Losses;
use crate::view::View;

/// The codes of the causes that need no traffic.
pub fn standing_codes() -> impl Iterator<Item = &'static str> {
    let standing = CAUSES.iter().filter(|cause| cause.find.standing);
    standing.map(|cause| cause.code)
}

/// Asks those causes of a check that judge what stands on the hosts, by what was read of them and of their UDP sockets, by what
/// they counted, by their echoes and by who claims their addresses: the same code, evidence and words as `hawser check` has for
/// it. Worst first.
pub fn standing(case: &Case) -> Vec<WordedFinding> {
    let view = View::new(case);
    let mut losses = Losses::of(&view);
    let causes = CAUSES.iter().filter(|cause| cause.find.standing);
    let mut found: Vec<_> = causes
        .flat_map(|cause| (cause.find.look)(&view, &mut losses))
        .collect();
    found.sort_by(|a, b| a.rank().cmp(&b.rank()));
    found.into_iter().map(|found| found.worded()).collect()
}
