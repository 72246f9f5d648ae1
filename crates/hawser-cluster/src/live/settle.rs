//! The wait for a cluster that is doing what it was told. It says what it waits for, and it ends.

use std::time::Duration;

use hawser_host::{Hosts, clock};
use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;

use super::{LiveError, OnHead, ask, head, live_cib};
use crate::cib::services::primitive;
use crate::host::questions::{ReadCib, Settle};
use crate::plan::other_cluster;
use crate::simulate::{Directory, Simulator, Story, millis, step_in_words};
use crate::xml::Element;

/// How long pools may take to stop and to start before somebody should look, however little their own timeouts are.
const SETTLES: Duration = Duration::from_secs(300);

/// Of an operation that says nothing else (`default-action-timeout`, Pacemaker Explained).
const UNSAID: Duration = Duration::from_secs(20);

/// From one question to the next.
const ASKS: Duration = Duration::from_millis(200);

/// After so long it is said again what is waited for.
const SAYS_AGAIN: Duration = Duration::from_secs(10);

/// How a wait goes: how long it lasts, and who hears of it.
pub struct Waiting<'a> {
    /// At most so long; absent: as long as the slowest pool may take by its own timeouts.
    pub timeout: Option<Duration>,
    /// Hears what is waited for.
    pub said: &'a mut dyn FnMut(&str),
}

/// How a wait ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// Pacemaker has nothing left to do.
    Done,
    /// Time was over; this is what Pacemaker was still to do, in words.
    Late {
        /// How long it was waited, in seconds.
        seconds: u64,
        /// What is left.
        left: Vec<String>,
    },
}

impl Settled {
    /// An error when it ended too early.
    ///
    /// # Errors
    /// Time was over.
    pub fn or_late(self) -> Result<(), LiveError> {
        match self {
            Self::Done => Ok(()),
            Self::Late { seconds, left } => Err(LiveError::Failed(format!(
                "after {seconds} s Pacemaker is not done: {}",
                not_done(&left)
            ))),
        }
    }
}

/// What Pacemaker still has to do, in one line.
pub(super) fn not_done(left: &[String]) -> String {
    match left {
        [] => "an operation is still running".to_owned(),
        left => left.join(", then "),
    }
}

/// The live CIB, by any head of the cluster that answers: one that was fenced a moment ago does not.
///
/// # Errors
/// None answers.
pub(super) fn any_cib(
    file: &ClusterFile,
    heads: &mut Hosts,
) -> Result<(HostName, String), LiveError> {
    match live_cib(file, heads) {
        Ok(found) => found.ok_or(LiveError::NotRunning),
        Err(why) => {
            for (name, head) in heads.iter_mut() {
                match head.ask(&ReadCib) {
                    Ok(Some(cib)) if other_cluster::of_cib(file, &cib).is_none() => {
                        return Ok((name.clone(), cib));
                    }
                    _ => {}
                }
            }
            Err(why)
        }
    }
}

/// Waits until Pacemaker has nothing left to do.
///
/// `crm_resource --wait` ends at once while the nodes choose who decides, so its word is held
/// against the scheduler's: it must have nothing to do for this CIB. It is asked again and again for
/// a short time, so that a head that dies meanwhile is replaced by another one.
pub(super) fn wait_settled(
    file: &ClusterFile,
    heads: &mut Hosts,
    waiting: &mut Waiting<'_>,
) -> Result<Settled, LiveError> {
    let clock = clock(heads);
    let begun = clock.now();
    let (_, cib) = any_cib(file, heads)?;
    let allowed = match waiting.timeout {
        Some(timeout) => timeout,
        None => patience(&Element::parse(&cib, "the live CIB")?),
    };
    (waiting.said)(&format!(
        "waiting until Pacemaker has nothing left to do (at most {} s)",
        allowed.as_secs()
    ));
    let mut said = begun;
    loop {
        let over = clock.since(begun) >= allowed;
        let left = match once(file, heads, allowed.saturating_sub(clock.since(begun))) {
            Ok(None) => return Ok(Settled::Done),
            Ok(Some(left)) => left,
            // Whoever was asked is gone, or nobody decides at this moment.
            Err(e) if over || heads.values_mut().all(|head| head.is_lost()) => return Err(e),
            Err(e) => vec![e.to_string()],
        };
        if over {
            let seconds = clock.since(begun).as_secs();
            return Ok(Settled::Late { seconds, left });
        }
        if clock.since(said) >= SAYS_AGAIN {
            said = clock.now();
            (waiting.said)(&format!(
                "after {} s: {}",
                clock.since(begun).as_secs(),
                not_done(&left)
            ));
        }
        clock.sleep(ASKS);
    }
}

