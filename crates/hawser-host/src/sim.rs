//! Hosts that are simulated: their answers come from values, through the same JSON as those of real ones.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hawser_model::names::HostName;

use crate::answer::{Entry, answer_from};
use crate::clock::Clock;
use crate::error::{Failure, HostError};
use crate::frame::{body, encode};
use crate::host::{Host, Question, Stopper};
use crate::protocol::Reply;
use crate::stop::Stop;

/// Whoever waits for a host that hangs holds a test up for so long; then his patience is over by the simulated clock.
const HANGS: Duration = Duration::from_secs(60);

/// A host whose answers `N` gives.
pub struct Simulated<N: 'static> {
    name: HostName,
    node: N,
    questions: &'static [Entry<N>],
    wire: Wire,
    gone: bool,
}

/// What goes between a coordinator and simulated hosts, and when it does not any more.
#[derive(Clone, Debug)]
pub struct Wire {
    went: Arc<Mutex<Went>>,
    released: Arc<Condvar>,
    clock: Clock,
}

impl Default for Wire {
    fn default() -> Self {
        Self::of(Clock::simulated())
    }
}

#[derive(Debug, Default)]
struct Went {
    asked: Vec<(HostName, &'static str)>,
    fates: BTreeMap<HostName, (usize, Fate)>,
    cut_before: Option<usize>,
    answer_lost: Option<usize>,
    declined: Option<usize>,
}

/// What becomes of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its connection ends: it does not answer any more.
    Lost,
    /// It takes a question and does not answer: the patience of whoever asks is over at once, by the simulated clock.
    Silent,
    /// The same, and whoever waits for it really waits, until it is [released](Wire::release).
    Hangs,
}

/// What becomes of something that is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// It is asked.
    Through,
    /// It is asked, and declined.
    Declined,
    /// Whoever asks is cut off, or nobody is there.
    Cut,
}

impl Went {
    /// What has become of a host by now.
    fn fate(&self, host: &HostName) -> Option<Fate> {
        let (from, fate) = self.fates.get(host)?;
        (self.asked.len() >= *from).then_some(*fate)
    }
}

impl Wire {
    /// One at whose ends everybody waits by this clock.
    pub fn of(clock: Clock) -> Self {
        Self {
            went: Arc::default(),
            released: Arc::default(),
            clock,
        }
    }

    /// By which its ends wait.
    pub fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// All that was asked, in order: of whom, and the question's name.
    pub fn asked(&self) -> Vec<(HostName, &'static str)> {
        self.lock().asked.clone()
    }

    /// The numbers of what was asked: of what comes round again, after the same as before, the first time and the last.
    pub fn rounds(&self) -> Vec<usize> {
        let asked = &self.lock().asked;
        let mut rounds: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (number, this) in asked.iter().enumerate() {
            let before = number.checked_sub(1).map(|before| &asked[before]);
            let times = rounds.entry((before, this)).or_default();
            times.truncate(1);
            times.push(number);
        }
        let mut all: Vec<usize> = rounds.into_values().flatten().collect();
        all.sort_unstable();
        all
    }

    /// How much was asked.
    pub fn count(&self) -> usize {
        self.lock().asked.len()
    }

    /// Whoever asks is cut off before the question of this number, counted from 0: as a coordinator that is killed.
    pub fn cut_before(&self, number: usize) {
        self.lock().cut_before = Some(number);
    }

    /// The same after the question of this number has arrived: it is done, and its answer is lost.
    pub fn cut_after(&self, number: usize) {
        self.lose_answer(number);
        self.cut_before(number + 1);
    }

    /// The question of this number, counted from 0, is done, and its answer is lost with the connection: the host can be
    /// connected again.
    pub fn lose_answer(&self, number: usize) {
        self.lock().answer_lost = Some(number);
    }

    /// The question of this number, counted from 0, is declined, whoever is asked.
    pub fn decline(&self, number: usize) {
        self.lock().declined = Some(number);
    }

    /// Counts something that is asked of a host, or of what surrounds it: a question to that is cut off or declined as
    /// one to a host.
    pub fn carry(&self, host: &HostName, name: &'static str) -> Carried {
        self.number(host, name).0
    }

    /// The same, and its number.
    fn number(&self, host: &HostName, name: &'static str) -> (Carried, usize) {
        let mut went = self.lock();
        let number = went.asked.len();
        let cut = went.cut_before.is_some_and(|n| number >= n);
        if cut || went.fate(host) == Some(Fate::Lost) {
            return (Carried::Cut, number);
        }
        went.asked.push((host.clone(), name));
        match went.declined == Some(number) {
            true => (Carried::Declined, number),
            false => (Carried::Through, number),
        }
    }

    /// A host does not answer any more.
    pub fn lose(&self, host: HostName) {
        self.befalls(host, Fate::Lost, 0);
    }

    /// This becomes of a host when so many questions were asked of all.
    pub fn befalls(&self, host: HostName, fate: Fate, asked: usize) {
        self.lock().fates.insert(host, (asked, fate));
    }

    /// A host that was lost can be connected again.
    pub fn find(&self, host: &HostName) {
        self.lock().fates.remove(host);
    }

