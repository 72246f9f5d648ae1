//! A unit that is reached by iSCSI, and as whom.

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// What to log in to, and as whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Its addresses.
    pub portals: Vec<SocketAddr>,
    /// Its name.
    pub name: String,
    /// The unit.
    pub lun: u16,
    /// The name of this initiator.
    pub initiator: String,
    /// How it proves who it is, if the target wants that (CHAP).
    pub chap: Option<Chap>,
}

/// A user and its secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chap {
    /// The user.
    pub user: String,
    /// The secret: never printed.
    pub secret: String,
}

impl fmt::Debug for Chap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (secret not shown)", self.user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        let chap = Chap {
            user: "esx".into(),
            secret: "hunter2".into(),
        };
        assert_eq!(format!("{chap:?}"), "esx (secret not shown)");
    }
}
