//! All causes asked in turn, and their findings in the order in which they matter.

use hawser_model::account::PacketsAccount;
use hawser_model::case::Case;
use hawser_model::finding::{Finding, WordedFinding};
use hawser_model::units::Packets;

use crate::cause::CheckFound;
use crate::causes::CAUSES;
use crate::losses::Losses;
use crate::view::View;

/// The code of every registered cause, in the order in which they are asked.
pub fn codes() -> impl Iterator<Item = &'static str> {
    CAUSES.iter().map(|cause| cause.code)
}

/// What is wrong, worst first: by severity, then by packets lost, then by how sure it is.
///
/// `account` is the one [`crate::packets_account`] made of the same case. A run that lost
/// nothing has no finding about loss.
pub fn findings(case: &Case, account: &PacketsAccount) -> Vec<Finding> {
    let worded = worded_findings(case, account).into_iter();
    worded.map(|worded| worded.finding).collect()
}

/// The same with their words.
pub(crate) fn worded_findings(case: &Case, account: &PacketsAccount) -> Vec<WordedFinding> {
    let view = View::new(case);
    debug_assert_eq!(
        account.total.lost.0,
        view.phases
            .iter()
            .map(|p| p.account.lost)
            .sum::<Packets>()
            .0,
        "the account is not this case's"
    );
    let (found, _) = found(&view);
    found.into_iter().map(|found| found.worded()).collect()
}

/// What all causes found, worst first, and the losses as they claimed them.
pub(crate) fn found(view: &View<'_>) -> (Vec<Box<dyn CheckFound>>, Losses) {
    let mut losses = Losses::of(view);
    let mut found: Vec<Box<dyn CheckFound>> = CAUSES
        .iter()
        .flat_map(|cause| (cause.find.look)(view, &mut losses))
        .collect();
    found.sort_by(|a, b| a.rank().cmp(&b.rank()));
    (found, losses)
}
