//! A whole tune: after a check, every candidate fix as an experiment, the useless ones rolled
//! back, the survivors measured together, and only then kept.
//!
//! Until the very end every change is a trial: whatever ends this process or an agent before,
//! the guards on the hosts put everything back.

mod engine;
mod fanout;
mod trial;
mod turned;
mod window;

use std::collections::BTreeMap;
use std::time::Duration;

use hawser_account::fixes::{self, Taken, TrialPlan};
use hawser_account::trial::needless;
use hawser_agent::questions::ReadChanges;
use hawser_host::{Host, HostError, Hosts};
use hawser_model::case::{Absent, Case, Stopped};
use hawser_model::knob::{Change, Knob, Scope, Standing, change_id};
use hawser_model::names::{HostName, LinkName};
use hawser_model::trial::{Also, DRY_RUN, Trial, Tuning};

use crate::check::{self, CheckError, Progress};
use crate::fanout::FanoutError;
use crate::traffic_plan::TrafficOptions;
use turned::Turned;

pub use fanout::tune_fanout;

/// Why a tune could not go on. What it had changed is undone.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// A host cannot be asked.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A check could not be made.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// A fan-out could not be measured.
    #[error(transparent)]
    Fanout(#[from] FanoutError),
    /// The cluster on a host got into trouble: nothing is tried beside that.
    #[error("stopped by {}: {}; everything is as before", .0.host, .0.what)]
    Stopped(Stopped),
    /// The cluster engine could not be asked or started again.
    #[error("{0}")]
    Engine(String),
    /// A host was lost during the last check.
    #[error("{}: {}", .0.host, .0.reason)]
    Lost(Absent),
    /// A host was lost, or declined, while the changes that cure were kept, and those that are kept, or may be, could not
    /// be undone.
    #[error("{why}; NOT all may be as before: {}", kept(left))]
    HalfKept {
        /// Why not all are kept.
        why: HostError,
        /// Those that are, or may be.
        left: Vec<(HostName, Change)>,
    },
    /// A host has a trial of an agent that runs.
    #[error("{host}: change {number} of an earlier tune is still a trial of a running agent")]
    Busy {
        /// The host.
        host: HostName,
        /// The change.
        number: u64,
    },
}

/// Changes that may be kept, and how each is taken back.
fn kept(changes: &[(HostName, Change)]) -> String {
    let each = changes.iter().map(|(host, change)| {
        let (knob, id) = (&change.knob, change_id(host, change.number));
        format!(
            "{knob} of {host} stays {}; `hawser undo {id}` takes it back",
            change.after
        )
    });
    each.collect::<Vec<_>>().join("; ")
}

/// What a tune needs of the world around it.
pub trait TuneEnv: Progress {
    /// A knob that reaches further than its node is about to get this value. An error means that
    /// it must not, and why.
    fn announce(&self, host: &HostName, knob: &Knob, value: &str) -> Result<(), String>;
    /// The ports of the link's switch that may be turned as well: those of a lab.
    fn ports(&self, link: &LinkName) -> Vec<Also>;
    /// Does something with who answers beside that switch.
    fn on_switch(&self, switch: &HostName, work: &mut dyn FnMut(&mut dyn Host));
    /// Whether the cluster engine of one host may be started again, where that costs no redundancy.
    fn may_restart_engine(&self) -> bool {
        false
    }
    /// The engine of a host is about to be started again.
    fn engine_restarts(&self, _host: &HostName) {}
    /// It was, and after so long all are members again.
    fn engine_is_back(&self, _host: &HostName, _took: Duration) {}
    /// A fair coin.
    fn coin(&self) -> bool;
    /// A trial begins: its number from 1, of how many.
    fn trial_begins(&self, trial: &Trial, number: usize, of: usize);
    /// A trial is over.
    fn trial_ended(&self, trial: &Trial);
}

/// A survivor, and what it has turned.
struct Survivor {
    trial: usize,
    turned: Turned,
    /// Turned to and fro it shows something; what takes a restart does not.
    at_once: bool,
}

impl Survivor {
    fn undo(
        &self,
        agents: &mut Hosts,
        around: &dyn TuneEnv,
        trials: &mut [Trial],
    ) -> Result<(), TuneError> {
        let trial = &mut trials[self.trial];
        self.turned.undo(agents, around, trial)
    }
}

