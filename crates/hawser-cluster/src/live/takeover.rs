//! The last time that a pool went from one node to another, from what Pacemaker remembers: the
//! operations in the CIB's status section and the fencer's history.

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use hawser_model::drill::{FenceEvent, Moment, utc_offset_s};
use hawser_model::names::HostName;
use hawser_model::output::cluster::Takeover;

use super::LiveError;
use crate::simulate::Directory;
use crate::xml::Element;

/// A pool that starts later than this after a shot did not start because of it, in seconds.
const BECAUSE: u64 = 300;

/// A successful operation of a resource.
struct Done<'a> {
    node: &'a str,
    operation: &'a str,
    at: u64,
}

/// The last takeover of any pool.
pub(super) fn last(cib: &Element, history: Option<&Element>) -> Option<Takeover> {
    let directory = Directory::of(cib);
    let shots = history.map(shots).unwrap_or_default();
    let all = directory
        .pools()
        .filter_map(|pool| of_pool(cib, pool, &shots));
    all.max_by_key(|takeover| takeover.at)
}

fn of_pool(cib: &Element, pool: &str, shots: &[(String, u64)]) -> Option<Takeover> {
    let done = operations(cib, pool);
    let started = done
        .iter()
        .filter(|done| done.operation == "start")
        .max_by_key(|done| done.at)?;
    let stopped = done
        .iter()
        .filter(|done| done.operation == "stop" && done.node != started.node)
        .filter(|done| done.at <= started.at)
        .max_by_key(|done| done.at);
    let shot = shots
        .iter()
        .filter(|(node, at)| {
            node != started.node && *at <= started.at && started.at - *at <= BECAUSE
        })
        .max_by_key(|(_, at)| *at);
    let (from, fenced) = match (stopped, shot) {
        (Some(stopped), Some((node, at))) if *at >= stopped.at => (node.as_str(), true),
        (Some(stopped), _) => (stopped.node, false),
        (None, Some((node, _))) => (node.as_str(), true),
        // It started here and nobody had it before.
        (None, None) => return None,
    };
    Some(Takeover {
        pool: pool.to_owned(),
        from: HostName(from.to_owned()),
        to: HostName(started.node.to_owned()),
        at: started.at,
        fenced,
    })
}

fn operations<'a>(cib: &'a Element, resource: &str) -> Vec<Done<'a>> {
    let states = cib.first("status").into_iter();
    let states = states.flat_map(|status| status.all("node_state"));
    let mut all = Vec::new();
    for state in states {
        let resources = state.walk().into_iter();
        let of_pool =
            resources.filter(|e| e.name == "lrm_resource" && e.get("id") == Some(resource));
        for op in of_pool.flat_map(|resource| &resource.children) {
            let at = op.get("last-rc-change").and_then(|at| at.parse().ok());
            if let (Some(node), Some(operation), Some("0"), Some(at)) = (
                state.get("uname"),
                op.get("operation"),
                op.get("rc-code"),
                at,
            ) {
                all.push(Done {
                    node,
                    operation,
                    at,
                });
            }
        }
    }
    all
}

/// The nodes that were shot, and when.
fn shots(history: &Element) -> Vec<(String, u64)> {
    let events = history.walk().into_iter();
    let events = events.filter(|event| {
        event.name == "fence_event"
            && event.get("status") == Some("success")
            && event.get("action") != Some("on")
    });
    events
        .filter_map(|event| {
            Some((
                event.get("target")?.to_owned(),
                seconds(event.get("completed")?)?,
            ))
        })
        .collect()
}

/// Everything that the fencer remembers (`stonith_admin --history --output-as=xml`), oldest first.
///
/// # Errors
/// The text is no XML.
pub fn fence_events(history: &str) -> Result<Vec<FenceEvent>, LiveError> {
    let history = Element::parse(history, "the fencing history")?;
    let events = history.walk().into_iter();
    let mut events: Vec<FenceEvent> = events
        .filter(|event| event.name == "fence_event")
        .filter_map(|event| {
            Some(FenceEvent {
                target: event.get("target")?.into(),
                action: event.get("action")?.to_owned(),
                delegate: event.get("delegate").map(HostName::from),
                succeeded: event.get("status") == Some("success"),
                completed: Moment(seconds(event.get("completed")?)? * 1_000_000),
            })
        })
        .collect();
    events.sort_by_key(|event| event.completed);
    Ok(events)
}

