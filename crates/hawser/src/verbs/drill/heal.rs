//! `hawser drill --heal`: undoes what an interrupted drill left.

use std::process::ExitCode;

use hawser_drill::context::DrillContext;
use hawser_drill::in_progress::take_back;
use hawser_drill::whole::{WHOLE, answers_late, wait_whole};

use super::error;
use crate::output::{complain, say};

/// Runs `hawser drill --heal`.
///
/// # Errors
/// What cannot be taken back.
pub fn heal(context: &mut DrillContext<'_>) -> miette::Result<ExitCode> {
    let left = match whole_again(context)? {
        None => {
            say!("no interrupted drill is known here: there is nothing to take back");
            return Ok(ExitCode::SUCCESS);
        }
        Some(left) => left,
    };
    if left.is_empty() {
        say!("the cluster is whole");
        return Ok(ExitCode::SUCCESS);
    }
    for line in left {
        complain!("{line}");
    }
    Ok(ExitCode::from(1))
}

/// The same before a drill, which says itself what is not whole.
///
/// # Errors
/// What cannot be taken back.
pub fn before_a_drill(context: &mut DrillContext<'_>) -> miette::Result<()> {
    whole_again(context).map(drop)
}

/// What is wrong after it was waited for; `None` when no drill was interrupted.
fn whole_again(context: &mut DrillContext<'_>) -> miette::Result<Option<Vec<String>>> {
    let Some(taken) = take_back(context).map_err(error)? else {
        return Ok(None);
    };
    complain!(
        "{}; undoing what it left, then waiting until the cluster is whole (at most {} s)",
        taken.left,
        context.patience(WHOLE).as_secs()
    );
    let seen = wait_whole(context, answers_late(context.file)).map_err(error)?;
    let wrong = seen.wrong();
    if wrong.is_empty() {
        taken.end();
    }
    Ok(Some(wrong))
}
