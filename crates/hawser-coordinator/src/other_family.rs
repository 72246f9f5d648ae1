//! The address family that the flows do not use: whether it passes at all, and what the hosts did where it does not.

use std::net::IpAddr;

use hawser_agent::questions::{CloseWindow, OpenWindow};
use hawser_host::HostError;
use hawser_model::case::{BothWindows, Measurement};

use crate::discover::{connects, network};
use crate::measure::{End, both, path_mtu, still_there};
use crate::traffic_plan::Path;

/// Searches its path MTU, where both interfaces have addresses of one network in it. Where nothing arrives it is tried
/// again between two windows: an unknown neighbour is asked for once more by then (`retrans_time_ms`, a second).
pub(crate) fn search(
    measurement: &mut Measurement,
    from: &mut End<'_>,
    to: &mut End<'_>,
    path: &Path,
) -> Result<(), HostError> {
    let Some(path) = other_family(from, to, path) else {
        return Ok(());
    };
    // A family that nothing was asked of: what is wrong with the link the flows tell.
    match path_mtu(from, to, &path) {
        Ok(found) => measurement.path_mtu_other = Some(found),
        Err(e) => drop(still_there(e)?),
    }
    let found = measurement.path_mtu_other.as_ref();
    if found.is_some_and(|found| found.passed.is_none()) {
        match again(measurement, from, to, &path) {
            Ok(windows) => measurement.other_family = Some(windows),
            Err(e) => drop(still_there(e)?),
        }
    }
    Ok(())
}

fn again(
    measurement: &mut Measurement,
    from: &mut End<'_>,
    to: &mut End<'_>,
    path: &Path,
) -> Result<BothWindows, HostError> {
    let (sender, receiver) = both(
        || from.agent.ask(&OpenWindow(Vec::new())),
        || to.agent.ask(&OpenWindow(Vec::new())),
    );
    let found = match sender.and(receiver) {
        Ok(()) => path_mtu(from, to, path),
        Err(e) => Err(e),
    };
    // Also if only one was opened: a window that stays open is in the way of the next one.
    let (sender, receiver) = both(
        || from.agent.ask(&CloseWindow),
        || to.agent.ask(&CloseWindow),
    );
    measurement.path_mtu_other = Some(found?);
    Ok(BothWindows {
        sender: sender?,
        receiver: receiver?,
    })
}

/// The same path in the other family: addresses of one network on the same two interfaces.
fn other_family(from: &End<'_>, to: &End<'_>, path: &Path) -> Option<Path> {
    let of = |end: &End<'_>| -> Vec<(IpAddr, u8)> {
        let interface = end.facts.interfaces.get(end.interface);
        let addresses = interface.into_iter().flat_map(|i| i.addresses.iter());
        addresses
            .filter(|(a, prefix)| a.is_ipv4() != path.source.is_ipv4() && connects(*a, *prefix))
            .copied()
            .collect()
    };
    let receivers = of(to);
    of(from).into_iter().find_map(|(source, prefix)| {
        let shared = receivers
            .iter()
            .find(|(a, p)| *p == prefix && network(*a, prefix) == network(source, prefix));
        let (destination, _) = shared?;
        Some(Path {
            source,
            destination: *destination,
            ..*path
        })
    })
}
