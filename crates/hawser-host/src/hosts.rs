//! Several hosts: all of them at the same time, and one again after it was gone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use hawser_model::names::HostName;

use crate::ask::Ask;
use crate::clock::Clock;
use crate::error::HostError;
use crate::host::Host;

/// Hosts by their names.
pub type Hosts = BTreeMap<HostName, Box<dyn Host>>;

/// The clock of whoever asks these hosts.
pub fn clock(hosts: &Hosts) -> Clock {
    let first = hosts.values().next();
    first.map_or_else(Clock::default, |host| host.clock())
}

/// Does something on all hosts at the same time.
///
/// # Errors
/// The error of the first host, in the order of their names, that has one.
pub fn on_all<T: Send, E: Send>(
    hosts: &mut Hosts,
    work: impl Fn(&HostName, &mut dyn Host) -> Result<T, E> + Sync,
) -> Result<BTreeMap<HostName, T>, E> {
    let done = at_once(hosts.iter_mut(), |(name, host)| {
        (name.clone(), work(name, host.as_mut()))
    });
    done.into_iter()
        .map(|(name, result)| Ok((name, result?)))
        .collect()
}

/// Does something with each, all at the same time; the answers are in their order. For whom there is no thread to be had, it is
/// done after the others have begun.
pub fn at_once<T: Send, R: Send>(
    each: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let each = each.into_iter().map(|it| Mutex::new(Some(it)));
    let each: Vec<Mutex<Option<T>>> = each.collect();
    let work = |it: &Mutex<Option<T>>| {
        let it = locked(it).take();
        work(it.expect("each is taken once"))
    };
    let work = &work;
    thread::scope(|scope| {
        let begin = |it| thread::Builder::new().spawn_scoped(scope, move || work(it));
        let begun: Vec<_> = each.iter().map(begin).collect();
        let ended = begun.into_iter().zip(&each).map(|(thread, it)| {
            let Ok(thread) = thread else {
                return work(it);
            };
            let ended = thread.join();
            ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        ended.collect()
    })
}

/// Connects to those of these hosts that are not there or are lost, all at the same time; says why some are not reached.
pub fn connect_missing<'a>(
    hosts: &mut Hosts,
    wanted: impl IntoIterator<Item = &'a HostName>,
    way: &dyn Reach,
) -> Vec<HostError> {
    hosts.retain(|_, host| !host.is_lost());
    let missing = wanted.into_iter();
    let missing: Vec<_> = missing.filter(|name| !hosts.contains_key(*name)).collect();
    let mut failed = Vec::new();
    for reached in at_once(missing, |name| way.connect(name)) {
        match reached {
            Ok(host) => drop(hosts.insert(host.name().clone(), host)),
            Err(e) => failed.push(e),
        }
    }
    failed
}

/// A way to each host of a cluster.
pub trait Reach: Sync {
    /// Connects to a host.
    ///
    /// # Errors
    /// Why it is not reached.
    fn connect(&self, host: &HostName) -> Result<Box<dyn Host>, HostError>;

    /// The clock of whoever asks them.
    fn clock(&self) -> Clock {
        Clock::default()
    }
}

type Connection = Arc<Mutex<Option<Box<dyn Host>>>>;

/// Hosts that come and go, asked from any thread: each is connected when it is first asked, and again when it was
/// lost. As long as a connection lives it is the same one, since what an agent has broken on a host it mends when its
/// connection ends.
pub struct Reconnecting<'a> {
    reach: &'a dyn Reach,
    connections: Mutex<BTreeMap<HostName, Connection>>,
}

impl<'a> Reconnecting<'a> {
    /// No host is connected yet.
    pub fn new(reach: &'a dyn Reach) -> Self {
        Self {
            reach,
            connections: Mutex::default(),
        }
    }

    /// Asks a host.
    ///
    /// # Errors
    /// It is not reached, is lost, or declined.
    pub fn ask<A: Ask>(&self, host: &HostName, ask: &A) -> Result<A::Answer, HostError> {
        let connection = locked(&self.connections)
            .entry(host.clone())
            .or_default()
            .clone();
        let mut connection = locked(&connection);
        if connection.as_mut().is_some_and(|there| there.is_lost()) {
            *connection = None;
        }
        let there = match connection.as_mut() {
            Some(there) => there,
            None => connection.insert(self.reach.connect(host)?),
        };
        let answer = there.ask(ask);
        if answer.as_ref().is_err_and(|e| !e.host_goes_on()) {
            *connection = None;
        }
        answer
    }

    /// The clock of whoever asks.
    pub fn clock(&self) -> Clock {
        self.reach.clock()
    }

    /// The same hosts by connections of their own: what is asked over those waits for nothing that is asked over these.
    #[must_use]
    pub fn beside(&self) -> Self {
        Self::new(self.reach)
    }

    /// A connection of one's own, for whoever looks all the time.
    ///
    /// # Errors
    /// The host is not reached.
    pub fn another(&self, host: &HostName) -> Result<Box<dyn Host>, HostError> {
        self.reach.connect(host)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hawser_tool::Tool;

    use super::*;
    use crate::protocol::Ping;
    use crate::sim::up::{QUESTIONS, Up};
    use crate::sim::{Simulated, Wire};

    /// Counts its connections; a new one each answers as long as its wire does.
    #[derive(Default)]
    struct Ways {
        connected: AtomicUsize,
        last: Mutex<Wire>,
    }

    impl Reach for Ways {
        fn connect(&self, host: &HostName) -> Result<Box<dyn Host>, HostError> {
            self.connected.fetch_add(1, Ordering::Relaxed);
            let wire = Wire::default();
            *locked(&self.last) = wire.clone();
            Ok(Box::new(Simulated::new(
                host.clone(),
                Up(true),
                QUESTIONS,
                &wire,
            )))
        }
    }

    #[test]
    fn without_a_thread_all_is_done_by_who_asks() {
        // No address space holds such a stack.
        const STACK: &str = "RUST_MIN_STACK";
        let huge = (1_u64 << 47).to_string();
        if std::env::var(STACK).is_ok_and(|it| it == huge) {
            thread::Builder::new().spawn(|| ()).unwrap_err();
            assert_eq!(at_once([1, 2, 3], |n| n * 2), [2, 4, 6]);
            return;
        }
        let name = "hosts::tests::without_a_thread_all_is_done_by_who_asks";
        let again = Tool::new(std::env::current_exe().unwrap());
        let again = again.args(["--exact", name, "--test-threads=1"]);
        let said = again.variable(STACK, &huge).text().unwrap();
        assert!(said.contains("1 passed"), "{said}");
    }

    #[test]
    fn a_host_that_was_lost_meanwhile_answers_the_first_question_after_it_is_back() {
        let ways = Ways::default();
        let hosts = Reconnecting::new(&ways);
        let head1 = HostName::from("head1");
        hosts.ask(&head1, &Ping).unwrap();
        hosts.ask(&head1, &Ping).unwrap();
        assert_eq!(ways.connected.load(Ordering::Relaxed), 1);
        locked(&ways.last).lose(head1.clone());
        hosts.ask(&head1, &Ping).unwrap();
        assert_eq!(ways.connected.load(Ordering::Relaxed), 2);
        // One that is cut off in the middle of a question is not asked the same again.
        locked(&ways.last).cut_before(1);
        hosts.ask(&head1, &Ping).unwrap_err();
        hosts.ask(&head1, &Ping).unwrap();
        assert_eq!(ways.connected.load(Ordering::Relaxed), 3);
    }
}
