//! No order takes the last place from a pool that is served, unless somebody allowed it: the order is played
//! through Pacemaker's scheduler first. Which pools are served is looked at again afterwards.

use std::collections::BTreeSet;

use super::{LiveError, failures};
use crate::simulate::{Directory, NodeState, Picture, Services, Simulator, lost, services};
use crate::xml::Element;

/// What a cluster is now, and what it would be.
pub(super) struct Forecast {
    /// What clients have now.
    pub now: Services,
    /// What they would have.
    pub then: Services,
    /// The pools that are served now and that nobody would serve, each with the reason.
    pub taken: Vec<String>,
    /// What the order does not change: pools that clients do not reach now, and would not.
    pub as_before: Vec<String>,
    /// What Pacemaker would make of the cluster, and the CIB of that.
    pub after: Picture,
    pub cib_after: String,
}

/// Plays an order: `cib` as it is, `ordered` with the order in it.
///
/// # Errors
/// The simulator.
pub(super) fn play(
    simulator: &dyn Simulator,
    cib: &Element,
    ordered: &Element,
) -> Result<Forecast, LiveError> {
    let directory = Directory::of(cib);
    let answer = simulator.simulate(&ordered.to_text(), &[])?;
    let report = answer.read()?;
    let now = services(&report.before, &directory);
    let then = services(&report.after, &directory);
    let mut taken: Vec<&str> = lost(&now, &then).collect();
    if !taken.is_empty() {
        // What Pacemaker is about to do anyway is not the order's doing.
        let anyway = simulator.simulate(&cib.to_text(), &[])?.read()?;
        let anyway = services(&anyway.after, &directory);
        taken.retain(|pool| anyway.get(*pool).is_some_and(|service| service.served));
    }
    let taken = taken
        .into_iter()
        .map(|pool| {
            let why = match then
                .get(pool)
                .and_then(|service| service.not_reached.clone())
            {
                Some(why) => why,
                None => nowhere_because(ordered, &report.after, &directory, pool),
            };
            format!("{pool} would be served nowhere: {why}")
        })
        .collect();
    let as_before = now.iter().filter_map(|(pool, service)| {
        let (now, then) = (&service.not_reached, &then.get(pool)?.not_reached);
        let (now, then) = (now.as_ref()?, then.as_ref()?);
        Some(match now == then {
            true => format!("clients do not reach {pool} now, and would not: {now}"),
            false => format!("clients do not reach {pool} now, and would not: {now}; {then}"),
        })
    });
    Ok(Forecast {
        as_before: as_before.collect(),
        now,
        then,
        taken,
        after: report.after,
        cib_after: answer.cib_after,
    })
}

/// An order that is refused, in words.
pub(super) fn refused(taken: &[String]) -> LiveError {
    let lines: Vec<String> = taken.iter().map(|line| format!("    {line}")).collect();
    LiveError::Failed(format!(
        "nothing was done, because clients would lose their pools:\n{}\n--allow-disruption does it all the same",
        lines.join("\n")
    ))
}

/// Why no node would serve a pool, node by node.
pub(super) fn nowhere_because(
    cib: &Element,
    then: &Picture,
    directory: &Directory,
    pool: &str,
) -> String {
    let why = then
        .nodes
        .iter()
        .map(|(node, state)| not_there_because(cib, state, directory, pool, node));
    why.collect::<Vec<_>>().join("; ")
}

/// Why a node does not serve a pool.
pub(super) fn not_there_because(
    cib: &Element,
    state: &NodeState,
    directory: &Directory,
    pool: &str,
    node: &str,
) -> String {
    if let Some(closed) = closed_because(state, node) {
        return closed;
    }
    let parts: Vec<&str> = directory.of_pool(pool).map(|(id, _)| id).collect();
    let on_node = format!(" failed on {node}:");
    let failed = parts
        .iter()
        .flat_map(|id| failures::of(cib, id))
        .find(|failure| failure.contains(&on_node));
    if let Some(failure) = failed {
        return format!("{failure} (mend it, then `crm_resource --cleanup --resource {pool}`)");
    }
    match placing(cib, directory, &parts, node, |score| score == "-INFINITY") {
        Some(constraint) => format!("{node} may not run it (constraint {constraint})"),
        None => format!("Pacemaker would not run it on {node}"),
    }
}

