//! What breaks around the heads: cables, switches, bad links, a head that hangs.

use hawser_host::site::{BMC_LINK, SiteFault};
use hawser_model::names::{HostName, LinkName};

use super::Fault;
use crate::context::{DrillContext, REACHED};
use crate::error::DrillError;

/// See the module.
pub struct AroundHeads {
    /// Its name in records: `ring-down`, `switch-down`.
    pub name: &'static str,
    /// What is broken.
    pub broken: Vec<SiteFault>,
}

impl AroundHeads {
    /// One thing.
    pub fn one(name: &'static str, broken: SiteFault) -> Self {
        let broken = vec![broken];
        Self { name, broken }
    }

    /// The cables of a head to these links.
    pub fn cables(name: &'static str, host: &HostName, links: &[LinkName]) -> Self {
        let cable = |link: &LinkName| SiteFault::Cable {
            host: host.clone(),
            link: link.clone(),
        };
        let broken = links.iter().map(cable).collect();
        Self { name, broken }
    }

    /// The switches of these links.
    pub fn switches(name: &'static str, links: &[LinkName]) -> Self {
        let switch = |link: &LinkName| SiteFault::Switch { link: link.clone() };
        let broken = links.iter().map(switch).collect();
        Self { name, broken }
    }

    fn is_on_bmc_link(&self) -> bool {
        self.broken.iter().any(
            |fault| matches!(fault, SiteFault::Impaired { link, .. } if link.as_str() == BMC_LINK),
        )
    }
}

impl Fault for AroundHeads {
    fn name(&self) -> &'static str {
        self.name
    }

    fn hosts(&self) -> Vec<HostName> {
        let mut hosts: Vec<HostName> = Vec::new();
        for host in self.broken.iter().filter_map(SiteFault::host) {
            if !hosts.contains(host) {
                hosts.push(host.clone());
            }
        }
        hosts
    }

    fn object(&self) -> Option<String> {
        let objects: Vec<String> = self.broken.iter().map(ToString::to_string).collect();
        let objects = objects.join(", ");
        (!objects.is_empty()).then_some(objects)
    }

    fn unfit(&self, context: &DrillContext<'_>) -> Result<Option<String>, DrillError> {
        Ok(context.site.unfit(&self.broken)?)
    }

    fn make(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        Ok(context.site.break_now(&self.broken)?)
    }

    fn evidence(&self, context: &DrillContext<'_>) -> Result<Option<String>, DrillError> {
        let shown = context.site.shows(&self.broken)?;
        if shown.is_some() || !self.is_on_bmc_link() {
            return Ok(shown);
        }
        // Nobody asks a BMC for a minute at a time. The status does, and its packets are counted.
        let _whatever_it_says = context.cluster.status();
        Ok(context.site.shows(&self.broken)?)
    }

    fn heal(&self, context: &DrillContext<'_>) -> Result<(), DrillError> {
        context.until_done(REACHED, || context.site.mend(&self.broken))
    }
}
