//! How a drill ends: what it broke is healed, and the cluster is waited for.

use std::time::Duration;

use hawser_model::drill::EndState;

use super::Drill;
use crate::error::DrillError;
use crate::fault::Fault;
use crate::fencing::History;
use crate::whole::{WHOLE, answers_late, power_everywhere, wait_whole};

impl Drill<'_> {
    /// Takes the faults back, the last one first, and gives every head its power.
    pub(super) fn heal(&mut self, faults: &[Box<dyn Fault>]) -> Result<(), DrillError> {
        let mut failed = None;
        let borne = self.context.bear(u32::MAX);
        for (index, fault) in faults.iter().enumerate().rev() {
            // One that was never made has no record, and needs no healing.
            let Some(record) = self.faults.get_mut(index) else {
                continue;
            };
            record.heal_ordered = Some(self.context.now());
            match fault.heal(self.context) {
                Ok(()) => record.healed = Some(self.context.now()),
                Err(e) => failed = failed.or(Some(e)),
            }
        }
        let power = power_everywhere(self.context);
        self.context.bear(borne);
        failed.map_or(power, Err)
    }

    /// Waits until the cluster is whole, after it was seen what it made of the faults.
    /// Answers what the fencers remembered before they were cleaned up, too.
    pub(super) fn wait_whole(&mut self) -> Result<(Option<EndState>, Vec<History>), DrillError> {
        let seen = wait_whole(self.context, Duration::ZERO)?;
        if seen.last.is_none() {
            self.stopped = Some(format!(
                "the cluster could not be asked how it stands: {}",
                seen.why
            ));
        }
        Ok((seen.last, seen.fencing))
    }

    /// What a drill that ended early owes the cluster: it waits as a whole one does, for the fencing that is under way
    /// too, and leaves every head with its power.
    pub(super) fn close(&mut self, why: DrillError) -> DrillError {
        if self.faults.is_empty() {
            return why;
        }
        let why = Box::new(why);
        // Kept: the note by which `--heal` finds it stays.
        if let Some(unhealed) = &self.unhealed {
            let mut left = vec![unhealed.clone()];
            left.retain(|left| *left != why.to_string());
            return DrillError::Unhealed { why, left };
        }
        self.context.bear((self.context.interrupted)());
        (self.orders.say)(&format!(
            "{why}; the drill's faults are undone; waiting until the cluster is whole (at most {} s; Ctrl-C \
             ends the wait)",
            self.context.patience(WHOLE).as_secs()
        ));
        let left = match wait_whole(self.context, answers_late(self.context.file)) {
            Ok(seen) => seen.wrong(),
            Err(DrillError::Interrupted) => vec!["the wait was interrupted".to_owned()],
            Err(e) => vec![e.to_string()],
        };
        match left.is_empty() {
            true => DrillError::Early { why },
            false => {
                self.unhealed = Some(left.join("; "));
                DrillError::Unhealed { why, left }
            }
        }
    }
}