/// Why a node runs no pool at all; none if it may.
pub(super) fn closed_because(state: &NodeState, node: &str) -> Option<String> {
    let why = match state {
        NodeState { unclean: true, .. } => "lost and not known to be off",
        NodeState { online: false, .. } => "not a member",
        NodeState { standby: true, .. } => "in standby",
        NodeState {
            maintenance: true, ..
        } => "in maintenance",
        NodeState { pending: true, .. } => "joining, and not a member yet",
        _ => return None,
    };
    Some(format!("{node} is {why}"))
}

/// The constraint of such a score that places one of these resources, or the group that they are in, on a node or away from it.
fn placing(
    cib: &Element,
    directory: &Directory,
    parts: &[&str],
    node: &str,
    is_such: impl Fn(&str) -> bool,
) -> Option<String> {
    let constraints = cib.at(&["configuration", "constraints"])?;
    let mut locations = constraints.all("rsc_location").filter(|location| {
        let elements = location.walk();
        let mut named = location.get("rsc").into_iter().chain(
            elements
                .iter()
                .filter(|element| element.name == "resource_ref")
                .filter_map(|element| element.get("id")),
        );
        location.get("node") == Some(node)
            && location.get("score").is_some_and(&is_such)
            && named.any(|id| parts.contains(&directory.placed(id)))
    });
    locations.next()?.get("id").map(str::to_owned)
}

/// Why a pool would leave the node that it was moved to, as soon as the order is taken back; none if it stays.
pub(super) fn goes_on(
    simulator: &dyn Simulator,
    forecast: &Forecast,
    pool: &str,
    node: &str,
) -> Result<Option<String>, LiveError> {
    let moved = Element::parse(&forecast.cib_after, "the CIB after the move")?;
    let cib = without_orders(&moved, pool);
    let directory = Directory::of(&cib);
    let after = simulator.simulate(&cib.to_text(), &[])?.read()?.after;
    let Some(place) = after.runs_on(pool).filter(|place| *place != node) else {
        return Ok(None);
    };
    let unreached = directory.not_reached(pool, node);
    let prefers = || {
        let draws = |score: &str| !score.starts_with('-');
        let constraint = placing(&cib, &directory, &[pool], place, draws)?;
        Some(format!(
            "it prefers {place} (constraint {constraint}) to staying where it is"
        ))
    };
    let why = unreached
        .or_else(prefers)
        .unwrap_or_else(|| format!("Pacemaker would rather have it on {place}"));
    Ok(Some(format!(
        "{pool} would go on to {place} when the order is taken back, since {why}: its clients would be interrupted twice"
    )))
}

/// The CIB with a pool sent to a node, as `crm_resource --move` would write it.
pub(super) fn with_move(cib: &Element, pool: &str, node: &str) -> Element {
    let mut cib = without_orders(cib, pool);
    let constraints = cib
        .first_or_new("configuration")
        .first_or_new("constraints");
    constraints.children.push(
        Element::new("rsc_location")
            .with("id", format!("cli-prefer-{pool}"))
            .with("rsc", pool)
            .with("role", "Started")
            .with("node", node)
            .with("score", "INFINITY"),
    );
    cib
}

/// The CIB without the orders that are left about a pool, as `crm_resource --clear` leaves it.
fn without_orders(cib: &Element, pool: &str) -> Element {
    let left: BTreeSet<String> = super::left_orders(cib)
        .into_iter()
        .filter(|order| order.places(pool))
        .map(|order| order.id)
        .collect();
    let mut cib = cib.clone();
    cib.first_or_new("configuration")
        .first_or_new("constraints")
        .children
        .retain(|constraint| !constraint.get("id").is_some_and(|id| left.contains(id)));
    cib
}
