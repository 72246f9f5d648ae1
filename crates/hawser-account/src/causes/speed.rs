//! A port runs slower than the cluster file says (`speed-below-file`) or than the other ports
//! of its link (`speed-below-peer`): a bad pair in the cable, a fixed setting, the wrong
//! transceiver. The link works and carries a tenth.
//!
//! Evidence: the speed the driver reports (`ETHTOOL_GLINKSETTINGS`), of ports with carrier. A
//! port that both causes fit is told by the file. Certain; a warning.
//! Cases: `speed-below-file`, `speed-below-peer`.

use std::collections::BTreeMap;

use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::units::BitsPerSec;

use super::Cause;
use super::support::Draft;
use crate::losses::Losses;
use crate::view::View;

pub(super) const BELOW_FILE: Cause = Cause {
    code: "speed-below-file",
    find: below_file,
};

pub(super) const BELOW_PEER: Cause = Cause {
    code: "speed-below-peer",
    find: below_peer,
};

struct Port<'a> {
    host: HostName,
    name: &'a InterfaceName,
    speed: BitsPerSec,
}

/// The ports of each link that report a speed.
fn ports<'a>(view: &View<'a>) -> BTreeMap<LinkName, Vec<Port<'a>>> {
    let mut by_link: BTreeMap<LinkName, Vec<Port<'a>>> = BTreeMap::new();
    for ((link, host), (name, interface)) in view.ports() {
        let speed = interface.speed.filter(|s| s.0 > 0);
        if let (Some(speed), true, true) = (speed, interface.up, interface.carrier) {
            by_link
                .entry(link)
                .or_default()
                .push(Port { host, name, speed });
        }
    }
    by_link
}

fn finding(code: &'static str, link: &LinkName, port: &Port<'_>) -> Draft {
    let place = Place {
        host: Some(port.host.clone()),
        link: Some(link.clone()),
        interface: Some(port.name.clone()),
        ..Place::default()
    };
    Draft::new(code, Severity::Warning, Confidence::Certain, place)
        .number("speed_bits_per_s", port.speed.0)
}

fn below_file(view: &View<'_>, _: &mut Losses) -> Vec<Finding> {
    let mut found = Vec::new();
    for (link, ports) in ports(view) {
        let Some(due) = view.case.topology.link(&link).and_then(|l| l.speed) else {
            continue;
        };
        for port in ports.iter().filter(|p| p.speed < due) {
            found.push(
                finding(BELOW_FILE.code, &link, port)
                    .number("file_speed_bits_per_s", due.0)
                    .done(),
            );
        }
    }
    found
}

fn below_peer(view: &View<'_>, _: &mut Losses) -> Vec<Finding> {
    let mut found = Vec::new();
    for (link, ports) in ports(view) {
        let due = view.case.topology.link(&link).and_then(|l| l.speed);
        let Some(fastest) = ports.iter().map(|p| p.speed).max() else {
            continue;
        };
        let told_by_file = |p: &Port<'_>| due.is_some_and(|due| p.speed < due);
        for port in ports
            .iter()
            .filter(|p| p.speed < fastest && !told_by_file(p))
        {
            found.push(
                finding(BELOW_PEER.code, &link, port)
                    .number("peer_speed_bits_per_s", fastest.0)
                    .done(),
            );
        }
    }
    found
}
