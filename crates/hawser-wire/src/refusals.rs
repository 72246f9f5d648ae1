//! Packets the kernel refused at the system call, by the error's name.

use std::collections::BTreeMap;

use hawser_model::units::Packets;
use nix::errno::Errno;

use crate::thread::errno_name;

/// Counts by error. A refused packet is a state of the flow, never its end.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    by_error: BTreeMap<i32, u64>,
    /// Refused inside a batch, where `sendmmsg` does not tell the error.
    unnamed: u64,
    last: Option<i32>,
}

impl Refusals {
    /// Refused with this error. Refusals that were seen before without a name, one batch
    /// ago at most, are taken to have had the same cause.
    pub(crate) fn named(&mut self, error: Errno, packets: u64) {
        let error = error as i32;
        *self.by_error.entry(error).or_default() += packets + std::mem::take(&mut self.unnamed);
        self.last = Some(error);
    }

    /// Refused with an error the kernel did not tell.
    pub(crate) fn unnamed(&mut self, packets: u64) {
        match self.last {
            Some(error) => *self.by_error.entry(error).or_default() += packets,
            None => self.unnamed += packets,
        }
    }

    /// The report's form. What never got a name stands as `UNKNOWN`.
    pub(crate) fn finish(self) -> BTreeMap<String, Packets> {
        let mut report: BTreeMap<String, Packets> = self
            .by_error
            .into_iter()
            .map(|(error, count)| (errno_name(Errno::from_raw(error)), Packets(count)))
            .collect();
        if self.unnamed > 0 {
            report.insert("UNKNOWN".to_owned(), Packets(self.unnamed));
        }
        report
    }
}
