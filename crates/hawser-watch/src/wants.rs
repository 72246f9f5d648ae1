//! What of a head is read when, beside its pulse. Pure.

use std::time::Duration;

/// After a change the links are read each second for so long: Corosync takes a moment to see what the kernel sees.
const SETTLES: Duration = Duration::from_secs(8);

/// While a link is down they are read this often, to see its return.
const LINKS_DOWN: Duration = Duration::from_secs(2);

/// And when all is quiet.
const LINKS_QUIET: Duration = Duration::from_secs(10);

/// The whole view of the cluster is read this often at most, when something has changed.
const VIEW_CHANGED: Duration = Duration::from_secs(3);

/// And this often in any case: it costs a second of a processor, most of it in fence agents.
const VIEW_QUIET: Duration = Duration::from_secs(300);

/// And so long after one that failed has ended.
pub(crate) const VIEW_FAILED: Duration = Duration::from_secs(30);

/// The host's settings, sockets and cards.
const STANDING: Duration = Duration::from_secs(30);

/// What is to be read now, beside the pulse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// Corosync's statistics of its links: one program.
    pub links: bool,
    /// The view of the cluster: some ten programs, with those of the judgement.
    pub view: bool,
    /// And in it the fence devices: not when something has just changed, since one may have to cut a head's power then.
    pub devices: bool,
    /// The host as it stands.
    pub standing: bool,
}

/// When what was read or asked for last, and what has changed since.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Read {
    pub(crate) changed: Option<Duration>,
    pub(crate) links: Option<Duration>,
    pub(crate) view: Option<Duration>,
    pub(crate) view_is_old: bool,
    pub(crate) view_failed: Option<Duration>,
    pub(crate) devices: Option<Duration>,
    pub(crate) standing: Option<Duration>,
    pub(crate) standing_is_old: bool,
    pub(crate) corosync: Option<u64>,
}

impl Read {
    /// What is due at this moment. `some_link_is_down` of those that Corosync told of.
    pub(crate) fn wants(
        &mut self,
        now: Duration,
        corosync: bool,
        some_link_is_down: bool,
    ) -> Wants {
        let due = |last: Option<Duration>, after: Duration| {
            last.is_none_or(|last| now.saturating_sub(last) >= after)
        };
        let settles = self
            .changed
            .is_some_and(|changed| now.saturating_sub(changed) < SETTLES);
        let links = match (settles, some_link_is_down) {
            (true, _) => Duration::ZERO,
            (false, true) => LINKS_DOWN,
            (false, false) => LINKS_QUIET,
        };
        let view = match (self.view_is_old, self.view_failed) {
            (true, _) => due(self.view, VIEW_CHANGED),
            (false, Some(ended)) => due(Some(ended), VIEW_FAILED),
            (false, None) => due(self.view, VIEW_QUIET),
        };
        let standing = match self.standing_is_old {
            true => VIEW_CHANGED,
            false => STANDING,
        };
        let quiet = !self.view_is_old || self.view.is_none();
        let devices = quiet && due(self.devices, VIEW_QUIET);
        let wants = Wants {
            links: corosync && due(self.links, links),
            view: devices || view,
            devices,
            standing: due(self.standing, standing),
        };
        for (wanted, last) in [
            (wants.links, &mut self.links),
            (wants.view, &mut self.view),
            (wants.devices, &mut self.devices),
            (wants.standing, &mut self.standing),
        ] {
            if wanted {
                *last = Some(now);
            }
        }
        self.view_is_old &= !wants.view;
        self.view_failed = self.view_failed.filter(|_| !wants.view);
        self.standing_is_old &= !wants.standing;
        wants
    }
}
