//! What surrounds hosts and is on none of them: power, cables, switches.

use std::fmt;
use std::path::PathBuf;

use hawser_model::drill::{Moment, PowerEvent};
use hawser_model::names::{HostName, LinkName};
use hawser_model::units::BitsPerSec;

/// The network of the BMCs, where a site has one of its own.
pub const BMC_LINK: &str = "mgmt";

/// The place that hosts stand in.
pub trait Site: Sync {
    /// Whether nobody misses what is broken here: nobody is asked before, and a fault may show how it goes on.
    fn is_expendable(&self) -> bool;

    /// Its name, if its hosts run on this very machine: they share its processors.
    fn on_this_machine(&self) -> Option<&str>;

    /// Finds out what it needs to know before a host loses its power.
    ///
    /// # Errors
    /// A host could not be switched on again.
    fn prepare(&self) -> Result<(), SiteError>;

    /// Whether a host has power.
    ///
    /// # Errors
    /// That cannot be known.
    fn has_power(&self, host: &HostName) -> Result<bool, SiteError>;

    /// Takes a host's power away, as if its plug were pulled.
    ///
    /// # Errors
    /// It still has power, as far as is known.
    fn power_off(&self, host: &HostName) -> Result<(), SiteError>;

    /// Gives a host power; one that has it keeps it.
    ///
    /// # Errors
    /// It has none, as far as is known.
    fn power_on(&self, host: &HostName) -> Result<(), SiteError>;

    /// What shows that a host has no power; nothing while it has.
    ///
    /// # Errors
    /// That cannot be known.
    fn shows_off(&self, host: &HostName) -> Result<Option<String>, SiteError>;

    /// What the site's own record says of the power of these hosts; nothing if it keeps none.
    fn power_log(&self, hosts: &[HostName]) -> Vec<PowerEvent>;

    /// Who looks at a host from outside all the time. Nothing if nobody can: then the host itself is asked.
    fn watcher<'a>(&'a self, host: &'a HostName) -> Option<Box<dyn Watcher + 'a>>;

    /// Whether nothing runs on a host now although it has power: until it goes on, what is mounted there stays as it is.
    ///
    /// # Errors
    /// That cannot be known.
    fn stands_still(&self, _: &HostName) -> Result<bool, SiteError> {
        Ok(false)
    }

    /// The shelves whose power can be cut, beside the hosts.
    fn shelves(&self) -> Vec<HostName> {
        Vec::new()
    }

    /// The shelf whose disk heads call so, if that disk can be troubled there by itself.
    fn shelf_of(&self, _device: &str) -> Option<HostName> {
        None
    }

    /// How many times longer than elsewhere its hosts may take for anything. Where that is more than 1, their seconds mean
    /// nothing.
    fn slowness(&self) -> u32 {
        1
    }

    /// Why these cannot be broken here, asked before anything is; nothing if they can.
    ///
    /// # Errors
    /// That cannot be known.
    fn unfit(&self, _: &[SiteFault]) -> Result<Option<String>, SiteError> {
        Ok(None)
    }

    /// Breaks these, one after the other.
    ///
    /// # Errors
    /// One could not be broken, or only in part; there is no such fault here.
    fn break_now(&self, faults: &[SiteFault]) -> Result<(), SiteError>;

    /// What shows that all of them are broken now; nothing if of one nothing does.
    ///
    /// # Errors
    /// That cannot be known.
    fn shows(&self, faults: &[SiteFault]) -> Result<Option<String>, SiteError>;

    /// Mends all of them, also those that are not broken, or only in part. One that cannot be mended keeps none of the
    /// others from it.
    ///
    /// # Errors
    /// One could not be mended.
    fn mend(&self, faults: &[SiteFault]) -> Result<(), SiteError>;

    /// The folder for what must outlive whoever breaks something here, when that is killed.
    ///
    /// # Errors
    /// There is none, and none can be made.
    fn notes(&self) -> Result<PathBuf, SiteError>;
}

/// Looks at one host, again and again.
pub trait Watcher: Send {
    /// Looks once.
    fn look(&mut self) -> HostLook;
}

/// What a look at a host showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostLook {
    /// What is mounted there.
    Mounts {
        /// The places.
        places: Vec<String>,
        /// It had no power at the last look, or no cluster engine. Until then that did not run again.
        engine_since: Option<Moment>,
        /// Whether its NFS server is in its grace period; none: that was not seen.
        nfs_grace: Option<bool>,
    },
    /// It has no power.
    Off,
    /// Nothing runs there: it has what it had at the last look.
    Still,
    /// Nothing is known of it now.
    Unknown,
}

