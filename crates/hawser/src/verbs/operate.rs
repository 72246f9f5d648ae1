//! `hawser standby`, `hawser online` and `hawser move`.

use std::process::ExitCode;
use std::time::Instant;

use hawser_cluster::live::{self, LiveError};
use hawser_model::output::cluster::ClusterStatus;

use crate::output::{complain, say};
use crate::target::Target;
use crate::verbs::status::look;

/// Arguments of `hawser standby` and `hawser online`.
#[derive(clap::Args)]
pub struct NodeArgs {
    #[command(flatten)]
    target: Target,
    /// The node
    node: String,
}

/// Arguments of `hawser move`.
#[derive(clap::Args)]
pub struct MoveArgs {
    #[command(flatten)]
    target: Target,
    /// The pool
    pool: String,
    /// The node it is sent to
    node: String,
}

/// Puts a node in standby, or out of it.
pub fn standby(args: &NodeArgs, on: bool) -> miette::Result<ExitCode> {
    let NodeArgs { target, node } = args;
    let what = if on { "in standby" } else { "online" };
    act(target, &format!("{node} is {what}"), |heads| {
        live::set_standby(heads, node, on)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Moves a pool.
pub fn move_pool(args: &MoveArgs) -> miette::Result<ExitCode> {
    let MoveArgs { target, pool, node } = args;
    let now = act(target, "done", |heads| live::move_pool(heads, pool, node))?;
    let there = now.pools.iter().any(|status| {
        status.name == *pool
            && status
                .active_on
                .as_ref()
                .is_some_and(|on| on.as_str() == node)
    });
    if there {
        return Ok(ExitCode::SUCCESS);
    }
    complain!("{pool} is not on {node}; `hawser status` says what keeps it");
    Ok(ExitCode::from(1))
}

/// Does something, waits until Pacemaker is done, and says where everything is then.
fn act(
    target: &Target,
    done: &str,
    what: impl FnOnce(&mut live::Heads) -> Result<(), LiveError>,
) -> miette::Result<ClusterStatus> {
    let known = target.known()?;
    let mut reached = known.reach()?;
    let begun = Instant::now();
    what(&mut reached.heads).map_err(|e| miette::miette!("{e}"))?;
    let took = begun.elapsed().as_secs_f64();
    let now = look(&known, &mut reached)?;
    let places: Vec<String> = now
        .pools
        .iter()
        .map(|pool| match &pool.active_on {
            Some(node) => format!("{} on {node}", pool.name),
            None => format!("{} nowhere", pool.name),
        })
        .collect();
    say!("{done} after {took:.1} s: {}", places.join(", "));
    Ok(now)
}
