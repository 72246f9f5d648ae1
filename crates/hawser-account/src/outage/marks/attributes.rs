//! What the keeper of attributes says: `Setting fail-count-a#start_0[head2]: INFINITY -> (unset)`; from
//! Pacemaker 3 on `[head2] in instance_attributes: …`.

use super::daemon::says;
use super::{Forgiven, Mark, after, number};

/// What a line of it marks.
pub(super) fn said(text: &str) -> Option<Mark> {
    port_lost(text)
        .or_else(|| start_forgiven(text))
        .or_else(|| stops(text))
}

/// `Setting hawser-san01[head1]: 10000 -> 0 | from head1 with 3s write delay`: what the watch of a port to `san01`
/// tells (`hawser-cluster`, `cib/ports.rs`).
fn port_lost(text: &str) -> Option<Mark> {
    let (_, rest) = after(text, "Setting hawser-")?.split_once('[')?;
    let (host, rest) = rest.split_once(']')?;
    let (_, now) = rest.split_once(" -> ")?;
    // Syslog has not what stands behind ` | `: how long it is held back is not known then, and no part of the account.
    let (now, held) = now.split_once(" | ").unwrap_or((now.trim_end(), ""));
    let held = after(held, " with ").filter(|held| held.contains("write delay"));
    // `no write delay`, `3s write delay`.
    let seconds = held.and_then(number).unwrap_or(0);
    (now == "0").then(|| Mark::PortLost {
        host: host.into(),
        dampening_ms: seconds * 1000,
    })
}

fn start_forgiven(text: &str) -> Option<Mark> {
    let (resource, rest) = after(text, "Setting fail-count-")?.split_once("#start_0[")?;
    let (host, rest) = rest.split_once(']')?;
    let forgiven = Forgiven {
        resource: resource.to_owned(),
        host: host.into(),
    };
    rest.contains("-> (unset)")
        .then_some(Mark::StartForgiven(forgiven))
}

/// `Setting shutdown[head1]: (unset) -> 1795840809`: when a node asked to be let go (`do_shutdown_req` of Pacemaker 2).
fn stops(text: &str) -> Option<Mark> {
    let said = says(text, "pacemaker-attrd")?;
    let (host, rest) = said.strip_prefix("Setting shutdown[")?.split_once(']')?;
    let (_, now) = rest.split_once(" -> ")?;
    let since = number(now)?;
    (since > 0).then(|| Mark::EngineStops(host.into()))
}

#[cfg(test)]
mod tests {
    use super::super::pacemaker;
    use super::*;

    #[test]
    fn a_start_that_is_forgiven_is_told_and_one_that_fails_is_not() {
        let said = |text: &str| pacemaker(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(
            said(
                "notice: Setting fail-count-a-exports#start_0[head2]: INFINITY -> (unset) | from head2 with no write delay"
            ),
            Mark::StartForgiven(Forgiven {
                resource: "a-exports".to_owned(),
                host: "head2".into()
            })
        );
        assert_eq!(
            pacemaker(
                "notice: Setting fail-count-a-exports#start_0[head2]: (unset) -> INFINITY | from head2"
            ),
            None
        );
    }

    #[test]
    fn a_port_that_is_lost_is_told_and_one_that_is_back_is_not() {
        let port = |change: &str| {
            pacemaker(&format!(
                "head1 pacemaker-attrd     [39] (update_attr_on_host) \tnotice: Setting hawser-san01[head1]: {change}"
            ))
        };
        let lost = |dampening_ms| {
            let host = "head1".into();
            Some(Mark::PortLost { host, dampening_ms })
        };
        assert_eq!(
            port("10000 -> 0 | from head1 with 3s write delay"),
            lost(3000)
        );
        assert_eq!(
            port("(unset) -> 0 | from head1 with no write delay"),
            lost(0)
        );
        assert_eq!(port("10000 -> 0"), lost(0), "as syslog has it");
        assert_eq!(port("0 -> 10000 | from head1 with 3s write delay"), None);
        assert_eq!(port("10 -> 05 | from head1"), None);
    }

    #[test]
    fn a_node_that_asks_to_be_let_go_stops_its_pacemaker() {
        let setting = |change: &str| {
            pacemaker(&format!(
                "head2 pacemaker-attrd     [44] (update_attr_on_host) \tnotice: Setting shutdown[head1]{change}"
            ))
        };
        let stops = Some(Mark::EngineStops("head1".into()));
        let (ii, iii) = (
            setting(": (unset) -> 1795840809 | from head1 with no write delay"),
            setting(
                " in instance_attributes: (unset) -> 1795840809 | from head1 with no write delay",
            ),
        );
        assert_eq!((ii, iii), (stops.clone(), stops));
        assert_eq!(setting(": 1795840809 -> (unset) | from head1"), None);
        assert_eq!(setting(": (unset) -> 0 | from head1"), None);
        let quoted =
            "head2 pacemaker-controld[44]: notice: Setting shutdown[head1]: (unset) -> 1795840809";
        assert_eq!(pacemaker(quoted), None);
    }
}
