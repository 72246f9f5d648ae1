//! What Corosync and Pacemaker of a head say, each daemon asked for itself.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hawser_host::Clock;
use hawser_model::cmap;
use serde::{Deserialize, Serialize};

use super::bounded::{Begun, tool};
use super::told::Told;
use super::{HeadView, ViewQuestion};
use crate::host::{device, fence_status, inventory};
use crate::xml::Element;

/// What a Corosync says of membership and quorum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quorum {
    /// Whether it has quorum.
    pub quorate: bool,
    /// The membership that it belongs to: the same on all its members.
    pub ring: String,
    /// The number of the node itself.
    pub local: u32,
    /// The numbers of the members.
    pub members: BTreeSet<u32>,
}

/// What a fencer knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fencer {
    /// Its history, XML.
    pub history: String,
    /// For each node that was asked about, the devices with which this head can switch it off.
    pub can: BTreeMap<String, BTreeSet<String>>,
}

type Words = Begun<Told<String>>;

/// Questions to the engine that were asked.
pub(super) struct Asked {
    corosync: bool,
    pacemaker: bool,
    quorum: Option<Begun<Told<Quorum>>>,
    controller: Option<Words>,
    cib: Option<Words>,
    history: Option<Words>,
    lists: BTreeMap<String, Begun<Told<BTreeSet<String>>>>,
    links: Option<Begun<Vec<BTreeMap<String, String>>>>,
    nodes: Option<Begun<Told<BTreeMap<String, String>>>>,
    devices: BTreeMap<String, Begun<Option<String>>>,
    quorum_device: Option<Begun<Told<Option<String>>>>,
}

impl Asked {
    pub fn begin(question: &ViewQuestion) -> Self {
        let (corosync, pacemaker) = (inventory::runs("corosync"), inventory::runs("pacemakerd"));
        let node = question.node.to_string();
        let limit = question.limits.head;
        let device_limit = question.limits.device;
        let more = question.more.as_deref();
        let fencer = more.filter(|_| pacemaker);
        let lists = fencer.into_iter().flat_map(|more| &more.nodes);
        let devices = more.into_iter().flat_map(|more| &more.devices).cloned();
        Self {
            corosync,
            pacemaker,
            quorum: corosync.then(|| Begun::work(limit + 1, move || quorum(limit))),
            controller: pacemaker.then(|| Begun::work(limit + 1, move || controller(limit, &node))),
            cib: pacemaker.then(|| Begun::work(limit + 1, move || cib(limit))),
            history: fencer.map(|_| Begun::work(limit + 1, move || history(limit))),
            lists: lists
                .map(|node| {
                    let target = node.to_string();
                    (
                        node.to_string(),
                        Begun::work(limit + 1, move || list(limit, &target)),
                    )
                })
                .collect(),
            links: more.filter(|_| corosync).map(|more| {
                let watch = Duration::from_millis(more.watch_links_ms);
                Begun::work(limit + 2, move || links(limit, watch))
            }),
            nodes: more
                .filter(|_| corosync)
                .map(|_| Begun::work(limit + 1, move || nodes(limit))),
            devices: devices
                .map(|device| {
                    let name = device.name.clone();
                    let ask = move || {
                        let asked = fence_status::ask(&device, &BTreeMap::new(), device_limit);
                        asked.unwrap_or_else(|e| Some(e.to_string()))
                    };
                    (name, Begun::work(device_limit + 1, ask))
                })
                .collect(),
            quorum_device: more
                .filter(|more| more.quorum_device)
                .map(|_| Begun::work(limit + 1, move || vote(limit))),
        }
    }

    pub fn end(self, view: &mut HeadView) {
        view.corosync = self.corosync;
        view.pacemaker = self.pacemaker;
        view.quorum = self.quorum.map(Begun::end_told);
        view.controller = self.controller.map(Begun::end_told);
        view.cib = self.cib.map(Begun::end_told);
        let lists: BTreeMap<String, Told<BTreeSet<String>>> = self
            .lists
            .into_iter()
            .map(|(node, begun)| (node, begun.end_told()))
            .collect();
        view.fencer = self
            .history
            .map(|history| fencer(history.end_told(), lists));
        view.links = self.links.map_or(Vec::new(), |links| match links.end() {
            Told::Said(links) => links,
            // Whoever does not answer here does not answer above either.
            Told::Silent(_) | Told::Failed(_) => Vec::new(),
        });
        view.nodes = self.nodes.map(Begun::end_told);
        view.quorum_device = self.quorum_device.map(Begun::end_told);
        for (device, begun) in self.devices {
            let said = match begun.end() {
                Told::Said(said) => said,
                silent => silent.why_not().map(|why| why.to_string()),
            };
            view.fence_status.insert(device, said);
        }
    }
}

/// One answer of several questions to the fencer.
fn fencer(history: Told<String>, lists: BTreeMap<String, Told<BTreeSet<String>>>) -> Told<Fencer> {
    let history = match history {
        Told::Said(history) => history,
        Told::Silent(seconds) => return Told::Silent(seconds),
        Told::Failed(said) => return Told::Failed(said),
    };
    let mut can = BTreeMap::new();
    for (node, list) in lists {
        match list {
            Told::Said(devices) => can.insert(node, devices),
            Told::Silent(seconds) => return Told::Silent(seconds),
            Told::Failed(said) => return Told::Failed(said),
        };
    }
    Told::Said(Fencer { history, can })
}

