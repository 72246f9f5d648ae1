//! What lines say beside the steps of a takeover: why somebody was fenced, what was changed, who stood still.

use hawser_model::names::HostName;

use crate::outage::log_lines::{after, number};

/// What a line says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    /// The controller has lost sight of a node (`crm_update_peer_state_iter` of Pacemaker 2).
    NodeLost(HostName),
    /// The scheduler's reason to fence a node.
    FenceReason {
        /// The node.
        target: HostName,
        /// In Pacemaker's words.
        reason: String,
    },
    /// Somebody has changed the configuration: what is set to what.
    Changed(String),
    /// Corosync was not run for so many milliseconds (`timer_function_scheduler_timeout` of exec/main.c,
    /// `pause_flush` of exec/totemsrp.c).
    Paused(u64),
}

/// What a line of either log says; its stamp is already cut off.
pub(super) fn said(text: &str) -> Option<Said> {
    if let Some(rest) = after(text, "main process was not scheduled for ") {
        return Some(Said::Paused(number(rest)?));
    }
    if let Some(rest) = after(text, "Process pause detected for ") {
        return Some(Said::Paused(number(rest)?));
    }
    // The programs' own output is quoted in their log: only what Pacemaker says itself is believed.
    if text.contains(" output [ ") || text.contains("stderr: [ ") {
        return None;
    }
    if let Some(rest) = after(text, "Actions: Fence (") {
        let (target, reason) = after(rest, ") ")?.split_once(" '")?;
        return Some(Said::FenceReason {
            target: target.into(),
            reason: reason.trim_end().trim_end_matches('\'').to_owned(),
        });
    }
    if text.contains("pacemaker-controld") {
        if let Some(rest) = after(text, "Node ") {
            let (node, _) = rest.split_once(" state is now lost")?;
            return Some(Said::NodeLost(node.into()));
        }
        if let Some(rest) = after(text, " aborted by ") {
            let (change, _) = rest.split_once(": Configuration change")?;
            let change = match change.split_once(" doing ") {
                // `nodes-1-standby doing modify standby=on`.
                Some((_, change)) => change.split_once(' ').map_or(change, |(_, what)| what),
                // `primitive.vmpool01 'create'`, `deletion of rsc_order[@id='a']`.
                None => change,
            };
            return Some(Said::Changed(change.to_owned()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_changes_and_pauses_are_read() {
        assert_eq!(
            said(
                "head2 pacemaker-schedulerd[39] (log_list_item) \tnotice: Actions: Fence (off) head1 'peer is no longer part of the cluster'"
            ),
            Some(Said::FenceReason {
                target: "head1".into(),
                reason: "peer is no longer part of the cluster".to_owned()
            })
        );
        assert_eq!(
            said(
                "head1 pacemaker-controld  [67] (abort_transition_graph) \tinfo: Transition 1 aborted by nodes-1-standby doing modify standby=on: Configuration change | cib=0.12.0"
            ),
            Some(Said::Changed("standby=on".to_owned()))
        );
        for (change, what) in [
            ("primitive.vmpool01 'create'", "primitive.vmpool01 'create'"),
            (
                "deletion of rsc_order[@id='a']",
                "deletion of rsc_order[@id='a']",
            ),
        ] {
            let line = format!(
                "head2 pacemaker-controld  [44] (abort_transition_graph) \tinfo: Transition 4 aborted by {change}: Configuration change | cib=0.11.0"
            );
            assert_eq!(said(&line), Some(Said::Changed(what.to_owned())));
        }
        let transient = "head2 pacemaker-controld  [44] (abort_transition_graph) \tinfo: Transition 4 aborted by status-2-x doing create x=1: Transient attribute change | cib=0.9.89";
        assert_eq!(said(transient), None);
        assert_eq!(
            said(
                "head2 pacemaker-controld  [40] (update_peer_state_iter) \tnotice: Node head1 state is now lost | nodeid=1"
            ),
            Some(Said::NodeLost("head1".into()))
        );
        assert_eq!(
            said(
                "[9] ha1 corosync warning [MAIN  ] Corosync main process was not scheduled for 2787.0891 ms (threshold is 1320.0000 ms). Consider token timeout increase."
            ),
            Some(Said::Paused(2787))
        );
        assert_eq!(
            said(
                "[9] ha1 corosync notice  [TOTEM ] Process pause detected for 3141 ms, flushing membership messages."
            ),
            Some(Said::Paused(3141))
        );
        assert_eq!(said("x output [ Actions: Fence (off) head1 'a' ]"), None);
    }
}
