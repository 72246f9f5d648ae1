//! Asking several hosts until what was answered is enough. One that hangs holds nobody up.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use hawser_model::names::HostName;

use crate::ask::Ask;
use crate::clock::Clock;
use crate::error::{Failure, HostError};
use crate::host::{Host, Question, Stopper};
use crate::hosts::Hosts;

/// What hosts answered.
type AnswersOf<T> = BTreeMap<HostName, Result<T, HostError>>;

/// Asks hosts at the same time, until one answers what is enough. Who has not answered by then is not waited for: it
/// stays busy ([`Host::is_busy`]), and whoever asks it next waits for its earlier answer first. Hosts that are busy
/// already are asked only when no other one's answer is enough.
pub fn until_enough<A>(
    hosts: &mut Hosts,
    question: impl Fn(&HostName) -> A,
    enough: impl Fn(&A::Answer) -> bool,
) -> AnswersOf<A::Answer>
where
    A: Ask + Send + 'static,
    A::Answer: Send + 'static,
{
    let mut of_whom = [Vec::new(), Vec::new()];
    for (name, host) in hosts.iter_mut() {
        of_whom[usize::from(host.is_busy())].push(name.clone());
    }
    let mut answers = AnswersOf::new();
    for names in of_whom {
        if !answers.values().flatten().any(&enough) {
            answers.extend(asked(hosts, names, &question, &enough));
        }
    }
    answers
}

fn asked<A>(
    hosts: &mut Hosts,
    names: Vec<HostName>,
    question: &impl Fn(&HostName) -> A,
    enough: &impl Fn(&A::Answer) -> bool,
) -> AnswersOf<A::Answer>
where
    A: Ask + Send + 'static,
    A::Answer: Send + 'static,
{
    let (tell, told) = channel();
    let mut all = Vec::new();
    for name in names {
        if let Some(host) = hosts.remove(&name) {
            all.push(Busy::with(host, question(&name), tell.clone()));
        }
    }
    // The end of `told` is the end of the last one that was asked.
    drop(tell);
    let mut answers = AnswersOf::new();
    for (name, answer) in told.iter() {
        let last = answer.as_ref().is_ok_and(enough);
        answers.insert(name, answer);
        if last {
            break;
        }
    }
    for mut busy in all {
        busy.look();
        let name = busy.name.clone();
        let host = busy.host.take();
        hosts.insert(name, host.unwrap_or_else(|| Box::new(busy)));
    }
    answers.extend(told.try_iter());
    answers
}

/// Does this on a thread of its own; here if there is none to be had.
fn aside<W: FnOnce() + Send + 'static>(work: W) {
    let (give, taken) = channel::<W>();
    let started = thread::Builder::new().spawn(move || taken.recv().map(|work| work()));
    match started {
        Ok(_) => _ = give.send(work),
        Err(_) => work(),
    }
}

/// A host that was asked something whose answer nobody waits for.
struct Busy {
    name: HostName,
    clock: Clock,
    stopper: Stopper,
    back: Receiver<Box<dyn Host>>,
    host: Option<Box<dyn Host>>,
    gone: bool,
}

type Told<A> = (HostName, Result<<A as Ask>::Answer, HostError>);

impl Busy {
    fn with<A>(mut host: Box<dyn Host>, question: A, tell: Sender<Told<A>>) -> Self
    where
        A: Ask + Send + 'static,
        A::Answer: Send + 'static,
    {
        let (give, back) = channel();
        let busy = Self {
            name: host.name().clone(),
            clock: host.clock(),
            stopper: host.stopper(),
            back,
            host: None,
            gone: false,
        };
        aside(move || {
            let answer = host.ask(&question);
            let name = host.name().clone();
            // Nobody may want either any more. A host that is dropped ends its agent.
            let _dropped = give.send(host);
            let _late = tell.send((name, answer));
        });
        busy
    }

    fn look(&mut self) {
        if let (None, Ok(host)) = (&self.host, self.back.try_recv()) {
            self.host = Some(host);
        }
    }
}

impl Host for Busy {
    fn name(&self) -> &HostName {
        &self.name
    }

    fn exchange(&mut self, question: &Question) -> Result<Vec<u8>, HostError> {
        if self.host.is_none() && !self.gone {
            // It ends: every question has its time.
            self.host = self.back.recv().ok();
        }
        match &mut self.host {
            Some(host) if !self.gone => host.exchange(question),
            _ => {
                let question = question.name;
                Err(Failure::Gone {
                    question,
                    earlier: None,
                }
                .on(&self.name))
            }
        }
    }

    fn is_busy(&mut self) -> bool {
        self.look();
        match &mut self.host {
            Some(host) => host.is_busy(),
            None => !self.gone,
        }
    }

    fn is_lost(&mut self) -> bool {
        self.look();
        self.gone || self.host.as_mut().is_some_and(|host| host.is_lost())
    }

    fn let_go(&mut self) {
        self.gone = true;
        if let Some(host) = &mut self.host {
            host.let_go();
        }
    }

    fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    fn clock(&self) -> Clock {
        self.clock.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Ping;
    use crate::sim::up::{QUESTIONS, Up};
    use crate::sim::{Fate, Simulated, Wire};

    fn hosts(wire: &Wire) -> Hosts {
        let host = |name: HostName| -> (HostName, Box<dyn Host>) {
            let host = Simulated::new(name.clone(), Up(true), QUESTIONS, wire);
            (name, Box::new(host))
        };
        ["a", "b"].map(|name| host(name.into())).into()
    }

    #[test]
    fn the_first_answer_that_is_enough_ends_the_wait_and_the_others_stay_busy() {
        let wire = Wire::default();
        let mut hosts = hosts(&wire);
        wire.befalls("a".into(), Fate::Hangs, 0);
        let ping = |hosts: &mut Hosts| until_enough(hosts, |_| Ping, |()| true);
        // Nor is it asked again while it hangs.
        for _ in 0..3 {
            let answers = ping(&mut hosts);
            assert!(answers.keys().map(HostName::as_str).eq(["b"]));
            assert!(hosts.values_mut().any(|host| host.is_busy()));
        }
        assert_eq!(wire.clock().now(), std::time::Duration::ZERO);
        wire.release();
        let a = hosts.get_mut(&HostName::from("a")).unwrap();
        a.ask(&Ping).unwrap();
        assert!(!a.is_busy());
        let asked = wire.asked().into_iter();
        assert_eq!(asked.filter(|(name, _)| name.as_str() == "a").count(), 2);
    }

    #[test]
    fn without_an_answer_that_is_enough_all_are_waited_for() {
        let wire = Wire::default();
        let mut hosts = hosts(&wire);
        let answers = until_enough(&mut hosts, |_| Ping, |()| false);
        assert!(answers.len() == 2 && answers.values().all(Result::is_ok));
        wire.lose("a".into());
        let answers = until_enough(&mut hosts, |_| Ping, |()| false);
        assert!(answers[&HostName::from("a")].is_err());
        assert!(answers[&HostName::from("b")].is_ok());
    }
}
