//! Hooks around the import and export of a pool, as Hawser's own agent has them.

use hawser_model::cluster_file::{HookMoment, HookPlace, is_program_path};
use hawser_model::toml_file::Period;

use super::members::Owners;
use crate::crm::Primitive;
use crate::page::Page;
use crate::picture::{Hook, Picture, Said};
use crate::place::quoted;

/// The agent whose resources these are.
pub(super) const AGENT: &str = "ocf:hawser:hooks";

/// Takes the hooks of a resource into its pool.
pub(super) fn own_hooks(
    primitive: &Primitive,
    owner: &str,
    owners: &Owners,
    picture: &mut Picture,
    page: &mut Page,
) {
    let (at, id) = (&primitive.at, quoted(&primitive.id));
    let Some(place) = primitive.param(&["place"]).and_then(HookPlace::named) else {
        return page.unsaid(
            at,
            format!("place of {id}"),
            "it is neither before nor after",
        );
    };
    let Some(pool) = owners.pool_mut(owner, picture) else {
        return;
    };
    let (start, stop) = place.moments();
    for moment in [start, stop] {
        let Some(program) = primitive.param(&[moment.key()]) else {
            continue;
        };
        let what = format!("{}={} of {id}", moment.key(), quoted(program));
        match hook(primitive, moment, program) {
            Ok(hook) => {
                page.understood(at, what, format!("hooks.{} of pool {owner}", moment.key()));
                pool.hooks.insert(moment, Said::new(hook, at));
            }
            Err(why) => page.unsaid(at, what, why),
        }
    }
}

/// A hook that the file can hold, or why it cannot.
fn hook(primitive: &Primitive, moment: HookMoment, program: &str) -> Result<Hook, String> {
    if !is_program_path(program) {
        return Err("it is not the path of a program".into());
    }
    let param = |end: &str| primitive.param(&[format!("{}{end}", moment.key()).as_str()]);
    let timeout = param("_timeout").unwrap_or("30s");
    let period = timeout.parse::<Period>();
    let period = period.ok().map(Period::as_millis);
    let Some(timeout) = period.filter(|ms| (1_000..=3_600_000).contains(ms)) else {
        return Err(format!("{} is no time from 1s to 1h", quoted(timeout)));
    };
    let required = match param("_required") {
        None => moment.is_required(),
        Some("true") => true,
        Some("false") => false,
        Some(other) => return Err(format!("{} is neither true nor false", quoted(other))),
    };
    Ok(Hook {
        program: program.to_owned(),
        timeout,
        required,
    })
}
