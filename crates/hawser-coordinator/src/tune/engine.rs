//! Trials that are judged by what a host's cluster engine drops of its own traffic. Hawser sends nothing: the windows watch
//! the engine's sockets under the load that the cluster has.

use std::time::Duration;

use hawser_account::fixes::Candidate;
use hawser_account::trial::{EngineCounts, engine_window, judge, too_quiet};
use hawser_agent::questions::{ReadCorosync, ReadSockets};
use hawser_cluster::live::{cannot_restart, restart_engine};
use hawser_host::{HostError, Hosts, clock, on_all};
use hawser_model::case::Case;
use hawser_model::names::HostName;
use hawser_model::trial::{Pair, Trial, Verdict, Window};

use super::trial::{begin, possible};
use super::turned::Turned;
use super::{TuneEnv, TuneError};

/// Long enough for some rounds of the token and for a burst in them: nobody paces what a cluster engine sends.
const WINDOW: Duration = Duration::from_secs(2);

/// Windows of which one must show the fault before anything is tried.
const LOOKS: usize = 5;

/// Windows without the change before a restart, where no trial on the running engine left any.
const BEFORE: usize = 8;

/// One window on a host.
pub(super) fn measure(agents: &mut Hosts, host: &HostName) -> Result<Window, TuneError> {
    let before = counts(agents, host)?;
    clock(agents).sleep(WINDOW);
    let after = counts(agents, host)?;
    engine_window(&before, &after).ok_or_else(|| {
        TuneError::Engine(format!(
            "no socket of Corosync on {host} was open all the time"
        ))
    })
}

fn counts(agents: &mut Hosts, host: &HostName) -> Result<EngineCounts, HostError> {
    let counted = on_all(agents, |name, agent| -> Result<_, HostError> {
        let sockets = match name == host {
            true => agent.ask(&ReadSockets)?,
            false => Vec::new(),
        };
        let engine = possible(agent.ask(&ReadCorosync))?;
        Ok((sockets, engine.ok().flatten()))
    })?;
    let mut counts = EngineCounts::default();
    for (name, (sockets, engine)) in counted {
        counts.sockets.extend(sockets);
        if name == *host {
            counts.own = engine.clone();
        }
        counts.all.push(engine);
    }
    Ok(counts)
}

/// Why nothing can be proven: the engine drops nothing now.
pub(super) fn quiet(agents: &mut Hosts, host: &HostName) -> Result<Option<String>, TuneError> {
    for _ in 0..LOOKS {
        if !measure(agents, host)?.lost.is_zero() {
            return Ok(None);
        }
    }
    Ok(Some(format!(
        "Corosync on {host} dropped nothing in {} s, so a cure cannot be proven; repeat this under the load that showed it",
        LOOKS as u64 * WINDOW.as_secs()
    )))
}

/// What the trial on the running engine said of a larger buffer.
enum Running<'a> {
    /// It helped: these are its windows.
    Helped(&'a [Pair]),
    /// It did not.
    Useless,
    /// It could not be tried.
    Untried,
}

impl<'a> Running<'a> {
    /// By the last of a plan's trials so far.
    fn of(trials: &'a [Trial]) -> Self {
        match trials.last() {
            Some(trial) if !trial.pairs.is_empty() => match judge(&trial.pairs).verdict {
                Verdict::Better => Self::Helped(&trial.pairs),
                _ => Self::Useless,
            },
            _ => Self::Untried,
        }
    }
}

/// Turns a knob that the engine takes when it starts, starts the engine of that host again, and judges by the windows after
/// that. `before` are the trials of the plan so far. Answers what was turned when it is proven; else it is undone.
pub(super) fn run(
    agents: &mut Hosts,
    case: &Case,
    candidate: &Candidate,
    around: &dyn TuneEnv,
    before: &[Trial],
    trial: &mut Trial,
) -> Result<Option<Turned>, TuneError> {
    let (host, running) = (trial.host.clone(), Running::of(before));
    if !around.may_restart_engine() {
        trial.not_tried = Some(format!(
            "Corosync takes it only when it starts; `hawser tune --restart-engine` starts the one on {host} again, unless \
             that costs redundancy"
        ));
        return Ok(None);
    }
    if let Running::Useless = running {
        trial.not_tried = Some(
            "a larger buffer of the running engine was not proven to help, so it was not started again for one"
                .to_owned(),
        );
        return Ok(None);
    }
    if let Some(why) = cannot_restart(agents, &host).map_err(live)? {
        trial.not_tried = Some(format!("the engine was not started again: {why}"));
        return Ok(None);
    }
    let without: Vec<Window> = match running {
        Running::Helped(pairs) => pairs.iter().map(|pair| pair.without).collect(),
        _ => (0..BEFORE)
            .map(|_| measure(agents, &host))
            .collect::<Result<_, _>>()?,
    };
    let turned = match begin(agents, case, candidate, around, trial)? {
        Ok(turned) => turned,
        Err(why) => {
            trial.not_tried = Some(why);
            return Ok(None);
        }
    };
    trial.to = turned.after(trial);
    let proven = started_again(agents, around, &without, trial)
        .map(|better| better && too_quiet(trial, before).is_none());
    match proven {
        Ok(true) => Ok(Some(turned)),
        Ok(false) => {
            turned.undo(agents, around, trial)?;
            Ok(None)
        }
        Err(error) => {
            // The first error is the one to tell; an agent that is gone has its guard.
            let _guarded = turned.undo(agents, around, trial);
            Err(error)
        }
    }
}

/// Starts the engine again and measures; whether it is better.
fn started_again(
    agents: &mut Hosts,
    around: &dyn TuneEnv,
    without: &[Window],
    trial: &mut Trial,
) -> Result<bool, TuneError> {
    let host = &trial.host.clone();
    around.engine_restarts(host);
    trial.restarted = true;
    let took = restart_engine(agents, host).map_err(live)?;
    around.engine_is_back(host, took);
    for without in without {
        let with = measure(agents, host)?;
        if trial.pairs.is_empty() && with.buffer <= without.buffer {
            trial.not_tried = Some(format!(
                "Corosync was started again and has a receive buffer of {}, no larger than before",
                with.buffer
            ));
            return Ok(false);
        }
        trial.pairs.push(Pair {
            with_first: false,
            without: *without,
            with,
        });
        let judged = judge(&trial.pairs);
        if judged.more == 0 {
            break;
        }
    }
    Ok(judge(&trial.pairs).verdict == Verdict::Better)
}

fn live(error: hawser_cluster::live::LiveError) -> TuneError {
    TuneError::Engine(error.to_string())
}
