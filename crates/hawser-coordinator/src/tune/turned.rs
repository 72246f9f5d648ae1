//! Knobs of several hosts turned as one change: in order, back the other way round, and undone or
//! kept together. Each host's own journal has its part, so each host's guard undoes it.

use hawser_account::fixes::{in_order, others, siblings};
use hawser_agent::questions::{KeepChange, ReadKnob, TryKnob, TurnKnob, UndoChange};
use hawser_host::{Ask, Failure, HostError, Hosts};
use hawser_model::case::Case;
use hawser_model::knob::{Change, Undone, change_id};
use hawser_model::names::HostName;
use hawser_model::trial::{Also, LeftAt, Trial};

use super::trial::possible;
use super::{TuneEnv, TuneError};

/// A knob that was turned on a host.
type Step = (HostName, Change);

/// What was turned, in the order in which it was turned.
pub(super) struct Turned {
    steps: Vec<Step>,
}

impl Turned {
    /// Turns the trial's knob, and what must be turned with it, from `from` to `value`. The inner
    /// error is why it could not be; then everything is as before.
    pub(super) fn begin(
        agents: &mut Hosts,
        case: &Case,
        around: &dyn TuneEnv,
        trial: &mut Trial,
        from: &str,
        value: &str,
    ) -> Result<Result<Self, String>, TuneError> {
        let first = Also {
            host: trial.host.clone(),
            knob: trial.knob.clone(),
        };
        let steps = match others(case, &first.host, &first.knob, value) {
            None => {
                let mut steps = siblings(case, &first.host, &first.knob, value);
                steps.insert(0, first.clone());
                steps
            }
            Some((link, ends)) => {
                let raise = number(value) > number(from);
                let ports = ports(around, &link, |now| {
                    now != number(value) && (now < number(value)) == raise
                })?;
                in_order(ports, ends, first.clone(), raise)
            }
        };
        trial.also = steps.iter().filter(|s| **s != first).cloned().collect();
        let mut turned = Self { steps: Vec::new() };
        for step in steps {
            let question = TryKnob {
                knob: step.knob.clone(),
                value: value.to_owned(),
            };
            let tried = ask(agents, around, &step.host, &question);
            match possible(tried)? {
                Ok(change) => turned.steps.push((step.host, change)),
                Err(why) => {
                    turned.undo(agents, around, trial)?;
                    return Ok(Err(match step == first {
                        true => why,
                        false => format!("{} on {}: {why}", step.knob, step.host),
                    }));
                }
            }
        }
        Ok(Ok(turned))
    }

    /// The value after, as the kernel of the trial's own host has taken it.
    pub(super) fn after(&self, trial: &Trial) -> Option<String> {
        let mut own = self.steps.iter().filter(|(host, _)| *host == trial.host);
        own.find(|(_, c)| c.knob == trial.knob)
            .map(|(_, c)| c.after.clone())
    }

    /// To the values after, or to the values before.
    pub(super) fn turn(
        &self,
        agents: &mut Hosts,
        around: &dyn TuneEnv,
        with: bool,
    ) -> Result<(), TuneError> {
        let turn = |(host, change): &Step| {
            let question = TurnKnob {
                change: change.number,
                after: with,
            };
            ask(agents, around, host, &question)
        };
        let mut steps = self.steps.iter();
        if with {
            steps.try_for_each(turn)?;
        } else {
            steps.rev().try_for_each(turn)?;
        }
        Ok(())
    }

