//! How hosts are set up, read at the same time, to be compared with each other.

use std::collections::BTreeMap;

use hawser_agent::questions::ReadSetup;
use hawser_host::{HostError, Hosts, on_all};
use hawser_model::case::{Case, Intensity};
use hawser_model::host::HostFacts;
use hawser_model::names::HostName;
use hawser_model::setup::HostSetup;
use hawser_model::topology::Topology;

/// The setup of every host that tells it.
///
/// # Errors
/// A host that is lost; one that refuses is missing.
pub fn setups(agents: &mut Hosts) -> Result<BTreeMap<HostName, HostSetup>, HostError> {
    let told = on_all(agents, |_, agent| match agent.ask(&ReadSetup) {
        Ok(setup) => Ok(Some(setup)),
        Err(error) if error.host_goes_on() => Ok(None),
        Err(error) => Err(error),
    })?;
    let told = told.into_iter();
    Ok(told
        .filter_map(|(host, setup)| Some((host, setup?)))
        .collect())
}

/// The case of a comparison; nothing is measured. `now` is the time to record, in seconds since 1970.
///
/// # Errors
/// A host that is lost.
pub fn compare(
    agents: &mut Hosts,
    topology: Topology,
    hosts: BTreeMap<HostName, HostFacts>,
    now: u64,
) -> Result<Case, HostError> {
    Ok(Case {
        setups: setups(agents)?,
        compared: true,
        ..Case::new(now, Intensity::Gentle, topology, hosts)
    })
}