    /// All hosts go on.
    pub fn release(&self) {
        self.lock().fates.clear();
        self.released.notify_all();
    }

    /// Whether a host answers that was asked.
    fn answers(&self, host: &HostName) -> bool {
        let hangs = |went: &mut Went| went.fate(host) == Some(Fate::Hangs);
        let waited = self
            .released
            .wait_timeout_while(self.lock(), HANGS, hangs)
            .unwrap_or_else(PoisonError::into_inner);
        !matches!(waited.0.fate(host), Some(Fate::Hangs | Fate::Silent))
    }

    fn lock(&self) -> MutexGuard<'_, Went> {
        self.went.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<N> Simulated<N> {
    /// A host of that name.
    pub fn new(name: HostName, node: N, questions: &'static [Entry<N>], wire: &Wire) -> Self {
        let wire = wire.clone();
        Self {
            name,
            node,
            questions,
            wire,
            gone: false,
        }
    }
}

impl<N: Send> Host for Simulated<N> {
    fn name(&self) -> &HostName {
        &self.name
    }

    /// # Panics
    /// The simulation has no answer to such a question.
    fn exchange(&mut self, question: &Question) -> Result<Vec<u8>, HostError> {
        let name = question.name;
        let (carried, number) = match self.gone {
            true => (Carried::Cut, 0),
            false => self.wire.number(&self.name, name),
        };
        if carried == Carried::Cut {
            self.gone = true;
            return Err(Failure::Gone {
                question: name,
                earlier: None,
            }
            .on(&self.name));
        }
        if !self.wire.answers(&self.name) {
            self.gone = true;
            self.wire.clock.sleep(question.patience);
            let (question, after, said) = (name, question.patience, String::new());
            let late = Failure::Timeout {
                question,
                after,
                said,
            };
            return Err(late.on(&self.name));
        }
        let unreadable = |source| Failure::unreadable(name, source).on(&self.name);
        if carried == Carried::Declined {
            let reply = encode(&Reply::<()>::Declined("planted".into()));
            return Ok(body(reply.map_err(unreadable)?));
        }
        let stop = Stop::default();
        let frame = answer_from(self.questions, name, &question.body, &mut self.node, &stop)
            .unwrap_or_else(|| panic!("{name:?} is not simulated"))
            .map_err(unreadable)?;
        if self.wire.lock().answer_lost == Some(number) {
            self.gone = true;
            return Err(Failure::Gone {
                question: name,
                earlier: None,
            }
            .on(&self.name));
        }
        Ok(body(frame))
    }

    fn is_lost(&mut self) -> bool {
        self.gone || self.wire.lock().fate(&self.name) == Some(Fate::Lost)
    }

    fn let_go(&mut self) {
        self.gone = true;
    }

    fn stopper(&self) -> Stopper {
        Stopper::new(|| {})
    }

    fn clock(&self) -> Clock {
        self.wire.clock()
    }
}

/// What a simulated node answers: each question by a function of it and the node; `?` declines it. `QUESTIONS` is the table
/// of them all.
#[macro_export]
macro_rules! answers {
    ($visible:vis $node:ty; $($ask:ident: |$it:pat_param, $at:pat_param| $by:expr;)+) => {
        $visible const QUESTIONS: &[$crate::Entry<$node>] = &[$($crate::Entry::of::<$ask>()),+];

        $(impl $crate::Answers<$node> for $ask {
            fn answer(
                self,
                node: &mut $node,
                _: &$crate::Stop,
            ) -> Result<<$ask as $crate::Ask>::Answer, $crate::Declined> {
                let ($it, $at) = (self, node);
                Ok($by)
            }
        })+
    };
}

/// A node that can be asked one thing, for the tests of this crate.
#[cfg(test)]
pub(crate) mod up {
    use crate::answer::{Answers, Declined, Entry};
    use crate::protocol::Ping;
    use crate::stop::Stop;

    /// Whether it answers; else it declines.
    pub struct Up(pub bool);

    impl Answers<Up> for Ping {
        fn answer(self, node: &mut Up, _: &Stop) -> Result<(), Declined> {
            node.0.then_some(()).ok_or_else(|| "out of order".into())
        }
    }

    pub const QUESTIONS: &[Entry<Up>] = &[Entry::of::<Ping>()];
}

#[cfg(test)]
mod tests {
    use super::up::{QUESTIONS, Up};
    use super::*;
    use crate::protocol::Ping;

    #[test]
    fn a_host_that_declines_goes_on_and_one_that_is_cut_off_does_not() {
        let wire = Wire::default();
        let mut host = Simulated::new("a".into(), Up(false), QUESTIONS, &wire);
        let host: &mut dyn Host = &mut host;
        let error = host.ask(&Ping).unwrap_err();
        assert!(error.host_goes_on());
        assert_eq!(error.to_string(), "a: out of order");
        wire.cut_before(2);
        assert!(host.ask(&Ping).unwrap_err().host_goes_on());
        assert!(!host.ask(&Ping).unwrap_err().host_goes_on());
        assert_eq!(wire.asked().len(), 2);
    }
}
