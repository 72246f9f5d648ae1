//! What hawser did not make is never adopted, opened or removed, whichever implementation offers it.

use std::fmt;

/// Something that a pool wants to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    /// A target.
    Target {
        /// Its name.
        iqn: String,
        /// Where: "tgtd", "the kernel's target".
        of: &'static str,
    },
    /// An account of tgtd.
    Account(String),
    /// A directory exported by NFS, to a client.
    Export(String, String),
}

/// It is there, and not this pool's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    thing: Thing,
    whose: Whose,
}

/// Whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// This pool's: a start made it and wrote that down.
    Ours,
    /// It is another pool's.
    Pool(String),
    /// Nobody knows.
    Unknown,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.thing {
            Thing::Target { iqn, of } => write!(f, "target {iqn} is in {of} already")?,
            Thing::Account(user) => write!(f, "account \"{user}\" is in tgtd already")?,
            Thing::Export(directory, client) => {
                write!(f, "{directory} is exported to {client} already")?;
            }
        }
        match (&self.whose, &self.thing) {
            (Whose::Pool(pool), Thing::Account(_)) => {
                write!(f, ", with another secret, for pool {pool}: choose another name")
            }
            (Whose::Pool(pool), _) => write!(f, ", for pool {pool}"),
            (_, Thing::Account(_)) => {
                f.write_str(", and was not made by hawser: choose another name")
            }
            (_, Thing::Target { .. }) => f.write_str(
                ", and was not made by hawser for this pool: give this one another name (iqn), or take that one away",
            ),
            (_, Thing::Export(..)) => f.write_str(
                ", and not by hawser: take it out of /etc/exports and of Pacemaker",
            ),
        }
    }
}

impl std::error::Error for Foreign {}

impl Foreign {
    /// The name of the target, if it is one.
    pub fn target(&self) -> Option<&str> {
        match &self.thing {
            Thing::Target { iqn, .. } => Some(iqn),
            Thing::Account(_) | Thing::Export(..) => None,
        }
    }
}

/// Lets pass what is not there (`None`), and what this pool made itself. Every implementation asks this of all that
/// it is to make, before anything is changed.
pub fn only_ours(thing: Thing, there: Option<Whose>) -> Result<(), Foreign> {
    match there {
        None | Some(Whose::Ours) => Ok(()),
        Some(whose) => Err(Foreign { thing, whose }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_and_not_ours_is_named() {
        let thing = || Thing::Export("/tank/a".into(), "*".into());
        only_ours(thing(), None).unwrap();
        only_ours(thing(), Some(Whose::Ours)).unwrap();
        let said = only_ours(thing(), Some(Whose::Unknown)).unwrap_err();
        assert!(
            said.to_string()
                .starts_with("/tank/a is exported to * already, and not by hawser")
        );
        let account = Thing::Account("joe".into());
        let said = only_ours(account, Some(Whose::Pool("b".into()))).unwrap_err();
        assert!(said.to_string().contains("with another secret, for pool b"));
    }
}
