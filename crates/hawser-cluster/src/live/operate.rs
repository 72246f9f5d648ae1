//! What a person does to a running cluster: standby, online, move. Each order is played first, has an end, is waited
//! for as long as was said, and is held against what clients have afterwards.

use std::collections::BTreeSet;
use std::time::Duration;

use hawser_host::Hosts;
use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_model::output::cluster::OperatedPool;

use super::guard::{self, Forecast, not_there_because, play, refused};
use super::settle::{Settled, Waiting, any_cib, not_done, wait_settled};
use super::takers::ask_takers;
use super::{LiveError, OnHead, ask, head, left_orders};
use crate::cib::edit::with_standby;
use crate::host::questions::{ForgetMove, MoveResource, Standby};
use crate::simulate::{Directory, Services, Simulator, services};
use crate::xml::Element;

/// The least time that an order to move stays in force when nobody takes it back.
const LIFETIME: Duration = Duration::from_secs(15 * 60);

/// Said before anything else: when no head has quorum, all are waited for.
const ASKING: &str = "every head is asked what it sees of the cluster";

/// How an order is carried out.
pub struct Manner<'a> {
    /// Also when a pool that is served would be served nowhere.
    pub allow_disruption: bool,
    /// How it is waited for.
    pub waiting: Waiting<'a>,
    /// Told just before the order is given to Pacemaker: from then on it stays, whatever becomes of this process.
    pub giving: &'a mut dyn FnMut(),
}

/// What an order came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operated {
    /// Each pool, before and after.
    pub pools: Vec<OperatedPool>,
    /// Why no pool would run on the node; none if one may.
    pub closed: Option<String>,
}

/// Puts a node in standby, or out of it, and waits until its pools are where they belong.
///
/// # Errors
/// No such node; a pool would be served nowhere; what Pacemaker says; time was over.
pub fn set_standby(
    file: &ClusterFile,
    heads: &mut Hosts,
    node: &str,
    on: bool,
    manner: &mut Manner<'_>,
) -> Result<Operated, LiveError> {
    (manner.waiting.said)(ASKING);
    let (via, cib) = live(file, heads)?;
    member(&cib, node)?;
    let ordered = with_standby(&cib, node, on);
    let forecast = play(&OnHead::new(head(heads, &via)?.as_mut()), &cib, &ordered)?;
    allowed(file, heads, &forecast, manner)?;
    let standby = Standby {
        node: node.to_owned(),
        on,
    };
    (manner.giving)();
    ask(heads, &via, &standby)?;
    let what = match on {
        true => format!("{node} is in standby and stays so"),
        false => format!("{node} is let back and stays so"),
    };
    waited(wait_settled(file, heads, &mut manner.waiting)?, &what)?;
    operated(file, heads, node, &forecast.now)
}

/// Refuses an order that takes the last place of a pool away, and says what one does not change.
fn allowed(
    file: &ClusterFile,
    heads: &mut Hosts,
    forecast: &Forecast,
    manner: &mut Manner<'_>,
) -> Result<(), LiveError> {
    let mut doubts = Vec::new();
    if !manner.allow_disruption {
        let mut taken = forecast.taken.clone();
        let takers = ask_takers(file, heads, forecast);
        taken.extend(takers.taken);
        if !taken.is_empty() {
            return Err(refused(&taken));
        }
        doubts = takers.doubts;
    }
    for text in forecast.as_before.iter().chain(&doubts) {
        (manner.waiting.said)(text);
    }
    Ok(())
}

/// Moves a pool to a node, waits until it is there, and takes the order back: with it in force
/// the pool could never leave again. Whatever happens to this process, the order ends by itself.
///
/// # Errors
/// No such pool or node; the pool would not get there, or not stay there; another pool would be served nowhere; time was over.
pub fn move_pool(
    file: &ClusterFile,
    heads: &mut Hosts,
    pool: &str,
    node: &str,
    manner: &mut Manner<'_>,
) -> Result<Operated, LiveError> {
    (manner.waiting.said)(ASKING);
    let (via, cib) = live(file, heads)?;
    member(&cib, node)?;
    let known: Vec<String> = Directory::of(&cib).pools().map(str::to_owned).collect();
    if !known.iter().any(|name| name == pool) {
        return Err(LiveError::NoSuch {
            kind: "pool",
            found: pool.to_owned(),
            known,
        });
    }
    // Played without the orders that are left; they are taken back only when this one is to be given.
    let forecast = played_move(heads, &via, &cib, pool, node)?;
    allowed(file, heads, &forecast, manner)?;
    let simulator = OnHead::new(head(heads, &via)?.as_mut());
    if let Some(why) = guard::goes_on(&simulator, &forecast, pool, node)? {
        return Err(LiveError::Failed(format!("nothing was done: {why}")));
    }
    for order in left_orders(&cib) {
        if order.places(pool) {
            (manner.waiting.said)(&format!("undoing an order that was left: {order}"));
        }
    }
    forget(file, heads, pool)?;
    let (via, _) = live(file, heads)?;
    (manner.giving)();
    let lifetime = manner.waiting.timeout.unwrap_or_default() + Duration::from_secs(60);
    let order = MoveResource {
        resource: pool.to_owned(),
        node: node.to_owned(),
        seconds: lifetime.max(LIFETIME).as_secs(),
    };
    let settled =
        ask(heads, &via, &order).and_then(|()| wait_settled(file, heads, &mut manner.waiting));
    if let Ok(Settled::Late { .. }) = &settled {
        // Taken back now, the pool might turn round half way.
        let minutes = lifetime.max(LIFETIME).as_secs() / 60;
        let what = format!(
            "{pool} is ordered to {node}, and the order ends by itself {minutes} min after it was given"
        );
        return waited(settled?, &what).and_then(|()| operated(file, heads, node, &forecast.now));
    }
    // Whatever else came of it.
    let forgotten = forget(file, heads, pool);
    settled?;
    forgotten?;
    waited(
        wait_settled(file, heads, &mut manner.waiting)?,
        "the order is carried out",
    )?;
    operated(file, heads, node, &forecast.now)
}

