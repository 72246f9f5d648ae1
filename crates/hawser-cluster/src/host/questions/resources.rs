//! Nodes in standby, and what Pacemaker remembers of failures.

use std::collections::BTreeMap;
use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Stop};
use hawser_model::drill::FenceEvent;
use hawser_model::names::HostName;
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::fence_history::finished;
use crate::host::{pacemaker, run};

/// Puts a node in standby, or takes it out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standby {
    /// The node.
    pub node: String,
    /// In, or out.
    pub on: bool,
}

impl Ask for Standby {
    type Answer = ();
    const NAME: &'static str = "standby";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for Standby {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        Ok(pacemaker::standby(&self.node, self.on)?)
    }
}

/// Forgets what Pacemaker remembers of failures: of resources, and of the shots at nodes whose last one failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForgetFailures;

impl Ask for ForgetFailures {
    type Answer = ();
    const NAME: &'static str = "forget failures";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ForgetFailures {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        run::tool("crm_resource", &["--cleanup"], None)?;
        // All shots at a node are forgotten with the one that failed: those at others are not.
        let history = finished(&pacemaker::fence_history()?)?;
        for node in missed(&history) {
            let arguments = ["--cleanup", "--history", node.as_str()];
            run::tool("stonith_admin", &arguments, None)?;
        }
        Ok(())
    }
}

/// The nodes whose last shot failed, of a history in order.
fn missed(history: &[FenceEvent]) -> Vec<&HostName> {
    let each = history.iter().map(|event| (&event.target, event.succeeded));
    let last: BTreeMap<&HostName, bool> = each.collect();
    let missed = last.into_iter().filter(|(_, succeeded)| !succeeded);
    missed.map(|(node, _)| node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shots_at_a_node_that_was_missed_last_are_forgotten() {
        let event = |target: &str, status: &str, second: u32| {
            format!(
                r#"<fence_event action="off" target="{target}" status="{status}"
                   completed="2026-11-22 01:17:{second}Z"/>"#
            )
        };
        // As stonith_admin tells them: the newest first, and before them what is under way.
        let events = [
            r#"<fence_event action="off" target="head3" status="pending"/>"#.to_owned(),
            event("head1", "success", 30),
            event("head2", "failed", 25),
            event("head2", "success", 20),
            event("head1", "failed", 15),
            event("head3", "success", 10),
        ];
        let history = finished(&format!("<r>{}</r>", events.concat())).unwrap();
        assert_eq!(missed(&history), [&HostName::from("head2")]);
    }
}
