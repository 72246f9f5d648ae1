//! All heads read from second to second for one who looks at them: a thread for each head, so that one that hangs holds
//! up no other, and one that asks all of them what takes seconds.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_agent::questions::ReadHeartbeats;
use hawser_cluster::host::view::Limits;
use hawser_cluster::live::{JUDGE_PROMPTLY, Judged, StatusFacts, judged, observe, observe_again};
use hawser_host::{Clock, Host, HostError, Hosts, Reach, connect_missing};
use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_model::output::live::LiveIncidents;
use hawser_model::output::top::TopPicture;

use crate::history::history;
use crate::locked::locked;
use crate::probes::probe;
use crate::run::EVERY;
use crate::shown::Shown;
use crate::threads::Threads;
use crate::whole::{Due, Whole};

/// A head that is not reached is tried again after so long.
const AGAIN: Duration = Duration::from_secs(3);

/// A way to the heads that threads share.
pub type Way = Arc<dyn Reach + Send + Sync>;

/// Who reads the heads.
pub struct Readers {
    whole: Arc<Mutex<Whole>>,
    threads: Threads,
    clock: Clock,
}

/// What a watch shows of all heads.
pub struct Seen {
    /// The heads.
    pub shown: Shown,
    /// What their logs tell.
    pub incidents: LiveIncidents,
    /// Why the last look at the cluster failed, if it did.
    pub problem: Option<String>,
    /// How many questions were not answered since the reading began.
    pub failures: u64,
}

impl Readers {
    /// Begins to read. Nodes that are slow have so many times longer.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(whole: Whole, way: &Way, slowness: u32) -> io::Result<Self> {
        let names = whole.names();
        let file = whole.file().cloned();
        let clock = way.clock();
        let whole = Arc::new(Mutex::new(whole));
        let mut threads = Threads::default();
        for name in names.clone() {
            let (whole, way, clock) = (whole.clone(), way.clone(), clock.clone());
            let work = move || read_head(&whole, &name, way.as_ref(), &clock);
            threads.start("head", work)?;
        }
        if let Some(file) = file {
            let all = All {
                file,
                names,
                way: way.clone(),
                heads: Hosts::new(),
                slowness,
            };
            let (whole, clock) = (whole.clone(), clock.clone());
            let work = move || all.read(&whole, &clock);
            threads.start("all heads", work)?;
        }
        Ok(Self {
            whole,
            threads,
            clock,
        })
    }

    /// All that is known at this moment, judged.
    pub fn picture(&self) -> TopPicture {
        let mut whole = locked(&self.whole);
        whole.judge(self.clock.now(), seconds(&self.clock));
        whole.picture()
    }

    /// All that a watch shows at this moment.
    pub fn seen(&self) -> Seen {
        let mut whole = locked(&self.whole);
        whole.judge(self.clock.now(), seconds(&self.clock));
        Seen {
            shown: whole.shown(),
            incidents: whole.incidents().clone(),
            problem: whole.problem().map(str::to_owned),
            failures: whole.failures(),
        }
    }

    /// Asks again for what is asked only when something has happened.
    pub fn again(&self) {
        locked(&self.whole).again();
    }

    /// The threads that read.
    pub fn threads(&self) -> &Threads {
        &self.threads
    }
}

fn seconds(clock: &Clock) -> u64 {
    clock.time_of_day().0 / 1_000_000
}

/// Reads one head for ever.
fn read_head(whole: &Mutex<Whole>, name: &HostName, way: &dyn Reach, clock: &Clock) {
    loop {
        let why = match way.connect(name) {
            Ok(mut host) => loop {
                let begun = clock.now();
                match tick(whole, host.as_mut(), clock) {
                    Err(e) if !e.host_goes_on() => break e,
                    // What it declines is not known.
                    Ok(()) | Err(_) => clock.sleep(EVERY.saturating_sub(clock.since(begun))),
                }
            },
            Err(e) => e,
        };
        locked(whole).silent(name, why.failure.to_string());
        clock.sleep(AGAIN);
    }
}

/// One reading of one head.
///
/// # Errors
/// It does not answer, or declines.
pub fn tick(whole: &Mutex<Whole>, host: &mut dyn Host, clock: &Clock) -> Result<(), HostError> {
    let name = host.name().clone();
    // Of one that does not go on it is said that it is silent.
    let failed = |error: HostError| {
        if error.host_goes_on() {
            locked(whole).declined();
        }
        error
    };
    let next = locked(whole).next(&name);
    let pulse = host.ask(&next).map_err(failed)?;
    let wants = locked(whole).pulse(&name, clock.now(), seconds(clock), pulse);
    let mut links = Ok(());
    if wants.links {
        let stats = host.ask(&ReadHeartbeats).map_err(failed);
        links = stats.map(|stats| locked(whole).links(&name, clock.now(), stats));
        // A Corosync that does not answer holds up nothing else.
        if links.as_ref().is_err_and(|e| !e.host_goes_on()) {
            return links;
        }
    }
    if wants.standing {
        let question = locked(whole).standing_question(&name);
        let standing = host.ask(&question).map_err(failed)?;
        locked(whole).standing(&name, standing);
    }
    links
}

/// Who asks all heads at once.
struct All {
    file: ClusterFile,
    names: Vec<HostName>,
    way: Way,
    heads: Hosts,
    slowness: u32,
}

impl All {
    fn read(mut self, whole: &Mutex<Whole>, clock: &Clock) {
        loop {
            let Due {
                look,
                devices,
                past,
            } = locked(whole).due(clock.now());
            if look {
                let seen = locked(whole).seen();
                let looked = self.look(devices, seen);
                locked(whole).looked(clock.now(), seconds(clock), looked);
            }
            if past {
                let unreached = self.connect();
                let report = history(
                    &mut self.heads,
                    &unreached,
                    Some(&self.file),
                    seconds(clock),
                );
                locked(whole).past(&report);
            }
            clock.sleep(EVERY / 4);
        }
    }

    /// But where they are due, fence devices are not asked again: what was seen of them before stands.
    fn look(
        &mut self,
        devices: bool,
        seen: Option<StatusFacts>,
    ) -> Result<(StatusFacts, Judged), String> {
        let unreached = self.connect();
        let limits = Limits::PROMPT.times(self.slowness);
        let heads = &mut self.heads;
        let mut facts = match seen.as_ref().filter(|_| !devices) {
            Some(seen) => observe_again(&self.file, heads, unreached, limits, seen),
            // The links are read by those who read each head.
            None => {
                let mut facts = observe(&self.file, heads, unreached, limits, Duration::ZERO);
                probe(&self.file, heads, &mut facts);
                facts
            }
        };
        if let Some(seen) = &seen {
            facts.keep_numbers(seen);
        }
        let judge = JUDGE_PROMPTLY * self.slowness;
        let judged = judged(&self.file, &facts, &mut self.heads, judge);
        judged
            .map(|judged| (facts, judged))
            .map_err(|e| e.to_string())
    }

    /// Reaches those that are not reached, all at the same time; says of which it was not possible.
    fn connect(&mut self) -> BTreeMap<HostName, String> {
        let failed = connect_missing(&mut self.heads, &self.names, self.way.as_ref());
        let why = failed.into_iter().map(|e| (e.host, e.failure.to_string()));
        why.collect()
    }
}
