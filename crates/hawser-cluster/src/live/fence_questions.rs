//! Whether each fence device would fence: who asks it, and with what.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;

use super::{SecretError, Secrets};
use crate::cib::fencing::{acts_by_reservation, device_files, devices, is_by_reservation, targets};
use crate::host::questions::AskFence;
use crate::host::{FenceQuestion, OwnedFile};
use crate::simulate::parameter;
use crate::xml::Element;

/// How long a device may be silent for somebody who waits: what fence agents themselves allow for a change of
/// power (`power_timeout` of fence-agents). Busy BMCs take several seconds.
const SILENT: u32 = 20;

/// A fence device, and how it is asked whether it would fence.
#[derive(Debug)]
pub struct FenceAsk {
    /// Its name.
    pub device: String,
    /// The nodes that it fences.
    pub victims: BTreeSet<String>,
    /// The node that asks: one that it does not fence, if there is one.
    pub asks: HostName,
    /// What that node is asked; without its secret there is nothing to ask.
    pub ask: Result<AskFence, SecretError>,
}

/// How each fence device of a file, but for those that act by reservations, is asked from these nodes, with the secrets of the
/// file: before anything is installed, and whatever is installed.
pub fn fence_asks(file: &ClusterFile, secrets: &Secrets, nodes: &[HostName]) -> Vec<FenceAsk> {
    let (mut files, victims) = (device_files(file), targets(file));
    let mut asks = Vec::new();
    for (node, questions) in questions(file, nodes) {
        // Whether disks would shut a node out is no question of a network.
        let by_address = |it: &FenceQuestion| !is_by_reservation(&it.agent);
        for device in questions.into_iter().filter(by_address) {
            let name = device.name.clone();
            let filled: Result<BTreeMap<String, OwnedFile>, SecretError> = files
                .remove(&name)
                .unwrap_or_default()
                .iter()
                .map(|file| Ok((file.path.clone(), secrets.fill(file)?)))
                .collect();
            asks.push(FenceAsk {
                victims: victims.get(&name).cloned().unwrap_or_default(),
                device: name,
                asks: node.clone(),
                ask: filled.map(|files| AskFence {
                    device,
                    files,
                    seconds: SILENT,
                }),
            });
        }
    }
    asks.sort_by(|a, b| a.device.cmp(&b.device));
    asks
}

/// Who asks which device: a node that it does not fence, if there is one; each node one that acts by reservations, which looks
/// at the disks as that node has them.
pub(super) fn questions(
    file: &ClusterFile,
    nodes: &[HostName],
) -> BTreeMap<HostName, Vec<FenceQuestion>> {
    let targets = targets(file);
    if targets.is_empty() {
        return BTreeMap::new();
    }
    let devices = devices(file);
    let mut all: BTreeMap<HostName, Vec<FenceQuestion>> = BTreeMap::new();
    for (device, victims) in targets {
        let Some(primitive) = devices.iter().find(|it| it.get("id") == Some(&device)) else {
            continue;
        };
        let question = FenceQuestion {
            agent: primitive.get("type").unwrap_or_default().to_owned(),
            parameters: parameters(primitive),
            name: device,
        };
        let other = nodes.iter().find(|name| !victims.contains(name.as_str()));
        let asks = match is_by_reservation(&question.agent) {
            true => nodes,
            false => other
                .or(nodes.first())
                .map_or(&[][..], std::slice::from_ref),
        };
        for node in asks {
            all.entry(node.clone()).or_default().push(question.clone());
        }
    }
    all
}

/// What each device answered, whoever asked it: why it would not fence; of one that acts by reservations, on which nodes.
pub(crate) fn answers<'a, D>(
    file: &ClusterFile,
    said: impl IntoIterator<Item = (&'a HostName, D)>,
) -> BTreeMap<String, Option<String>>
where
    D: IntoIterator<Item = (&'a String, &'a Option<String>)>,
{
    let mut by_device: BTreeMap<&str, Vec<(&HostName, Option<&str>)>> = BTreeMap::new();
    for (node, devices) in said {
        for (device, why) in devices {
            let of_device = by_device.entry(device).or_default();
            of_device.push((node, why.as_deref()));
        }
    }
    let whole = |device: &str, answers: Vec<(&HostName, Option<&str>)>| {
        let wrong = answers
            .iter()
            .filter_map(|(node, why)| Some((node, (*why)?)));
        let by_reservation = acts_by_reservation(file, device);
        let wrong: Vec<String> = wrong
            .map(|(node, why)| match by_reservation {
                true => format!("on {node}: {why}"),
                false => why.to_owned(),
            })
            .collect();
        (!wrong.is_empty()).then(|| wrong.join("; "))
    };
    by_device
        .into_iter()
        .map(|(device, answers)| (device.to_owned(), whole(device, answers)))
        .collect()
}

fn parameters(primitive: &Element) -> BTreeMap<String, String> {
    let pairs = primitive
        .all("instance_attributes")
        .flat_map(|set| &set.children);
    pairs
        .filter_map(|pair| {
            let name = pair.get("name")?;
            Some((name.to_owned(), parameter(primitive, name)?.to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_head_looks_at_the_disks_from_which_it_would_shut_out_another() {
        let text = include_str!("../../../../examples/lab/machines-shelves.toml");
        let file = hawser_model::cluster_file::parse(text, "x.toml").unwrap();
        let heads: [HostName; 2] = ["head1".into(), "head2".into()];
        let asked = questions(&file, &heads);
        let devices = |head: &str| {
            let all = asked[&HostName::from(head)].iter();
            all.map(|it| it.name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(devices("head1"), ["fence-head2", "reservations"]);
        assert_eq!(devices("head2"), ["fence-head1", "reservations"]);
    }

    #[test]
    fn one_head_that_is_not_registered_is_enough_and_named() {
        let text = include_str!("../../../../examples/lab/machines-shelves.toml");
        let file = hawser_model::cluster_file::parse(text, "x.toml").unwrap();
        let said = |device: &str, why: Option<&str>| {
            BTreeMap::from([(device.to_owned(), why.map(str::to_owned))])
        };
        let (head1, head2): (HostName, HostName) = ("head1".into(), "head2".into());
        let both = |one: Option<&str>, other: Option<&str>| {
            let (one, other) = (said("reservations", one), said("reservations", other));
            answers(&file, [(&head1, &one), (&head2, &other)])
        };
        let whole = |why| said("reservations", why);
        assert_eq!(both(None, None), whole(None));
        assert_eq!(both(Some("lost"), None), whole(Some("on head1: lost")));
        assert_eq!(
            both(Some("lost"), Some("gone")),
            whole(Some("on head1: lost; on head2: gone"))
        );
        let one = said("fence-head2", Some("wrong password"));
        assert_eq!(answers(&file, [(&head1, &one)]), one, "one head asked it");
    }
}
