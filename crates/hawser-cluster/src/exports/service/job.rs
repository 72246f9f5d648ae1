//! What a server is asked.

use std::collections::BTreeMap;
use std::time::Duration;

use hawser_model::cluster_file::{Backend, SecretRef};
use hawser_tool::Deadline;

use super::ServiceError;
use super::here::Here;
use crate::exports::desired::Desired;
use crate::exports::host::{Parameters, Saved, SavedError, read_secret};
use crate::exports::lio::reservations::Reservations;

/// Why a server is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To have it offer what is wanted.
    Start,
    /// To see whether it does, after a start.
    Started,
    /// To say what a start would do.
    Compare,
    /// To take everything of the pool away from it.
    Stop,
    /// To see whether that is so, after a stop.
    Stopped,
    /// To see whether what was started is still there.
    Health,
}

/// What a server is asked, and all that is known of the pool.
#[derive(Clone)]
pub struct Job<'a> {
    /// The host.
    pub here: &'a Here,
    /// What the exports of the pool are told.
    pub parameters: &'a Parameters,
    /// Why it is asked.
    pub purpose: Purpose,
    /// The copy of the last start.
    pub saved: Option<&'a Saved>,
    /// What the pool says, as far as it is known. A stop believes it where there is no copy.
    pub stated: Option<&'a Desired>,
    /// The secrets of what a start makes.
    pub secrets: BTreeMap<SecretRef, String>,
    /// What clients have registered of the units that a start makes.
    pub reservations: Reservations,
    /// When the server must have answered everything. `None`: it has its own limits.
    pub until: Option<Deadline>,
}

impl<'a> Job<'a> {
    /// Reads the secrets, if there is a use for them.
    pub fn new(
        here: &'a Here,
        parameters: &'a Parameters,
        purpose: Purpose,
        saved: Option<&'a Saved>,
        stated: Option<&'a Desired>,
    ) -> Result<Self, ServiceError> {
        let mut secrets = BTreeMap::new();
        if matches!(purpose, Purpose::Start | Purpose::Compare) {
            let targets = stated.into_iter().flat_map(|it| it.targets.values());
            for secret in targets.flat_map(|target| target.accounts().into_values()) {
                let text = read_secret(&secret)?;
                secrets.insert(secret, text);
            }
        }
        let limit = match purpose {
            // Whoever looks keeps changes away meanwhile, a stop among them.
            Purpose::Compare => Some(Duration::from_secs(5)),
            _ => None,
        };
        Ok(Self {
            here,
            parameters,
            purpose,
            saved,
            stated,
            secrets,
            reservations: Reservations::default(),
            until: limit.map(Deadline::after),
        })
    }

    /// The same for another purpose, by another copy.
    pub fn again<'b>(&'b self, purpose: Purpose, saved: Option<&'b Saved>) -> Job<'b> {
        Job {
            purpose,
            saved,
            ..self.clone()
        }
    }

    /// Whether nothing of the pool is to be left.
    pub fn stops(&self) -> bool {
        matches!(self.purpose, Purpose::Stop | Purpose::Stopped)
    }

    /// Whether it is asked before a start does anything, or instead of a start.
    pub fn plans_start(&self) -> bool {
        matches!(self.purpose, Purpose::Start | Purpose::Compare)
    }

    /// What is to be there.
    pub fn desired(&self) -> &'a Desired {
        let stated = self.stated.filter(|_| !self.stops());
        stated.unwrap_or(Desired::nothing())
    }

    /// Whether the last start did not end well.
    pub fn unfinished(&self) -> bool {
        self.saved.is_some_and(|saved| !saved.before.is_empty())
    }

    /// What runs now is what was started, whatever is to be started next.
    pub fn backend(&self) -> Backend {
        let started = self.saved.map(|saved| &saved.parameters);
        started.unwrap_or(self.parameters).backend
    }

    /// The copies of all other pools.
    pub fn others(&self) -> Result<Vec<Saved>, SavedError> {
        Saved::others(&self.here.folder, &self.parameters.pool)
    }

    /// That a number that clients are using does not come to mean another volume: they would go on writing to it.
    /// `now` is the volume's serial number, its identity and its path.
    pub fn same_volume(
        &self,
        iqn: &str,
        lun: u16,
        now: [&str; 3],
        in_use: impl FnOnce() -> Result<bool, ServiceError>,
    ) -> Result<(), ServiceError> {
        let [serial, identity, path] = now;
        let target = self.desired().targets.get(iqn);
        let Some(exposure) = target.and_then(|target| target.luns.get(&lun)) else {
            return Ok(());
        };
        let then = self.desired().units.get(&exposure.serial);
        let other = then.filter(|then| then.identity != identity && exposure.serial != serial);
        match other.filter(|_| !serial.is_empty() && !identity.is_empty()) {
            Some(then) if in_use()? => Err(ServiceError::Renumbered {
                iqn: iqn.to_owned(),
                lun,
                now: path.to_owned(),
                then: then.path.clone(),
            }),
            _ => Ok(()),
        }
    }
}
