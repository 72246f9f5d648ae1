//! All heads of a cluster from second to second: what is read when, and the alarms that follow. Pure.
//!
//! Each head is read as a watch on it reads it ([`Resident`]); what is judged is all of it together, as `hawser watch
//! --once` judges one reading of all heads.

mod known;
mod read;

use std::collections::BTreeMap;
use std::time::Duration;

use hawser_agent::questions::{Pulse, ReadPulse, ReadStanding, Standing};
use hawser_cluster::host::HeadView;
use hawser_cluster::live::{Judged, StatusFacts};
use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_model::output::incident::IncidentsReport;
use hawser_model::output::live::LiveIncidents;
use hawser_model::output::top::Answers;
use hawser_model::topology::Topology;

use crate::judge::sightings;
use crate::keeper::Keeper;
use crate::layout;
use crate::live::newest;
use crate::recorder::Recorder;
use crate::resident::Resident;
use crate::running::{At, Running};
use crate::wants::{VIEW_FAILED, Wants};

/// The cluster is asked as a whole this often at most.
const LOOKS: Duration = Duration::from_secs(3);

/// What is to be asked of all heads at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// What each sees of the cluster, and the judgement of it.
    pub look: bool,
    /// And in it the fence devices.
    pub devices: bool,
    /// What their logs tell of the past.
    pub past: bool,
}

/// All heads of a cluster.
pub struct Whole {
    file: ClusterFile,
    topology: Topology,
    /// Whether there is a cluster file, by which to ask about a cluster.
    is_cluster: bool,
    heads: BTreeMap<HostName, Head>,
    keeper: Keeper,
    view: Option<View>,
    problem: Option<String>,
    running: Running,
    incidents: LiveIncidents,
    asked: Asked,
    /// Questions that were not answered, and looks that failed.
    failures: u64,
    /// Of this moment, in seconds since 1970 UTC.
    time_of_day: u64,
    begun_at: Option<u64>,
}

/// What came of the last look at the cluster.
struct View {
    at: u64,
    facts: StatusFacts,
    judged: Judged,
}

/// When all heads were asked last, and whether something has happened since.
struct Asked {
    look: Option<Duration>,
    look_is_old: bool,
    look_failed: Option<Duration>,
    devices_are_old: bool,
    past_is_old: bool,
}

struct Head {
    resident: Resident,
    /// It says when the head's logs are worth reading, and keeps nothing here.
    recorder: Recorder,
    answers: Answers,
}

impl Whole {
    /// The heads of this file, of which none was reached yet.
    pub fn new(file: ClusterFile) -> Self {
        Self::of(file, true)
    }

    /// Hosts without a cluster file: they are asked about themselves, and not about a cluster.
    pub fn of_hosts(topology: &Topology) -> Self {
        Self::of(layout::of_topology(topology), false)
    }

    fn of(file: ClusterFile, is_cluster: bool) -> Self {
        let head = |name: &HostName| Head {
            resident: Resident::new(file.clone(), name.clone()),
            recorder: Recorder::default(),
            answers: Answers::NotYet,
        };
        let names = file.nodes.iter().map(|node| node.name.get());
        Self {
            heads: names.map(|name| (name.clone(), head(name))).collect(),
            topology: file.topology(),
            file,
            is_cluster,
            keeper: Keeper::default(),
            view: None,
            problem: None,
            running: Running::default(),
            incidents: LiveIncidents::default(),
            asked: Asked {
                look: None,
                look_is_old: is_cluster,
                look_failed: None,
                devices_are_old: is_cluster,
                past_is_old: is_cluster,
            },
            failures: 0,
            time_of_day: 0,
            begun_at: None,
        }
    }

    /// How many questions were not answered, since this began.
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// A head that answers has declined a question.
    pub fn declined(&mut self) {
        self.failures += 1;
    }

    /// The heads' names.
    pub fn names(&self) -> Vec<HostName> {
        self.heads.keys().cloned().collect()
    }

    /// The file that says what there should be; for hosts without one, what is known of them.
    pub fn layout(&self) -> &ClusterFile {
        &self.file
    }

    /// The file by which the heads are asked about the cluster; absent for hosts without one.
    pub fn file(&self) -> Option<&ClusterFile> {
        self.is_cluster.then_some(&self.file)
    }

    /// What a head is asked for its next pulse.
    pub fn next(&self, head: &HostName) -> ReadPulse {
        self.heads[head].resident.next()
    }

    /// What a head is asked of itself as it stands.
    pub fn standing_question(&self, head: &HostName) -> ReadStanding {
        self.heads[head].resident.standing_question()
    }

    /// Takes the pulse of a head at this second, and says what else to read of it.
    pub fn pulse(&mut self, head: &HostName, now: Duration, time: u64, pulse: Pulse) -> Wants {
        let Some(head) = self.heads.get_mut(head) else {
            return Wants::default();
        };
        let back = !matches!(head.answers, Answers::Yes);
        head.answers = Answers::Yes;
        let past = head.recorder.pulse(now, &pulse);
        let wants = head.resident.pulse(now, time, pulse);
        self.asked.past_is_old |= past && self.is_cluster;
        self.asked.look_is_old |= (wants.view || back) && self.is_cluster;
        self.asked.devices_are_old |= wants.devices && self.is_cluster;
        Wants {
            links: wants.links && self.is_cluster,
            view: false,
            devices: false,
            ..wants
        }
    }