fn quorum(limit: u32) -> Told<Quorum> {
    // It ends with an error also when it has answered, and there is no quorum.
    tool(limit, "corosync-quorumtool", &["-s"], |said, _| {
        parsed(said)
    })
}

/// `corosync-quorumtool -s` of Corosync 3.
fn parsed(said: &str) -> Option<Quorum> {
    let of = |key: &str| {
        let mut values = said.lines().filter_map(|line| line.strip_prefix(key));
        values.next().map(str::trim)
    };
    let (_, table) = said.split_once("Membership information")?;
    let mut quorum = Quorum {
        quorate: of("Quorate:")? == "Yes",
        ring: of("Ring ID:")?.to_owned(),
        ..Quorum::default()
    };
    for line in table.lines() {
        // The quorum device has a line too, with the number 0.
        let number = line.split_whitespace().next().and_then(|n| n.parse().ok());
        let Some(number) = number.filter(|number| *number > 0) else {
            continue;
        };
        quorum.members.insert(number);
        if line.trim_end().ends_with("(local)") {
            quorum.local = number;
        }
    }
    Some(quorum)
}

fn controller(limit: u32, node: &str) -> Told<String> {
    tool(
        limit,
        "crmadmin",
        &["-S", node, "--output-as=xml"],
        |said, end| {
            let said = Element::parse(said, "crmadmin's answer")
                .ok()
                .filter(|_| end.well)?;
            let state = said.walk().into_iter().find_map(|e| e.get("state"))?;
            Some(state.to_owned())
        },
    )
}

fn cib(limit: u32) -> Told<String> {
    tool(limit, "cibadmin", &["--query"], |said, end| {
        end.well.then(|| said.to_owned())
    })
}

fn history(limit: u32) -> Told<String> {
    // Without `--verbose` it tells one operation, which in a cluster of several nodes need not be the last.
    let arguments = ["--history", "*", "--verbose", "--output-as=xml"];
    tool(limit, "stonith_admin", &arguments, |said, end| {
        end.well.then(|| said.to_owned())
    })
}

/// The devices with which the fencer of this head can switch a node off.
fn list(limit: u32, node: &str) -> Told<BTreeSet<String>> {
    let arguments = ["--list", node, "--output-as=xml"];
    tool(limit, "stonith_admin", &arguments, |said, end| {
        let said = Element::parse(said, "the fencer's answer")
            .ok()
            .filter(|_| end.well)?;
        let items = said.walk().into_iter().filter(|e| e.name == "item");
        Some(items.map(|item| item.text.trim().to_owned()).collect())
    })
}

fn vote(limit: u32) -> Told<Option<String>> {
    match device::silent(limit) {
        Ok(why) => Told::Said(why),
        Err(e) => Told::Failed(e.to_string()),
    }
}

fn links(limit: u32, watch: Duration) -> Vec<BTreeMap<String, String>> {
    let read = || {
        tool(limit, "corosync-cmapctl", &["-m", "stats"], |said, end| {
            end.well.then(|| statistics(said))
        })
    };
    let Told::Said(first) = read() else {
        return Vec::new();
    };
    if watch.is_zero() {
        return vec![first];
    }
    Clock::default().sleep(watch);
    match read() {
        Told::Said(second) => vec![first, second],
        _ => vec![first],
    }
}

fn nodes(limit: u32) -> Told<BTreeMap<String, String>> {
    let prefixes = ["nodelist.node.", "runtime.members."];
    tool(limit, "corosync-cmapctl", &prefixes, |said, end| {
        let tells = |name: &str| name.starts_with(prefixes[0]) || name.ends_with(".ip");
        end.well.then(|| cmap::chosen(said, tells))
    })
}

/// What is said about links.
fn statistics(said: &str) -> BTreeMap<String, String> {
    cmap::chosen(said, |name| {
        name.starts_with("stats.knet.") && !name.contains("bytes")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_membership_is_read_as_it_is_printed() {
        // corosync-quorumtool 3.1.7, with and without a quorum device
        let alone = "Quorum information\n------------------\n\
            Nodes:            1\nNode ID:          1\nRing ID:          1.9\nQuorate:          No\n\n\
            Membership information\n----------------------\n    Nodeid      Votes Name\n         1          1 head1 (local)\n";
        let read = parsed(alone).unwrap();
        assert_eq!(
            (read.quorate, read.ring.as_str(), read.local),
            (false, "1.9", 1)
        );
        let both = "Ring ID:          1.d\nQuorate:          Yes\n\n\
            Membership information\n----------------------\n    Nodeid      Votes    Qdevice Name\n         \
            1          1    A,V,NMW head1\n         2          1    A,V,NMW head2 (local)\n         0          1            Qdevice\n";
        let read = parsed(both).unwrap();
        assert!(read.quorate && read.local == 2);
        assert_eq!(read.members, BTreeSet::from([1, 2]));
        assert_eq!(parsed("Cannot initialize QUORUM service\n"), None);
    }
}
