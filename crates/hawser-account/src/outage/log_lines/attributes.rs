//! What the keeper of attributes says: `Setting fail-count-a#start_0[head2]: INFINITY -> (unset)`; from
//! Pacemaker 3 on `[head2] in instance_attributes: …`.

use super::daemon::says;
use super::{Forgiven, Mark, after, number};

/// An attribute of a node that gets a value.
struct Setting<'a> {
    name: &'a str,
    host: &'a str,
    now: &'a str,
    /// `from head1 with 3s write delay`. Syslog has not what stands behind ` | `.
    how: &'a str,
}

fn setting(text: &str) -> Option<Setting<'_>> {
    let said = says(text, "pacemaker-attrd")?.strip_prefix("Setting ")?;
    let (name, rest) = said.split_once('[')?;
    let (host, rest) = rest.split_once(']')?;
    let (_, now) = rest.split_once(" -> ")?;
    let (now, how) = now.split_once(" | ").unwrap_or((now.trim_end(), ""));
    Some(Setting {
        name,
        host,
        now,
        how,
    })
}

/// What a line of it marks.
pub(super) fn said(text: &str) -> Option<Mark> {
    let set = setting(text)?;
    // When a node asked to be let go (`do_shutdown_req` of Pacemaker 2): `(unset) -> 1795840809`.
    if set.name == "shutdown" {
        return (number(set.now)? > 0).then(|| Mark::EngineStops(set.host.into()));
    }
    if let Some(failures) = set.name.strip_prefix("fail-count-") {
        let resource = failures.strip_suffix("#start_0")?;
        let forgiven = Forgiven {
            resource: resource.to_owned(),
            host: set.host.into(),
        };
        return (set.now == "(unset)").then_some(Mark::StartForgiven(forgiven));
    }
    // What the watch of a port to a SAN tells (`hawser-cluster`, `cib/ports.rs`): `10000 -> 0 | from head1 with 3s write delay`.
    set.name.strip_prefix("hawser-")?;
    let held = after(set.how, " with ").filter(|held| held.contains("write delay"));
    // `no write delay`, `3s write delay`; how long it is held back is no part of the account where that is not known.
    let seconds = held.and_then(number).unwrap_or(0);
    (set.now == "0").then(|| Mark::PortLost {
        host: set.host.into(),
        dampening_ms: seconds * 1000,
    })
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
                "head2 pacemaker-attrd     [39] (update_attr_on_host) \tnotice: Setting fail-count-a-exports#start_0[head2]: INFINITY -> (unset) | from head2 with no write delay"
            ),
            Mark::StartForgiven(Forgiven {
                resource: "a-exports".to_owned(),
                host: "head2".into()
            })
        );
        assert_eq!(
            pacemaker(
                "head2 pacemaker-attrd     [39] (update_attr_on_host) \tnotice: Setting fail-count-a-exports#start_0[head2]: (unset) -> INFINITY | from head2"
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
