//! Before anything is done to a real cluster, or a file or device is overwritten: whoever asked for it types what it
//! is done to.

use hawser_drill::seat::Volume;
use hawser_drill::stage::Stage;
use miette::bail;

use crate::confirm::typed;

/// Whether somebody must say so: these are real heads, or a path is overwritten, and the folders of a lab's
/// client are those of its machine.
pub fn is_needed(stage: &Stage<'_>) -> bool {
    !stage.site.is_expendable() || stage.seat.path().is_some()
}

/// The words that must be typed: the cluster that is broken, and the pool, or the path, that is overwritten.
pub fn words(stage: &Stage<'_>) -> String {
    let words = format!("{}/{}", stage.file.cluster.name.as_str(), stage.pool);
    match stage.seat.path() {
        Some(path) => format!("{words}:{}", path.display()),
        None => words,
    }
}

/// What is overwritten.
fn overwritten(stage: &Stage<'_>) -> String {
    match &stage.seat.volume {
        Volume::Path(path) => format!("{} of {}", path.display(), stage.client),
        Volume::Unit { lun, .. } => {
            format!("LUN {lun} of {} (pool {})", stage.target(), stage.pool)
        }
    }
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
    let cluster = stage.file.cluster.name.as_str();
    let heads = match stage.site.is_expendable() {
        false => format!(
            "These are REAL HEADS: cluster {cluster}, {}.\n",
            names(stage)
        ),
        true => String::new(),
    };
    let asked = format!(
        "{plans}{heads}The client runs on {}: {} is OVERWRITTEN.\nType {wanted} to go on:",
        stage.client,
        overwritten(stage)
    );
    match typed(&asked, &format!("--yes-break {wanted}"))? == wanted {
        true => Ok(()),
        false => bail!("not confirmed; nothing was done"),
    }
}

fn names(stage: &Stage<'_>) -> String {
    let names: Vec<&str> = stage.heads.iter().map(|head| head.as_str()).collect();
    names.join(", ")
}
