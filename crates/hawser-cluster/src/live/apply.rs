//! Applying a plan: to plan and to do what the plan says until the plan is empty.
//!
//! Every effect names what is to be true afterwards, so a run that was killed anywhere is finished
//! by the next one.

use std::time::Duration;

use hawser_host::{HostError, Hosts};
use hawser_model::cluster_file::ClusterFile;
use hawser_model::saved_plan::SavedPlan;

use super::effects::perform;
use super::settle::{Settled, Waiting, not_done, wait_settled};
use super::status::not_running;
use super::undo::{take_back, undo_of};
use super::{LiveError, OnHead, Secrets, Slow, device, gather, head, live_cib};
use crate::host::view::Limits;
use crate::plan::{Change, Effect, Facts, Plan, PlanError, beyond, differences, plan};
use crate::simulate::CrmSimulate;

/// How a plan is applied.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Also when clients notice it.
    pub allow_disruption: bool,
    /// The plan that somebody reviewed: it is what is done, or nothing. Absent: whatever is to be done.
    pub reviewed: Option<&'a SavedPlan>,
    /// How long Pacemaker is waited for each time; absent: as long as the slowest pool may take.
    pub timeout: Option<Duration>,
    /// How long heads may look for the disks of pools.
    pub limits: Limits,
}

/// What was done.
#[derive(Debug, Default)]
pub struct Applied {
    /// The changes, as the first plan had them.
    pub changes: Vec<Change>,
    /// What is to run afterwards and does not, and why.
    pub not_running: Vec<String>,
    /// The notes of the plan that is carried out first.
    pub notes: Vec<String>,
}

/// Why it was not, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Something on the nodes must be fixed first.
    #[error("{}; fix this first:\n{}", so_far(*.begun), .problems.join("\n"))]
    Problems {
        /// Whether something was done before that was found; else nothing was changed.
        begun: bool,
        /// What.
        problems: Vec<String>,
    },
    /// Clients would notice it, and nobody has allowed that.
    #[error(
        "{}, because clients would notice:\n{}\n--allow-disruption does it all the same",
        so_far(*.begun), .changes.join("\n")
    )]
    Disruptive {
        /// Whether something was done before that, which no client noticed; else nothing was changed.
        begun: bool,
        /// What changes, and what Pacemaker does about it.
        changes: Vec<String>,
    },
    /// It is not what somebody reviewed.
    #[error(
        "{}:\n{}\n`hawser plan -o FILE` says what is to be done now", not_reviewed(*.begun), .differs.join("\n")
    )]
    NotReviewed {
        /// Whether what was reviewed is done, and more is to be done than that; else nothing was changed.
        begun: bool,
        /// What differs, line by line.
        differs: Vec<String>,
    },
    /// Whoever was asked did not agree; nothing was changed.
    #[error("{0}")]
    NotAgreed(String),
    /// The plan could not be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A node could not do its part.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// A step failed, and what was done before it was taken back.
    #[error("{cause}\n{}", undone.join("\n"))]
    TakenBack {
        /// Why it failed.
        cause: Box<ApplyError>,
        /// What was put back, and what could not be.
        undone: Vec<String>,
    },
    /// The plan is still not empty.
    #[error("after {rounds} rounds this still differs:\n{}", left.join("\n"))]
    NeverDone {
        /// How often it was planned anew.
        rounds: usize,
        /// What differs.
        left: Vec<String>,
    },
}

impl From<HostError> for ApplyError {
    fn from(error: HostError) -> Self {
        Self::Live(error.into())
    }
}

fn so_far(begun: bool) -> &'static str {
    match begun {
        true => "what was planned first is done, and what is left was not begun",
        false => "nothing was changed",
    }
}

fn not_reviewed(begun: bool) -> &'static str {
    match begun {
        true => {
            "what was reviewed is done, and now more differs, which nobody has reviewed and which is left as it is"
        }
        false => "nothing was changed, because what would be done now is not what was reviewed",
    }
}

/// A first set-up takes two rounds (files and start, then the CIB); the others are for a cluster
/// that somebody else is changing meanwhile.
const ROUNDS: usize = 6;

/// Makes the plan for a live cluster.
///
/// # Errors
/// What cannot be read or understood.
pub fn plan_live(file: &ClusterFile, facts: &Facts, heads: &mut Hosts) -> Result<Plan, ApplyError> {
    let running = facts.nodes.iter().find(|(_, node)| node.running);
    let head = running.and_then(|(name, _)| heads.get_mut(name));
    Ok(match head {
        Some(head) => plan(file, facts, &OnHead::new(head.as_mut()))?,
        None => plan(file, facts, &CrmSimulate)?,
    })
}

