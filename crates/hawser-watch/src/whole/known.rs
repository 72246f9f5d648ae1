//! What is known of all heads at a moment, for whoever judges or shows it.

use std::collections::BTreeMap;

use hawser_cluster::live::StatusFacts;
use hawser_model::names::HostName;
use hawser_model::output::live::LivePage;
use hawser_model::output::top::{Answers, TopLook, TopPicture};
use hawser_model::output::watch::Alarm;

use super::Whole;
use crate::ask::Facts;
use crate::group::grouped;
use crate::live::{LiveInput, live_page};
use crate::picture::{Parts, picture};
use crate::reading::reading;
use crate::shown::Shown;

impl Whole {
    /// What is known at this moment, the newest of everything.
    pub(super) fn facts(&self) -> Facts {
        let status = self.view.as_ref().map(|view| view.facts.clone());
        let mut facts = Facts {
            read_at: self.time_of_day,
            status: status.unwrap_or_default(),
            ..Facts::default()
        };
        for (name, head) in &self.heads {
            match &head.answers {
                Answers::Yes => {
                    let mut own = head.resident.facts();
                    facts.status.unreached.remove(name);
                    facts
                        .status
                        .views
                        .extend(own.status.views.remove_entry(name));
                    facts.hosts.append(&mut own.hosts);
                    facts.sockets.append(&mut own.sockets);
                    facts.counted.append(&mut own.counted);
                }
                Answers::NotYet => {}
                Answers::No { why, .. } => {
                    facts.status.views.remove(name);
                    facts.status.unreached.insert(name.clone(), why.clone());
                }
            }
        }
        facts
    }

    /// The alarms that stand.
    pub fn alarms(&self) -> Vec<Alarm> {
        grouped(self.keeper.alarms(), &self.topology)
    }

    /// What a watch shows of it.
    pub fn shown(&self) -> Shown {
        let names: Vec<HostName> = self
            .file
            .nodes
            .iter()
            .map(|n| n.name.get().clone())
            .collect();
        let mut reading = reading(self.file(), &names, &self.facts()).with(self.alarms());
        let nobody = StatusFacts::default();
        let looked = self.view.as_ref().map_or(&nobody, |view| &view.facts);
        let mut heads = BTreeMap::new();
        for (name, head) in &self.heads {
            let mut readings = reading.heads.iter_mut();
            match (
                &head.answers,
                readings.find(|reading| reading.name == *name),
            ) {
                (Answers::Yes, _) => {
                    heads.insert(name.clone(), head.resident.own_shown(looked));
                }
                (Answers::No { seen, .. }, Some(reading)) => reading.seen_at = *seen,
                _ => {}
            }
        }
        let judged = self.view.as_ref().map(|view| &view.judged.status);
        let nodes = judged.into_iter().flat_map(|status| &status.nodes);
        Shown {
            tells: false,
            reading,
            whole: true,
            heads,
            troubles: self.keeper.alarms(),
            not_kept: self.keeper.not_kept(),
            members: nodes.map(|node| (node.name.clone(), node.state)).collect(),
            status: judged.cloned(),
            running: self.running.now().cloned(),
            asked_at: self.view.as_ref().map(|view| view.at),
        }
    }

    /// All of it, to be shown in a terminal.
    pub fn picture(&self) -> TopPicture {
        let alarms = self.alarms();
        let answer = self.heads.iter();
        let answer = answer.filter(|(_, head)| head.answers == Answers::Yes);
        let pages: BTreeMap<HostName, LivePage> = answer
            .map(|(name, head)| {
                let mut shown = head.resident.shown();
                shown.reading.alarms.clone_from(&alarms);
                let known = LiveInput {
                    own: Some(name),
                    shown: Some(&shown),
                    problem: None,
                    old_s: None,
                    incidents: None,
                };
                (name.clone(), live_page(&self.file, known))
            })
            .collect();
        let answers = self.heads.iter();
        let judged = self.view.as_ref().map(|view| &view.judged.status);
        picture(Parts {
            file: &self.file,
            answers: answers.map(|(name, head)| (name, &head.answers)).collect(),
            pages,
            now: self.time_of_day,
            begun_at: self.begun_at.unwrap_or(self.time_of_day),
            look: TopLook {
                at: self.view.as_ref().map(|view| view.at),
                problem: self.problem.clone(),
            },
            alarms,
            if_lost: judged
                .map(|status| status.if_lost.clone())
                .unwrap_or_default(),
            running: self.running.now().cloned(),
            incidents: self.incidents.clone(),
        })
    }
}
