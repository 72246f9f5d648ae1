//! Faults: how each is made, how it is known to have really happened, how it is healed.
//!
//! A fault is a value that says what is hit. It remembers nothing: healing works as well for a later
//! process, when the one that made the fault was killed.

mod clock_step;
mod host;
mod power_cut;
mod reset;
mod shelf_disk;
mod shelf_gone;
mod site;
mod switchover;
mod upgrade;
mod wrong_password;

use hawser_model::drill::ClockStep as Step;
use hawser_model::names::HostName;

use crate::context::DrillContext;
use crate::error::DrillError;

pub use clock_step::ClockStep;
pub use host::{Extent, HostFault, How, OnHead, Program};
pub use power_cut::PowerCut;
pub use reset::Reset;
pub use shelf_disk::ShelfDisk;
pub use shelf_gone::ShelfGone;
pub use site::AroundHeads;
pub use switchover::Switchover;
pub use upgrade::Upgrade;
pub use wrong_password::WrongPassword;

/// Something that goes wrong on purpose.
pub trait Fault {
    /// Its name.
    fn name(&self) -> &'static str;

    /// The machines it hits.
    fn hosts(&self) -> Vec<HostName>;

    /// What else it hits.
    fn object(&self) -> Option<String> {
        None
    }

    /// Whether the machines lose their power by it.
    fn is_power_loss(&self) -> bool {
        false
    }

    /// By how much the clocks of the machines are ahead while it lasts.
    fn clock_step(&self) -> Option<Step> {
        None
    }

    /// Why this cluster does not have what it breaks, or could not bear it; nothing if it has and can. It is asked before
    /// anything is done.
    ///
    /// # Errors
    /// It cannot be known.
    fn unfit(&self, _: &DrillContext<'_>) -> Result<Option<String>, DrillError> {
        Ok(None)
    }

    /// Makes it.
    ///
    /// # Errors
    /// It could not be made; part of it may have been.
    fn make(&self, context: &DrillContext<'_>) -> Result<(), DrillError>;

    /// What belongs to it and follows at once: it was made before.
    ///
    /// # Errors
    /// It could not be done.
    fn follow(&self, _: &DrillContext<'_>) -> Result<(), DrillError> {
        Ok(())
    }

    /// What shows that it is there now; `None`: nothing does.
    ///
    /// # Errors
    /// It cannot be known.
    fn evidence(&self, context: &DrillContext<'_>) -> Result<Option<String>, DrillError>;

    /// Takes it back, also when only part of it, or nothing, is there.
    ///
    /// # Errors
    /// It could not be taken back.
    fn heal(&self, context: &DrillContext<'_>) -> Result<(), DrillError>;
}
