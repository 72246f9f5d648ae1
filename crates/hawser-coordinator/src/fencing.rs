//! Fence devices, asked over agents whether they would fence.

use hawser_cluster::live::FenceAsk;
use hawser_host::{HostError, Hosts, on_all};
use hawser_model::case::FenceAnswer;

/// Asks each device, those of different nodes at the same time. Whatever keeps one from answering is its answer.
pub fn ask_fence_devices(agents: &mut Hosts, asks: Vec<FenceAsk>) -> Vec<FenceAnswer> {
    let answers = on_all(agents, |host, agent| {
        let mine = asks.iter().filter(|ask| ask.asks == *host);
        let answers = mine.map(|ask| {
            let (asked_from, failure) = match &ask.ask {
                Err(e) => (None, Some(e.to_string())),
                Ok(question) => {
                    let failure = agent.ask(question).unwrap_or_else(|e| Some(e.to_string()));
                    (Some(host.clone()), failure)
                }
            };
            FenceAnswer {
                device: ask.device.clone(),
                nodes: ask
                    .victims
                    .iter()
                    .map(|node| node.as_str().into())
                    .collect(),
                asked_from,
                failure,
            }
        });
        Ok::<_, HostError>(answers.collect::<Vec<_>>())
    });
    let mut all: Vec<FenceAnswer> = answers.into_iter().flatten().flat_map(|(_, a)| a).collect();
    all.sort_by(|a, b| a.device.cmp(&b.device));
    all
}