/// The nodes whose last shot missed, in words.
pub(super) fn failed_shots(history: &Element) -> Vec<String> {
    let mut last: BTreeMap<&str, (u64, &Element)> = BTreeMap::new();
    for event in history.walk() {
        let about = (
            event.get("target"),
            event.get("completed").and_then(seconds),
        );
        if let ("fence_event", (Some(target), Some(at))) = (event.name.as_str(), about) {
            let latest = last.entry(target).or_insert((at, event));
            if at >= latest.0 {
                *latest = (at, event);
            }
        }
    }
    let failed = last
        .into_iter()
        .filter(|(_, (_, event))| event.get("status") == Some("failed"));
    failed
        .map(|(node, (_, event))| {
            let when = event.get("completed").unwrap_or_default();
            let why = event.get("exit-reason").filter(|why| !why.is_empty());
            let why = why.map_or_else(String::new, |why| format!(" ({why})"));
            format!("the last attempt to fence {node} failed at {when}{why}")
        })
        .collect()
}

/// Seconds since 1970 of `2026-11-22 01:17:34Z`, with or without a fraction, or with an offset
/// (` +01:00`) instead of the `Z`.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let (date, rest) = text.split_at_checked("2026-11-22 ".len())?;
    let at = rest.find(|c: char| !c.is_ascii_digit() && !matches!(c, ':' | '.'));
    let (time, zone) = rest.split_at(at.unwrap_or(rest.len()));
    let local = humantime::parse_rfc3339_weak(&format!("{date}{time}")).ok()?;
    let local = local.duration_since(UNIX_EPOCH).ok()?.as_secs();
    let zone = zone.trim();
    let offset = match zone.starts_with(['+', '-']) && zone.contains(':') {
        true => utc_offset_s(zone)?,
        false => 0,
    };
    local.checked_add_signed(i64::from(-offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fencers_times_are_read() {
        assert_eq!(seconds("1970-01-02 00:00:01Z"), Some(86_401));
        assert_eq!(seconds("2026-11-22 01:17:34Z"), Some(1_795_310_254));
        assert_eq!(seconds("2026-11-22 01:17:34.250000Z"), Some(1_795_310_254));
        assert_eq!(seconds("2026-11-22 02:17:34 +01:00"), Some(1_795_310_254));
        assert_eq!(seconds("yesterday"), None);
    }

    fn cib(ops: &str) -> Element {
        let text = format!(
            r#"<cib><configuration><resources>
            <primitive id="p" class="ocf" provider="heartbeat" type="Filesystem"/>
            </resources><constraints/></configuration><status>{ops}</status></cib>"#
        );
        Element::parse(&text, "test").unwrap()
    }

    fn op(node: &str, operation: &str, at: u64) -> String {
        format!(
            r#"<node_state uname="{node}"><lrm><lrm_resources><lrm_resource id="p">
            <lrm_rsc_op operation="{operation}" rc-code="0" last-rc-change="{at}"/>
            </lrm_resource></lrm_resources></lrm></node_state>"#
        )
    }

    #[test]
    fn a_pool_that_was_given_up_and_one_that_was_taken_from_a_dead_node() {
        let given = cib(&(op("head1", "stop", 90) + &op("head2", "start", 100)));
        let takeover = last(&given, None).unwrap();
        assert_eq!((takeover.from.as_str(), takeover.fenced), ("head1", false));

        let history = Element::parse(
            r#"<r><fence_event action="off" target="head1" status="success"
               completed="1970-01-01 00:01:35Z"/></r>"#,
            "test",
        );
        let history = history.unwrap();
        let taken = cib(&op("head2", "start", 100));
        let takeover = last(&taken, Some(&history)).unwrap();
        assert_eq!((takeover.to.as_str(), takeover.fenced), ("head2", true));
    }

    #[test]
    fn a_shot_that_missed_counts_until_one_hits() {
        let event = |status: &str, second: u32| {
            format!(
                r#"<fence_event action="off" target="head1" status="{status}"
                   completed="1970-01-01 00:00:{second:02}Z"/>"#
            )
        };
        let history = |events: &str| Element::parse(&format!("<r>{events}</r>"), "test").unwrap();
        let missed = history(&(event("failed", 20) + &event("success", 10)));
        let said = failed_shots(&missed);
        assert_eq!(
            said,
            ["the last attempt to fence head1 failed at 1970-01-01 00:00:20Z"]
        );
        let hit = history(&(event("failed", 10) + &event("success", 20)));
        assert_eq!(failed_shots(&hit), Vec::<String>::new());
    }

    #[test]
    fn a_first_start_is_no_takeover() {
        assert_eq!(last(&cib(&op("head1", "start", 100)), None), None);
    }
}
