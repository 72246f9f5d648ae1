//! A plan that somebody reviewed, against the one of now.
//!
//! Compared is what is done, what was found where it is done, and what Pacemaker does about it. How long that takes is an
//! estimate, and what else is in the cluster is none of the plan's business.

use std::collections::BTreeMap;

use hawser_model::cluster_file::ClusterFile;
use hawser_model::output::cluster::Change;
use hawser_model::saved_plan::{PLAN_FORMAT, SavedPlan, SavedStep};
use sha2::{Digest as _, Sha256};

use super::diff::ObjectChange;
use super::effects::{Effect, Stage};
use super::unified::hide;
use super::{Plan, words};
use crate::cib::secrets::{Content, NodeFile};
use crate::hex;

/// Where a plan comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The cluster file.
    pub file: &'a ClusterFile,
    /// Where that is.
    pub path: &'a str,
    /// The lab whose nodes they are.
    pub lab: Option<&'a str>,
    /// Seconds since 1970 UTC.
    pub made: u64,
}

/// What is saved of a plan.
pub fn saved(plan: &Plan, origin: Origin<'_>) -> SavedPlan {
    SavedPlan {
        format: PLAN_FORMAT.into(),
        hawser: env!("CARGO_PKG_VERSION").into(),
        made: origin.made,
        cluster: origin.file.cluster.name.to_string(),
        lab: origin.lab.map(str::to_owned),
        path: origin.path.to_owned(),
        file: origin.file.text.clone(),
        changes: plan.report.changes.clone(),
        pacemaker: pacemaker(plan),
        problems: plan.report.problems.clone(),
        steps: plan.effects.iter().map(step).collect(),
        digests: BTreeMap::new(),
    }
}

/// In what a plan differs from the one that was reviewed, line by line; empty when it is that one.
pub fn differences(reviewed: &SavedPlan, now: &Plan) -> Vec<String> {
    let was = reviewed.changes.iter().map(words::change);
    let is: Vec<String> = now.report.changes.iter().map(words::change).collect();
    let mut lines = between(was.collect(), is);
    let reacts = between(reviewed.pacemaker.clone(), pacemaker(now));
    lines.extend(reacts.into_iter().map(|line| format!("{line} (Pacemaker)")));
    if !lines.is_empty() {
        return lines.iter().map(|line| format!("    {line}")).collect();
    }
    let steps: Vec<SavedStep> = now.effects.iter().map(step).collect();
    match reviewed.steps == steps {
        true => Vec::new(),
        false => vec![format!("    {}", other_step(&reviewed.steps, &steps))],
    }
}

/// What a plan would do beyond the one that was reviewed, of which a part is done.
pub fn beyond(reviewed: &SavedPlan, now: &Plan) -> Vec<String> {
    let known = |change: &&Change| {
        let mut all = reviewed.changes.iter();
        all.any(|it| {
            it.object == change.object
                && it.action == change.action
                && it.disruptive >= change.disruptive
        })
    };
    let changes = now.report.changes.iter();
    let others = changes.filter(|change| !known(change));
    others
        .map(|change| format!("    not reviewed: {}", words::change(change)))
        .collect()
}

/// What Pacemaker does, and what that takes away.
fn pacemaker(plan: &Plan) -> Vec<String> {
    plan.pacemaker.iter().chain(&plan.taken).cloned().collect()
}

/// Lines that only one of both has. Their order is the plan's own.
fn between(was: Vec<String>, mut is: Vec<String>) -> Vec<String> {
    let mut lines = Vec::new();
    for line in was {
        match is.iter().position(|it| *it == line) {
            Some(at) => drop(is.remove(at)),
            None => lines.push(format!("reviewed, and not so now: {line}")),
        }
    }
    lines.extend(is.iter().map(|line| format!("not reviewed: {line}")));
    lines
}

/// The first step that is another one.
fn other_step(was: &[SavedStep], is: &[SavedStep]) -> String {
    let mut pairs = was.iter().zip(is);
    let other = pairs.find(|(was, is)| was != is);
    match other {
        Some((was, is)) if was.does == is.does => {
            format!(
                "{}: what is written would not be what was reviewed",
                is.does
            )
        }
        Some((was, is)) => format!("{}, where \"{}\" was reviewed", is.does, was.does),
        None => format!("{} steps, where {} were reviewed", is.len(), was.len()),
    }
}

fn step(effect: &Effect) -> SavedStep {
    let written = match effect {
        Effect::WriteFile { file, .. } => Some(node_file(file)),
        Effect::PatchCib { stage, changes } => {
            let changes: Vec<String> = changes.iter().map(|it| object(*stage, it)).collect();
            Some(changes.join("\n"))
        }
        _ => effect.corosync_conf().map(|(_, text)| text.to_owned()),
    };
    SavedStep {
        does: effect.to_string(),
        sha256: written.map(|text| sha256(&text)),
    }
}

fn node_file(file: &NodeFile) -> String {
    let content = match &file.content {
        Content::Text(text) => format!("text\n{text}"),
        Content::Secret(secret) => format!("secret {secret}"),
        Content::SecretMd5(secret) => format!("md5 {secret}"),
    };
    format!("{:04o} {content}", file.mode)
}

/// An object as it is to be. What is only stopped is what others made: nothing of it is told, not even by a digest.
fn object(stage: Stage, change: &ObjectChange) -> String {
    let desired = match (&change.desired, stage) {
        (None, _) => "goes".to_owned(),
        (Some(_), Stage::StopWhatGoes) => "stops".to_owned(),
        (Some(object), _) => {
            let mut element = object.element.clone();
            hide(&mut element);
            format!("{}{:?}", element.to_text(), object.inside)
        }
    };
    format!("{}: {desired}", change.key)
}

/// In hexadecimal.
pub(super) fn sha256(text: &str) -> String {
    hex::digits(&Sha256::digest(text.as_bytes()))
}