    /// Undoes all of it; what an agent that is gone has changed, its guard undoes. The trial takes down what did not get
    /// its old value back.
    pub(super) fn undo(
        &self,
        agents: &mut Hosts,
        around: &dyn TuneEnv,
        trial: &mut Trial,
    ) -> Result<(), TuneError> {
        let mut failed = None;
        for ((host, change), undone) in self.undone(agents, around) {
            match undone {
                Ok(undone) => trial.left_at.extend(undone.left_at.map(|value| LeftAt {
                    host: host.clone(),
                    knob: change.knob.clone(),
                    value,
                })),
                Err(error) => failed = failed.or(Some(error.into())),
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Undoes all of it, the last one first.
    fn undone(
        &self,
        agents: &mut Hosts,
        around: &dyn TuneEnv,
    ) -> Vec<(&Step, Result<Undone, HostError>)> {
        let steps = self.steps.iter().rev();
        let undone = steps.map(|step| {
            let question = UndoChange(step.1.number);
            (step, ask(agents, around, &step.0, &question))
        });
        undone.collect()
    }

    /// Keeps all of it, and says what is kept, or may be, also when one cannot be: whoever is lost may have done it.
    fn keep(
        &self,
        agents: &mut Hosts,
        around: &dyn TuneEnv,
        kept: &mut Vec<Step>,
    ) -> Result<(), HostError> {
        let together: Vec<String> = match self.steps.as_slice() {
            [_] => Vec::new(),
            steps => steps.iter().map(|(h, c)| change_id(h, c.number)).collect(),
        };
        for (host, change) in &self.steps {
            let question = KeepChange {
                change: change.number,
                together: together.clone(),
            };
            match ask(agents, around, host, &question) {
                Ok(change) => kept.push((host.clone(), change)),
                Err(e) => {
                    if !e.host_goes_on() {
                        kept.push((host.clone(), change.clone()));
                    }
                    return Err(e);
                }
            }
        }
        Ok(())
    }
}

/// Keeps all of these, or none: where one cannot be kept, those that were are undone.
pub(super) fn keep(
    all: &[&Turned],
    agents: &mut Hosts,
    around: &dyn TuneEnv,
) -> Result<Vec<Step>, TuneError> {
    let mut kept = Vec::new();
    let mut each = all.iter();
    let Err(why) = each.try_for_each(|turned| turned.keep(agents, around, &mut kept)) else {
        return Ok(kept);
    };
    let stays = |(host, change): &Step| {
        let mut kept = kept.iter();
        kept.any(|(at, it)| at == host && it.number == change.number)
    };
    let mut left = Vec::new();
    for turned in all.iter().rev() {
        // A trial that is not undone has its guard.
        let undone = turned.undone(agents, around).into_iter();
        let not_undone = undone.filter(|(_, undone)| undone.is_err());
        left.extend(not_undone.map(|(step, _)| step.clone()).filter(&stays));
    }
    Err(match left.is_empty() {
        true => why.into(),
        false => TuneError::HalfKept { why, left },
    })
}

/// The ports of the link's switch that are `due` by their MTU.
fn ports(
    around: &dyn TuneEnv,
    link: &hawser_model::names::LinkName,
    due: impl Fn(Option<u32>) -> bool,
) -> Result<Vec<Also>, TuneError> {
    let mut ports = Vec::new();
    for port in around.ports(link) {
        let mut setting = None;
        around.on_switch(&port.host, &mut |agent| {
            setting = Some(agent.ask(&ReadKnob(port.knob.clone())));
        });
        if let Some(setting) = setting {
            if due(number(&setting?.value)) {
                ports.push(port);
            }
        }
    }
    Ok(ports)
}

/// Asks a host, or who answers beside a switch. A host that a check lost is neither.
fn ask<A: Ask>(
    agents: &mut Hosts,
    around: &dyn TuneEnv,
    host: &HostName,
    question: &A,
) -> Result<A::Answer, HostError> {
    if let Some(agent) = agents.get_mut(host) {
        return agent.ask(question);
    }
    let mut answer = None;
    around.on_switch(host, &mut |agent| answer = Some(agent.ask(question)));
    answer.unwrap_or_else(|| {
        Err(HostError {
            host: host.clone(),
            failure: Box::new(Failure::Ended {
                question: A::NAME,
                said: String::new(),
            }),
        })
    })
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok()
}
