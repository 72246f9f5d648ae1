//! Why something does not run: the operations that failed, in the words of whoever failed.
//!
//! A resource whose start failed on every node is, to the scheduler, merely stopped; the reason is only in
//! the record that Pacemaker keeps of each node's last failure until it is cleaned up.

use crate::xml::Element;

/// What Pacemaker names such a record (`PCMK__XE_LRM_RSC_OP` with the key `…_last_failure_0`).
const RECORD: &str = "_last_failure_0";

/// `op-status` of an operation that did not end in time (`PCMK_EXEC_TIMEOUT`).
const TIMED_OUT: &str = "2";

/// The last failures of one resource, one for each node that has had one.
pub(super) fn of(cib: &Element, resource: &str) -> Vec<String> {
    let record = format!("{resource}{RECORD}");
    let states = cib.first("status").into_iter();
    let states = states.flat_map(|status| status.all("node_state"));
    states
        .filter_map(|state| {
            let operations = state.walk();
            let failed = operations.iter().find(|element| {
                element.name == "lrm_rsc_op" && element.get("id") == Some(record.as_str())
            })?;
            // A probe that found it running where nobody had started it is no failure of its own.
            let code = failed.get("rc-code").filter(|code| *code != "0")?;
            let what = failed.get("operation").unwrap_or("an operation");
            let why = match (failed.get("exit-reason"), failed.get("op-status")) {
                (Some(reason), _) if !reason.is_empty() => reason.to_owned(),
                (_, Some(TIMED_OUT)) => "it did not end in time".to_owned(),
                _ => format!("its agent ended with {code}"),
            };
            let node = state.get("uname").unwrap_or("a node");
            Some(format!("{what} of {resource} failed on {node}: {why}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_says_why_it_cannot_run_it() {
        let cib = r#"<cib><configuration/><status>
            <node_state uname="head1"><lrm><lrm_resources><lrm_resource id="tank">
              <lrm_rsc_op id="tank_last_0" operation="stop" rc-code="0" op-status="0"/>
              <lrm_rsc_op id="tank_last_failure_0" operation="start" rc-code="5" op-status="4"
                exit-reason="Couldn't find device [/dev/shelf]"/>
            </lrm_resource></lrm_resources></lrm></node_state>
            <node_state uname="head2"><lrm><lrm_resources>
              <lrm_resource id="tank"><lrm_rsc_op id="tank_last_failure_0" operation="start" rc-code="1" op-status="2"/></lrm_resource>
              <lrm_resource id="tank-exports"><lrm_rsc_op id="tank-exports_last_failure_0" operation="monitor" rc-code="0"/></lrm_resource>
            </lrm_resources></lrm></node_state></status></cib>"#;
        let cib = Element::parse(cib, "test").unwrap();
        assert_eq!(
            of(&cib, "tank"),
            [
                "start of tank failed on head1: Couldn't find device [/dev/shelf]",
                "start of tank failed on head2: it did not end in time"
            ]
        );
        assert_eq!(of(&cib, "tank-exports"), Vec::<String>::new());
    }
}
