//! Tuning how many receivers of one flow a host serves: the settings of the receivers that it has now are
//! copied to the namespaces on which a fan-out is measured, so that nobody's receivers get test traffic.
//! A trial turns the real ones, and every window copies them again.

use std::collections::BTreeMap;

use hawser_account::fixes;
use hawser_agent::questions::{MeasureFanout, OpenFanout};
use hawser_host::{Host, Hosts};
use hawser_model::case::Case;
use hawser_model::fanout::{FanoutRun, FanoutWindow, Spread};
use hawser_model::host::HostFacts;
use hawser_model::names::HostName;
use hawser_model::topology::Topology;
use hawser_model::trial::{TrialTraffic, Window};
use hawser_model::units::{Nanos, Packets};
use hawser_rungs::fanout::FanoutStep;

use super::{TuneEnv, TuneError, experiment, no_trial_is_open};
use crate::check::facts;
use crate::fanout::{FanoutOptions, Progress, fanout};

/// Measures how many receivers the hosts serve, as they are set and spread, and tries what was better on
/// the receivers that they have. The case has the trials, and the measurement after.
///
/// # Errors
/// See [`TuneError`]; every change is undone then.
pub fn tune_fanout(
    agents: &mut Hosts,
    (topology, hosts): (Topology, BTreeMap<HostName, HostFacts>),
    options: &FanoutOptions,
    placebos: Option<u32>,
    (around, progress): (&dyn TuneEnv, &dyn Progress),
    now: u64,
) -> Result<Case, TuneError> {
    no_trial_is_open(agents)?;
    let mut case = fanout(agents, topology, hosts, options, progress, now)?;
    let mut plans = fixes::fanout_plans(&case);
    if let Some(trials) = placebos {
        plans = fixes::placebos(plans, trials);
    }
    for plan in &plans {
        if let Some(agent) = agents.get_mut(&plan.host) {
            agent.ask(&OpenFanout {
                receivers: options.most,
            })?;
        }
    }
    let again = FanoutOptions {
        // Spread is measured again too: what was kept is held against it, on the machine as it is now.
        spreads: &[Spread::AsSet, Spread::Split],
        ..options.clone()
    };
    let prove = |agents: &mut Hosts| {
        // Asked again: what Corosync has counted by now is told too.
        let hosts = facts(agents)?;
        Ok(fanout(
            agents,
            case.topology.clone(),
            hosts,
            &again,
            progress,
            now,
        )?)
    };
    case.tuning = Some(experiment(agents, &case, &plans, around, prove)?);
    Ok(case)
}

/// What is asked of each window; `None` when the case has no such fan-out.
pub(super) fn step(run: &FanoutRun, traffic: &TrialTraffic) -> Option<FanoutStep> {
    let asked = traffic.fanout?;
    Some(FanoutStep {
        receivers: asked.receivers,
        spread: Spread::AsSet,
        bridge: run.hosts.get(&traffic.to)?.bridge.clone(),
        rate: asked.rate,
        payload: run.payload,
        burst: run.burst,
        duration: run.duration,
        count_only: run.count_only,
        number: 0,
    })
}

/// Runs one window. What a slowed sender did not send has not arrived either.
pub(super) fn measure(agent: &mut dyn Host, step: &FanoutStep) -> Result<Window, TuneError> {
    Ok(window(&agent.ask(&MeasureFanout(step.clone()))?, step))
}

fn window(measured: &FanoutWindow, step: &FanoutStep) -> Window {
    let seconds = step.duration.0 as f64 / 1e9;
    let asked = (step.rate.0 as f64 * seconds) as u64;
    let sent = Packets(asked * u64::from(step.receivers));
    let times = measured.usage.processors.values();
    Window {
        sent,
        lost: sent.saturating_sub(measured.received),
        cpu: times
            .map(|time| time.total().saturating_sub(time.idle))
            .sum::<Nanos>(),
        ..Window::default()
    }
}

#[cfg(test)]
mod tests {
    use hawser_model::units::PacketsPerSec;

    use super::*;

    #[test]
    fn what_a_slowed_sender_did_not_send_has_not_arrived() {
        let step = FanoutStep {
            receivers: 10,
            spread: Spread::AsSet,
            bridge: None,
            rate: PacketsPerSec(40_000),
            payload: 800,
            burst: 4,
            duration: Nanos::from_millis(500),
            count_only: false,
            number: 1,
        };
        let measured = FanoutWindow {
            receivers: 10,
            sent: Packets(15_000),
            received: Packets(150_000),
            ..FanoutWindow::default()
        };
        let window = window(&measured, &step);
        assert_eq!(
            (window.sent, window.lost),
            (Packets(200_000), Packets(50_000))
        );
    }
}
