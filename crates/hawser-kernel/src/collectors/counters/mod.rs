//! The counter sources. Adding one: a file, a line in [`all`], a row in `docs/collectors.md`.

mod bridge;
mod conntrack;
mod driver;
mod fragments;
mod igmp;
mod iptables;
mod link;
mod neighbour;
mod nftables;
mod qdisc;
mod queues;
mod snmp;
mod softnet;
mod table;

use hawser_model::counters::Counters;

use crate::KernelError;

/// Where counters are read from: one file of `/proc`, one kind of netlink dump.
pub(crate) trait Source: Send {
    /// The collector's name in [`hawser_model::host::Collector`].
    fn name(&self) -> &'static str;

    /// Adds its counters; an error says why there are none here.
    fn read(&mut self, into: &mut Counters) -> Result<(), KernelError>;
}

/// All counters that can be read on this host now; a source that has none here adds none.
pub fn host_counters() -> Counters {
    let mut counters = Counters::default();
    for mut source in all() {
        // Which sources a host has is what [`crate::Observer::collectors`] tells.
        let _ = source.read(&mut counters);
    }
    counters
}

/// The work of each processor's backlog alone (`softnet/CPU/…`): a read that takes next to no time.
///
/// # Errors
/// [`KernelError`] when it cannot be read here.
pub fn softnet_counters() -> Result<Counters, KernelError> {
    let mut counters = Counters::default();
    softnet::Softnet.read(&mut counters)?;
    Ok(counters)
}

/// Every source there is, in the order in which they are read.
pub(crate) fn all() -> Vec<Box<dyn Source>> {
    vec![
        Box::new(snmp::Snmp),
        Box::new(snmp::Snmp6),
        Box::new(snmp::Netstat),
        Box::new(igmp::Igmp),
        Box::new(fragments::Fragments),
        Box::new(softnet::Softnet),
        Box::new(neighbour::Neighbour),
        Box::new(conntrack::Conntrack),
        Box::new(link::Links::default()),
        Box::new(driver::Drivers::default()),
        Box::new(queues::Queues::default()),
        Box::new(qdisc::Qdiscs::default()),
        Box::new(nftables::Nftables::default()),
        Box::new(iptables::Iptables),
        Box::new(bridge::Bridges::default()),
    ]
}