/// Applies a cluster file, if `agreed` is content with what is going to be done; `said` hears what is being done.
///
/// # Errors
/// See [`ApplyError`].
pub fn apply(
    file: &ClusterFile,
    heads: &mut Hosts,
    secrets: &Secrets,
    options: Options<'_>,
    agreed: &mut dyn FnMut(&Plan) -> Result<(), String>,
    said: &mut dyn FnMut(&str),
) -> Result<Applied, ApplyError> {
    let mut applied = Applied::default();
    let mut known: Option<Facts> = None;
    let (mut first, mut waited) = (true, false);
    for round in 0..ROUNDS {
        let ask = if round == 0 {
            Slow::Asked(options.limits)
        } else {
            Slow::LeftAlone
        };
        if round == 0 {
            said(
                "the nodes are asked what they have and whether they see their pools, and each fence device whether it answers",
            );
        }
        let mut facts = gather(file, heads, secrets, ask)?;
        match &known {
            None => known = Some(facts.clone()),
            Some(known) => facts.take_slow(known),
        }
        let plan = plan_live(file, &facts, heads)?;
        if first {
            applied.notes.clone_from(&plan.report.notes);
        }
        if plan.is_empty() && plan.report.problems.is_empty() {
            applied.not_running = match round > 0 {
                true => [settle(file, heads, options, said)?, missing(file, heads)?].concat(),
                false => idle(file, heads, options, said)?,
            };
            return Ok(applied);
        }
        if !plan.report.problems.is_empty() {
            return Err(ApplyError::Problems {
                begun: !first,
                problems: plan.report.problems,
            });
        }
        if !plan.under_way.is_empty() && !waited {
            // What is predicted for a cluster that is about to be another one would not come true.
            waited = true;
            settle(file, heads, options, said)?;
            continue;
        }
        if let Some(reviewed) = options.reviewed {
            let differs = match first {
                true => differences(reviewed, &plan),
                false => beyond(reviewed, &plan),
            };
            if !differs.is_empty() {
                let begun = !first;
                return Err(ApplyError::NotReviewed { begun, differs });
            }
        }
        if (plan.is_disruptive() || !plan.taken.is_empty()) && !options.allow_disruption {
            return Err(ApplyError::Disruptive {
                begun: !first,
                changes: disruptive(&plan),
            });
        }
        if std::mem::take(&mut first) {
            applied.changes.clone_from(&plan.report.changes);
            agreed(&plan).map_err(ApplyError::NotAgreed)?;
        }
        for (i, effect) in plan.effects.iter().enumerate() {
            said(&effect.to_string());
            let mut waiting = Waiting {
                timeout: options.timeout,
                said: &mut *said,
            };
            if let Err(cause) = perform(file, heads, secrets, effect, &mut waiting) {
                return Err(taken_back(cause.into(), &plan.effects[..=i], &facts, heads));
            }
        }
    }
    let facts = gather(file, heads, secrets, Slow::LeftAlone)?;
    let plan = plan_live(file, &facts, heads)?;
    if !plan.is_empty() {
        return Err(ApplyError::NeverDone {
            rounds: ROUNDS,
            left: plan.report.changes.iter().map(line).collect(),
        });
    }
    applied.not_running = idle(file, heads, options, said)?;
    Ok(applied)
}

/// What does not run although it should. Before that is said of a cluster that is still busy, it may
/// finish what it does.
fn idle(
    file: &ClusterFile,
    heads: &mut Hosts,
    options: Options<'_>,
    said: &mut dyn FnMut(&str),
) -> Result<Vec<String>, LiveError> {
    let missing = missing(file, heads)?;
    if missing.is_empty() {
        return Ok(missing);
    }
    let late = settle(file, heads, options, said)?;
    Ok([late, self::missing(file, heads)?].concat())
}

fn missing(file: &ClusterFile, heads: &mut Hosts) -> Result<Vec<String>, LiveError> {
    let silent = device::silent(file, &device::ask(file, heads)?).into_iter();
    let silent: Vec<String> = silent.map(|(_, text)| text).collect();
    let (name, cib) = live_cib(file, heads)?.ok_or(LiveError::NotRunning)?;
    let simulator = OnHead::new(head(heads, &name)?.as_mut());
    Ok([silent, not_running(file, &cib, &simulator)?].concat())
}

/// Takes back what was done before a step failed.
fn taken_back(cause: ApplyError, done: &[Effect], facts: &Facts, heads: &mut Hosts) -> ApplyError {
    let undone = take_back(&undo_of(done, facts), heads);
    match undone.is_empty() {
        true => cause,
        false => ApplyError::TakenBack {
            cause: Box::new(cause),
            undone,
        },
    }
}

fn line(change: &Change) -> String {
    format!("    {}: {}", change.object, change.text)
}

fn disruptive(plan: &Plan) -> Vec<String> {
    let changes = plan.report.changes.iter();
    let changes = changes.filter(|change| change.disruptive);
    let then = plan.report.consequence.iter().chain(&plan.taken);
    let then = then.map(|text| format!("    {text}"));
    changes.map(line).chain(then).collect()
}

/// Waits until Pacemaker is done; what is left when time was over is told.
fn settle(
    file: &ClusterFile,
    heads: &mut Hosts,
    options: Options<'_>,
    said: &mut dyn FnMut(&str),
) -> Result<Vec<String>, LiveError> {
    let mut waiting = Waiting {
        timeout: options.timeout,
        said,
    };
    Ok(match wait_settled(file, heads, &mut waiting)? {
        Settled::Done => Vec::new(),
        Settled::Late { seconds, left } => vec![format!(
            "after {seconds} s Pacemaker is not done: {}",
            not_done(&left)
        )],
    })
}
