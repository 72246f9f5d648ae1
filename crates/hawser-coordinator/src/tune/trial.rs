//! One trial: a knob turned to and fro under the traffic that showed the fault.

use std::collections::BTreeMap;

use hawser_account::fixes::{Candidate, TrialPlan, takes_a_boot};
use hawser_account::trial::{gained, judge};
use hawser_agent::questions::{ReadCorosync, ReadKnob};
use hawser_host::{Failure, HostError, Hosts};
use hawser_model::case::{Case, PhaseKind};
use hawser_model::host::CorosyncFacts;
use hawser_model::knob::Setting;
use hawser_model::names::HostName;
use hawser_model::trial::{Pair, Trial, Verdict, Window};

use super::turned::Turned;
use super::window::{Measure, measure};
use super::{Survivor, TuneEnv, TuneError, reaches_beyond};

/// A trial before anything of it was done.
pub(super) fn planned(plan: &TrialPlan, candidate: &Candidate) -> Trial {
    Trial {
        cause: plan.cause.clone(),
        knob: candidate.knob.clone(),
        scope: None,
        host: plan.host.clone(),
        from: None,
        to: None,
        traffic: plan.traffic.clone(),
        also: Vec::new(),
        pairs: Vec::new(),
        not_tried: match plan.traffic {
            Some(_) => None,
            None => Some(unseen(plan).to_owned()),
        },
        kept: false,
        left_at: Vec::new(),
        corosync: BTreeMap::new(),
        left_out: Vec::new(),
        restarted: false,
    }
}

/// Why no traffic of the check shows whether it is cured.
fn unseen(plan: &TrialPlan) -> &'static str {
    match plan.shown_by_rate {
        true => "no packet is lost because of it; --stream shows whether a TCP stream gets faster",
        false => "Hawser's own traffic does not show the fault",
    }
}

/// Runs a trial to its end. Answers what was turned when it is proven; else all is as before.
pub(super) fn run(
    agents: &mut Hosts,
    case: &Case,
    candidate: &Candidate,
    around: &dyn TuneEnv,
    trial: &mut Trial,
) -> Result<Option<Turned>, TuneError> {
    let turned = match begin(agents, case, candidate, around, trial)? {
        Ok(turned) => turned,
        Err(why) => {
            trial.not_tried = Some(why);
            return Ok(None);
        }
    };
    trial.to = turned.after(trial);
    let measured = pairs(agents, case, trial, &turned, around);
    let proven = match &measured {
        Ok(pairs) => judge(pairs).verdict == Verdict::Better,
        Err(_) => false,
    };
    if proven {
        trial.pairs = measured?;
        return Ok(Some(turned));
    }
    // The first error is the one to tell; an agent that is gone has its guard.
    let undone = turned.undo(agents, around, trial);
    trial.pairs = measured?;
    undone?;
    Ok(None)
}

/// Turns the knob for the first time; the inner error is why it could not be tried.
pub(super) fn begin(
    agents: &mut Hosts,
    case: &Case,
    candidate: &Candidate,
    around: &dyn TuneEnv,
    trial: &mut Trial,
) -> Result<Result<Turned, String>, TuneError> {
    let (setting, value) = match look(agents, candidate, trial)? {
        Ok(found) => found,
        Err(why) => return Ok(Err(why)),
    };
    if reaches_beyond(setting.scope, case, &trial.host) {
        if let Err(why) = around.announce(&trial.host, &candidate.knob, &value) {
            return Ok(Err(why));
        }
    }
    Turned::begin(agents, case, around, trial, &setting.value, &value)
}

/// How the knob stands, and the value that it would get; the trial takes both down. The inner error is why it cannot be
/// tried. Nothing is turned.
pub(super) fn look(
    agents: &mut Hosts,
    candidate: &Candidate,
    trial: &mut Trial,
) -> Result<Result<(Setting, String), String>, TuneError> {
    if let Some(why) = trial.not_tried.take() {
        return Ok(Err(why));
    }
    let knob = &candidate.knob;
    let Some(agent) = agents.get_mut(&trial.host) else {
        return Ok(Err("it is not among the hosts that were reached".to_owned()));
    };
    let setting = match possible(agent.ask(&ReadKnob(knob.clone())))? {
        Ok(setting) => setting,
        Err(why) => return Ok(Err(why)),
    };
    trial.scope = Some(setting.scope);
    trial.from = Some(setting.value.clone());
    let value = match candidate.value.for_setting(&setting) {
        Ok(value) => value,
        Err(why) => return Ok(Err(why)),
    };
    trial.to = Some(value.clone());
    match setting.at_boot {
        true => Ok(Err(takes_a_boot(knob, &value))),
        false => Ok(Ok((setting, value))),
    }
}

