//! A status that ends in time, although the head whose scheduler is asked may die meanwhile: then another one is asked.

use std::sync::Mutex;
use std::time::Duration;

use hawser_host::{Host, Hosts};
use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_tool::Deadline;

use super::{Judged, LiveError, OnHead, Stand, StatusFacts, Truth, judgement};
use crate::host::view::Told;
use crate::host::view::bounded::Begun;
use crate::simulate::{Answer, CrmSimulate, Event, SimulateError, Simulator};

/// How much a judgement may take on one head, a few runs of `crm_simulate`, while somebody waits for it.
pub const JUDGE_PROMPTLY: Duration = Duration::from_secs(3);

/// The same for a program that asks repeatedly, on a head that may be busy.
pub const JUDGE_PATIENTLY: Duration = Duration::from_secs(45);

/// Judges by the `crm_simulate` of the head that is believed, which is the very version that decides there; where that
/// head does not answer within so long, by another member's, and last by this machine's own. A head that is still
/// silent then is no longer among `heads`.
///
/// # Errors
/// What Pacemaker said cannot be read. Or nobody answers: the error is that of the head asked first, since this machine's
/// `crm_simulate` may be too old for that cluster.
pub fn judged(
    file: &ClusterFile,
    facts: &StatusFacts,
    heads: &mut Hosts,
    limit: Duration,
) -> Result<Judged, LiveError> {
    let truth = Truth::of_cluster(file, &facts.views);
    let members = truth.stands.iter();
    let members = members.filter(|(_, stand)| **stand == Stand::Member);
    let mut asked: Vec<HostName> = truth.from.iter().cloned().collect();
    for (name, _) in members {
        if !asked.contains(name) {
            asked.push(name.clone());
        }
    }
    let mut first = None;
    for name in asked {
        let Some(head) = heads.remove(&name) else {
            continue;
        };
        let simulator = InTime::of(head, &name, limit);
        let judged = judgement(file, facts, &simulator);
        if let Some(head) = simulator.end() {
            heads.insert(name, head);
        }
        match judged {
            Err(why @ LiveError::Simulate(_)) => first = first.or(Some(why)),
            judged => return judged,
        }
    }
    judgement(file, facts, &CrmSimulate).map_err(|here| first.unwrap_or(here))
}

/// A head's scheduler, for which nobody waits longer than the limit.
struct InTime<'a> {
    /// None while it is silent.
    head: Mutex<Option<Box<dyn Host>>>,
    name: &'a HostName,
    until: Deadline,
    seconds: u32,
}

impl<'a> InTime<'a> {
    fn of(head: Box<dyn Host>, name: &'a HostName, limit: Duration) -> Self {
        Self {
            head: Mutex::new(Some(head)),
            name,
            until: Deadline::after(limit),
            seconds: u32::try_from(limit.as_secs()).unwrap_or(u32::MAX),
        }
    }

    /// The head again, unless it is still silent.
    fn end(self) -> Option<Box<dyn Host>> {
        self.head.into_inner().unwrap_or_else(|e| e.into_inner())
    }
}

impl Simulator for InTime<'_> {
    fn simulate(&self, cib: &str, events: &[Event]) -> Result<Answer, SimulateError> {
        let host = || self.name.to_string();
        let silent = |seconds| SimulateError::Silent {
            host: host(),
            seconds,
        };
        let mut place = self.head.lock().unwrap_or_else(|e| e.into_inner());
        let mut head = place.take().ok_or_else(|| silent(self.seconds))?;
        let (cib, events) = (cib.to_owned(), events.to_vec());
        let asked = Begun::until(self.until, self.seconds, move || {
            let said = OnHead::new(head.as_mut()).simulate(&cib, &events);
            (head, said)
        });
        match asked.end() {
            Told::Said((head, said)) => {
                *place = Some(head);
                said
            }
            Told::Silent(seconds) => Err(silent(seconds)),
            Told::Failed(said) => Err(SimulateError::Refused {
                command: format!("crm_simulate on {}", host()),
                said,
            }),
        }
    }
}
