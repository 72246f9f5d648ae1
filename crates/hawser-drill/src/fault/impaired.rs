//! A link that works badly: loses some packets, loses all of one direction, is slow.

use hawser_cluster::host::drill::HostFault;
use hawser_lab::cluster::BMC_LINK;
use hawser_lab::impair::{self, Clear, Direction, Fault as Impairment, Order};
use hawser_model::names::{HostName, LinkName};

use super::Fault;
use crate::error::DrillError;
use crate::stage::Stage;

/// See the module.
pub struct Impaired {
    /// Its name in records: `lossy-link`.
    pub name: &'static str,
    /// The head at whose end of the cable it is.
    pub head: HostName,
    /// The link.
    pub link: LinkName,
    /// Which way.
    pub directions: Vec<Direction>,
    /// What happens to packets.
    pub what: Impairment,
}

impl Impaired {
    /// The same as a real head makes it on itself: packets that are lost.
    fn silence(&self, stage: &Stage<'_>) -> Result<HostFault, DrillError> {
        let share = self
            .what
            .loss
            .ok_or_else(|| DrillError::CouldNot(format!("{} exists only in a lab", self.name)))?;
        Ok(HostFault::Silence {
            addresses: stage.addresses_of(&self.head, &self.link)?,
            incoming: self.directions.contains(&Direction::ToNode),
            outgoing: self.directions.contains(&Direction::FromNode),
            percent: u8::try_from(share.per_million() / 10_000).unwrap_or(100),
        })
    }

    /// How often it is planted, and how many packets have suffered it.
    fn there(&self, stage: &Stage<'_>) -> Result<(usize, u64), DrillError> {
        let status = hawser_lab::status(stage.lab_name()?)?;
        let here = status
            .impairments
            .iter()
            .filter(|it| it.node == self.head && it.link == self.link);
        // A rate is planted and shows itself only under load; loss and delay are counted.
        let counts = here.clone().filter_map(|it| it.counts);
        Ok((here.count(), counts.map(|c| c.lost + c.held).sum()))
    }
}

impl Fault for Impaired {
    fn name(&self) -> &'static str {
        self.name
    }

    fn hosts(&self) -> Vec<HostName> {
        vec![self.head.clone()]
    }

    fn object(&self) -> Option<String> {
        let directions: Vec<&str> = self.directions.iter().map(|it| it.word()).collect();
        Some(format!(
            "{}, {}: {}",
            self.link,
            directions.join(" and "),
            self.what
        ))
    }

    fn make(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        if stage.real().is_some() {
            return stage.make_there(&self.head, self.silence(stage)?);
        }
        let order = Order::Port {
            node: self.head.to_string(),
            link: self.link.to_string(),
            directions: self.directions.clone(),
            fault: self.what,
        };
        Ok(impair::impair(stage.lab_name()?, &order)?)
    }

    fn evidence(&self, stage: &Stage<'_>) -> Result<Option<String>, DrillError> {
        if stage.real().is_some() {
            return stage.shown_there(&self.head, self.silence(stage)?);
        }
        let is_counted = self.what.loss.is_some() || self.what.reorder.is_some();
        let (mut planted, mut counted) = self.there(stage)?;
        if is_counted && counted == 0 && self.link.as_str() == BMC_LINK {
            // Nobody asks a BMC for a minute at a time; the status does, and its packets are counted.
            let _whatever_it_says = stage.cluster.status();
            (planted, counted) = self.there(stage)?;
        }
        Ok(match (planted, is_counted, counted) {
            (0, ..) | (_, true, 0) => None,
            (_, true, packets) => Some(format!("{packets} packets suffered it by now")),
            (_, false, _) => Some("it is planted at the switch's port".to_owned()),
        })
    }

    fn heal(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        if stage.real().is_some() {
            return stage.mend_there(&self.head, self.silence(stage)?);
        }
        let what = Clear::Port {
            node: self.head.to_string(),
            link: self.link.to_string(),
        };
        impair::clear(stage.lab_name()?, &what)?;
        Ok(())
    }
}
