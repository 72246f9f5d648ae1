//! Who looks at a head by an agent of its own, where nobody looks from outside.

use hawser_cluster::host::questions::LookAround;
use hawser_host::site::{HostLook, Site, Watcher};
use hawser_host::{Host, Reconnecting};
use hawser_model::drill::Moment;
use hawser_model::names::HostName;

use crate::context::Watched;
use crate::watch::there;

/// Looks at a head by an agent of its own. While that does not answer, the site is asked whether the head has power, and
/// whether anything runs on it: where nothing does, nothing is mounted or unmounted.
pub struct ByAgent<'a> {
    hosts: &'a Reconnecting<'a>,
    site: &'a dyn Site,
    watched: &'a [Watched],
    host: &'a HostName,
    agent: Option<Box<dyn Host>>,
    /// It had no pool at the last look, so it costs nobody anything to ask for its engine.
    idle: bool,
    /// It had no pool at the last look and no engine that could have given it one since: it was off, or is rebooted.
    stopped: bool,
}

impl<'a> ByAgent<'a> {
    /// Who looks at this head for these pools.
    pub fn of(
        hosts: &'a Reconnecting<'a>,
        site: &'a dyn Site,
        watched: &'a [Watched],
        host: &'a HostName,
    ) -> Self {
        Self {
            hosts,
            site,
            watched,
            host,
            agent: hosts.another(host).ok(),
            idle: false,
            stopped: false,
        }
    }
}

impl Watcher for ByAgent<'_> {
    fn look(&mut self) -> HostLook {
        let begun = self.hosts.clock().time_of_day();
        let engine = self.idle || self.stopped;
        let Some(agent) = &mut self.agent else {
            if matches!(self.site.shows_off(self.host), Ok(Some(_))) {
                self.stopped = true;
                return HostLook::Off;
            }
            // Of one that was off, or had no engine, nobody knows what it has got since.
            if !self.stopped && self.site.stands_still(self.host).unwrap_or(false) {
                return HostLook::Still;
            }
            self.agent = self.hosts.another(self.host).ok();
            return HostLook::Unknown;
        };
        let Ok(look) = agent.ask(&LookAround { engine }) else {
            self.agent = None;
            return HostLook::Unknown;
        };
        let since = Moment(begun.0.saturating_sub(look.engine_us.unwrap_or(0)));
        let engine_since = self.stopped.then_some(since);
        self.idle = there(&look.mounts, self.watched).is_empty();
        self.stopped = engine && self.idle && look.engine_us.is_none();
        HostLook::Mounts {
            places: look.mounts,
            engine_since,
            nfs_grace: Some(look.nfs_grace),
        }
    }
}
