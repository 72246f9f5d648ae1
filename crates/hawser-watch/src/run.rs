//! A watch that stays on a head: asks it each second, judges, and shows what stands.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use hawser_agent::questions::ReadHeartbeats;
use hawser_cluster::host::HeadView;
use hawser_cluster::live::{JUDGE_PATIENTLY, Judged, StatusFacts, judged, observe_alone};
use hawser_host::{Clock, Host, HostError, Hosts};
use hawser_model::cluster_file::ClusterFile;
use hawser_model::host::CertificateFacts;
use hawser_model::kept_alarms::KeptAlarms;
use hawser_model::names::HostName;
use hawser_model::output::watch::Alarm;

use crate::changes::{Change, Changes};
use crate::judge::Key;
use crate::keeping::Keeping;
use crate::metrics::Health;
use crate::probes::probe;
use crate::recorder::Recorder;
use crate::resident::Resident;
use crate::shown::Shown;
use crate::tell::{Told, Waiting};
use crate::threads::Threads;

/// From one reading to the next.
pub const EVERY: Duration = Duration::from_secs(1);

/// The view of the cluster and its judgement, or why there is none.
pub type Viewed = Result<(StatusFacts, Judged), String>;

/// Who looks at the cluster as a whole: that takes seconds, and no reading waits for it.
pub trait Look {
    /// Begins a look, at the fence devices too or at all but them; false if another lasts, which may have seen what was before.
    #[must_use]
    fn begin(&mut self, devices: bool) -> bool;

    /// What came of one that has ended.
    fn ended(&mut self) -> Option<Viewed>;
}

/// A watch from second to second.
pub struct Watch {
    resident: Resident,
    recorder: Recorder,
    keeping: Option<Keeping>,
    health: Health,
    shown: Shown,
    changes: Changes,
    /// Whether people are sent messages.
    tells: bool,
    /// The messages that people have not got yet.
    waiting: Waiting,
    /// The alarms of which others tell, and those of the watch before this one, until they are asked for.
    left: BTreeSet<Key>,
    left_before: Option<BTreeSet<Key>>,
    /// Whether a view of the cluster has come yet, or why not.
    problem: Option<String>,
    /// The head's logs may tell of something new.
    news: bool,
}

impl Watch {
    /// The head of this name in the file.
    pub fn new(file: ClusterFile, own: HostName) -> Self {
        let pools = file.pool_folders();
        let resident = Resident::new(file, own);
        Self {
            shown: resident.shown(),
            resident,
            recorder: Recorder::new(pools),
            keeping: None,
            health: Health::default(),
            changes: Changes::default(),
            tells: false,
            waiting: Waiting::default(),
            left: BTreeSet::new(),
            left_before: None,
            problem: None,
            news: true,
        }
    }

    /// Keeps its readings too.
    pub fn keeping(self, keeping: Keeping) -> Self {
        let keeping = Some(keeping);
        Self { keeping, ..self }
    }

    /// People are sent messages of it.
    pub fn telling(self, tells: bool) -> Self {
        Self { tells, ..self }
    }

    /// One reading: what began and what ended with it. A question that is not answered leaves what was known.
    pub fn tick(&mut self, host: &mut dyn Host, look: &mut dyn Look, clock: &Clock) -> Vec<Change> {
        let now = clock.now();
        let time_of_day = clock.time_of_day().0 / 1_000_000;
        self.health.readings += 1;
        self.resume(host, now, time_of_day);
        let pulse = host.ask(&self.resident.next());
        let Some(pulse) = self.answered(pulse) else {
            return Vec::new();
        };
        if self.recorder.pulse(now, &pulse) {
            let kept = self.recorder.keep(host, now, time_of_day);
            self.answered(kept);
            self.news = true;
        }
        let wants = self.resident.pulse(now, time_of_day, pulse);
        if wants.links {
            if let Some(stats) = self.answered(host.ask(&ReadHeartbeats)) {
                self.resident.links(now, stats);
            }
        }
        if wants.standing {
            if let Some(standing) = self.answered(host.ask(&self.resident.standing_question())) {
                self.resident.standing(standing);
            }
        }
        match look.ended() {
            Some(Ok((facts, judged))) => {
                let own = facts.views.get(self.resident.own());
                let again = own.is_none_or(HeadView::engine_does_not_answer);
                self.resident.view(facts, judged);
                if again {
                    self.resident.no_view(now);
                }
                self.problem = None;
            }
            Some(Err(why)) => {
                self.health.failures += 1;
                self.resident.no_view(now);
                self.problem = Some(why);
            }
            None => {}
        }
        if wants.view && !look.begin(wants.devices) {
            self.resident.not_looked(wants);
        }
        self.resident.judge(now, self.recorder.open_since());
        self.shown = self.resident.shown();
        if let Some(keeping) = &mut self.keeping {
            // Both at this moment: what this tick took before is no step of the clock.
            keeping.keep(host, clock.now(), clock.time_of_day(), &self.shown);
            self.health.kept = Some(keeping.counts());
        }
        self.changes.take(&self.shown)
    }

