//! Before anything is done to a real cluster, or a file or device is overwritten: whoever asked for it types what it
//! is done to.

use hawser_drill::client_config::Volume;
use hawser_drill::context::DrillContext;
use miette::bail;

use crate::confirm::typed;

/// Whether somebody must say so: these are real heads, or a path is overwritten, and the folders of a lab's
/// client are those of its machine.
pub fn is_needed(context: &DrillContext<'_>) -> bool {
    !context.site.is_expendable() || context.client_config.path().is_some()
}

/// The words that must be typed: the cluster that is broken, and the pool, or the path, that is overwritten.
pub fn words(context: &DrillContext<'_>) -> String {
    let words = format!("{}/{}", context.file.cluster.name.as_str(), context.pool);
    match context.client_config.path() {
        Some(path) => format!("{words}:{}", path.display()),
        None => words,
    }
}

/// What is overwritten.
fn overwritten(context: &DrillContext<'_>) -> String {
    match &context.client_config.volume {
        Volume::Path(path) => format!("{} of {}", path.display(), context.client),
        Volume::Unit { lun, .. } => {
            format!("LUN {lun} of {} (pool {})", context.target(), context.pool)
        }
    }
}

/// Asks for them on the terminal, unless `given` has them.
///
/// # Errors
/// They are others; nobody is there to type them.
pub fn confirm(context: &DrillContext<'_>, plans: &str, given: Option<&str>) -> miette::Result<()> {
    let wanted = words(context);
    if let Some(given) = given {
        if given == wanted {
            return Ok(());
        }
        bail!("--yes-break {given}: this would break {wanted}; nothing was done");
    }
    let cluster = context.file.cluster.name.as_str();
    let heads = match context.site.is_expendable() {
        false => format!(
            "These are REAL HEADS: cluster {cluster}, {}.\n",
            names(context)
        ),
        true => String::new(),
    };
    let asked = format!(
        "{plans}{heads}The client runs on {}: {} is OVERWRITTEN.\nType {wanted} to go on:",
        context.client,
        overwritten(context)
    );
    match typed(&asked, &format!("--yes-break {wanted}"))? == wanted {
        true => Ok(()),
        false => bail!("not confirmed; nothing was done"),
    }
}

fn names(context: &DrillContext<'_>) -> String {
    let names: Vec<&str> = context.heads.iter().map(|head| head.as_str()).collect();
    names.join(", ")
}
