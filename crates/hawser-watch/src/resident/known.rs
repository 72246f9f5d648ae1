//! What is known of a head at a moment, for whoever judges or shows it.

use std::collections::BTreeMap;

use hawser_cluster::host::HeadView;
use hawser_cluster::live::StatusFacts;
use hawser_model::host::CertificateFacts;
use hawser_model::names::LinkName;
use hawser_model::output::watch::WatchReading;
use hawser_model::served::SentSegments;

use super::Resident;
use crate::ask::Facts;
use crate::group::grouped;
use crate::probed::Probed;
use crate::reading::reading;
use crate::shown::{Shown, ShownHead};

impl Resident {
    /// What is known at this moment, the newest of everything.
    pub(crate) fn facts(&self) -> Facts {
        let mut facts = Facts {
            read_at: self.time_of_day,
            status: self.status.clone(),
            ..Facts::default()
        };
        let view = facts.status.views.entry(self.own.clone());
        let view: &mut HeadView = view.or_default();
        let samples = self.samples.iter().map(|(_, stats)| stats.clone());
        view.links = samples.collect();
        let mut host = self.standing.facts.clone();
        if let Some(interfaces) = &self.pulse.interfaces {
            host.interfaces.clone_from(interfaces);
        }
        host.certificates = self.certificates_now();
        facts.hosts.insert(self.own.clone(), host);
        if let Some(sockets) = &self.standing.sockets {
            facts.sockets.insert(self.own.clone(), sockets.clone());
        }
        if let Some(counted) = &self.standing.counted {
            facts.counted.insert(self.own.clone(), counted.clone());
        }
        facts
    }

    /// The certificates of the head and of its watch, at this moment.
    fn certificates_now(&self) -> Vec<CertificateFacts> {
        let all = self.standing.facts.certificates.iter();
        let all = all.chain(&self.certificates).cloned();
        all.map(|it| CertificateFacts {
            read_at: self.time_of_day,
            ..it
        })
        .collect()
    }

    /// What the head sent to clients, by link; what went out at an address of no link is none of a link's.
    fn served(&self) -> BTreeMap<LinkName, SentSegments> {
        let mut by_link: BTreeMap<LinkName, SentSegments> = BTreeMap::new();
        let Some(interfaces) = &self.pulse.interfaces else {
            return by_link;
        };
        for (address, sent) in &self.standing.served {
            let reached = self.topology.reached_by(&self.own, interfaces, *address);
            if let Some((link, _)) = reached {
                *by_link.entry(link.clone()).or_default() += *sent;
            }
        }
        by_link
    }

    /// What is shown: the reading of this head, with the alarms that stand.
    pub fn reading(&self) -> WatchReading {
        let judged = self.judgement.as_ref().map(|it| it.reading.clone());
        let reading = judged.unwrap_or_else(|| self.reading_of(&self.facts()));
        let alarms = grouped(self.keeper.alarms(), &self.topology);
        WatchReading {
            read_at: self.time_of_day,
            ..reading.with(alarms)
        }
    }

    /// The same without alarms.
    pub(super) fn reading_of(&self, facts: &Facts) -> WatchReading {
        let names = [self.own.clone()];
        reading(Some(&self.file), &names, facts)
    }

    /// What is shown of this head.
    pub fn shown(&self) -> Shown {
        let own = self.own_shown(&self.status);
        Shown {
            tells: false,
            reading: self.reading(),
            whole: false,
            heads: [(self.own.clone(), own)].into(),
            troubles: self.keeper.alarms(),
            not_kept: self.keeper.not_kept(),
            members: self.members.clone(),
            status: self.judged.clone(),
            running: self.running.now().cloned(),
            asked_at: self.asked_at,
        }
    }

    /// What the head has of itself, and what was asked of it with this look at the cluster.
    pub(crate) fn own_shown(&self, looked: &StatusFacts) -> ShownHead {
        let last = self.samples.last();
        let mine = self.status.views.get(&self.own);
        let sockets = self.standing.sockets.iter().flatten();
        let corosync = sockets.filter(|socket| socket.process.as_deref() == Some("corosync"));
        let counted = self.standing.counted.as_ref();
        let counted = counted.and_then(|counted| counted.drops.as_ref());
        ShownHead {
            certificates: self.certificates_now(),
            secrets: self.standing.facts.secrets.clone(),
            corosync: self.pulse.corosync.is_some(),
            corosync_seen: self.read.corosync,
            pacemaker: mine.map(|view| view.pacemaker),
            stats: last.map(|(_, stats)| stats.clone()).unwrap_or_default(),
            interfaces: self.pulse.interfaces.clone().unwrap_or_default(),
            rates: self.rates.clone(),
            socket_drops: corosync
                .map(|socket| socket.drops.0)
                .reduce(u64::saturating_add),
            storage: self.standing.facts.storage.clone(),
            drops: self.standing.drops.clone(),
            dropped_now: counted.cloned().unwrap_or_default(),
            port_counts: self.standing.ports.clone(),
            clock: self.standing.clock,
            served: self.served(),
            probed: Probed::of(looked, &self.own),
        }
    }

    /// The CIB as the last view of the cluster had it.
    pub fn cib(&self) -> Option<&str> {
        let view = self.status.views.get(&self.own)?;
        Some(view.cib.as_ref()?.said()?.as_str())
    }
}