/// Takes back every order that is left about a pool, through any head that obeys: the one through which it was
/// given may be gone.
fn forget(file: &ClusterFile, heads: &mut Hosts, pool: &str) -> Result<(), LiveError> {
    // What is ordered, and the head whose view is taken.
    let left = |heads: &mut Hosts| -> Result<(HostName, BTreeSet<String>), LiveError> {
        let (via, cib) = live(file, heads)?;
        let left = left_orders(&cib).into_iter();
        let about = left.filter(|order| order.places(pool));
        Ok((via, about.map(|order| order.resource).collect()))
    };
    let mut why = String::from("no head obeyed");
    let mut names: Vec<_> = heads.keys().cloned().collect();
    while !names.is_empty() {
        let (via, ordered) = left(heads)?;
        if ordered.is_empty() {
            return Ok(());
        }
        // Itself first: another one may hang.
        let next = names.iter().position(|name| *name == via);
        let name = names.swap_remove(next.unwrap_or_default());
        for resource in ordered {
            if let Err(e) = ask(heads, &name, &ForgetMove { resource }) {
                why = e.to_string();
            }
        }
    }
    match left(heads)?.1.first() {
        None => Ok(()),
        Some(resource) => Err(LiveError::Failed(format!(
            "the order about {resource} could not be taken back ({why}); `crm_resource --clear --resource {resource}` \
             on a node does it"
        ))),
    }
}

/// Plays the move of a pool.
///
/// # Errors
/// The pool would not get there.
fn played_move(
    heads: &mut Hosts,
    via: &HostName,
    cib: &Element,
    pool: &str,
    node: &str,
) -> Result<Forecast, LiveError> {
    let ordered = guard::with_move(cib, pool, node);
    let forecast = play(&OnHead::new(head(heads, via)?.as_mut()), cib, &ordered)?;
    let then = forecast.then.get(pool);
    if then.is_some_and(|service| service.node.as_deref() == Some(node)) {
        return Ok(forecast);
    }
    let state = forecast.after.nodes.get(node).copied().unwrap_or_default();
    let why = not_there_because(cib, &state, &Directory::of(cib), pool, node);
    Err(LiveError::Failed(format!(
        "nothing was done: {pool} would not get to {node}, because {why}"
    )))
}

/// An error when time was over; the order stays as `what` says.
fn waited(settled: Settled, what: &str) -> Result<(), LiveError> {
    match settled {
        Settled::Done => Ok(()),
        Settled::Late { seconds, left } => Err(LiveError::Failed(format!(
            "after {seconds} s Pacemaker is not done: {}; it goes on: {what}",
            not_done(&left)
        ))),
    }
}

/// What clients have now, beside what they had, and what became of the node.
fn operated(
    file: &ClusterFile,
    heads: &mut Hosts,
    node: &str,
    before: &Services,
) -> Result<Operated, LiveError> {
    let (via, cib) = live(file, heads)?;
    let simulator = OnHead::new(head(heads, &via)?.as_mut());
    let now = simulator.simulate(&cib.to_text(), &[])?.read()?.before;
    let directory = Directory::of(&cib);
    let after = services(&now, &directory);
    let pools = after.iter().map(|(pool, service)| {
        let had = before.get(pool).cloned().unwrap_or_default();
        let why_not = match (service.served, &service.not_reached) {
            (true, _) => None,
            (false, Some(why)) => Some(why.clone()),
            (false, None) => Some(guard::nowhere_because(&cib, &now, &directory, pool)),
        };
        OperatedPool {
            name: pool.clone(),
            was_on: had.node.as_deref().map(Into::into),
            is_on: service.node.as_deref().map(Into::into),
            was_served: had.served,
            served: service.served,
            down: service.down.iter().cloned().collect(),
            why_not,
        }
    });
    let state = now.nodes.get(node).copied().unwrap_or_default();
    Ok(Operated {
        pools: pools.collect(),
        closed: guard::closed_because(&state, node),
    })
}

fn live(file: &ClusterFile, heads: &mut Hosts) -> Result<(HostName, Element), LiveError> {
    let (via, text) = any_cib(file, heads)?;
    Ok((via, Element::parse(&text, "the live CIB")?))
}

fn member(cib: &Element, node: &str) -> Result<(), LiveError> {
    let nodes = cib.at(&["configuration", "nodes"]).into_iter();
    let known: Vec<String> = nodes
        .flat_map(|nodes| nodes.all("node"))
        .filter_map(|node| Some(node.get("uname")?.to_owned()))
        .collect();
    match known.iter().any(|name| name == node) {
        true => Ok(()),
        false => Err(LiveError::NoSuch {
            kind: "node",
            found: node.to_owned(),
            known,
        }),
    }
}
