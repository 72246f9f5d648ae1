//! The last time that a pool went from one node to another, from what Pacemaker remembers: the
//! operations in the CIB's status section and the fencer's history.

use std::collections::BTreeMap;

use hawser_model::names::HostName;
use hawser_model::output::cluster::Takeover;

use crate::fence_history::{events, seconds};
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
    let events = events(history).filter(|event| {
        event.get("status") == Some("success") && event.get("action") != Some("on")
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

/// What the fencer remembers, for somebody who asks how it went.
#[derive(Clone, Debug, Default)]
pub(super) struct Shots {
    /// For each target its finished shots, oldest first.
    done: BTreeMap<String, Vec<Shot>>,
    /// Shots under way, by target.
    pending: Vec<(String, String)>,
    /// The head's time when it was asked, in seconds since 1970.
    now: Option<u64>,
}

/// A finished shot.
#[derive(Clone, Debug)]
struct Shot {
    at: u64,
    hit: bool,
    on: bool,
    completed: String,
    why: Option<String>,
}

impl Shots {
    /// Reads the history of a head that was asked at `now`.
    pub fn of(history: Option<&Element>, now: Option<u64>) -> Self {
        let mut shots = Self {
            now,
            ..Self::default()
        };
        for event in history.into_iter().flat_map(events) {
            let Some(target) = event.get("target") else {
                continue;
            };
            let words = |name: &str| event.get(name).filter(|word| !word.is_empty());
            match (event.get("status"), words("completed")) {
                (Some("pending"), _) => {
                    let action = words("action").unwrap_or("off");
                    let by = words("delegate").or(words("origin"));
                    let by = by.map_or_else(String::new, |by| format!(", ordered by {by}"));
                    let text = format!(
                        "\"{action}\" is under way{by}; nothing of it is taken over before"
                    );
                    shots.pending.push((target.to_owned(), text));
                }
                (Some(status), Some(completed)) => {
                    let Some(at) = seconds(completed) else {
                        continue;
                    };
                    shots.done.entry(target.to_owned()).or_default().push(Shot {
                        at,
                        hit: status == "success",
                        on: words("action") == Some("on"),
                        completed: completed.to_owned(),
                        why: words("exit-reason").map(str::to_owned),
                    });
                }
                _ => {}
            }
        }
        for of_target in shots.done.values_mut() {
            of_target.sort_by_key(|shot| shot.at);
        }
        shots
    }

    /// Whether the last finished shot at a node missed. One that is older than two of Pacemaker's rechecks
    /// (`cluster-recheck-interval`, 15 min) was another loss: Pacemaker tries again at each.
    pub fn last_missed(&self, node: &HostName) -> bool {
        const STALE: u64 = 30 * 60;
        let of_node = self.done.get(node.as_str());
        let of_now = |shot: &&Shot| {
            self.now
                .is_none_or(|now| shot.at.saturating_add(STALE) >= now)
        };
        of_node
            .and_then(|shots| shots.last())
            .filter(of_now)
            .is_some_and(|shot| !shot.hit)
    }

    /// Shots under way: the target, and what is to be said.
    pub fn pending(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.pending.iter();
        all.map(|(target, text)| (target.as_str(), text.as_str()))
    }

    /// The nodes whose last shot missed, in words.
    pub fn missed(&self) -> Vec<(String, String)> {
        let missed = self.done.iter().filter_map(|(node, shots)| {
            let last = shots.last().filter(|shot| !shot.hit)?;
            let times = shots.iter().rev().take_while(|shot| !shot.hit).count();
            let why = last.why.as_ref();
            let why = why.map_or_else(String::new, |why| format!(" ({why})"));
            let times = match times {
                1 => String::new(),
                times => format!(", {times} failed in a row"),
            };
            let when = &last.completed;
            let text = format!("the last attempt to fence {node} failed at {when}{why}{times}");
            Some((node.clone(), text))
        });
        missed.collect()
    }

    /// How often each node was switched off in the hour before now.
    pub fn in_the_last_hour(&self) -> Vec<(String, usize)> {
        let Some(now) = self.now else {
            return Vec::new();
        };
        let recent = |shot: &&Shot| shot.hit && !shot.on && shot.at.saturating_add(3600) >= now;
        let all = self.done.iter();
        all.map(|(node, shots)| (node.clone(), shots.iter().filter(recent).count()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let said = |history: &Element| -> Vec<String> {
            let missed = Shots::of(Some(history), None).missed().into_iter();
            missed.map(|(_, text)| text).collect()
        };
        let text = "the last attempt to fence head1 failed at 1970-01-01 00:00:20Z";
        assert_eq!(said(&missed), [text]);
        let hit = history(&(event("failed", 10) + &event("success", 20)));
        assert_eq!(said(&hit), Vec::<String>::new());
        let twice = history(&(event("failed", 20) + &event("failed", 10)));
        assert_eq!(said(&twice), [format!("{text}, 2 failed in a row")]);
    }

    #[test]
    fn a_miss_of_another_loss_is_none_of_this_one() {
        let missed = r#"<r><fence_event action="off" target="head1" status="failed" completed="1970-01-02 00:00:00Z"/></r>"#;
        let history = Element::parse(missed, "test").unwrap();
        let last_missed = |now| Shots::of(Some(&history), Some(now)).last_missed(&"head1".into());
        assert!(last_missed(86_400 + 60));
        assert!(!last_missed(2 * 86_400));
    }

    #[test]
    fn a_shot_under_way_is_told_and_shots_of_the_last_hour_are_counted() {
        let events = r#"<r><fence_event action="off" target="head1" status="pending" origin="head2"/>
            <fence_event action="off" target="head2" status="success" completed="1970-01-01 02:00:00Z"/>
            <fence_event action="off" target="head2" status="success" completed="1970-01-01 02:10:00Z"/>
            <fence_event action="on" target="head2" status="success" completed="1970-01-01 02:11:00Z"/>
            <fence_event action="off" target="head2" status="success" completed="1970-01-01 00:10:00Z"/></r>"#;
        let history = Element::parse(events, "test").unwrap();
        let shots = Shots::of(Some(&history), Some(2 * 3600 + 900));
        let pending: Vec<_> = shots.pending().collect();
        assert!(matches!(pending[..], [("head1", text)] if text.contains("ordered by head2")));
        assert_eq!(shots.in_the_last_hour(), [("head2".to_owned(), 2)]);
    }

    #[test]
    fn a_first_start_is_no_takeover() {
        assert_eq!(last(&cib(&op("head1", "start", 100)), None), None);
    }
}
