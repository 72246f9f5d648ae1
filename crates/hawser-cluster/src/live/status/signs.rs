//! What a status can say, each thing by a name that stays: its words hold numbers that change, and an alarm has to be
//! known again.

use hawser_model::finding::{Place, Severity};
use hawser_model::names::{HostName, LinkName};

/// Makes the list of all signs, each with its code, how much it matters, and what it means.
macro_rules! signs {
    ($($name:ident = $code:literal, $severity:ident, $what:literal;)*) => {
        /// A kind of thing that a status says.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Sign {
            $(#[doc = $what] $name,)*
        }

        impl Sign {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Kebab-case, never renamed. Where a cause of `hawser check` says the same, it is that cause's code.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// How much it matters, where the status does not take it for a mere note.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }

            /// What it means, one sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => $what,)* }
            }
        }
    };
}

signs! {
    HeadsSplit = "heads-split", Error, "Two heads with quorum do not see each other: both may write to one pool.";
    CorosyncHangs = "corosync-hangs", Error, "Corosync on a head runs and does not answer.";
    PacemakerMute = "pacemaker-mute", Error, "Pacemaker on a head runs and does not give its view of the cluster.";
    ControllerHangs = "controller-hangs", Error, "Pacemaker's controller on a head does not answer: it acts upon nothing.";
    HeadCutOff = "head-cut-off", Error, "A head has no quorum while others have it.";
    HeadLost = "head-lost", Error, "A head is gone and not known to be off: nothing of it is taken over yet.";
    HeadNotReached = "head-not-reached", Warning, "A head was not reached, so whether it could take over is not known.";
    HeadStarting = "head-starting", Warning, "A head boots or joins, and runs nothing yet.";
    HeadStandby = "head-in-standby", Warning, "A head is in standby: it runs nothing.";
    HeadMaintenance = "head-in-maintenance", Warning, "A head is in maintenance: nothing is watched there.";
    HeadAway = "head-away", Warning, "A head is not a member of the cluster.";
    HeadElsewhere = "head-runs-another-cluster", Warning, "A head runs another cluster, so it can take nothing over in this one.";
    NoQuorum = "no-quorum", Error, "There is no quorum: what runs is stopped, and nothing is taken over.";
    Maintenance = "cluster-in-maintenance", Warning, "The cluster is in maintenance mode: nothing is watched or taken over.";
    NothingRuns = "nothing-runs", Error, "No head that was reached has a view of a cluster.";
    DeviceSilent = "quorum-device-silent", Warning, "The quorum device has no vote on a head.";
    BeingFenced = "being-fenced", Error, "A head is being fenced now.";
    FencingFailed = "fencing-failed", Error, "The last attempt to fence a head failed.";
    FencedOften = "fenced-often", Warning, "A head was fenced several times within an hour.";
    FencingOff = "fencing-off", Error, "Fencing is switched off.";
    FencerSilent = "fencer-silent", Warning, "The fencer on a head does not answer.";
    CannotBeFenced = "cannot-be-fenced", Error, "The heads that would be left could not switch a head off.";
    FenceDeviceStopped = "fence-device-stopped", Error, "A fence device does not run in Pacemaker.";
    FenceDeviceFails = "fence-device-fails", Error, "A fence device would not fence: it does not answer, or a head is not registered on a disk.";
    PoolTwice = "pool-on-two-heads", Error, "A pool is on two heads at once.";
    PoolNowhere = "pool-nowhere", Error, "A pool runs on no head.";
    PartStopped = "pool-part-stopped", Error, "A part of a pool does not run where the pool is.";
    OperationFailed = "operation-failed", Error, "An operation of a resource failed.";
    Blocked = "resource-blocked", Error, "A resource failed and Pacemaker no longer touches it.";
    FailureKept = "failure-kept", Warning, "Pacemaker counts failures of a resource on a head until somebody cleans up.";
    OrderLeft = "order-left", Warning, "An order to move or ban a pool was left behind.";
    Unmanaged = "resource-unmanaged", Warning, "Nobody starts, stops or moves a resource.";
    ServiceNotReady = "service-not-ready", Warning, "What offers pools is not ready on a head.";
    DisksMissing = "pool-disks-missing", Warning, "A head could not take a pool over.";
    DisksShort = "pool-disks-short", Warning, "A head sees a pool without a part of its disks.";
    DisksLost = "pool-disks-lost", Warning, "A pool that is in use has lost a disk, or writes to one again what that missed.";
    DisksUnknown = "pool-disks-unknown", Warning, "Whether a head sees the disks of a pool is not known.";
    DisksHang = "pool-hangs", Error, "The folder of a pool does not answer: its disks hang.";
    KeyNotLoaded = "pool-key-not-loaded", Warning, "What is encrypted in a pool stays locked after a takeover.";
    KeyMissing = "pool-key-missing", Warning, "A head does not have the key of what is encrypted in a pool.";
    NotMounted = "pool-not-mounted", Error, "A pool is not mounted where Pacemaker believes it to be.";
    NotOffered = "pool-not-offered", Error, "A pool is not offered to its clients as it was started.";
    ExportsFile = "exports-file-wrong", Error, "The next start of a pool's exports fails.";
    ExportsUnknown = "exports-file-unknown", Warning, "Whether a pool's exports could be started again is not known.";
    PoolFull = "pool-full", Warning, "A pool has no room left, or cannot be written.";
    FolderFull = "folder-full", Warning, "There is no room where Corosync and Pacemaker write.";
    NoAddress = "port-without-address", Error, "A head has no address on a link.";
    NoCarrier = "link-down", Error, "A port has no carrier.";
    BootUnknown = "boot-not-known", Warning, "What a head would do at its next boot is not known.";
    PoolAtBoot = "pool-at-boot", Warning, "A head would start or mount a pool by itself at its next boot.";
    WatchStopped = "watch-not-running", Warning, "The watch of a head, which records what happens and tells it, does not run.";
    ClocksApart = "clocks-apart", Warning, "The clocks of two heads differ by more than a second.";
    WatcherUnknown = "port-not-watched", Note, "Nobody watches a head's port to its clients.";
    WatcherMissing = "watcher-missing", Warning, "The resource that watches a head's port is missing.";
    WatcherStopped = "watcher-stopped", Warning, "The resource that watches a head's port does not run.";
    LinkDown = "heartbeat-link-down", Warning, "Corosync holds a heartbeat link between two heads for down.";
    LinkLossy = "heartbeat-link-lossy", Warning, "Pings of Corosync's transport are lost on a heartbeat link.";
    LinkSingle = "heartbeat-link-single", Warning, "Fewer than two heartbeat links join two heads.";
    NotCompared = "not-compared", Note, "The cluster file says too little to compare the live configuration with it.";
    Drifted = "drifted", Warning, "The cluster is not what its file says.";
    DrillLeft = "drill-left", Warning, "A drill that was killed may have left its fault.";
    Busy = "pacemaker-at-work", Warning, "Pacemaker starts, stops or moves something now.";
    NextLoss = "next-loss-is-an-outage", Warning, "The loss of one more head would end a pool's service.";
}

