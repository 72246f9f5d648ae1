//! A plan as a diff: what is on the nodes and in the live CIB against what is to be there, for
//! `less` and for the eyes of somebody who knows both formats. No secret is in it.

use std::collections::BTreeMap;

use hawser_model::names::HostName;
use similar::TextDiff;

use super::effects::{COROSYNC_CONF, Effect};
use super::facts::Facts;
use super::words::{HIDDEN, names_a_secret};
use crate::xml::Element;

/// The diff; empty when neither changes.
pub(super) fn unified(
    facts: &Facts,
    effects: &[Effect],
    live: &Element,
    target: &Element,
) -> String {
    corosync_conf(facts, effects) + &cib(live, target)
}

/// Nodes whose file is the same now become the same: one diff for all of them.
fn corosync_conf(facts: &Facts, effects: &[Effect]) -> String {
    let mut alike: BTreeMap<(&str, &str), Vec<&HostName>> = BTreeMap::new();
    for effect in effects {
        if let Some((node, text)) = effect.corosync_conf() {
            let live = facts.nodes.get(node);
            let live = live.and_then(|node| node.corosync_conf.as_deref());
            alike
                .entry((live.unwrap_or_default(), text))
                .or_default()
                .push(node);
        }
    }
    let diffs = alike.into_iter().map(|((live, wanted), nodes)| {
        let nodes: Vec<&str> = nodes.into_iter().map(HostName::as_str).collect();
        let name = format!("{}:{COROSYNC_CONF}", nodes.join(","));
        diff(&name, &without_key(live), wanted)
    });
    diffs.collect()
}

/// A key may stand in corosync.conf itself, instead of in a file (`totem.key`).
fn without_key(conf: &str) -> String {
    let shown = |line: &str| match line.split_once(':') {
        Some((name, _)) if name.trim() == "key" => format!("{name}: {HIDDEN}\n"),
        _ => line.to_owned(),
    };
    conf.split_inclusive('\n').map(shown).collect()
}

fn cib(live: &Element, target: &Element) -> String {
    let text = |cib: &Element| {
        let configuration = cib.first("configuration").cloned();
        let mut configuration = configuration.unwrap_or_else(|| Element::new("configuration"));
        hide(&mut configuration);
        configuration.to_text()
    };
    diff("CIB:configuration", &text(live), &text(target))
}

/// Somebody may have written a secret into the CIB by hand.
pub(super) fn hide(element: &mut Element) {
    if element.get("name").is_some_and(names_a_secret) && element.get("value").is_some() {
        element.set("value", HIDDEN);
    }
    element.children.iter_mut().for_each(hide);
}

fn diff(name: &str, live: &str, wanted: &str) -> String {
    if live == wanted {
        return String::new();
    }
    let diff = TextDiff::from_lines(live, wanted);
    let header = (format!("live/{name}"), format!("file/{name}"));
    let mut unified = diff.unified_diff();
    unified.context_radius(3).header(&header.0, &header.1);
    unified.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::NodeFacts;

    fn conf_effect(node: &str) -> Effect {
        Effect::WriteCorosyncConf {
            node: node.into(),
            text: "totem {\n  token: 2000\n}\n".into(),
        }
    }

    #[test]
    fn nodes_that_differ_alike_share_one_diff() {
        let node = NodeFacts {
            corosync_conf: Some("totem {\n  token: 1000\n}\n".into()),
            ..NodeFacts::default()
        };
        let mut facts = Facts::default();
        facts.nodes.insert("head1".into(), node.clone());
        facts.nodes.insert("head2".into(), node);
        let effects = [conf_effect("head1"), conf_effect("head2")];
        let cib = Element::new("cib");
        assert_eq!(
            unified(&facts, &effects, &cib, &cib),
            "--- live/head1,head2:/etc/corosync/corosync.conf\n\
             +++ file/head1,head2:/etc/corosync/corosync.conf\n\
             @@ -1,3 +1,3 @@\n totem {\n-  token: 1000\n+  token: 2000\n }\n"
        );
    }

    #[test]
    fn a_key_in_corosync_conf_is_not_shown() {
        let mut facts = Facts::default();
        let node = NodeFacts {
            corosync_conf: Some("totem {\n  token: 1000\n  key: hunter2\n}\n".into()),
            ..NodeFacts::default()
        };
        facts.nodes.insert("head1".into(), node);
        let cib = Element::new("cib");
        let text = unified(&facts, &[conf_effect("head1")], &cib, &cib);
        assert!(text.contains("\n-  key: (not shown)\n"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
        let setting = crate::plan::Setting {
            name: "totem.key".into(),
            live: Some("hunter2".into()),
            desired: None,
            of_a_known_link: false,
        };
        let words = crate::plan::words::settings(&[setting]);
        assert_eq!(words, "totem.key: (not shown) → nothing");
    }

    #[test]
    fn a_secret_somebody_wrote_into_the_cib_is_not_shown() {
        let cib = |value: &str| {
            let text = format!(
                r#"<cib><configuration><nvpair id="x" name="password" value="{value}"/>
                <nvpair id="y" name="ip" value="{value}"/></configuration></cib>"#
            );
            Element::parse(&text, "test").unwrap()
        };
        let text = unified(&Facts::default(), &[], &cib("hunter2"), &cib("other"));
        assert!(text.contains("name=\"ip\" value=\"hunter2\""), "{text}");
        assert_eq!(text.matches("hunter2").count(), 1, "{text}");
    }
}
