//! A head that is watched from second to second: what is read when, and the alarms that follow. Pure: it is told what was
//! read and at what time, and says what to read next.
//!
//! Interfaces, what was added to logs and Corosync's process cost nothing and are read each second. Everything else starts
//! programs, so it is read when one of those has changed, and else seldom: [`Wants`].

mod known;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hawser_agent::questions::{Pulse, ReadPulse, ReadStanding, Standing};
use hawser_cluster::host::HeadView;
use hawser_cluster::host::view::Told;
use hawser_cluster::live::{Judged, Said, StatusFacts, links_said};
use hawser_model::cluster_file::ClusterFile;
use hawser_model::host::CertificateFacts;
use hawser_model::names::{HostName, InterfaceName};
use hawser_model::output::cluster::{ClusterStatus, NodeCondition};
use hawser_model::output::watch::{Alarm, WatchReading};
use hawser_model::port_traffic::PortRates;
use hawser_model::storage::StoragePulse;
use hawser_model::topology::Topology;

use crate::judge::{Sighting, sightings};
use crate::keeper::Keeper;
use crate::running::{At, Running};
use crate::sources::{NEWER, Sources, is_told};
use crate::wants::{Read, Wants};

/// Lost pings are counted over so long.
const PINGS: Duration = Duration::from_secs(12);

/// What nothing new was read of is judged again after so long: certificates come to their end by themselves.
const JUDGED_AGAIN: Duration = Duration::from_secs(10);

/// What is seen to be wrong, and the reading without its alarms. Both hold until something is read that says otherwise.
struct Judgement {
    at: Duration,
    sightings: Vec<Sighting>,
    reading: WatchReading,
}

/// One head over time.
pub struct Resident {
    file: ClusterFile,
    topology: Topology,
    own: HostName,
    keeper: Keeper,
    pulse: Pulse,
    rates: BTreeMap<InterfaceName, PortRates>,
    standing: Standing,
    running: Running,
    certificates: Vec<CertificateFacts>,
    status: StatusFacts,
    /// The ports of each pool's portals, as they were known last.
    ports: BTreeMap<String, BTreeSet<u16>>,
    judged: Option<ClusterStatus>,
    /// When the head was asked for it, in seconds since 1970 UTC.
    asked_at: Option<u64>,
    said: Vec<Said>,
    members: BTreeMap<HostName, NodeCondition>,
    samples: Vec<(Duration, BTreeMap<String, String>)>,
    read: Read,
    sources: Sources,
    time_of_day: u64,
    judgement: Option<Judgement>,
}

impl Resident {
    /// The head of this name in the file.
    pub fn new(file: ClusterFile, own: HostName) -> Self {
        let mut topology = file.topology();
        topology.nodes.retain(|node| node.name == own);
        Self {
            topology,
            file,
            own,
            keeper: Keeper::default(),
            pulse: Pulse::default(),
            rates: BTreeMap::new(),
            standing: Standing::default(),
            running: Running::default(),
            certificates: Vec::new(),
            status: StatusFacts::default(),
            ports: BTreeMap::new(),
            judged: None,
            asked_at: None,
            said: Vec::new(),
            members: BTreeMap::new(),
            samples: Vec::new(),
            read: Read::default(),
            sources: Sources::default(),
            time_of_day: 0,
            judgement: None,
        }
    }

    /// What is asked for the next pulse.
    pub fn next(&self) -> ReadPulse {
        ReadPulse {
            corosync: self.pulse.corosync,
            pacemaker_log: self.pulse.pacemaker_log,
        }
    }

    /// What is asked of the head as it stands.
    pub fn standing_question(&self) -> ReadStanding {
        ReadStanding {
            drops: true,
            ports: self.ports.values().flatten().copied().collect(),
        }
    }

    /// Takes the pulse of this second, and says what else to read.
    pub fn pulse(&mut self, now: Duration, time_of_day: u64, pulse: Pulse) -> Wants {
        let shape = |pulse: &Pulse| {
            let interfaces = pulse.interfaces.iter().flatten();
            let ports: Vec<_> = interfaces
                .map(|(name, port)| (name.clone(), port.up, port.carrier))
                .collect();
            (ports, pulse.corosync, pulse.corosync_log)
        };
        if shape(&pulse) != shape(&self.pulse) {
            self.read.changed = Some(now);
            self.read.view_is_old = true;
        }
        if pulse.pings_lost != self.pulse.pings_lost {
            // It changes nothing in the cluster.
            self.read.changed = Some(now);
        }
        self.read.standing_is_old |= pulse.storage != self.pulse.storage;
        // What ZFS tells of a device changes nothing in the cluster.
        let in_cluster = |it: &StoragePulse| (it.there, it.zpools, it.unwell.clone());
        self.read.view_is_old |= in_cluster(&pulse.storage) != in_cluster(&self.pulse.storage);
        let woken = pulse.woken.is_some() && pulse.woken != self.pulse.woken;
        self.read.view_is_old |= pulse.pacemaker_changed || woken;
        if pulse.corosync.is_some() {
            self.read.corosync = Some(time_of_day);
        }
        self.time_of_day = time_of_day;
        if pulse.corosync.is_none() && !self.samples.is_empty() {
            self.samples.clear();
            self.judgement = None;
        }
        self.sources.links |= pulse.corosync.is_none();
        if pulse.interfaces != self.pulse.interfaces {
            self.judgement = None;
        }
        self.sources.ports |= pulse.interfaces.is_some();
        let both = pulse.counts.as_ref().zip(self.pulse.counts.as_ref());
        self.rates = both.map_or_else(BTreeMap::new, |(now, before)| now.rates_since(before));
        self.pulse = pulse;
        let corosync = self.pulse.corosync.is_some();
        self.read.wants(now, corosync, self.some_link_is_down())
    }

