//! The alarms that stand, each with the way to its cause's page.

use std::collections::BTreeMap;

use hawser_model::output::live::{Light, LivePage};
use hawser_model::output::watch::Alarm;

use super::light::{class, mark};
use super::{ALARMS, CAUSE_PATH};
use crate::markup::Markup;
use crate::page::moment;

pub(super) fn alarms(m: &mut Markup, page: &LivePage) {
    m.leaf("h2", &[], "Alarms");
    if page.alarms.is_empty() {
        return m.leaf("p", &[], "None stands.");
    }
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for alarm in page.alarms.iter().take(ALARMS) {
        let number = seen.entry(&alarm.code).or_default();
        *number += 1;
        one(m, alarm, *number);
    }
    if let Some(more @ 1..) = page.alarms.len().checked_sub(ALARMS) {
        m.leaf("p", &[], format_args!("{more} more are in /reading.json."));
    }
}

fn one(m: &mut Markup, alarm: &Alarm, number: usize) {
    let word = alarm.severity.word();
    let light = Light::from(alarm.severity);
    m.node("article", &[("class", &class("finding", light))], |m| {
        m.node("h3", &[], |m| {
            mark(m, light);
            m.text(format_args!("{word}: "));
            code(m, &alarm.code, number);
        });
        m.leaf("p", &[], &alarm.text);
        if let Some(fix) = &alarm.fix {
            m.leaf("p", &[("class", &"fix")], fix);
        }
        m.leaf("p", &[("class", &"muted")], when(alarm));
    });
}

/// The code, and the way to its page. Of several alarms with one code each link has a name of its own.
fn code(m: &mut Markup, code: &str, number: usize) {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    match code.chars().all(plain) {
        true => {
            let page = format!("{CAUSE_PATH}{code}");
            let id = match number {
                1 => format!("cause-{code}"),
                more => format!("cause-{code}-{more}"),
            };
            m.leaf("a", &[("href", &page), ("id", &id)], code);
        }
        false => m.leaf("code", &[], code),
    }
}

fn when(alarm: &Alarm) -> String {
    let since = alarm.since.map_or_else(
        || "Since when is not known".to_owned(),
        |since| format!("Since {} UTC", moment(since)),
    );
    let times = match alarm.times {
        0 | 1 => String::new(),
        times => format!(", {times} times so far"),
    };
    match alarm.place.to_string().as_str() {
        "" => format!("{since}{times}."),
        place => format!("{since}{times}. Where: {place}."),
    }
}
