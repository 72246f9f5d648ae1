//! `/proc/net/stat/{arp,ndisc}_cache`: neighbours that did not answer, packets given up for them.
//!
//! The kernel makes these files in its first network namespace only (`neigh_table_init`), and
//! they count for all of them.

use hawser_model::counters::Counters;

use super::{Source, table};
use crate::{KernelError, proc};

/// `neigh/arp_cache/unresolved_discards` and its like.
pub(super) struct Neighbour;

impl Source for Neighbour {
    fn name(&self) -> &'static str {
        "neighbour"
    }

    fn read(&mut self, into: &mut Counters) -> Result<(), KernelError> {
        table::sum(&proc::net("stat/arp_cache")?, "neigh/arp_cache", into);
        if let Ok(text) = proc::net("stat/ndisc_cache") {
            table::sum(&text, "neigh/ndisc_cache", into);
        }
        Ok(())
    }
}
