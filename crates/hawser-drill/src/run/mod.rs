//! A drill, from the first look to the recorded run.

mod ending;

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use hawser_model::drill::{DRILL_FORMAT, DrillCase, FaultRecord, Moment, PowerEvent, PowerState};
use hawser_model::output::cluster::ClusterStatus;

use crate::asked::cluster_facts;
use crate::client::Client;
use crate::client_config;
use crate::context::DrillContext;
use crate::error::DrillError;
use crate::fault::Fault;
use crate::fencing;
use crate::in_progress::InProgress;
use crate::logs::{Marks, Steps};
use crate::network::Pauses;
use crate::record::{self, ClientRun};
use crate::scenario::{DrillPlan, Reaction, Scenario, all_off};
use crate::watch::{Sight, watch};
use crate::watch_record::WatchRecord;

/// A client counts as writing steadily after so long.
const STEADY: Duration = Duration::from_secs(2);

/// A fault must be seen to be there within so long.
const HAPPENS: Duration = Duration::from_secs(20);

/// So long after the last head is off that is to be fenced the drill looks whether the pool has moved.
const IN_SERVICE: Duration = Duration::from_secs(8);

/// The cluster may take so long to answer: far longer than any budget, so that the length of a bad
/// outage is measured rather than cut off.
const ANSWERS: Duration = Duration::from_secs(90);

/// A client that creates files also waits for a grace period of NFS, 90 s, and until its kernel asks again, 15 s at most.
const ANSWERS_TO_CREATOR: Duration = ANSWERS.saturating_add(Duration::from_secs(90 + 15));

/// How long a drill waits for the client.
fn answers(context: &DrillContext<'_>) -> Duration {
    context.patience(match context.client_config.create {
        true => ANSWERS_TO_CREATOR,
        false => ANSWERS,
    })
}

/// What a drill is told.
pub struct Orders<'a> {
    /// Which.
    pub scenario: &'a Scenario,
    /// How long clients may wait, instead of what the scenario says.
    pub budget: Option<Duration>,
    /// The version of the program.
    pub version: &'a str,
    /// Is told what happens.
    pub say: &'a dyn Fn(&str),
}

/// Runs a drill on a cluster that is whole.
///
/// Everything that was made is healed, however it ends.
///
/// # Errors
/// It could not be run, or was interrupted: what was made is taken back, and the cluster is waited for, before that is
/// said. That something broke is in the run.
pub fn run(
    context: &DrillContext<'_>,
    orders: &Orders<'_>,
    before: &ClusterStatus,
) -> Result<DrillCase, DrillError> {
    if let Some(why) = orders.scenario.unfit(context)? {
        return Err(DrillError::Unfit(why));
    }
    let note = InProgress::begin(context, orders.scenario.name)?;
    let seen = Mutex::new(WatchRecord::of(context.site, &context.heads));
    let sight = Sight {
        hosts: context.hosts,
        site: context.site,
        heads: &context.heads,
        watched: &context.watched,
        every: context.looks_every,
    };
    let outcome = thread::scope(|scope| {
        let _watching = watch(scope, sight, &seen);
        let mut drill = Drill {
            context,
            orders,
            seen: &seen,
            faults: Vec::new(),
            power: Vec::new(),
            degraded: BTreeSet::new(),
            stopped: None,
            unhealed: None,
        };
        let outcome = drill.perform(before).map(|done| (done, context.now()));
        let outcome = outcome.map_err(|why| drill.close(why));
        if drill.unhealed.is_none() {
            note.end();
        }
        outcome
    });
    let ((mut case, degraded), end) = outcome?;
    case.watch = seen
        .into_inner()
        .unwrap_or_else(|e| e.into_inner())
        .record(end, context.looks_every);
    case.watch.degraded = degraded.into_iter().collect();
    Ok(case)
}

struct Drill<'a> {
    context: &'a DrillContext<'a>,
    orders: &'a Orders<'a>,
    seen: &'a Mutex<WatchRecord>,
    faults: Vec<FaultRecord>,
    power: Vec<PowerEvent>,
    degraded: BTreeSet<String>,
    stopped: Option<String>,
    /// Something that was made is still there, or the cluster is not whole, in words: the next drill, or `--heal`,
    /// goes on.
    unhealed: Option<String>,
}

