//! The accounts that must balance, the causes behind them, the findings. No I/O.
//!
//! Everything here is a function from recorded facts to values: no clock, no file, no
//! randomness. The same case gives the same account and the same findings everywhere.
#![forbid(unsafe_code)]

mod cause;
mod causes;
pub mod clients;
mod compare;
pub mod copy;
pub mod fanout;
mod findings;
pub mod fixes;
pub mod incident;
mod losses;
mod multicast;
mod numbers;
pub mod outage;
mod packets;
pub mod paste;
mod place_words;
mod standing;
pub mod stream;
mod throughput;
pub mod trial;
mod view;

use hawser_model::case::Case;
use hawser_model::output::{BlockReport, CheckReport};

pub use causes::disturbed;
pub use causes::pages::{page, pages, plain};
pub use compare::compare;
pub use findings::{codes, findings};
pub use packets::packets_account;
pub use standing::{standing, standing_codes};
pub use throughput::{codes as ladder_codes, ladder};

/// Everything Hawser says of a case: its account and its findings in words.
///
/// `case` of the report is empty: where the file lies, its reader knows.
pub fn explain(case: &Case) -> CheckReport {
    let packets = packets_account(case);
    let mut findings = findings::worded_findings(case, &packets);
    compare::tell(case, &mut findings);
    CheckReport {
        absent: case.absent.clone(),
        packets,
        block: case.block.map(|bytes| BlockReport {
            bytes,
            frames: packets::frames(case, bytes),
        }),
        findings,
        case: String::new(),
    }
}
