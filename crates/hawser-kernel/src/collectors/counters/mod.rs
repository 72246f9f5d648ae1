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

/// What each source says now; none of one that cannot be read.
pub(crate) fn read(sources: &mut [Box<dyn Source>]) -> Vec<Option<Counters>> {
    let read = |source: &mut Box<dyn Source>| {
        let mut counters = Counters::default();
        source.read(&mut counters).ok().map(|()| counters)
    };
    sources.iter_mut().map(read).collect()
}

/// What the same sources gained from one reading to the next; nothing of one that could not be read both times.
pub(crate) fn gained(before: &[Option<Counters>], after: &[Option<Counters>]) -> Counters {
    let mut counters = Counters::default();
    for (before, after) in before.iter().zip(after) {
        if let (Some(before), Some(after)) = (before, after) {
            counters.0.extend(after.since(before).0);
        }
    }
    counters
}

/// The sources that say what is lost at cards, processors and sockets, and are read in a millisecond.
pub(crate) fn quiet() -> Vec<Box<dyn Source>> {
    vec![
        Box::new(snmp::Snmp),
        Box::new(snmp::Snmp6),
        Box::new(softnet::Softnet),
        Box::new(link::Links::default()),
        Box::new(driver::Drivers::default()),
    ]
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