    /// Goes on from what the watch before this one left, and keeps the same for the one after it. What the last reading showed has
    /// been told by now: one that ends between the two tells it twice.
    fn resume(&mut self, host: &mut dyn Host, now: Duration, time_of_day: u64) {
        let Some(keeping) = &mut self.keeping else {
            return;
        };
        if let Some(found) = keeping.open(host, now) {
            self.resident.resume(now, time_of_day, found.standing);
            // What stood while nobody was sent a message is new to who is sent one now.
            if !(found.untold && self.tells) {
                self.changes.resume(found.told);
            }
            self.left = found.left.iter().map(Alarm::key).collect();
            self.left_before = Some(self.left.clone());
        }
        let told = self.changes.told(&self.waiting);
        let left = told.iter().filter(|alarm| self.left.contains(&alarm.key()));
        let alarms = KeptAlarms {
            standing: self.resident.alarms(),
            left: left.cloned().collect(),
            untold: !self.tells && !told.is_empty(),
            told,
        };
        keeping.alarms(host, now, alarms);
    }

    /// Takes the certificates by which it is listened for other machines.
    pub fn certificates(&mut self, certificates: &[CertificateFacts]) {
        self.resident.certificates(certificates);
    }

    /// What there is to say of the way to the disk and of the clock since it was asked last.
    pub fn said(&mut self) -> Vec<String> {
        let mut all = self.keeping.as_mut().map(Keeping::said).unwrap_or_default();
        all.extend(self.recorder.said());
        all
    }

    /// Why the last view of the cluster could not be had; absent when it could.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Whether the head's logs may tell of something new since it was asked last.
    pub fn news(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }

    /// The CIB as the last view of the cluster had it.
    pub fn cib(&self) -> Option<&str> {
        self.resident.cib()
    }

    /// Takes what became of messages to people.
    pub fn told(&mut self, told: Told) {
        self.health.told = Some(told.counts);
        self.health.tells = !told.fails;
        self.waiting = told.waiting;
        self.left = told.left;
    }

    /// Of which alarms the watch before this one left it to others to tell, once that is known.
    pub fn left(&mut self) -> Option<BTreeSet<Key>> {
        self.left_before.take()
    }

    /// What is shown now.
    pub fn shown(&self) -> (Shown, Health) {
        (self.shown.clone(), self.health)
    }

    fn answered<T>(&mut self, answer: Result<T, HostError>) -> Option<T> {
        answer.map_err(|_| self.health.failures += 1).ok()
    }
}

/// Makes a way to this head anew.
pub type Mine = Box<dyn Fn() -> Box<dyn Host> + Send>;

/// The cluster from one head.
pub struct OwnView {
    file: ClusterFile,
    own: HostName,
    mine: Mine,
    /// The head, unless a thread still waits for its scheduler.
    head: Hosts,
    last: Option<StatusFacts>,
    judge: Duration,
}

impl OwnView {
    /// From this head.
    pub fn new(file: ClusterFile, own: HostName, mine: Mine) -> Self {
        Self {
            file,
            own,
            mine,
            head: Hosts::new(),
            last: None,
            judge: JUDGE_PATIENTLY,
        }
    }

    /// With another patience for the judgement.
    #[must_use]
    pub fn judging(self, judge: Duration) -> Self {
        Self { judge, ..self }
    }

    /// Looks, at the fence devices too or at all but them; of these is known what was seen before. A head that does not say how
    /// it stands has not been looked at, so its alarms stand.
    pub fn look(&mut self, devices: bool) -> Viewed {
        // Who was silent for too long while it was judged is gone with the thread that waits for it.
        let own = self.own.clone();
        self.head.entry(own).or_insert_with(&self.mine);
        let before = self.last.as_ref().filter(|_| !devices);
        let mut facts = observe_alone(&self.file, &self.own, &mut self.head, before);
        if !facts.views.contains_key(&self.own) {
            let why = facts.unreached.remove(&self.own);
            return Err(why.unwrap_or_else(|| format!("{} was not asked", self.own)));
        }
        if let Some(last) = &self.last {
            facts.keep_numbers(last);
        }
        if devices {
            probe(&self.file, &mut self.head, &mut facts);
        }
        self.last = Some(facts.clone());
        let judged = judged(&self.file, &facts, &mut self.head, self.judge);
        let viewed = judged.map_err(|e| e.to_string());
        viewed.map(|judged| (facts, judged))
    }
}

/// Looks at the cluster on a thread of its own.
pub struct Looker {
    begin: SyncSender<bool>,
    ended: Receiver<Viewed>,
    lasts: bool,
}

impl Looker {
    /// By this view.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(threads: &mut Threads, mut view: OwnView) -> Result<Self, std::io::Error> {
        let (begin, begun) = sync_channel::<bool>(1);
        let (end, ended) = sync_channel(1);
        let work = move || {
            while let Ok(devices) = begun.recv() {
                if end.send(view.look(devices)).is_err() {
                    return;
                }
            }
        };
        threads.start("look", work)?;
        let lasts = false;
        Ok(Self {
            begin,
            ended,
            lasts,
        })
    }
}

impl Look for Looker {
    fn begin(&mut self, devices: bool) -> bool {
        let begins = !self.lasts;
        if begins {
            self.lasts = self.begin.send(devices).is_ok();
        }
        begins
    }

    fn ended(&mut self) -> Option<Viewed> {
        match self.ended.try_recv() {
            Ok(viewed) => {
                self.lasts = false;
                Some(viewed)
            }
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                Some(Err("the thread that looks at the cluster has ended".into()))
            }
        }
    }
}