/// Something of a site that can be broken and mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SiteFault {
    /// The cable of a host to a link is pulled.
    Cable {
        /// The host.
        host: HostName,
        /// The link.
        link: LinkName,
    },
    /// The switch of a link has no power.
    Switch {
        /// The link.
        link: LinkName,
    },
    /// Packets suffer at a host's end of a link.
    Impaired {
        /// The host.
        host: HostName,
        /// The link.
        link: LinkName,
        /// Those that it would receive.
        to_host: bool,
        /// Those that it has sent.
        from_host: bool,
        /// What they suffer.
        trouble: Trouble,
    },
    /// Every process of a host is stopped (SIGSTOP). A kernel that is none of them still answers pings.
    Hung {
        /// The host.
        host: HostName,
    },
    /// A host is rebooted as an administrator does it: its cluster stops in good order before the rest.
    Reboot {
        /// The host.
        host: HostName,
    },
    /// A shelf has no power: none of its disks is there for any head.
    Shelf {
        /// The shelf.
        host: HostName,
    },
    /// A disk of a shelf is ill, for every head alike.
    Disk {
        /// The shelf.
        shelf: HostName,
        /// What heads call the disk.
        device: String,
        /// What it does.
        trouble: DiskTrouble,
    },
    /// The wall clock of a host's services is ahead; the clock since boot is not. A host whose clock is its own sets that itself.
    Clock {
        /// The host.
        host: HostName,
        /// By so many seconds; behind if it is negative.
        ahead_s: i32,
    },
}

/// What packets suffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// So many of a hundred are lost.
    Lost(u8),
    /// No more than this passes.
    Slow(BitsPerSec),
    /// Each is so many milliseconds late.
    Late(u32),
}

/// What a disk does to whoever uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskTrouble {
    /// Every access takes so many milliseconds longer.
    Slow(u32),
    /// Every access fails.
    Errors,
}

impl SiteFault {
    /// The host that it hits by itself.
    pub fn host(&self) -> Option<&HostName> {
        match self {
            Self::Cable { host, .. }
            | Self::Impaired { host, .. }
            | Self::Hung { host }
            | Self::Reboot { host }
            | Self::Shelf { host }
            | Self::Disk { shelf: host, .. }
            | Self::Clock { host, .. } => Some(host),
            Self::Switch { .. } => None,
        }
    }
}

/// The object that is broken; nothing when it is the whole host.
impl fmt::Display for SiteFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cable { host, link } => write!(f, "{host}/{link}"),
            Self::Switch { link } => write!(f, "the switch of {link}"),
            Self::Impaired {
                host,
                link,
                to_host,
                from_host,
                trouble,
            } => {
                let way = match (to_host, from_host) {
                    (true, false) => "to",
                    (false, true) => "from",
                    _ => "to and from",
                };
                write!(f, "{link}, {way} {host}: {trouble}")
            }
            Self::Hung { .. } | Self::Reboot { .. } | Self::Shelf { .. } => Ok(()),
            Self::Disk {
                device, trouble, ..
            } => write!(f, "{device}: {trouble}"),
            Self::Clock { ahead_s, .. } => {
                let way = if *ahead_s < 0 { "back" } else { "ahead" };
                write!(f, "{} s {way}", ahead_s.abs())
            }
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(percent) => write!(f, "{percent} % lost"),
            Self::Slow(rate) => write!(f, "at most {rate}"),
            Self::Late(ms) => write!(f, "{ms} ms late"),
        }
    }
}

impl fmt::Display for DiskTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slow(ms) => write!(f, "every access takes {ms} ms longer"),
            Self::Errors => write!(f, "every access fails"),
        }
    }
}

/// A site could not do what was asked of it.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct SiteError {
    /// Why, in words.
    pub why: String,
    /// Whether it may succeed a moment later: who must be asked for it is out of reach for a while.
    pub later: bool,
}

/// Does all of it, whatever fails. Told first is what may succeed later.
///
/// # Errors
/// Something failed.
pub fn all_of(done: impl Iterator<Item = Result<(), SiteError>>) -> Result<(), SiteError> {
    let failed = done.filter_map(Result::err);
    failed.min_by_key(|e| !e.later).map_or(Ok(()), Err)
}

/// What shows that all is broken, asked until nothing shows it of one.
///
/// # Errors
/// It cannot be known of one.
pub fn all_shown(
    shown: impl Iterator<Item = Result<Option<String>, SiteError>>,
) -> Result<Option<String>, SiteError> {
    let shown: Option<Vec<String>> = shown.collect::<Result<_, _>>()?;
    Ok(shown.filter(|it| !it.is_empty()).map(|it| it.join("; ")))
}

impl SiteError {
    /// It will not succeed later either.
    pub fn for_good(why: impl fmt::Display) -> Self {
        let (why, later) = (why.to_string(), false);
        Self { why, later }
    }

    /// It may succeed later.
    pub fn for_now(why: impl fmt::Display) -> Self {
        let (why, later) = (why.to_string(), true);
        Self { why, later }
    }
}
