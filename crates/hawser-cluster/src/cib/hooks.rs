//! The resources that run a pool's hooks: one before its storage, one after it.

use hawser_model::cluster_file::{HookPlace, Period, Pool};

use super::build::{Op, pair, primitive};
use crate::hooks::AGENT;
use crate::xml::Element;

/// What the agent itself may take beside a hook: it asks for the configuration, and ends a hook that hangs.
const BESIDE: Period = Period::from_secs(20);

/// What an operation without a hook may take.
const NOTHING: Period = Period::from_secs(20);

/// The resource of this place; none if the pool has no hook there.
pub(super) fn resource(pool: &Pool, place: HookPlace, stuck: &'static str) -> Option<Element> {
    let id = pool.hooks_id(place)?;
    let mut parameters = vec![pair("place", place.name()), pair("pool", &pool.name)];
    for (moment, hook) in pool.hooks.of(place) {
        let key = moment.key();
        let required = hook.is_required(moment);
        parameters.push(pair(key, &hook.program));
        parameters.push(pair(&format!("{key}_required"), required));
        parameters.push(pair(&format!("{key}_timeout"), hook.timeout()));
    }
    parameters.sort();
    let (start, stop) = place.moments();
    let limit = |moment| {
        pool.hooks
            .at(moment)
            .map_or(NOTHING, |hook| Period(hook.timeout().0 + BESIDE.0))
    };
    // A stop that is not required never fails; even an agent that does not come back is no reason to shoot the head.
    let required = pool
        .hooks
        .at(stop)
        .is_some_and(|hook| hook.is_required(stop));
    let ops = [
        Op::once("start", limit(start)),
        Op::once("stop", limit(stop)).on_fail(Some(if required { stuck } else { "ignore" })),
        // Nothing is looked at again and again: a hook that has run cannot fail any more, and a monitor that failed would stop
        // the pool.
        Op::once("reload-agent", NOTHING),
    ];
    let what = match place {
        HookPlace::Before => format!(
            "hooks before the import and after the export of pool {}",
            pool.name
        ),
        HookPlace::After => format!(
            "hooks after the import and before the export of pool {}",
            pool.name
        ),
    };
    Some(primitive(&id, AGENT, &what, &parameters, &ops))
}

/// How long the hooks of an import may take.
pub(super) fn start_limit(pool: &Pool) -> Period {
    let starts = HookPlace::BOTH.map(|place| place.moments().0);
    let hooks = starts
        .into_iter()
        .filter_map(|moment| pool.hooks.at(moment));
    Period(hooks.map(|hook| hook.timeout().0 + BESIDE.0).sum())
}