/// Tries everything that might cure what `case` found, and keeps what does; with `placebos`, tries
/// so many changes that do nothing instead.
///
/// # Errors
/// See [`TuneError`]; every change is undone then.
pub fn tune(
    agents: &mut Hosts,
    case: &Case,
    options: &TrafficOptions,
    placebos: Option<u32>,
    around: &dyn TuneEnv,
    now: u64,
) -> Result<Tuning, TuneError> {
    no_trial_is_open(agents)?;
    let mut plans = fixes::plans(case);
    if let Some(trials) = placebos {
        plans = fixes::placebos(plans, trials);
    }
    experiment(agents, case, &plans, around, |agents| {
        prove(agents, case, options, around, now)
    })
}

/// What [`tune`] would try after this case, in its order, with the value that each knob has and would get. Nothing is
/// turned.
///
/// # Errors
/// See [`TuneError`].
pub fn dry_run(agents: &mut Hosts, case: &Case) -> Result<Tuning, TuneError> {
    no_trial_is_open(agents)?;
    let mut trials = Vec::new();
    for plan in fixes::plans(case) {
        for candidate in &plan.candidates {
            let mut trial = trial::planned(&plan, candidate);
            trial.not_tried = Some(match trial::look(agents, candidate, &mut trial)? {
                Ok(_) if candidate.taken == Taken::AtEngineStart => ENGINE_STARTS.to_owned(),
                Ok(_) => DRY_RUN.to_owned(),
                Err(why) => why,
            });
            trials.push(trial);
        }
    }
    Ok(Tuning {
        trials,
        changes: BTreeMap::new(),
        after: None,
    })
}

/// Of a candidate that an engine takes only when it starts.
const ENGINE_STARTS: &str =
    "a dry run; with --restart-engine alone, since the engine takes it when it starts";

/// Nobody else's trial is under way, and none was left behind.
fn no_trial_is_open(agents: &mut Hosts) -> Result<(), TuneError> {
    for (host, agent) in agents.iter_mut() {
        let changes = agent.ask(&ReadChanges)?.changes;
        // One with a reason has no agent any more: it is in the way of its own knob alone.
        let trial = |c: &&Change| c.standing == Standing::Trial && c.not_persisted.is_none();
        if let Some(change) = changes.iter().find(trial) {
            return Err(TuneError::Busy {
                host: host.clone(),
                number: change.number,
            });
        }
    }
    Ok(())
}

/// Tries every candidate, leaves the needless out, has what is left proven, and keeps it.
fn experiment(
    agents: &mut Hosts,
    case: &Case,
    plans: &[TrialPlan],
    around: &dyn TuneEnv,
    prove: impl FnOnce(&mut Hosts) -> Result<Case, TuneError>,
) -> Result<Tuning, TuneError> {
    let mut trials = Vec::new();
    let mut survivors = Vec::new();
    let done = try_all(agents, case, plans, around, &mut trials, &mut survivors)
        .and_then(|()| leave_out(agents, case, around, &mut trials, &mut survivors))
        .and_then(|()| match survivors.as_slice() {
            [] => Ok(None),
            _ => prove(agents).map(Some),
        });
    let after = match done {
        Ok(after) => after,
        Err(error) => {
            // An agent that is gone has its guard.
            for survivor in survivors.iter().rev() {
                let _guarded = survivor.undo(agents, around, &mut trials);
            }
            return Err(error);
        }
    };
    let proven: Vec<&Turned> = survivors.iter().map(|survivor| &survivor.turned).collect();
    let mut changes: BTreeMap<HostName, Vec<Change>> = BTreeMap::new();
    for (host, kept) in turned::keep(&proven, agents, around)? {
        changes.entry(host).or_default().push(kept);
    }
    for survivor in &survivors {
        trials[survivor.trial].kept = true;
    }
    Ok(Tuning {
        trials,
        changes,
        after: after.map(Box::new),
    })
}

