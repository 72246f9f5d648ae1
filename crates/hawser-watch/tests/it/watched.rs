//! A simulated head that a watch stays on, and a cluster in which all is well.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex};

use hawser_agent::questions::{
    KeepAlarms, KeepReading, OpenReadings, Pulse, ReadHeartbeats, ReadPulse, ReadStanding, Standing,
};
use hawser_cluster::host::HeadView;
use hawser_cluster::host::drill::LogTexts;
use hawser_cluster::host::questions::ReadLogEnds;
use hawser_cluster::host::view::{Quorum, Told};
use hawser_cluster::live::{Judged, Said, Sign, StatusFacts};
use hawser_host::{Clock, Declined};
use hawser_model::cluster_file::{ClusterFile, parse_complete};
use hawser_model::counters::Counters;
use hawser_model::host::{HostFacts, HostWindow, Interface};
use hawser_model::kept_alarms::{FoundAlarms, KeptAlarms};
use hawser_model::output::cluster::{ClusterStatus, NodeCondition, NodeStatus, ServiceState};
use hawser_model::port_traffic::{Carried, PortTraffic};
use hawser_model::readings::Reading;
use hawser_model::served::{SentSegments, ServedClient};
use hawser_model::storage::{MultipathFacts, PathFacts, StorageFacts};
use hawser_model::units::{Bytes, Nanos, Packets};
use hawser_watch::run::{Look, Viewed};

/// One of two heads, whose second link is cut and healed at set seconds.
pub struct Head {
    /// Which of the file's heads it is.
    pub own: usize,
    pub clock: Clock,
    pub cuts: Vec<(u64, u64)>,
    /// The port says so too; else only Corosync does, as of a cut beyond the switch.
    pub carrier: bool,
    /// When its disk takes nothing.
    pub full: Range<u64>,
    /// When the cable of its second link damages three frames a second.
    pub damages: Range<u64>,
    /// When a switch loses every twentieth of the segments that it sends to its clients over its first SAN link.
    pub loses: Range<u64>,
    /// When each path of its multipath device fails, for good; empty: it has none.
    pub paths: Vec<u64>,
    /// When its Corosync does not run; after it, it is another process that counts anew.
    pub away: Range<u64>,
    /// What it took.
    pub kept: Arc<Mutex<Vec<Reading>>>,
    /// The alarms that it keeps, and how often it was given some.
    pub alarms: Arc<Mutex<(KeptAlarms, u64)>>,
}

/// So many seconds after the cable, Corosync takes the link for down, or up.
const NOTICES: u64 = 2;

impl Head {
    fn cut(&self, late: u64) -> bool {
        let second = self.clock.now().as_secs();
        let mut cuts = self.cuts.iter();
        cuts.any(|(from, to)| (from + late..to + late).contains(&second))
    }

    /// Since when its Corosync runs.
    fn begun(&self) -> u64 {
        match self.clock.now().as_secs() >= self.away.end {
            true => self.away.end,
            false => 0,
        }
    }

    fn corosync(&self) -> Option<u32> {
        let second = self.clock.now().as_secs();
        let away = self.away.contains(&second);
        (!away).then_some(if second < self.away.end { 7 } else { 8 })
    }

    fn storage(&self) -> Option<StorageFacts> {
        let second = self.clock.now().as_secs();
        let path = |(number, fails): (usize, &u64)| {
            let checked = if second < *fails { "ready" } else { "faulty" };
            let path = PathFacts {
                used: None,
                checked: Some(checked.to_owned()),
            };
            (format!("sd{number}"), path)
        };
        let map = MultipathFacts {
            name: "mpatha".to_owned(),
            paths: self.paths.iter().enumerate().map(path).collect(),
        };
        (!self.paths.is_empty()).then(|| StorageFacts {
            multipath: [("36001405aa".to_owned(), map)].into(),
            ..StorageFacts::default()
        })
    }

