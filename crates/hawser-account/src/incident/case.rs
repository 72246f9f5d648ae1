//! The logs of all heads on one clock, and the part of them that an account is made from.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use hawser_model::drill::{
    ClientRecord, Clock, ClusterFacts, DRILL_FORMAT, DrillCase, Moment, NodeLogs, PoolFacts,
    Promises, Scenario, Stall, Watch,
};
use hawser_model::names::HostName;
use hawser_model::output::incident::{LogKind, ReadLog};

use super::clocks::{self, Clocks};
use super::flapping;
use super::head::Head;
use super::heard::{Heard, heard, numbered};
use super::lines::{self, Line, LogFile};
use super::links::Names;
use super::said::{Said, said};
use super::spans::{Span, spans};
use super::windows::{Incident, Window};
use super::zones;
use crate::outage::spans::{Facts, ready};
use crate::outage::stall::Outage;
use crate::outage::timeline::{self, At, on_drills_clock};

/// What an account looks at before an outage: that the processors are busy is told every 30 s.
const BEFORE_US: i64 = 60_000_000;

/// And after it: who stood still says so when it runs again.
const AFTER_US: i64 = 120_000_000;

/// The logs of all heads.
pub(super) struct Heads {
    heads: BTreeMap<HostName, Head>,
    clocks: Clocks,
    /// All nodes that the logs know of: the heads, and who has a number and no log here.
    nodes: Vec<HostName>,
    /// All stamps say how far their zone is ahead of UTC.
    zones_known: bool,
    /// What is not known of zones and years, in words.
    gaps: Vec<String>,
    recorded: u64,
}

impl Heads {
    pub(super) fn new(files: &[LogFile], names: &Names, recorded: u64) -> Self {
        let mut heads: BTreeMap<HostName, Head> = BTreeMap::new();
        let read = files.iter().map(|file| (file, lines::read(file, recorded)));
        let mut read: Vec<_> = read.collect();
        // What is told twice is taken from where it is told best.
        read.sort_by_key(|(_, lines)| (lines.syslog, lines.coarse));
        let read = read.into_iter().map(|(file, mut read)| {
            let host = read.host.take();
            let host = host.unwrap_or_else(|| HostName(file.folder.clone()));
            (file.kind, host, read)
        });
        let mut read: Vec<zones::Read> = read.collect();
        one_name(&mut read);
        let (zones_known, mut gaps) = zones::in_one_zone(&mut read);
        let (recorded, other_years) = zones::years(&mut read, recorded);
        gaps.extend(other_years);
        for (kind, host, read) in read {
            heads.entry(host).or_default().take(kind, read);
        }
        for head in heads.values_mut() {
            for lines in &mut head.lines {
                // A line may have been kept and be in the log still.
                lines.sort_by_key(|line| line.at);
                let mut seen = BTreeSet::new();
                lines.retain(|line| seen.insert((line.at, line.text.clone())));
            }
        }
        let memberships = heads.iter().map(|(host, head)| {
            let corosync = head.lines[LogKind::Corosync as usize].iter();
            (host, corosync.map(|line| (line.at, line.text.as_str())))
        });
        let coarse = heads.values().any(Head::coarse);
        let clocks = clocks::clocks(memberships, coarse);
        let mut all = Self {
            heads,
            clocks,
            nodes: Vec::new(),
            zones_known,
            gaps,
            recorded,
        };
        all.nodes = all.known(names);
        all
    }

    /// The heads, who has a name, and the nodes of Corosync's memberships and links that none of these is.
    fn known(&self, names: &Names) -> Vec<HostName> {
        let named = self.numbers(names);
        let corosync = self
            .heads
            .values()
            .flat_map(|head| &head.lines[LogKind::Corosync as usize]);
        let heard = corosync.filter_map(|line| heard(line.rest()));
        let numbers: BTreeSet<u32> = heard.flat_map(Heard::nodes).collect();
        let mut nodes: BTreeSet<HostName> =
            self.heads.keys().chain(named.values()).cloned().collect();
        // Who has no name is another node only where there are more numbers than nodes.
        if numbers.len() > nodes.len() {
            let unnamed = numbers.iter().filter(|number| !named.contains_key(number));
            nodes.extend(unnamed.map(|number| HostName(format!("node {number}"))));
        }
        nodes.into_iter().collect()
    }

