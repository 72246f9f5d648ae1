//! What is known of the last start of a pool on this host.

use super::seen::Scope;
use super::{ServiceError, wanted};
use crate::exports::desired::Desired;
use crate::exports::host::{Parameters, Saved};

/// What is known of it.
pub(super) enum LastStart {
    /// Its copy.
    Saved(Box<Saved>),
    /// There is no copy. What the pool says now is the next best.
    Unknown {
        /// What it would offer, if its files can be read. If they cannot, what is open will tell.
        desired: Option<Desired>,
        /// All that it could offer.
        scope: Scope,
    },
}

impl LastStart {
    /// Reads the pool. It may hang, so nobody who does this holds the lock.
    pub(super) fn unknown(parameters: &Parameters) -> Result<Self, ServiceError> {
        Ok(Self::Unknown {
            desired: wanted(parameters).ok().map(|wanted| wanted.desired),
            scope: Scope::of_pool(parameters)?,
        })
    }

    pub(super) fn saved(&self) -> Option<&Saved> {
        match self {
            Self::Saved(saved) => Some(saved),
            Self::Unknown { .. } => None,
        }
    }

    pub(super) fn desired(&self) -> Option<&Desired> {
        match self {
            Self::Saved(saved) => Some(&saved.desired),
            Self::Unknown { desired, .. } => desired.as_ref(),
        }
    }

    pub(super) fn scope(&self, parameters: &Parameters) -> Scope {
        match self {
            Self::Saved(saved) => Scope::of(saved, parameters),
            Self::Unknown { scope, .. } => scope.clone(),
        }
    }
}
