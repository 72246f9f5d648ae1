//! A status that ends in time, although the head whose scheduler is asked may die meanwhile: then another one is asked.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_model::output::cluster::ClusterStatus;

use super::{Head, Heads, LiveError, OnHead, Stand, StatusFacts, Truth, status};
use crate::simulate::{Answer, CrmSimulate, Event, SimulateError, Simulator};

/// Judges by the `crm_simulate` of the head that is believed, which is the very version that decides there; where that
/// head does not answer within so long, by another member's, and last by this machine's own. A head that is still
/// silent then is no longer among `heads`.
///
/// # Errors
/// What Pacemaker said cannot be read; nobody could be asked.
pub fn judged(
    file: &ClusterFile,
    facts: &StatusFacts,
    heads: &mut Heads,
    limit: Duration,
) -> Result<ClusterStatus, LiveError> {
    let truth = Truth::of(&facts.views);
    let members = truth.stands.iter();
    let members = members.filter(|(_, stand)| **stand == Stand::Member);
    let mut asked: Vec<HostName> = truth.from.iter().cloned().collect();
    for (name, _) in members {
        if !asked.contains(name) {
            asked.push(name.clone());
        }
    }
    for name in asked {
        let Some(head) = heads.remove(&name) else {
            continue;
        };
        let simulator = InTime::of(head, limit);
        let judged = status(file, facts, &simulator);
        if let Some(head) = simulator.end() {
            heads.insert(name, head);
        }
        match judged {
            Err(LiveError::Simulate(_)) => {}
            judged => return judged,
        }
    }
    status(file, facts, &CrmSimulate)
}

type Question = (String, Vec<Event>);

/// A head's scheduler, asked from a thread of its own, for which nobody waits longer than the limit.
struct InTime {
    ask: Sender<Question>,
    answers: Mutex<Receiver<Result<Answer, SimulateError>>>,
    thread: JoinHandle<Box<dyn Head>>,
    until: Instant,
    limit: Duration,
}

impl InTime {
    fn of(mut head: Box<dyn Head>, limit: Duration) -> Self {
        let (ask, questions) = channel::<Question>();
        let (answer, answers) = channel();
        let thread = thread::spawn(move || {
            while let Ok((cib, events)) = questions.recv() {
                let said = OnHead::new(head.as_mut()).simulate(&cib, &events);
                if answer.send(said).is_err() {
                    break;
                }
            }
            head
        });
        Self {
            ask,
            answers: Mutex::new(answers),
            thread,
            until: Instant::now() + limit,
            limit,
        }
    }

    /// The head again, unless it is still silent.
    fn end(self) -> Option<Box<dyn Head>> {
        let Self {
            ask,
            answers,
            thread,
            until,
            ..
        } = self;
        drop((ask, answers));
        while !thread.is_finished() {
            if Instant::now() >= until {
                return None;
            }
            thread::sleep(Duration::from_millis(1));
        }
        thread.join().ok()
    }
}

impl Simulator for InTime {
    fn simulate(&self, cib: &str, events: &[Event]) -> Result<Answer, SimulateError> {
        let refused = |said: String| SimulateError::Refused {
            command: "crm_simulate".into(),
            said,
        };
        let ended = || refused("the head's connection ended".into());
        let question = (cib.to_owned(), events.to_vec());
        self.ask.send(question).map_err(|_| ended())?;
        let answers = self.answers.lock().unwrap_or_else(|e| e.into_inner());
        let left = self.until.saturating_duration_since(Instant::now());
        match answers.recv_timeout(left) {
            Ok(answer) => answer,
            Err(_) => Err(refused(format!(
                "no answer within {:.0} s",
                self.limit.as_secs_f64()
            ))),
        }
    }
}