    /// What was read, of each head.
    pub(super) fn read(&self) -> Vec<ReadLog> {
        let heads = self.heads.iter();
        heads
            .map(|(host, head)| ReadLog {
                host: host.clone(),
                corosync: head.corosync,
                pacemaker: head.pacemaker,
                syslog: Some(head.syslog.iter().sum()).filter(|lines| *lines > 0),
                from: head.first.map(lines::local),
                to: head.last.map(lines::local),
                // Another zone is no clock that is ahead.
                ahead_s: self.clocks.ahead_s(host).filter(|_| !self.of_zone(host)),
            })
            .collect()
    }

    /// How far a boundary between two heads may be off.
    pub(super) fn clock_error_s(&self) -> Option<f64> {
        let step = match self.heads.values().any(Head::coarse) {
            true => 1_000_000,
            false => 1000,
        };
        let clocks = match self.heads.len() {
            ..=1 => Some(0),
            _ => self.clocks.error_us(),
        };
        clocks.map(|us| (us + step) as f64 / 1e6)
    }

    /// What is missing, in words.
    pub(super) fn gaps(&self) -> Vec<String> {
        let mut gaps = self.gaps.clone();
        for (host, head) in &self.heads {
            gaps.extend(head.gaps().into_iter().map(|gap| format!("{host}: {gap}")));
        }
        for (host, ms) in self.clocks.apart() {
            if self.of_zone(host) {
                gaps.push(format!(
                    "the stamps of {host} are {} minutes {} the first head's, by the memberships that both saw, as if they were \
                     of another zone, which they do not say; its times are corrected by that",
                    (ms.unsigned_abs() + 30_000) / 60_000,
                    if ms > 0 { "ahead of" } else { "behind" },
                ));
                continue;
            }
            gaps.push(format!(
                "the clock of {host} is {} ms {} the first head's, by the memberships that both saw; its times are \
                 corrected by that",
                ms.unsigned_abs(),
                if ms > 0 { "ahead of" } else { "behind" },
            ));
        }
        if self.heads.len() > 1 && self.clocks.error_us().is_none() {
            gaps.push(
                "no membership was seen by all heads: how their clocks stand to each other is not known, and they are \
                 taken for equal"
                    .to_owned(),
            );
        }
        gaps
    }

    /// Whether a head's clock is apart as another zone is, and no stamp says that it is none.
    fn of_zone(&self, host: &HostName) -> bool {
        !self.zones_known && zones::like_zones(self.clocks.offset_us(host))
    }

    /// All marks, in the order of time.
    pub(super) fn marks(&self) -> Vec<At> {
        let all = Moment(0)..=Moment(u64::MAX);
        timeline::timeline(&self.with(&all, None, ClientRecord::default()))
    }

    /// What the lines say beside marks, in the order of time.
    pub(super) fn said(&self) -> Vec<(Moment, HostName, Said)> {
        let lines = self.on_one_clock();
        let mut all: Vec<_> = lines
            .filter_map(|(at, host, _, line)| Some((at, host.clone(), said(line.rest())?)))
            .collect();
        all.sort_by_key(|(at, _, _)| *at);
        all
    }

    /// When each head saw its links down.
    pub(super) fn spans(&self) -> impl Iterator<Item = (HostName, Vec<Span>)> {
        self.heads.iter().map(|(host, head)| {
            let clock = self.clock(host);
            let lines = head.lines[LogKind::Corosync as usize].iter();
            let lines = lines
                .filter_map(|line| Some((on_drills_clock(line.at, clock), heard(line.rest())?)));
            (host.clone(), spans(lines))
        })
    }