/// A sign and where it is seen: two that are equal are the same trouble at two times.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// What.
    pub sign: Sign,
    /// Where.
    pub place: Place,
}

impl Sign {
    /// In the cluster as a whole.
    pub fn everywhere(self) -> Mark {
        let place = Place::default();
        Mark { sign: self, place }
    }

    /// On a head.
    pub fn on(self, head: &HostName) -> Mark {
        let place = Place::on(head);
        Mark { sign: self, place }
    }

    /// Of something with a name.
    pub fn of(self, object: &str) -> Mark {
        let place = Place::of(object, None);
        Mark { sign: self, place }
    }

    /// Of something with a name, on a head.
    pub fn of_on(self, object: &str, head: &HostName) -> Mark {
        let place = Place::of(object, Some(head));
        Mark { sign: self, place }
    }

    /// Between two heads, on a link where that is one.
    pub fn between(self, [a, b]: &[HostName; 2], link: Option<&LinkName>) -> Mark {
        let place = Place {
            peer: Some(b.clone()),
            link: link.cloned(),
            ..Place::on(a)
        };
        Mark { sign: self, place }
    }
}

/// One thing that a status says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// What and where.
    pub mark: Mark,
    /// How much it matters.
    pub severity: Severity,
    /// In words, with what to do.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_sign_has_a_code_of_its_own_and_a_sentence() {
        let codes: BTreeSet<&str> = Sign::ALL.iter().map(|sign| sign.code()).collect();
        assert_eq!(codes.len(), Sign::ALL.len());
        let kebab = |c: char| c.is_ascii_lowercase() || c == '-';
        assert!(codes.iter().all(|code| code.chars().all(kebab)));
        assert!(Sign::ALL.iter().all(|sign| sign.meaning().ends_with('.')));
    }
}
