//! `/proc/net/stat/nf_conntrack`: connections that could not be tracked, packets dropped for it.

use hawser_model::counters::Counters;

use super::{Source, table};
use crate::{KernelError, proc};

/// `conntrack/drop`, `conntrack/insert_failed`, ….
pub(super) struct Conntrack;

impl Source for Conntrack {
    fn name(&self) -> &'static str {
        "conntrack"
    }

    fn read(&mut self, into: &mut Counters) -> Result<(), KernelError> {
        table::sum(&proc::net("stat/nf_conntrack")?, "conntrack", into);
        Ok(())
    }
}