    /// Takes Corosync's statistics of a head.
    pub fn links(&mut self, head: &HostName, now: Duration, stats: BTreeMap<String, String>) {
        if let Some(head) = self.heads.get_mut(head) {
            head.resident.links(now, stats);
        }
    }

    /// Takes a head as it stands.
    pub fn standing(&mut self, head: &HostName, standing: Standing) {
        if let Some(head) = self.heads.get_mut(head) {
            head.resident.standing(standing);
        }
    }

    /// A head does not answer, or is not reached again.
    pub fn silent(&mut self, head: &HostName, why: String) {
        self.failures += 1;
        let Some(head) = self.heads.get_mut(head) else {
            return;
        };
        let seen = match &head.answers {
            Answers::Yes => Some(head.resident.time_of_day()),
            Answers::NotYet => None,
            Answers::No { seen, .. } => *seen,
        };
        let is_new = !matches!(head.answers, Answers::No { .. });
        head.answers = Answers::No { why, seen };
        self.asked.look_is_old |= is_new && self.is_cluster;
    }

    /// What is to be asked of all heads at once at this moment; it counts as asked from then on.
    pub fn due(&mut self, now: Duration) -> Due {
        let asked = &mut self.asked;
        let rested = |after| {
            let last = asked.look;
            last.is_none_or(|look| now.saturating_sub(look) >= after)
        };
        let again = |failed| now.saturating_sub(failed) >= VIEW_FAILED;
        let look = (asked.look_is_old && rested(LOOKS)) || asked.look_failed.is_some_and(again);
        // The cluster as it is now comes first.
        let past = asked.past_is_old && (self.view.is_some() || self.problem.is_some());
        if look {
            asked.look = Some(now);
        }
        let devices = look && asked.devices_are_old;
        asked.look_is_old &= !look;
        asked.look_failed = asked.look_failed.filter(|_| !look);
        asked.devices_are_old &= !devices;
        asked.past_is_old &= !past;
        Due {
            look,
            devices,
            past,
        }
    }

    /// Asks again for all that is asked of all heads at once.
    pub fn again(&mut self) {
        self.asked.look_is_old = self.is_cluster;
        self.asked.devices_are_old = self.is_cluster;
        self.asked.past_is_old = self.is_cluster;
    }

    /// What the last look has seen.
    pub fn seen(&self) -> Option<StatusFacts> {
        self.view.as_ref().map(|view| view.facts.clone())
    }

    /// Takes a look at the cluster that ends now. One that failed leaves what was known.
    pub fn looked(
        &mut self,
        now: Duration,
        time: u64,
        looked: Result<(StatusFacts, Judged), String>,
    ) {
        match looked {
            Ok((facts, judged)) => {
                for head in self.heads.values_mut() {
                    head.resident.view(facts.clone(), judged.clone());
                }
                self.problem = None;
                let mut views = facts.views.values();
                let answers = |head| {
                    let head: Option<&Head> = self.heads.get(head);
                    head.is_some_and(|head| head.answers == Answers::Yes)
                };
                let again = views.any(HeadView::engine_does_not_answer)
                    // Whoever reads that head each second has an answer, and this look had none.
                    || facts.unreached.keys().any(answers);
                self.asked.look_failed = again.then_some(now);
                let at = time;
                self.view = Some(View { at, facts, judged });
            }
            Err(why) => {
                self.failures += 1;
                self.problem = Some(why);
                self.asked.look_failed = Some(now);
            }
        }
    }

    /// Takes what the heads' logs tell.
    pub fn past(&mut self, report: &IncidentsReport) {
        self.incidents = newest(report);
    }

    /// Judges all that is known at this moment.
    pub fn judge(&mut self, now: Duration, time: u64) {
        self.time_of_day = time;
        let mut heads = self.heads.values();
        if heads.all(|head| head.answers == Answers::NotYet) {
            return;
        }
        let facts = self.facts();
        let said = match (&self.view, self.heads.values().next()) {
            (Some(_), Some(head)) => head.resident.said_now(&facts.status.views),
            _ => Vec::new(),
        };
        let mut topology = self.topology.clone();
        let nodes = &mut topology.nodes;
        nodes.retain(|node| facts.hosts.contains_key(&node.name));
        let seen = sightings(&topology, &facts, said);
        let mut keeper = std::mem::take(&mut self.keeper);
        keeper.take_of(now, time, seen, &|it| self.is_read(it));
        self.keeper = keeper;
        // What is found with the first look at all of it may have stood for long.
        let mut heads = self.heads.values();
        let tried = heads.all(|head| head.answers != Answers::NotYet);
        if tried && (self.view.is_some() || !self.is_cluster) {
            self.begun_at.get_or_insert(time);
        }
        // What the logs of a head that is lost began to tell is told no further.
        let answer = self
            .heads
            .values()
            .filter(|head| head.answers == Answers::Yes);
        let recorders = answer.map(|head| &head.recorder);
        let at = At {
            now,
            time,
            open: recorders.filter_map(Recorder::open_since).min(),
            looked: self.begun_at.is_some() && self.view.is_some(),
        };
        self.running.take(at, &self.keeper.alarms());
    }

    /// What the heads' logs tell.
    pub fn incidents(&self) -> &LiveIncidents {
        &self.incidents
    }

    /// Why the last look at the cluster failed, if it did.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }
}
