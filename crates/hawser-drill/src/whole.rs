//! The end of a drill: every head has its power, also one that the cluster shot only now, and `hawser status` has
//! nothing to say.

use std::collections::BTreeMap;
use std::time::Duration;

use hawser_cluster::timing::EngineTiming;
use hawser_model::cluster_file::ClusterFile;
use hawser_model::drill::EndState;
use hawser_model::names::HostName;

use crate::context::DrillContext;
use crate::error::DrillError;
use crate::fencing::History;
use crate::queries::clean_up;

/// Healed, the cluster may take so long to be whole: a head boots, joins, and gets its pools.
pub const WHOLE: Duration = Duration::from_secs(180);

/// From one question about the health of the cluster to the next.
const ASKS: Duration = Duration::from_secs(1);

/// A head that was fenced while things were healed is switched on after this.
const OFF: Duration = Duration::from_secs(5);

/// A head that answers nobody for a while may be asked so long whether it, or its neighbour, has power.
const REACHED: Duration = Duration::from_secs(60);

/// From the decision to fence to a head that is off, beside the delay of the shot.
const SHOOTS: Duration = Duration::from_secs(5);

/// What was seen last.
#[derive(Debug, Default)]
pub struct LastStatus {
    /// How the cluster stood; absent: it could not be asked.
    pub last: Option<EndState>,
    /// Why not.
    pub why: String,
    /// What the fencers remembered before each time that their failures were cleaned up.
    pub(crate) fencing: Vec<History>,
}

impl LastStatus {
    /// What is not as it should be, in words; nothing when the cluster is whole.
    pub fn wrong(&self) -> Vec<String> {
        match &self.last {
            Some(end) if end.redundant => end.degraded.clone(),
            Some(end) if end.degraded.is_empty() => {
                vec!["not every node could be lost now".to_owned()]
            }
            Some(end) => end.degraded.clone(),
            None => vec![format!("the cluster could not be asked: {}", self.why)],
        }
    }
}

/// For how long a cluster must look whole when nobody waited for what it makes of a fault: a fault that was healed
/// before the others noticed it is answered all the same, by a shot at a head that has booted meanwhile.
pub fn answers_late(file: &ClusterFile) -> Duration {
    let lost = EngineTiming::of(file).declared_lost(file.nodes.len());
    let delays = file
        .fencing
        .iter()
        .flat_map(|fencing| fencing.delay.values());
    let delay = delays.map(|delay| delay.as_millis()).max().unwrap_or(0);
    Duration::from_millis(lost.as_millis() + delay) + SHOOTS
}

/// Waits until `hawser status` has nothing to say, and has had nothing to say for as long as `quiet`. Heads that lost
/// their power meanwhile are switched on; what Pacemaker remembers of failures is cleaned up as an operator would do
/// it.
///
/// # Errors
/// Ctrl-C; a head that cannot be switched on.
pub fn wait_whole(context: &DrillContext<'_>, quiet: Duration) -> Result<LastStatus, DrillError> {
    let mut seen = LastStatus::default();
    let mut asked = 0_u32;
    let mut off = Off::default();
    let mut since: Option<Duration> = None;
    context.wait_sparing(context.patience(WHOLE) + quiet, ASKS, || {
        asked += 1;
        let all_on = off.switch_on(context)?;
        match context.cluster.status() {
            Ok(status) => {
                let whole = all_on && status.redundant && status.degraded.is_empty();
                if !whole && asked % 8 == 0 {
                    seen.fencing.extend(clean_up(context));
                }
                seen.last = Some(EndState {
                    redundant: status.redundant,
                    degraded: status.degraded,
                    at: context.now(),
                });
                since = whole.then(|| since.unwrap_or_else(|| context.clock.now()));
                if since.is_some_and(|since| context.clock.since(since) >= quiet) {
                    return Ok(true);
                }
            }
            Err(e) => {
                since = None;
                seen.why = e;
            }
        }
        Ok(false)
    })?;
    Ok(seen)
}

/// Heads that were switched off, by a fault or by a fence device, are switched on.
pub(crate) fn power_everywhere(context: &DrillContext<'_>) -> Result<(), DrillError> {
    let mut healed = Ok(());
    for head in &context.heads {
        // BMCs may be asked through other heads, which may be out of reach for a while themselves. One that cannot be
        // switched on keeps none of the others from it.
        let on = context.until_done(REACHED, || context.site.power_on(head));
        healed = healed.and(on);
    }
    healed
}

/// Heads without power, and since when.
#[derive(Default)]
struct Off(BTreeMap<HostName, Duration>);

impl Off {
    /// Switches on those that were off for a while: a fence device that has just switched one off must
    /// find it so when it asks. True: all have power, as far as is known.
    fn switch_on(&mut self, context: &DrillContext<'_>) -> Result<bool, DrillError> {
        for head in &context.heads {
            match context.site.has_power(head) {
                // One that nobody can ask now is asked again.
                Err(e) if e.later => {}
                Err(e) => return Err(e.into()),
                // One of its supplies may still be off.
                Ok(true) if self.0.contains_key(head) => self.give_power(context, head)?,
                Ok(true) => {}
                Ok(false) => {
                    let since = *self
                        .0
                        .entry(head.clone())
                        .or_insert_with(|| context.clock.now());
                    if context.clock.since(since) > OFF {
                        self.give_power(context, head)?;
                    }
                }
            }
        }
        Ok(self.0.is_empty())
    }

    /// It is off until it is known to have been switched on.
    fn give_power(
        &mut self,
        context: &DrillContext<'_>,
        head: &HostName,
    ) -> Result<(), DrillError> {
        match context.site.power_on(head) {
            Ok(()) => drop(self.0.remove(head)),
            Err(e) if e.later => {}
            Err(e) => return Err(e.into()),
        }
        Ok(())
    }
}
