//! The agents of real heads, for a drill on them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use hawser_cluster::host::{Answer, Order};
use hawser_cluster::live::Head;
use hawser_drill::ground::Remote;
use hawser_model::names::HostName;

use crate::target::Known;

type Connection = Arc<Mutex<Option<Box<dyn Head>>>>;

/// An agent on each head, reached anew when it is gone: a drill takes heads away.
pub struct Agents<'a> {
    known: &'a Known,
    connections: Mutex<BTreeMap<HostName, Connection>>,
}

impl<'a> Agents<'a> {
    /// None yet.
    pub fn of(known: &'a Known) -> Self {
        Self {
            known,
            connections: Mutex::default(),
        }
    }

    fn connection(&self, head: &HostName) -> Connection {
        let mut all = locked(&self.connections);
        all.entry(head.clone()).or_default().clone()
    }
}

impl Remote for Agents<'_> {
    fn order(&self, head: &HostName, order: &Order) -> Result<Answer, String> {
        let connection = self.connection(head);
        let mut agent = locked(&connection);
        if agent.is_none() {
            *agent = Some(self.known.reach_one(head)?);
        }
        let Some(there) = agent.as_mut() else {
            return Err(format!("{head} is not reached"));
        };
        let said = there.order(order);
        // One that only declined is still there, and holds what it made; one that is gone says so again.
        if said.is_err() && there.order(&Order::Drill(STILL_THERE)).is_err() {
            *agent = None;
        }
        said.map_err(|e| e.to_string())
    }

    fn eyes(&self, head: &HostName) -> Result<Box<dyn Head>, String> {
        self.known.reach_one(head)
    }
}

/// What any agent can answer at once.
const STILL_THERE: hawser_cluster::host::DrillOrder =
    hawser_cluster::host::DrillOrder::Look { engine: false };

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}