/// Whether Pacemaker is done, waiting for it a little: nothing when it is, else what it has to do.
fn once(
    file: &ClusterFile,
    heads: &mut Hosts,
    rest: Duration,
) -> Result<Option<Vec<String>>, LiveError> {
    let (name, _) = any_cib(file, heads)?;
    let seconds = rest.min(SAYS_AGAIN).as_secs().max(1);
    let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
    let settled = ask(heads, &name, &Settle { seconds })?;
    let (name, cib) = any_cib(file, heads)?;
    let left = to_do(&OnHead::new(head(heads, &name)?.as_mut()), &cib)?;
    let decided = Element::parse(&cib, "the live CIB")?
        .get("dc-uuid")
        .is_some_and(|dc| !dc.is_empty() && dc != "0");
    let done = settled && decided && left.is_empty();
    Ok((!done).then_some(left))
}

/// What Pacemaker has to do now for a CIB, in words; nothing when it is done.
pub(super) fn to_do(simulator: &dyn Simulator, cib: &str) -> Result<Vec<String>, LiveError> {
    let report = simulator.simulate(cib, &[])?.read()?;
    if report.executed.is_empty() {
        return Ok(Vec::new());
    }
    let directory = Directory::of(&Element::parse(cib, "the live CIB")?);
    let story = Story::of(&report, &directory);
    Ok(match story.steps.is_empty() {
        true => vec!["fence devices move".to_owned()],
        false => story.steps.iter().map(step_in_words).collect(),
    })
}

/// How long the cluster may be busy: as the slowest pool may take to stop and to start by the timeouts of its
/// parts, which follow one another. Pacemaker itself ends what takes longer.
fn patience(cib: &Element) -> Duration {
    let directory = Directory::of(cib);
    let of_resource = |id: &str| -> Duration {
        let operations = primitive(cib, id).and_then(|primitive| primitive.first("operations"));
        let timeout = |name: &str| {
            let mut all = operations.into_iter().flat_map(|all| all.all("op"));
            let op = all.find(|op| op.get("name") == Some(name))?;
            Some(Duration::from_millis(millis(op.get("timeout")?)?))
        };
        ["start", "stop"]
            .map(|name| timeout(name).unwrap_or(UNSAID))
            .iter()
            .sum()
    };
    let of_pool = |pool| directory.of_pool(pool).map(|(id, _)| of_resource(id)).sum();
    directory.pools().map(of_pool).fold(SETTLES, Duration::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cib(pool: &str, address: &str) -> Element {
        let text = format!(
            r#"<cib><configuration><resources>
                <primitive id="p" class="ocf" provider="heartbeat" type="Filesystem"><operations>
                    <op id="1" name="start" timeout="{pool}"/><op id="2" name="stop" timeout="{pool}"/>
                    <op id="3" name="monitor" interval="10s" timeout="2h"/></operations></primitive>
                <primitive id="a" class="ocf" provider="heartbeat" type="IPaddr2"><operations>
                    <op id="4" name="start" timeout="{address}"/></operations></primitive>
                <primitive id="f" class="stonith" type="fence_ipmilan"><operations>
                    <op id="5" name="start" timeout="3h"/></operations></primitive></resources>
                <constraints><rsc_colocation id="c" rsc="a" with-rsc="p" score="INFINITY"/></constraints>
            </configuration></cib>"#
        );
        Element::parse(&text, "test").unwrap()
    }

    #[test]
    fn as_long_as_the_slowest_pool_may_take() {
        // Twice the pool's ten minutes, the start of its address, and the stop of which nothing is said.
        assert_eq!(
            patience(&cib("10min", "30s")),
            Duration::from_secs(1200 + 30 + 20)
        );
    }

    #[test]
    fn never_shorter_than_somebody_would_wait() {
        assert_eq!(patience(&cib("20s", "20s")), SETTLES);
    }
}