/// A host that declined goes on; its words are the inner error.
pub(super) fn possible<T>(answer: Result<T, HostError>) -> Result<Result<T, String>, HostError> {
    match answer {
        Ok(value) => Ok(Ok(value)),
        Err(e) if e.host_goes_on() => Ok(Err(match *e.failure {
            Failure::Declined { error, .. } => error,
            other => other.to_string(),
        })),
        Err(e) => Err(e),
    }
}

/// Pairs of windows until the trial is over; what the cluster engines counted meanwhile is added to the trial.
pub(super) fn pairs(
    agents: &mut Hosts,
    case: &Case,
    trial: &mut Trial,
    turned: &Turned,
    around: &dyn TuneEnv,
) -> Result<Vec<Pair>, TuneError> {
    let before = engines(agents, case)?;
    let pairs = measured(agents, case, trial, turned, around)?;
    let now = engines(agents, case)?;
    for (host, facts) in &before {
        let gain = gained(Some(facts), now.get(host));
        let all = trial.corosync.get(host).map_or(gain, |g| g.and(gain));
        trial.corosync.insert(host.clone(), all);
    }
    Ok(pairs)
}

/// The counters of the cluster engine of each host that had one when everything began. One that does not answer is
/// one of which nothing is known.
fn engines(
    agents: &mut Hosts,
    case: &Case,
) -> Result<BTreeMap<HostName, CorosyncFacts>, HostError> {
    let mut engines = BTreeMap::new();
    for (host, agent) in agents.iter_mut() {
        if case.hosts.get(host).is_some_and(|h| h.corosync.is_some()) {
            let answer = possible(agent.ask(&ReadCorosync))?;
            engines.insert(host.clone(), answer.ok().flatten().unwrap_or_default());
        }
    }
    Ok(engines)
}

fn measured(
    agents: &mut Hosts,
    case: &Case,
    trial: &Trial,
    turned: &Turned,
    around: &dyn TuneEnv,
) -> Result<Vec<Pair>, TuneError> {
    let Some(measure_on) = trial.traffic.as_ref().and_then(|t| Measure::of(case, t)) else {
        return Ok(Vec::new());
    };
    let mut pairs: Vec<Pair> = Vec::new();
    loop {
        let more = judge(&pairs).more;
        if more == 0 {
            break;
        }
        for _ in 0..more {
            let with_first = around.coin();
            let mut half = |with: bool| {
                turned.turn(agents, around, with)?;
                measure(agents, &measure_on)
            };
            let first = half(with_first)?;
            let second = half(!with_first)?;
            let (with, without) = if with_first {
                (first, second)
            } else {
                (second, first)
            };
            pairs.push(Pair {
                with_first,
                without,
                with,
            });
        }
    }
    turned.turn(agents, around, true)?;
    Ok(pairs)
}

/// Whether so little was lost that no candidate could be proven on it; of a stream, whether it did
/// not stall.
pub(super) fn nothing_lost(window: &Window) -> bool {
    match window.stream {
        Some(_) => window.loss() < STALLED,
        None => window.loss() < 0.000_5,
    }
}

/// A stream that misses this share of its own fastest rate in the second half of a window stands
/// still: the finding that led here was of a fall to less than a tenth.
const STALLED: f64 = 0.9;

/// Windows that must lose nothing before a fault counts as cured by what was kept so far.
const LOOKS: usize = 2;

/// Whether this plan's fault is gone already, with what was kept so far.
pub(super) fn cured_already(
    agents: &mut Hosts,
    case: &Case,
    plan: &TrialPlan,
    survivors: &[Survivor],
) -> Result<bool, TuneError> {
    // A steady stream does not tell whether it could be faster.
    let own = plan.is_of_engine();
    let faster = plan.shown_by_rate
        && plan
            .traffic
            .as_ref()
            .is_some_and(|t| t.phase == PhaseKind::Stream);
    if survivors.is_empty() || faster || own {
        return Ok(false);
    }
    let Some(on) = plan.traffic.as_ref().and_then(|t| Measure::of(case, t)) else {
        return Ok(false);
    };
    for _ in 0..LOOKS {
        if !nothing_lost(&measure(agents, &on)?) {
            return Ok(false);
        }
    }
    Ok(true)
}
