//! What the loss of a node would come to. The simulator takes for granted that whoever is to be switched off is, and that
//! what is started starts; what the heads are known not to be able to do is told instead.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_model::output::cluster::NodeStatus;

use super::{fencing, ready};
use crate::live::views::StatusFacts;
use crate::simulate::{Picture, Story, StoryStep, place_in_words, step_in_words};
use crate::xml::Element;

/// What a head lacks to take a pool over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lacks {
    /// The pool's disks.
    Disks,
    /// What offers it, or a file of it that can be read.
    Exports,
}

/// What the heads are known not to be able to do.
#[derive(Debug, Default)]
pub(super) struct Cannot {
    /// Who could not be switched off by anybody.
    fenced: BTreeSet<HostName>,
    /// The only member: whoever would switch it off or take its pools over is missing as well.
    last: Option<HostName>,
    /// What a head lacks for a pool.
    take: BTreeMap<(HostName, String), Lacks>,
}

impl Cannot {
    pub fn of(
        file: &ClusterFile,
        cib: &Element,
        nodes: &[NodeStatus],
        now: &Picture,
        facts: &StatusFacts,
    ) -> Self {
        let mut members = nodes.iter().filter(|node| super::member(node));
        let first = members.next().map(|node| node.name.clone());
        Self {
            last: first.filter(|_| members.next().is_none()),
            fenced: fencing::unfenceable(file, cib, nodes, now, facts),
            take: ready::lacks(file, facts),
        }
    }

    /// Whether the loss of this node would be no outage beyond a takeover, as far as the stories tell: what runs on it can
    /// be taken by those that are left.
    pub fn survived(&self, node: &HostName, stories: &[&Story]) -> bool {
        let places = stories.last().into_iter().flat_map(|story| &story.pools);
        let mut moved = places.filter(|(_, place)| {
            let had = place.before.as_deref() == Some(node.as_str());
            had && place.after != place.before
        });
        moved.all(|(pool, place)| {
            let lacks = place
                .after
                .as_deref()
                .and_then(|after| self.lacks(after, pool));
            !self.fenced.contains(node) && lacks.is_none()
        })
    }

    /// What follows from the loss of a node, in sentences.
    pub fn told(&self, node: &HostName, stories: &[&Story]) -> Vec<String> {
        if self.last.as_ref() == Some(node) {
            let why = format!(
                "no other head is a member: nothing of {node} is taken over before one has joined"
            );
            return self.not_taken(why, node, stories);
        }
        if self.fenced.contains(node) {
            let why = format!(
                "{node} is not switched off, as said above: nothing of it is taken over until somebody has seen that \
                 it has no power, and has told Pacemaker so"
            );
            return self.not_taken(why, node, stories);
        }
        let steps = stories.iter().flat_map(|story| {
            let steps = story.steps.iter().filter_map(|step| self.step(step));
            let places = story.pools.iter();
            steps.chain(places.map(|(pool, place)| {
                let after = place.after.as_deref();
                let moved = place.after != place.before;
                match after
                    .filter(|_| moved)
                    .and_then(|after| self.lacks(after, pool))
                {
                    Some(Lacks::Disks) => {
                        format!("{pool} runs nowhere, unless another head can take it")
                    }
                    Some(Lacks::Exports) => {
                        format!("{pool} is not offered, unless another head can offer it")
                    }
                    None => place_in_words(pool, place),
                }
            }))
        });
        steps.collect()
    }

    /// A step that is taken; one that fails says so, and what needs it is not tried.
    fn step(&self, step: &StoryStep) -> Option<String> {
        let fails = |node: &str, pool: &str| self.lacks(node, pool);
        match step {
            StoryStep::Storage {
                pool,
                start: true,
                node,
                ..
            } if fails(node, pool) == Some(Lacks::Disks) => {
                Some(format!("{node} fails to take {pool}, as said above"))
            }
            StoryStep::Exports {
                pool,
                start: true,
                node,
            } => match fails(node, pool) {
                Some(Lacks::Disks) => None,
                Some(Lacks::Exports) => {
                    Some(format!("{node} fails to offer {pool}, as said above"))
                }
                None => Some(step_in_words(step)),
            },
            StoryStep::Addresses {
                pool,
                start: true,
                node,
                ..
            } if fails(node, pool).is_some() => None,
            step => Some(step_in_words(step)),
        }
    }

    fn lacks(&self, head: &str, pool: &str) -> Option<Lacks> {
        let of = (HostName::from(head), pool.to_owned());
        self.take.get(&of).copied()
    }

    /// A sentence why nothing of a node is taken over, and where the pools are meanwhile.
    fn not_taken(&self, why: String, node: &HostName, stories: &[&Story]) -> Vec<String> {
        let places = stories.last().into_iter().flat_map(|story| &story.pools);
        let places = places.map(|(pool, place)| match &place.before {
            Some(before) if before == node.as_str() => format!("{pool} runs nowhere until then"),
            Some(before) if self.last.is_some() => {
                format!("{pool} is not taken over from {before} before that")
            }
            Some(before) => format!("{pool} stays on {before}"),
            None => format!("{pool} runs nowhere"),
        });
        iter::once(why).chain(places).collect()
    }
}
