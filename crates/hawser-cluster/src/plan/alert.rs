//! Pacemaker's alerts: what one is set to, and the program of ours on each head.

use std::collections::BTreeMap;

use super::objects::{attributes, pairs};
use super::stages::{Done, Stages};
use crate::units;
use crate::xml::Element;

/// What an alert is set to.
pub(super) fn alert_values(alert: &Element) -> BTreeMap<String, String> {
    let own = ["description", "path"].into_iter();
    let own = own.filter_map(|name| Some((name.to_owned(), alert.get(name)?.to_owned())));
    let mut values: BTreeMap<String, String> = own.collect();
    for part in &alert.children {
        match part.name.as_str() {
            "select" => {
                let kinds = part.children.iter().map(|kind| {
                    let kind = kind.name.strip_prefix("select_").unwrap_or(&kind.name);
                    (format!("after events of {kind}"), "yes".to_owned())
                });
                values.extend(kinds);
            }
            "meta_attributes" => pairs(part, "meta ", &mut values),
            "instance_attributes" => pairs(part, "", &mut values),
            name => {
                attributes(part, &format!("{name} "), &mut values);
            }
        }
    }
    values
}

/// The program where the file wants it, before the CIB names it.
pub(super) fn program(stages: &Stages<'_>, done: &mut Done) {
    if let Some(file) = units::alert(stages.file) {
        let words = ("alert", "Pacemaker's alerts wake the watch");
        stages.one_file(&file, words, |_| true, done);
    }
}
