//! What an alarm is judged by, and whether that is read: an alarm has not ended because nothing was read. Pure.

use hawser_account::standing_codes;
use hawser_cluster::live::Sign;
use hawser_model::storage::{PathFacts, StorageFacts};

use crate::group::ZPOOL;
use crate::judge::Sighting;

/// Signs that are judged by what is read more often than the view of the cluster.
pub(crate) const NEWER: [Sign; 4] = [
    Sign::LinkDown,
    Sign::LinkLossy,
    Sign::LinkSingle,
    Sign::NoCarrier,
];

/// Causes that judge what a host counted.
const COUNTED: [&str; 5] = [
    "nic-errors",
    "nic-ring-overflow",
    "storage-segments-resent",
    "udp-memory-pressure",
    "foreign-socket-dropping",
];

/// Causes that judge what is asked of the network with the view of the cluster.
const PROBED: [&str; 2] = ["duplicate-address", "full-size-lost"];

/// Signs that are judged by what the fencer remembers.
pub(crate) const FENCED: [Sign; 3] = [Sign::BeingFenced, Sign::FencingFailed, Sign::CannotBeFenced];

/// What is read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sources {
    /// The ports.
    pub(crate) ports: bool,
    /// The host as it stands.
    pub(crate) host: bool,
    /// What it counted over some time.
    pub(crate) counted: bool,
    /// Corosync's links, over some time; or it does not run.
    pub(crate) links: bool,
    /// Who is a member of the cluster.
    pub(crate) members: bool,
    /// The cluster: its engine answered the last look at it.
    pub(crate) view: bool,
    /// So did its fencer.
    pub(crate) fencer: bool,
}

impl Sources {
    /// Whether all has been read by which an alarm of this code is judged. Of a code that is not known, as of another version,
    /// all is waited for.
    pub(crate) fn tell_of(self, code: &str) -> bool {
        let host = self.ports && self.host;
        let newer = |sign: &Sign| NEWER.contains(sign);
        let is_sign = Sign::ALL
            .iter()
            .any(|sign| sign.code() == code && !newer(sign));
        let is_link = NEWER
            .iter()
            .any(|sign| sign.code() == code && *sign != Sign::NoCarrier);
        match code {
            // Whether a link is missed depends on who is a member.
            _ if is_link => self.links && self.members,
            _ if COUNTED.contains(&code) => host && self.counted,
            _ if FENCED.iter().any(|sign| sign.code() == code) => self.view && self.fencer,
            _ if is_sign || PROBED.contains(&code) => host && self.view,
            _ if standing_codes().any(|known| known == code) => host,
            _ => host && self.counted && self.links && self.view,
        }
    }
}

/// Whether multipathd, or ZFS, has said something of what this is about, if it is there.
pub(crate) fn is_told(storage: &StorageFacts, it: &Sighting) -> bool {
    let Some(name) = &it.place.object else {
        return true;
    };
    match it.code.as_str() {
        "multipath-path-lost" => {
            let maps = storage.multipath.values().filter(|map| map.name == *name);
            let mut paths = maps.flat_map(|map| map.paths.values());
            paths.all(PathFacts::is_told)
        }
        ZPOOL => {
            let pool = storage.zpools.get(name);
            pool.is_none_or(|pool| !pool.devices.is_empty())
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_is_judged_by_what_its_code_needs() {
        let quick = Sources {
            ports: true,
            host: true,
            ..Sources::default()
        };
        let viewed = Sources {
            members: true,
            view: true,
            ..quick
        };
        let tells = |sources: Sources| {
            let codes = [
                "link-down",
                "multipath-path-lost",
                "heartbeat-link-down",
                "nic-errors",
                "full-size-lost",
                "head-away",
                "of-another-version",
                "being-fenced",
            ];
            codes.map(|code| sources.tell_of(code))
        };
        assert_eq!(tells(Sources::default()), [false; 8]);
        let [y, n] = [true, false];
        assert_eq!(tells(quick), [y, y, n, n, n, n, n, n]);
        assert_eq!(tells(viewed), [y, y, n, n, y, y, n, n]);
        let links = Sources {
            links: true,
            ..viewed
        };
        assert_eq!(tells(links), [y, y, y, n, y, y, n, n]);
        let counted = Sources {
            counted: true,
            fencer: true,
            ..links
        };
        assert_eq!(tells(counted), [y; 8]);
        // An engine that does not answer any more.
        let silent = Sources {
            view: false,
            ..counted
        };
        assert_eq!(tells(silent), [y, y, y, y, n, n, n, n]);
    }

    #[test]
    fn every_code_that_is_named_is_one() {
        for code in COUNTED.into_iter().chain(PROBED) {
            assert!(standing_codes().any(|known| known == code), "{code}");
        }
    }
}