/// Every candidate of every plan in turn. What is better and leaves some of the fault is put aside: it would be in the way
/// of proving what cures all of it, and is needed only where nothing does.
fn try_all(
    agents: &mut Hosts,
    case: &Case,
    plans: &[TrialPlan],
    around: &dyn TuneEnv,
    trials: &mut Vec<Trial>,
    survivors: &mut Vec<Survivor>,
) -> Result<(), TuneError> {
    let of = plans.iter().map(|p| p.candidates.len()).sum();
    for plan in plans {
        if trial::cured_already(agents, case, plan, survivors)? {
            continue;
        }
        let quiet = match plan.is_of_engine() {
            true => engine::quiet(agents, &plan.host)?,
            false => None,
        };
        let first = trials.len();
        let mut cured: Option<String> = None;
        let mut aside = Vec::new();
        for candidate in &plan.candidates {
            let mut trial = trial::planned(plan, candidate);
            around.trial_begins(&trial, trials.len() + 1, of);
            let at_once = candidate.taken == Taken::AtOnce;
            let turned = match (&cured, &quiet) {
                (_, Some(why)) => {
                    trial.not_tried = Some(why.clone());
                    None
                }
                // The buffer of a running engine ends with it; what it gets when it starts is tried beside that.
                _ if !at_once => engine::run(
                    agents,
                    case,
                    candidate,
                    around,
                    &trials[first..],
                    &mut trial,
                )?,
                (Some(by), None) => {
                    trial.not_tried = Some(by.clone());
                    None
                }
                (None, None) => trial::run(agents, case, candidate, around, &mut trial)?,
            };
            around.trial_ended(&trial);
            if trial.restarted {
                let closed = survivors.iter().position(|s| s.trial >= first);
                if let Some(closed) = closed {
                    // Its socket was closed: the journal forgets it.
                    survivors.remove(closed).undo(agents, around, trials)?;
                    aside.clear();
                }
            }
            let knob = trial.knob.clone();
            let gone = trial.pairs.iter().all(|p| trial::nothing_lost(&p.with));
            trials.push(trial);
            if let Some(turned) = turned {
                survivors.push(Survivor {
                    trial: trials.len() - 1,
                    turned,
                    at_once,
                });
                if !at_once {
                    continue;
                }
                if gone {
                    cured = Some(format!("the fault is gone since {knob} was turned"));
                } else if let Some(Survivor { trial, turned, .. }) = survivors.last() {
                    turned.turn(agents, around, false)?;
                    aside.push(*trial);
                }
            }
        }
        take_back(agents, around, trials, survivors, (&aside, cured.is_none()))?;
    }
    Ok(())
}

/// What was put aside is turned again, or goes for good.
fn take_back(
    agents: &mut Hosts,
    around: &dyn TuneEnv,
    trials: &mut [Trial],
    survivors: &mut Vec<Survivor>,
    (aside, needed): (&[usize], bool),
) -> Result<(), TuneError> {
    for trial in aside {
        let Some(place) = survivors.iter().position(|s| s.trial == *trial) else {
            continue;
        };
        match needed {
            true => survivors[place].turned.turn(agents, around, true)?,
            false => survivors.remove(place).undo(agents, around, trials)?,
        }
    }
    Ok(())
}

/// With several survivors, each is left out in turn: what the others do as well goes.
fn leave_out(
    agents: &mut Hosts,
    case: &Case,
    around: &dyn TuneEnv,
    trials: &mut [Trial],
    survivors: &mut Vec<Survivor>,
) -> Result<(), TuneError> {
    let mut place = 0;
    // The last one has nobody who could do as well without it.
    while place < survivors.len() && survivors.len() > 1 {
        let survivor = &survivors[place];
        if !survivor.at_once {
            place += 1;
            continue;
        }
        let trial = &mut trials[survivor.trial];
        let left_out = trial::pairs(agents, case, trial, &survivor.turned, around)?;
        trial.left_out = left_out;
        if needless(&trial.left_out) {
            survivors.remove(place).undo(agents, around, trials)?;
        } else {
            place += 1;
        }
    }
    Ok(())
}

/// The same check again, with all survivors in place.
fn prove(
    agents: &mut Hosts,
    case: &Case,
    options: &TrafficOptions,
    around: &dyn TuneEnv,
    now: u64,
) -> Result<Case, TuneError> {
    let hosts = check::facts(agents)?;
    let topology = case.topology.clone();
    let after = check::check(
        agents,
        topology,
        hosts,
        options,
        &hawser_account::disturbed,
        around,
        now,
    )?;
    if let Some(lost) = after.absent.first() {
        return Err(TuneError::Lost(lost.clone()));
    }
    match after.stopped.clone() {
        // One that was stopped before anything was tried may be again: what was kept is proven by the engine itself.
        Some(stopped) if case.stopped.is_none() => Err(TuneError::Stopped(stopped)),
        _ => Ok(after),
    }
}

/// Whether a knob of this scope on one node may be turned for others too.
fn reaches_beyond(scope: Scope, case: &Case, host: &HostName) -> bool {
    let node = case.topology.node(host);
    scope == Scope::Machine && node.is_some_and(|node| node.reach.may_share_a_machine())
}
