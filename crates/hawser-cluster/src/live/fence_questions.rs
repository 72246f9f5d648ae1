//! Whether each fence device would fence: who asks it, and with what.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;

use super::{SecretError, Secrets};
use crate::cib::fencing::{device_files, targets};
use crate::cib::primitive;
use crate::host::questions::AskFence;
use crate::host::{FenceQuestion, OwnedFile};
use crate::numbering::Numbering;
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

/// How each fence device of a file is asked from these nodes, with the secrets of the file: before anything is
/// installed, and whatever is installed.
pub fn fence_asks(file: &ClusterFile, secrets: &Secrets, nodes: &[HostName]) -> Vec<FenceAsk> {
    let (mut files, victims) = (device_files(file), targets(file));
    let mut asks = Vec::new();
    for (node, questions) in questions(file, nodes) {
        for device in questions {
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

/// Who asks which device: a node that it does not fence, if there is one.
pub(super) fn questions(
    file: &ClusterFile,
    nodes: &[HostName],
) -> BTreeMap<HostName, Vec<FenceQuestion>> {
    let targets = targets(file);
    if targets.is_empty() {
        return BTreeMap::new();
    }
    let cib = crate::cib::generate(file, &Numbering::of(file, None));
    let mut all: BTreeMap<HostName, Vec<FenceQuestion>> = BTreeMap::new();
    for (device, victims) in targets {
        let Some(primitive) = primitive(&cib, &device) else {
            continue;
        };
        let other = nodes.iter().find(|name| !victims.contains(name.as_str()));
        let Some(asks) = other.or(nodes.first()) else {
            continue;
        };
        all.entry(asks.clone()).or_default().push(FenceQuestion {
            agent: primitive.get("type").unwrap_or_default().to_owned(),
            parameters: parameters(primitive),
            name: device,
        });
    }
    all
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
