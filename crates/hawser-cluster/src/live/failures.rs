//! Why something does not run: the operations that failed, in the words of whoever failed.
//!
//! A resource whose start failed on every node is, to the scheduler, merely stopped; the reason is only in
//! the record that Pacemaker keeps of each node's last failure until it is cleaned up.

use std::fmt;

use crate::cib::services::primitive;
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

/// Failures of a resource on a node that Pacemaker still counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// The node.
    pub node: String,
    /// The resource.
    pub resource: String,
    /// How many; none when it counts as more than any threshold.
    pub count: Option<u32>,
    /// After how many the resource leaves the node; none: never.
    pub threshold: Option<u32>,
}

impl Kept {
    /// Whether the resource may not run there until somebody cleans up.
    pub fn bars(&self) -> bool {
        match (self.count, self.threshold) {
            (None, _) => true,
            (Some(count), Some(threshold)) => count >= threshold,
            (Some(_), None) => false,
        }
    }

    /// What makes Pacemaker forget them.
    pub fn remedy(&self) -> String {
        let Self { node, resource, .. } = self;
        format!("`crm_resource --cleanup --resource {resource} --node {node}`")
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, resource, .. } = self;
        match (self.count, self.threshold) {
            _ if self.bars() => write!(
                f,
                "{resource} may not run on {node}: its failure there is kept; when the cause is mended, {}",
                self.remedy()
            ),
            (count, Some(threshold)) => write!(
                f,
                "{resource} has failed {} times on {node} and leaves it after {threshold}; {} forgets them",
                count.unwrap_or_default(),
                self.remedy()
            ),
            (count, None) => write!(
                f,
                "{resource} has failed {} times on {node}; {} forgets them",
                count.unwrap_or_default(),
                self.remedy()
            ),
        }
    }
}

/// The failures of one resource that are kept, one for each node that has any.
pub(super) fn kept(cib: &Element, resource: &str) -> Vec<Kept> {
    let threshold = threshold(cib, resource);
    let prefix = format!("fail-count-{resource}#");
    let states = cib.first("status").into_iter();
    let states = states.flat_map(|status| status.all("node_state"));
    states
        .filter_map(|state| {
            let attributes = state.first("transient_attributes")?.walk().into_iter();
            let counts: Vec<Option<u32>> = attributes
                .filter(|pair| {
                    pair.get("name")
                        .is_some_and(|name| name.starts_with(&prefix))
                })
                .filter_map(|pair| pair.get("value"))
                .map(score)
                .collect();
            let endless = counts.iter().any(Option::is_none);
            let sum: u32 = counts.iter().flatten().sum();
            (endless || sum > 0).then(|| Kept {
                node: state.get("uname").unwrap_or_default().to_owned(),
                resource: resource.to_owned(),
                count: (!endless).then_some(sum),
                threshold,
            })
        })
        .collect()
}

/// After how many failures a resource leaves a node.
fn threshold(cib: &Element, resource: &str) -> Option<u32> {
    const NAME: &str = "migration-threshold";
    let own = primitive(cib, resource).into_iter();
    let own = own.flat_map(|primitive| primitive.all("meta_attributes"));
    let defaults = cib.at(&["configuration", "rsc_defaults"]).into_iter();
    let mut pairs = own.chain(defaults).flat_map(Element::walk);
    let pair = pairs.find(|pair| pair.get("name") == Some(NAME))?;
    score(pair.get("value")?).filter(|threshold| *threshold > 0)
}

/// A score of Pacemaker; none when it is endless.
fn score(value: &str) -> Option<u32> {
    const INFINITY: u32 = 1_000_000;
    value.parse().ok().filter(|score| *score < INFINITY)
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

    #[test]
    fn a_failure_that_is_kept_bars_its_node_and_one_that_is_counted_does_not() {
        let cib = |count: &str, own: &str| {
            let text = format!(
                r#"<cib><configuration><resources><primitive id="tank">{own}</primitive></resources>
                <rsc_defaults><meta_attributes><nvpair name="migration-threshold" value="3"/></meta_attributes>
                </rsc_defaults></configuration><status><node_state uname="head1"><transient_attributes>
                <instance_attributes><nvpair name="fail-count-tank#start_0" value="{count}"/>
                <nvpair name="fail-count-tank-exports#start_0" value="7"/></instance_attributes>
                </transient_attributes></node_state></status></cib>"#
            );
            kept(&Element::parse(&text, "test").unwrap(), "tank")
        };
        let barred = cib("INFINITY", "");
        assert!(barred[0].bars());
        assert_eq!(
            barred[0].to_string(),
            "tank may not run on head1: its failure there is kept; when the cause is mended, \
             `crm_resource --cleanup --resource tank --node head1`"
        );
        assert!(cib("3", "")[0].bars() && cib("1000000", "")[0].bars());
        let counted = cib("1", "");
        assert!(!counted[0].bars());
        assert!(
            counted[0]
                .to_string()
                .contains("failed 1 times on head1 and leaves it after 3")
        );
        let never = r#"<meta_attributes><nvpair name="migration-threshold" value="INFINITY"/></meta_attributes>"#;
        assert!(!cib("99", never)[0].bars());
        assert_eq!(cib("0", ""), []);
    }
}