    fn room(&self) -> Result<(), Declined> {
        match self.full.contains(&self.clock.now().as_secs()) {
            true => Err("write /x: No space left on device".into()),
            false => Ok(()),
        }
    }
}

hawser_host::answers! {
    pub Head;
    ReadPulse: |_, head| {
        let port = |address: &str, carrier| Interface {
            addresses: vec![(address.parse().unwrap(), 24)],
            up: true,
            carrier,
            ..Interface::default()
        };
        let file = file();
        let address = |link: &str| {
            file.nodes[head.own]
                .address_on(link)
                .unwrap()
                .get()
                .to_string()
        };
        let mut interfaces = BTreeMap::from([
            ("eth0".into(), port(&address("ring0"), true)),
            (
                "eth1".into(),
                port(&address("ring1"), !(head.carrier && head.cut(0))),
            ),
        ]);
        if !head.loses.is_empty() {
            interfaces.insert("eth2".into(), port(&address("san01"), true));
        }
        // Corosync writes a line when it takes a link for down or up.
        let changed = head.cuts.iter().flat_map(|(from, to)| [*from, *to]);
        let second = head.clock.now().as_secs();
        let lines = changed.filter(|at| at + NOTICES <= second).count() as u64;
        // Each port receives 1 000 bytes a second in 10 packets, and sends the half of it.
        let carried = Carried {
            index: 0,
            received: Bytes(second * 1000),
            received_packets: Packets(second * 10),
            sent: Bytes(second * 500),
            sent_packets: Packets(second * 5),
        };
        let counts = PortTraffic {
            at: Nanos(second * 1_000_000_000),
            ports: ["eth0", "eth1"].map(|name| (name.into(), carried)).into(),
        };
        Pulse {
            interfaces: Some(interfaces),
            counts: Some(counts),
            corosync: head.corosync(),
            corosync_log: Some(lines + u64::from(second >= head.away.end)),
            pacemaker_log: Some(second),
            // All the time somebody asks Pacemaker, and nothing changes there.
            pacemaker_changed: false,
            ..Pulse::default()
        }
    };
    ReadHeartbeats: |_, head| {
        let down = head.cut(NOTICES);
        let peer = 2 - head.own;
        let link = |number: u8, up: bool| {
            let key = |name: &str| format!("stats.knet.node{peer}.link{number}.{name}");
            let begun = head.begun();
            let pings = (head.clock.now().as_secs() - begun) * 5;
            [
                (key("connected"), u8::from(up).to_string()),
                (key("latency_ave"), "312".to_owned()),
                (key("tx_ping_packets"), pings.to_string()),
                (key("rx_pong_packets"), pings.to_string()),
            ]
        };
        link(0, true).into_iter().chain(link(1, !down)).collect()
    };
    ReadStanding: |_, head| {
        let until = head.clock.now().as_secs();
        let from = until.saturating_sub(60);
        let within = |bad: &Range<u64>, from: u64| {
            bad.end.min(until).saturating_sub(bad.start.max(from))
        };
        let bad = within(&head.damages, from);
        let gained = [("link/eth1/rx_crc_errors".to_owned(), bad * 3)];
        // 20 segments a second to one client, at the address of a pool.
        let sent = |from: u64| SentSegments {
            segments: Packets((until - from) * 20),
            resent: Packets(within(&head.loses, from)),
            needless: Packets(0),
        };
        let at = "10.72.2.207".parse().unwrap();
        let served = ServedClient {
            at,
            client: "10.72.2.31".parse().unwrap(),
            sent: sent(from),
        };
        let counted = HostWindow {
            elapsed: Nanos((until - from) * 1_000_000_000),
            counters: Counters(gained.into()),
            served: vec![served],
            ..HostWindow::default()
        };
        Standing {
            facts: HostFacts {
                storage: head.storage(),
                ..HostFacts::default()
            },
            counted: Some(counted),
            served: [(at, sent(0))].into(),
            ..Standing::default()
        }
    };
    OpenReadings: |_, head| {
        head.room()?;
        FoundAlarms {
            alarms: head.alarms.lock().unwrap().0.clone(),
            problem: None,
        }
    };
    KeepAlarms: |ask, head| {
        head.room()?;
        let mut there = head.alarms.lock().unwrap();
        *there = (ask.alarms, there.1 + 1);
    };
    KeepReading: |ask, head| {
        head.room()?;
        head.kept.lock().unwrap().push(ask.reading);
    };
    // Its logs tell of no incident.
    ReadLogEnds: |_, _| LogTexts::default();
}