    /// Which head has which number, line by line.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (u32, HostName)> {
        let heads = self.heads.values();
        let lines = heads.flat_map(|head| &head.lines[LogKind::Pacemaker as usize]);
        lines.filter_map(|line| numbered(line.rest()))
    }

    fn all_lines(&self) -> impl Iterator<Item = &Line> {
        self.on_one_clock().map(|(_, _, _, line)| line)
    }

    /// All lines that tell something, with their moment on the first head's clock; head by head.
    pub(super) fn on_one_clock(&self) -> impl Iterator<Item = (Moment, &HostName, LogKind, &Line)> {
        self.heads.iter().flat_map(|(host, head)| {
            let clock = self.clock(host);
            let kinds = [LogKind::Corosync, LogKind::Pacemaker].into_iter();
            kinds.zip(&head.lines).flat_map(move |(kind, lines)| {
                let lines = lines.iter();
                lines.map(move |line| (on_drills_clock(line.at, clock), host, kind, line))
            })
        })
    }

    /// The same of some time.
    pub(super) fn within(
        &self,
        time: &RangeInclusive<Moment>,
    ) -> impl Iterator<Item = (Moment, &HostName, LogKind, &Line)> {
        self.heads.iter().flat_map(move |(host, head)| {
            let clock = self.clock(host);
            let kinds = [LogKind::Corosync, LogKind::Pacemaker].into_iter();
            kinds.zip(&head.lines).flat_map(move |(kind, lines)| {
                let lines = within(lines, |line| on_drills_clock(line.at, clock), time);
                let lines = lines.iter();
                lines.map(move |line| (on_drills_clock(line.at, clock), host, kind, line))
            })
        })
    }

    /// Agents that Pacemaker asked for their metadata: `vmpool01 (ocf:heartbeat:Filesystem)`.
    pub(super) fn agents(&self) -> BTreeMap<String, String> {
        let asked = self.all_lines().filter_map(|line| {
            let (_, rest) = line.text.split_once("Retrieving metadata for ")?;
            let (resource, rest) = rest.split_once(" (")?;
            Some((resource.to_owned(), rest.split_once(')')?.0.to_owned()))
        });
        asked.collect()
    }

    /// Fence devices that the fencer names: `fence-head1 is eligible to fence (off) head1`, `Delaying 'off' action targeting
    /// head1 using fence-head1`, `Operation 'off' [2467] targeting head1 using fence-head1 returned 0`.
    pub(super) fn fence_devices(&self) -> BTreeSet<String> {
        let named = self.all_lines().filter_map(|line| {
            let text = line.text.as_str();
            if !text.contains(" pacemaker-fenced") || text.contains(" output [ ") {
                return None;
            }
            if let Some((before, _)) = text.split_once(" is eligible to fence (") {
                return Some(before.rsplit(' ').next()?.to_owned());
            }
            let (_, rest) = text.split_once(" targeting ")?;
            let (_, rest) = rest.split_once(" using ")?;
            Some(rest.split([' ', ':']).next()?.to_owned())
        });
        named.collect()
    }

    /// The lines around an incident, of both logs; of links alone those that tell of links.
    pub(super) fn lines(&self, incident: &Incident) -> [Vec<String>; 2] {
        let around = incident.from.shifted(-BEFORE_US)..=incident.to.shifted(AFTER_US);
        [LogKind::Corosync, LogKind::Pacemaker].map(|kind| {
            let heads = self.heads.values();
            let heads =
                heads.map(|head| within(&head.lines[kind as usize], |line| line.at, &around));
            if !incident.links_alone {
                return heads.flatten().map(|line| line.text.clone()).collect();
            }
            let of_links = heads.map(|lines| match kind {
                LogKind::Corosync => {
                    let lines = lines.iter().filter(|line| heard(line.rest()).is_some());
                    flapping::pairs_at_ends(&lines.collect::<Vec<_>>())
                }
                LogKind::Pacemaker => {
                    let lines = lines.iter().filter(|line| numbered(line.rest()).is_some());
                    flapping::ends(&lines.collect::<Vec<_>>())
                }
            });
            of_links.flatten().collect()
        })
    }

    /// What the account of a service's outage is made from: the lines about it, and its outage for a client's.
    pub(super) fn case(&self, window: &Window, service: &PoolFacts) -> DrillCase {
        let inside = window.from.shifted(-BEFORE_US)..=window.to;
        let client = |outage: Outage| ClientRecord {
            pool: service.name.clone(),
            stalls: vec![Stall {
                writer: 0,
                from: outage.from,
                to: outage.to,
                over: outage.over,
            }],
            ..ClientRecord::default()
        };
        let mut outage = Outage {
            from: window.from,
            to: window.to,
            over: false,
            writer: 0,
        };
        let case = self.with(&inside, Some(service), client(outage));
        let marks = timeline::timeline(&case);
        let stands = ready(&Facts {
            case: &case,
            marks: &marks,
            outage,
        });
        if let Some(stands) = stands.filter(|_| window.started) {
            outage.to = stands;
            outage.over = true;
        }
        DrillCase {
            client: client(outage),
            ..case
        }
    }

    fn clock(&self, host: &HostName) -> Clock {
        Clock {
            offset_us: self.clocks.offset_us(host),
            // Not known is more than any.
            error_us: match self.heads.len() {
                ..=1 => 0,
                _ => self.clocks.error_us().unwrap_or(u64::MAX),
            },
        }
    }

    /// The lines of some moments, as a drill would have recorded them.
    fn with(
        &self,
        inside: &RangeInclusive<Moment>,
        service: Option<&PoolFacts>,
        client: ClientRecord,
    ) -> DrillCase {
        let logs = self.heads.iter().map(|(host, head)| {
            let clock = self.clock(host);
            let [corosync, pacemaker] = &head.lines;
            let texts = |lines: &[Line]| {
                let lines = within(lines, |line| on_drills_clock(line.at, clock), inside);
                lines.iter().map(|line| line.text.clone()).collect()
            };
            let logs = NodeLogs {
                clock,
                corosync: texts(corosync),
                pacemaker: texts(pacemaker),
                ..NodeLogs::default()
            };
            (host.clone(), logs)
        });
        DrillCase {
            format: DRILL_FORMAT.to_owned(),
            hawser: String::new(),
            recorded: self.recorded,
            seed: 0,
            scenario: Scenario {
                name: String::new(),
                about: String::new(),
                promises: Promises::default(),
            },
            cluster: ClusterFacts {
                nodes: self.nodes.clone(),
                pools: service.into_iter().cloned().collect(),
                ..ClusterFacts::default()
            },
            faults: Vec::new(),
            client,
            watch: Watch::default(),
            logs: logs.collect(),
            fencing: Vec::new(),
            power: Vec::new(),
            end: None,
            stopped: None,
        }
    }
}

/// `head2.example.com` is `head2`, where one head is called so and no other one begins so.
fn one_name(read: &mut [zones::Read]) {
    let names: BTreeSet<HostName> = read.iter().map(|(_, host, _)| host.clone()).collect();
    for (_, host, _) in read {
        let Some((short, _)) = host.as_str().split_once('.') else {
            continue;
        };
        let long = names.iter().filter(|name| {
            let rest = name.as_str().strip_prefix(short);
            rest.is_some_and(|rest| rest.starts_with('.'))
        });
        let short = HostName::from(short);
        if names.contains(&short) && long.count() == 1 {
            *host = short;
        }
    }
}

/// The part of what is in the order of time that is of some time.
pub(super) fn within<'a, T>(
    all: &'a [T],
    at: impl Fn(&T) -> Moment,
    time: &RangeInclusive<Moment>,
) -> &'a [T] {
    let from = all.partition_point(|one| at(one) < *time.start());
    let until = all.partition_point(|one| at(one) <= *time.end());
    all.get(from..until).unwrap_or_default()
}
