//! Whether packets as large as an interface takes reach another host and come back.

use std::net::IpAddr;
use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, SOON, Stop};
use hawser_kernel::interfaces;
use hawser_model::probe::PathMtu;
use hawser_model::traffic::RunKey;
use hawser_wire::search_echoed_mtu;
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// A path that swallows large packets is searched for the largest that pass in less than this; one that is well takes a
/// round trip.
const LONGEST: Duration = Duration::from_secs(3);

/// Sends such a packet to the other host's kernel, and smaller ones where it does not come back. Nobody else is asked.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProbeFullSize {
    /// The host's own address on the link: the interface that has it says how large.
    pub source: IpAddr,
    /// The other host's.
    pub destination: IpAddr,
}

impl Ask for ProbeFullSize {
    type Answer = PathMtu;
    const NAME: &'static str = "probe a path with a packet of full size";

    fn patience(&self) -> Duration {
        LONGEST + SOON
    }
}

impl Answers<Node> for ProbeFullSize {
    fn answer(self, _: &mut Node, _: &Stop) -> Result<PathMtu, Declined> {
        let interfaces = interfaces()?;
        let own = interfaces.values().find(|port| port.has(self.source));
        let mtu = own.and_then(|port| port.mtu);
        let mtu = mtu.ok_or_else(|| format!("no interface has {} and an MTU", self.source))?;
        let mut key = [0; 8];
        getrandom::fill(&mut key).map_err(|e| format!("cannot take random bytes: {e}"))?;
        let key = RunKey(u64::from_ne_bytes(key));
        Ok(search_echoed_mtu(
            self.source,
            self.destination,
            key,
            mtu,
            LONGEST,
        )?)
    }
}
