//! What share of a link's rate a machine could encrypt.

use crate::bench::Row;

/// The links that are asked about, in Gbit/s.
pub const LINKS_GBIT: [u32; 4] = [1, 10, 25, 100];

/// What share of each link's rate one row's speed is.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkShare {
    /// The row's speed in Gbit/s.
    pub gbit_per_s: f64,
    /// Over each of [`LINKS_GBIT`], one at most.
    pub shares: [f64; 4],
}

/// The shares of the links' rates (counted full of payload: headers only make it easier) at the speed of
/// `row`.
pub fn link_shares(row: &Row) -> LinkShare {
    let gbit_per_s = row.mb_per_s * 8.0 / 1000.0;
    LinkShare {
        gbit_per_s,
        shares: LINKS_GBIT.map(|link| (gbit_per_s / f64::from(link)).min(1.0)),
    }
}
