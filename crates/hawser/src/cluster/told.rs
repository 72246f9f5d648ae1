//! `-v`: each question that a host is asked, by its name, on standard error. What is in questions and answers is never
//! told: it may be a secret.

use std::sync::atomic::{AtomicU8, Ordering};

use hawser_host::{Clock, Host, HostError, Question, Stopper};
use hawser_model::names::HostName;

use crate::output::complain;

/// How often `-v` was given.
static VERBOSITY: AtomicU8 = AtomicU8::new(0);

/// From here on hosts that are connected are told of, this much.
pub fn set_verbosity(times: u8) {
    VERBOSITY.store(times, Ordering::Relaxed);
}

/// The host, which tells of each question when that is wanted.
pub fn told(host: Box<dyn Host>) -> Box<dyn Host> {
    match VERBOSITY.load(Ordering::Relaxed) {
        0 => host,
        times => {
            complain!("{}: the agent runs", host.name());
            Box::new(Told {
                host,
                answers: times > 1,
            })
        }
    }
}

struct Told {
    host: Box<dyn Host>,
    answers: bool,
}

impl Host for Told {
    fn name(&self) -> &HostName {
        self.host.name()
    }

    fn exchange(&mut self, question: &Question) -> Result<Vec<u8>, HostError> {
        let name = question.name;
        complain!("{}: {name}", self.host.name());
        let clock = self.host.clock();
        let begun = clock.now();
        let answer = self.host.exchange(question);
        if self.answers {
            let took = clock.since(begun).as_secs_f64();
            match &answer {
                Ok(answer) => complain!(
                    "{}: {name}: {} bytes after {took:.3} s",
                    self.host.name(),
                    answer.len()
                ),
                Err(_) => complain!("{}: {name}: no answer after {took:.3} s", self.host.name()),
            }
        }
        answer
    }

    fn is_lost(&mut self) -> bool {
        self.host.is_lost()
    }

    fn let_go(&mut self) {
        self.host.let_go();
    }

    fn stopper(&self) -> Stopper {
        self.host.stopper()
    }

    fn clock(&self) -> Clock {
        self.host.clock()
    }
}
