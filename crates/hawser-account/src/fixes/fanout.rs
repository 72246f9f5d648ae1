//! What might have a host serve more receivers of one flow: the settings of the interfaces of those
//! that receive on it now.

use std::cmp::Reverse;

use hawser_model::case::{Case, PhaseKind};
use hawser_model::fanout::{Spread, processor_mask};
use hawser_model::knob::Knob;
use hawser_model::names::LinkName;
use hawser_model::trial::{FanoutTraffic, TrialTraffic};

use super::{Candidate, TrialPlan, TrialValue};
use crate::cause::{Cause, FanoutCause, Found};
use crate::causes::fanout_not_spread::FanoutNotSpread;
use crate::fanout::{FanoutView, results};

/// The plans for a fan-out's findings: one a host, for the finding that comes first. The traffic has as
/// many receivers as were served when the work was spread, of which some lose as it is set.
pub fn fanout_plans(case: &Case) -> Vec<TrialPlan> {
    let Some(run) = &case.fanout else {
        return Vec::new();
    };
    let view = FanoutView {
        case,
        run,
        results: &results(run),
    };
    let mut found = FanoutNotSpread::find(&view);
    found.sort_by_key(|found| Reverse(found.confidence));
    let mut plans: Vec<TrialPlan> = Vec::new();
    for Found {
        place, evidence, ..
    } in &found
    {
        let gain = &evidence.gain;
        let (Some(host), Some(bridge)) = (&place.host, &place.interface) else {
            continue;
        };
        if plans.iter().any(|p| p.host == *host) {
            continue;
        }
        let bridge = bridge.clone();
        let processors = run.hosts.get(host).map_or(&[][..], |h| &h.processors);
        let steering = Candidate::new(
            Knob::ReceiverSteering {
                bridge: bridge.clone(),
            },
            TrialValue::InTurn(processors.iter().copied().map(processor_mask).collect()),
        );
        let threads = Candidate::new(
            Knob::ReceiverThreads {
                bridge: bridge.clone(),
            },
            TrialValue::InTurn(vec!["on,1".to_owned()]),
        );
        // What served fewer comes first: it is tried, and not taken on the word of one search.
        let candidates = match gain.spread == Spread::Threaded {
            true => vec![steering, threads],
            false => vec![threads, steering],
        };
        plans.push(TrialPlan {
            cause: FanoutNotSpread::CODE.to_owned(),
            host: host.clone(),
            traffic: Some(TrialTraffic {
                due: None,
                engine: false,
                from: host.clone(),
                to: host.clone(),
                link: LinkName::from(bridge.as_str()),
                phase: PhaseKind::Multicast,
                fanout: Some(FanoutTraffic {
                    rate: gain.rate,
                    receivers: gain.receivers_spread,
                }),
            }),
            shown_by_rate: false,
            candidates,
        });
    }
    plans
}

/// `veth1=0 veth2=0/0` with one of the values for each receiver, in turn, and for all of its queues.
pub(super) fn in_turn(now: &str, values: &[String]) -> Result<String, String> {
    let receivers: Vec<(&str, &str)> = now
        .split_whitespace()
        .filter_map(|item| item.split_once('='))
        .collect();
    if receivers.is_empty() || values.is_empty() {
        return Err("nothing receives behind it any more".to_owned());
    }
    let turned = receivers.iter().zip(values.iter().cycle());
    let turned = turned.map(|((port, is), value)| {
        let queues = vec![value.as_str(); is.split('/').count()];
        format!("{port}={}", queues.join("/"))
    });
    Ok(turned.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_receiver_gets_a_processor_in_turn() {
        let masks = ["1".to_owned(), "2".to_owned()];
        assert_eq!(
            in_turn("a=1 b=1 c=0/0", &masks).as_deref(),
            Ok("a=1 b=2 c=1/1")
        );
        assert!(in_turn("", &masks).is_err());
    }
}
