//! All causes asked in turn, and their findings in the order in which they matter.

use std::cmp::Reverse;

use hawser_model::account::PacketsAccount;
use hawser_model::case::Case;
use hawser_model::finding::{Finding, WordedFinding};

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
    let mut losses = Losses::of(&view);
    debug_assert_eq!(
        account.total.lost.0,
        view.phases.iter().map(|p| p.account.lost.0).sum::<u64>(),
        "the account is not this case's"
    );
    let mut found: Vec<WordedFinding> = CAUSES
        .iter()
        .flat_map(|cause| (cause.find)(&view, &mut losses))
        .collect();
    found.sort_by(|a, b| key(&a.finding).cmp(&key(&b.finding)));
    found
}

/// Worst first; equal ones by name, so that the order never depends on anything else.
fn key(finding: &Finding) -> impl Ord {
    let number = |name: &str| finding.evidence.get(name).and_then(|v| v.as_u64());
    let lost = number("lost_packets")
        .or_else(|| number("unattributed_packets"))
        .or_else(|| number("dropped_packets"))
        .unwrap_or(0);
    (
        Reverse(finding.severity),
        Reverse(lost),
        Reverse(finding.confidence),
        finding.code.clone(),
        finding.place.clone(),
    )
}