    /// The view that was wanted is not made, since another lasts: it is wanted again.
    pub fn not_looked(&mut self, wanted: Wants) {
        match wanted.devices {
            // They are wanted when nothing has changed, and are not while something has.
            true => self.read.devices = None,
            false => self.read.view_is_old = true,
        }
    }

    /// A view of the cluster has failed at this moment, or a part of it, and leaves what was known.
    pub fn no_view(&mut self, now: Duration) {
        self.read.view_failed = Some(now);
    }

    /// The head's name.
    pub(crate) fn own(&self) -> &HostName {
        &self.own
    }

    fn some_link_is_down(&self) -> bool {
        let last = self.samples.last().into_iter();
        let mut values = last.flat_map(|(_, values)| values);
        values.any(|(key, value)| key.ends_with(".connected") && value != "1")
    }

    /// Takes Corosync's statistics.
    pub fn links(&mut self, now: Duration, stats: BTreeMap<String, String>) {
        let connected = |stats: &BTreeMap<String, String>| {
            let links = stats.iter().filter(|(key, _)| key.ends_with(".connected"));
            links
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect::<Vec<_>>()
        };
        self.judgement = None;
        // Pings that a dead link had under way are no loss of one that is up again.
        if let Some((_, last)) = self.samples.last() {
            if connected(last) != connected(&stats) {
                self.samples.clear();
                self.read.changed = Some(now);
            }
        }
        self.samples.push((now, stats));
        self.samples
            .retain(|(at, _)| now.saturating_sub(*at) <= PINGS);
        self.sources.links |= self.samples.len() > 1;
    }

    /// Takes the view of the cluster and its judgement. If the engine did not answer, that is said, and what was known of the cluster
    /// is not over.
    pub fn view(&mut self, facts: StatusFacts, judged: Judged) {
        self.judgement = None;
        let seen = facts.cluster_was_seen();
        if seen || !self.sources.members {
            let nodes = judged.status.nodes.iter();
            self.members = nodes.map(|node| (node.name.clone(), node.state)).collect();
        }
        self.sources.members |= seen;
        self.sources.view = seen;
        let clock = facts.views.get(&self.own).and_then(|view| view.clock);
        self.asked_at = clock.map(|clock| clock.asked_us / 1_000_000);
        let own = facts.views.get(&self.own);
        for (pool, seen) in own.into_iter().flat_map(|view| &view.pools) {
            if let Some(ports) = seen.ports() {
                self.ports.insert(pool.clone(), ports.clone());
            }
        }
        let fencer = own.and_then(|view| view.fencer.as_ref());
        self.sources.fencer = !fencer.is_some_and(Told::is_silent);
        self.status = facts;
        self.judged = Some(judged.status);
        self.said = judged.said;
    }

    /// Takes the host as it stands.
    pub fn standing(&mut self, standing: Standing) {
        self.judgement = None;
        self.sources.host = true;
        self.sources.counted |= standing.counted.is_some();
        self.standing = standing;
    }

    /// Takes the certificates by which it is listened for other machines.
    pub fn certificates(&mut self, certificates: &[CertificateFacts]) {
        if self.certificates != certificates {
            self.judgement = None;
            self.certificates = certificates.to_vec();
        }
    }

    /// Judges all that is known at this moment.
    /// `open` is when the head's logs began to tell what is not yet kept.
    pub fn judge(&mut self, now: Duration, open: Option<Duration>) {
        let holds = |it: &Judgement| now.saturating_sub(it.at) < JUDGED_AGAIN;
        let judgement = self.judgement.take().filter(holds);
        let judgement = judgement.unwrap_or_else(|| self.judged_anew(now));
        let seen = judgement.sightings.clone();
        self.judgement = Some(judgement);
        let storage = self.standing.facts.storage.as_ref();
        let is_read = |it: &Sighting| {
            let is_told = storage.is_none_or(|storage| is_told(storage, it));
            self.sources.tell_of(&it.code) && is_told
        };
        self.keeper.take_of(now, self.time_of_day, seen, &is_read);
        let at = At {
            now,
            time: self.time_of_day,
            open,
            looked: self.judged.is_some(),
        };
        self.running.take(at, &self.keeper.alarms());
    }

    fn judged_anew(&self, at: Duration) -> Judgement {
        let facts = self.facts();
        let said = self.said_now(&facts.status.views);
        Judgement {
            at,
            sightings: sightings(&self.topology, &facts, said),
            reading: self.reading_of(&facts),
        }
    }

    /// Takes the alarms that stood when the watch before this one was last heard of.
    pub fn resume(&mut self, now: Duration, time_of_day: u64, alarms: Vec<Alarm>) {
        self.keeper.resume(now, time_of_day, alarms);
    }

    /// The alarms that stand, each trouble by itself.
    pub fn alarms(&self) -> Vec<Alarm> {
        self.keeper.alarms()
    }

    /// What the last view says of the cluster. What is read more often than it, of links and of ports, replaces what it says
    /// of them.
    pub(crate) fn said_now(&self, views: &BTreeMap<HostName, HeadView>) -> Vec<Said> {
        let rest = self.said.iter();
        let rest = rest.filter(|said| !NEWER.contains(&said.mark.sign));
        let member = |name: &HostName| self.members.get(name) == Some(&NodeCondition::Online);
        let links = links_said(&self.file, views, &member);
        rest.cloned().chain(links).collect()
    }

    /// When it was read last, in seconds since 1970 UTC.
    pub(crate) fn time_of_day(&self) -> u64 {
        self.time_of_day
    }
}