impl Drill<'_> {
    fn perform(
        &mut self,
        before: &ClusterStatus,
    ) -> Result<(DrillCase, BTreeSet<String>), DrillError> {
        let (context, scenario) = (self.context, self.orders.scenario);
        let mut plan = scenario.plan(context);
        plan.allow(self.orders.budget, context.site.slowness());
        let begun = context.now();
        let marks = Marks::set(context)?;
        let mut cluster = cluster_facts(context, before)?;
        let fenced_before = fencing::read(context)?;
        // Of heads that do not share the processors of this machine it is not measured.
        let pauses = context.site.on_this_machine().map(|_| Pauses::watch());
        let say = self.orders.say;
        say(&format!(
            "{}: {} ({} on {}); the client writes",
            scenario.name, scenario.about, context.pool, context.active
        ));
        if !context.wait(context.patience(HAPPENS), || {
            Ok(self.seen().all(&context.heads))
        })? {
            return Err(DrillError::CouldNot(
                "not every head could be looked at, and nothing was done to the cluster yet".into(),
            ));
        }
        let mut client = Client::start(context)?;
        if !client.wait_steady(context, begun, STEADY, answers(context))? {
            return Err(DrillError::CouldNot(
                "the client does not write steadily, and nothing was done to the cluster yet"
                    .into(),
            ));
        }
        if let Some(pause) = pauses.and_then(Pauses::end) {
            let heads = context.heads.iter().cloned();
            cluster.pauses = heads.map(|head| (head, pause)).collect();
        }
        let outcome = self.break_and_watch(&plan, &mut client);
        // Whatever came of it.
        let healed = self.heal(&plan.faults);
        self.unhealed = healed.as_ref().err().map(ToString::to_string);
        outcome?;
        healed?;
        say("healed; waiting until the cluster is whole");
        let (end, mut fenced) = self.wait_whole()?;
        if !client.wait_steady(context, context.now(), STEADY, answers(context))? {
            self.stopped =
                Some("clients did not write steadily again after everything was healed".into());
        }
        say("the client reads everything back");
        let left = client.stop(context)?;
        fenced.push(fencing::read(context)?);
        let logs = marks.since(context, &steps(&plan));
        let shots = fencing::since(&fenced_before, &fenced, &logs, begun);
        let log = context.site.power_log(&context.heads).into_iter();
        self.power.extend(log.filter(|event| event.at >= begun));
        self.power.sort_by_key(|event| event.at);
        let rules = record::rules(&self.power, &shots, left.clock);
        let place = ClientRun {
            host: context.client.clone(),
            pool: context.pool.clone(),
            load: context.client_config.load,
            create: context.client_config.create,
            clock: left.clock,
            portals: client_config::recorded(&context.client_config, &context.portals()),
            errors: left.complaints,
            fault: self.faults.first().map(|fault| fault.ordered),
        };
        let case = DrillCase {
            format: DRILL_FORMAT.to_owned(),
            hawser: self.orders.version.to_owned(),
            recorded: begun.0 / 1_000_000,
            seed: context.seed,
            scenario: scenario.described(plan.promises),
            cluster,
            faults: std::mem::take(&mut self.faults),
            client: record::client(&left.history, rules, place),
            watch: Default::default(),
            logs,
            fencing: shots.into_iter().map(|shot| shot.event).collect(),
            power: std::mem::take(&mut self.power),
            end,
            stopped: self.stopped.take(),
        };
        Ok((case, std::mem::take(&mut self.degraded)))
    }

    /// Makes the faults, one after the other, and waits for what the cluster makes of them.
    fn break_and_watch(&mut self, plan: &DrillPlan, client: &mut Client) -> Result<(), DrillError> {
        for fault in &plan.faults {
            self.make(fault.as_ref())?;
        }
        let context = self.context;
        let made = self
            .faults
            .last()
            .map_or_else(|| context.now(), |fault| fault.made);
        match self.orders.scenario.reaction {
            Reaction::Moves => {
                context.wait(context.patience(ANSWERS), || {
                    Ok(self.is_broken() || self.pool_is_elsewhere())
                })?;
            }
            Reaction::Fences => {
                let time = context.patience(all_off(context.file) + IN_SERVICE);
                context.wait(time, || Ok(self.is_broken() || self.pool_is_elsewhere()))?;
            }
            Reaction::Within(time) => {
                let end = Moment(made.0.saturating_add(micros(time)));
                let long = time + Duration::from_secs(1);
                context.wait(long, || Ok(self.is_broken() || context.now() >= end))?;
            }
        }
        if plan.survives() && !self.is_broken() {
            client.wait_steady(context, context.now(), STEADY, answers(context))?;
        }
        // The operator's view while it lasts.
        match context.cluster.status() {
            Ok(status) => self.degraded.extend(status.degraded),
            Err(why) => {
                self.degraded.insert(why);
            }
        }
        Ok(())
    }

    fn seen(&self) -> MutexGuard<'_, WatchRecord> {
        self.seen.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// A fault is taken back as soon as the worst has been seen, unless nobody misses what is broken: then it shows how
    /// it goes on.
    fn is_broken(&self) -> bool {
        !self.context.site.is_expendable() && self.seen().two_active()
    }

    fn pool_is_elsewhere(&self) -> bool {
        let seen = self.seen();
        let place = seen.place_of(&self.context.pool);
        place.is_some_and(|head| *head != self.context.active)
    }

    fn make(&mut self, fault: &dyn Fault) -> Result<(), DrillError> {
        let context = self.context;
        (self.orders.say)(&describe(fault));
        let ordered = context.now();
        self.faults.push(FaultRecord {
            name: fault.name().to_owned(),
            hosts: fault.hosts(),
            object: fault.object(),
            ordered,
            made: ordered,
            verified: None,
            evidence: String::new(),
            heal_ordered: None,
            healed: None,
        });
        fault.make(context)?;
        let made = context.now();
        fault.follow(context)?;
        let mut evidence = Ok(None);
        context.wait(context.patience(HAPPENS), || {
            evidence = fault.evidence(context);
            // Who would have to be asked may be out of reach for a moment, by the fault itself.
            let later = matches!(&evidence, Err(DrillError::Site(e)) if e.later);
            Ok(!later && !matches!(evidence, Ok(None)))
        })?;
        let evidence = evidence?;
        let verified = evidence.is_some().then(|| context.now());
        let evidence = evidence.ok_or_else(|| {
            DrillError::CouldNot(format!(
                "{} was ordered, and nothing shows it",
                describe(fault)
            ))
        });
        if let Some(record) = self.faults.last_mut() {
            (record.made, record.verified) = (made, verified);
            record.evidence = match &evidence {
                Ok(words) => words.clone(),
                Err(e) => e.to_string(),
            };
        }
        if !fault.is_power_loss() {
            return evidence.map(drop);
        }
        for host in fault.hosts() {
            self.power.push(PowerEvent {
                host,
                at: made,
                what: PowerState::Off,
            });
        }
        evidence.map(drop)
    }
}

/// The heads whose clocks are stepped.
fn steps(plan: &DrillPlan) -> Steps {
    let faults = plan.faults.iter();
    let steps = faults.filter_map(|fault| Some((fault.hosts(), fault.clock_step()?)));
    steps
        .flat_map(|(heads, step)| heads.into_iter().map(move |head| (head, step)))
        .collect()
}

/// A fault in words: `power-cut of head1`.
pub fn describe(fault: &dyn Fault) -> String {
    let hosts: Vec<String> = fault.hosts().iter().map(ToString::to_string).collect();
    let mut words = fault.name().to_owned();
    if !hosts.is_empty() {
        words += &format!(" of {}", hosts.join(", "));
    }
    if let Some(object) = fault.object() {
        words += &format!(" ({object})");
    }
    words
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
