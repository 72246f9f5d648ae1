//! The transition graph: which action waits for which. With it the question "and if this one
//! action fails?" needs no second simulation, and fencing, which `crm_simulate` never lets fail,
//! can be made to.

use std::collections::BTreeSet;

use crate::xml::{Element, XmlError};

/// The graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    nodes: Vec<Synapse>,
}

/// Actions that start together, when all of their triggers are done.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Synapse {
    actions: Vec<Action>,
    triggers: BTreeSet<u32>,
}

/// An action of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Its number.
    pub id: u32,
    /// `vmpool01_start_0`, `stonith-head1-off`.
    pub key: String,
    /// `start`, `stop`, `monitor`, `stonith`, …
    pub operation: String,
    /// Where, when it is somewhere.
    pub node: Option<String>,
    /// Whether something is really done: a pseudo action only marks a point.
    pub real: bool,
}

impl Graph {
    /// Reads it.
    pub fn parse(text: &str) -> Result<Self, XmlError> {
        let root = Element::parse(text, "crm_simulate's graph")?;
        let nodes = root.all("synapse").map(|synapse| {
            let actions = synapse
                .first("action_set")
                .map_or(&[][..], |set| &set.children);
            let inputs = synapse
                .first("inputs")
                .map_or(&[][..], |inputs| &inputs.children);
            let triggers = inputs.iter().flat_map(|trigger| &trigger.children);
            Synapse {
                actions: actions.iter().filter_map(action).collect(),
                triggers: triggers.filter_map(|a| a.get("id")?.parse().ok()).collect(),
            }
        });
        Ok(Self {
            nodes: nodes.collect(),
        })
    }

    /// All its actions.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        self.nodes.iter().flat_map(|synapse| &synapse.actions)
    }

    /// What is still done when every action that `fails` says of fails: whatever waits for it, or for
    /// something that waits for it, is not.
    pub fn done_when(&self, fails: impl Fn(&Action) -> bool) -> Vec<&Action> {
        let mut done: BTreeSet<u32> = BTreeSet::new();
        loop {
            let ready = |synapse: &&Synapse| synapse.triggers.is_subset(&done);
            let next: Vec<u32> = self
                .nodes
                .iter()
                .filter(ready)
                .flat_map(|synapse| &synapse.actions)
                .filter(|action| !fails(action) && !done.contains(&action.id))
                .map(|action| action.id)
                .collect();
            if next.is_empty() {
                break;
            }
            done.extend(next);
        }
        self.actions()
            .filter(|action| done.contains(&action.id))
            .collect()
    }
}

fn action(element: &Element) -> Option<Action> {
    Some(Action {
        id: element.get("id")?.parse().ok()?,
        key: element.get("operation_key")?.to_owned(),
        operation: element.get("operation")?.to_owned(),
        node: element.get("on_node").map(str::to_owned),
        real: element.name != "pseudo_event",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAIN: &str = r#"<transition_graph>
      <synapse id="0"><action_set><crm_event id="1" operation="stonith" operation_key="stonith-a-off" on_node="a"/></action_set><inputs/></synapse>
      <synapse id="1"><action_set><rsc_op id="2" operation="start" operation_key="p_start_0" on_node="b"/></action_set>
        <inputs><trigger><crm_event id="1" operation="stonith" operation_key="stonith-a-off"/></trigger></inputs></synapse>
      <synapse id="2"><action_set><rsc_op id="3" operation="start" operation_key="q_start_0" on_node="b"/></action_set>
        <inputs><trigger><rsc_op id="2" operation="start" operation_key="p_start_0"/></trigger></inputs></synapse>
      <synapse id="3"><action_set><pseudo_event id="4" operation="stop" operation_key="f_stop_0"/></action_set><inputs/></synapse>
    </transition_graph>"#;

    #[test]
    fn what_waits_for_a_failed_action_is_not_done_however_far_behind() {
        let graph = Graph::parse(CHAIN).unwrap();
        let keys = |actions: Vec<&Action>| -> Vec<String> {
            actions
                .into_iter()
                .map(|action| action.key.clone())
                .collect()
        };
        assert_eq!(keys(graph.done_when(|_| false)).len(), 4);
        assert_eq!(
            keys(graph.done_when(|a| a.operation == "stonith")),
            ["f_stop_0"]
        );
    }
}