/// A cluster in which all is well, seen at once.
#[derive(Default)]
pub struct AllWell {
    pub begun: u64,
    /// And at the fence devices too.
    pub devices: u64,
    /// How many readings a look takes.
    pub takes: u64,
    /// Whether it fails.
    pub fails: bool,
    /// What Corosync says of quorum.
    pub quorum: Option<Told<Quorum>>,
    /// The other head is away, which is not seen in this look: what does not answer in it.
    pub hides: Option<(u64, Hides)>,
    /// How many readings are left of one that lasts.
    pub lasts: Option<u64>,
}

/// What of a head's engine does not answer.
#[derive(Clone, Copy, Debug)]
pub enum Hides {
    Corosync,
    Pacemaker,
}

impl AllWell {
    /// What does not answer in this look, and what is said then.
    fn hidden(&self) -> (Option<Hides>, Vec<Said>) {
        let Some((look, what)) = self.hides else {
            return (None, Vec::new());
        };
        let (hides, sign, head) = match (look == self.begun, what) {
            (false, _) => (None, Sign::HeadAway, "head2"),
            (true, Hides::Corosync) => (Some(what), Sign::CorosyncHangs, "head1"),
            (true, Hides::Pacemaker) => (Some(what), Sign::PacemakerMute, "head1"),
        };
        let said = Said {
            mark: sign.on(&head.into()),
            severity: sign.severity(),
            text: sign.code().into(),
        };
        (hides, vec![said])
    }
}

impl Look for AllWell {
    fn begin(&mut self, devices: bool) -> bool {
        if self.lasts.is_some() {
            return false;
        }
        self.begun += 1;
        self.devices += u64::from(devices);
        self.lasts = Some(self.takes);
        true
    }

    fn ended(&mut self) -> Option<Viewed> {
        if let Some(left @ 1..) = self.lasts {
            self.lasts = Some(left - 1);
            return None;
        }
        self.lasts.take()?;
        if self.fails {
            return Some(Err("crm_simulate: no answer within 20 s".into()));
        }
        let file = file();
        let nodes = file.nodes.iter().map(|node| NodeStatus {
            name: node.name.get().clone(),
            state: NodeCondition::Online,
        });
        let nodes = nodes.collect();
        let status = ClusterStatus {
            cluster: "lab".into(),
            state: ServiceState::Redundant,
            reason: None,
            quorate: true,
            redundant: true,
            view_of: None,
            degraded: Vec::new(),
            notes: Vec::new(),
            quorum_device: None,
            nodes,
            pools: Vec::new(),
            if_lost: BTreeMap::new(),
            last_takeover: None,
        };
        let (hides, said) = self.hidden();
        let mut facts = StatusFacts::default();
        for node in &file.nodes {
            let mut view = HeadView {
                quorum: self.quorum.clone(),
                ..HeadView::default()
            };
            match hides {
                Some(Hides::Corosync) => view.quorum = Some(Told::Silent(15)),
                Some(Hides::Pacemaker) => view.cib = Some(Told::Silent(15)),
                None => {}
            }
            facts.views.insert(node.name.get().clone(), view);
        }
        Some(Ok((facts, Judged { status, said })))
    }
}

pub fn file() -> ClusterFile {
    static FILE: LazyLock<ClusterFile> = LazyLock::new(|| {
        let text = include_str!("../../../../examples/lab/hawser.toml");
        parse_complete(text, "hawser.toml").unwrap()
    });
    FILE.clone()
}
