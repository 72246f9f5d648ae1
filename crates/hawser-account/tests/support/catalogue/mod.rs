//! Every synthetic case: what was planted, and which findings it must give.

use hawser_model::case::Case;

mod host;
mod link;
mod mixed;
mod multicast;
mod path;
mod run;
mod socket;
mod stream;

/// A case with a planted fault.
pub struct Planted {
    /// Its folder under `cases/`.
    pub name: &'static str,
    /// The facts.
    pub case: Case,
    /// The findings it must give, worst first, and no others.
    pub codes: Vec<&'static str>,
    /// Packets lost, and of them those that nobody may be blamed for.
    pub lost: u64,
    pub unattributed: u64,
}

/// All of them.
pub fn planted() -> Vec<Planted> {
    let mut all = run::planted();
    all.extend(socket::planted());
    all.extend(host::planted());
    all.extend(path::planted());
    all.extend(link::planted());
    all.extend(mixed::planted());
    all.extend(stream::planted());
    all.extend(multicast::planted());
    all
}

/// A case that loses `lost` packets, all of them attributed.
fn planted_as(name: &'static str, case: Case, lost: u64, codes: &[&'static str]) -> Planted {
    Planted {
        name,
        case,
        codes: codes.to_vec(),
        lost,
        unattributed: 0,
    }
}
