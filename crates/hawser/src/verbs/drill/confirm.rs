//! Before anything is done to a real cluster: whoever asked for it types what it is done to.

use std::io::{BufRead, IsTerminal};

use hawser_drill::stage::Stage;
use miette::{IntoDiagnostic, WrapErr, bail};

use crate::output::complain;

/// The words that must be typed: the cluster that is broken, and the pool that is overwritten.
pub fn words(stage: &Stage<'_>) -> String {
    format!("{}/{}", stage.file.cluster.name.as_str(), stage.pool)
}

/// Asks for them on the terminal, unless `given` has them.
///
/// # Errors
/// They are others; nobody is there to type them.
pub fn confirm(stage: &Stage<'_>, plans: &str, given: Option<&str>) -> miette::Result<()> {
    let wanted = words(stage);
    if let Some(given) = given {
        if given == wanted {
            return Ok(());
        }
        bail!("--yes-break {given}: this would break {wanted}; nothing was done");
    }
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        bail!(
            help = format!("`--yes-break {wanted}` says it without a terminal"),
            "a drill on real heads is confirmed on a terminal, and there is none; nothing was done"
        );
    }
    let cluster = stage.file.cluster.name.as_str();
    complain!(
        "{plans}These are REAL HEADS: cluster {cluster}, {}.\nThe first volume of pool {} ({}) is OVERWRITTEN.\n\
         Type {wanted} to go on:",
        names(stage),
        stage.pool,
        stage.target()
    );
    let mut line = String::new();
    stdin
        .lock()
        .read_line(&mut line)
        .into_diagnostic()
        .wrap_err("read the confirmation")?;
    match line.trim() == wanted {
        true => Ok(()),
        false => bail!("not confirmed; nothing was done"),
    }
}

fn names(stage: &Stage<'_>) -> String {
    let names: Vec<&str> = stage.heads.iter().map(|head| head.as_str()).collect();
    names.join(", ")
}
