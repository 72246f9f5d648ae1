//! The alarms that stand, each with the way to its cause's page.

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
    for alarm in page.alarms.iter().take(ALARMS) {
        one(m, alarm);
    }
    if let Some(more @ 1..) = page.alarms.len().checked_sub(ALARMS) {
        m.leaf("p", &[], format_args!("{more} more are in /reading.json."));
    }
}

fn one(m: &mut Markup, alarm: &Alarm) {
    let word = alarm.severity.word();
    let light = Light::from(alarm.severity);
    m.node("article", &[("class", &class("finding", light))], |m| {
        m.node("h3", &[], |m| {
            mark(m, light);
            m.text(format_args!("{word}: "));
            code(m, &alarm.code);
        });
        m.leaf("p", &[], &alarm.text);
        if let Some(fix) = &alarm.fix {
            m.leaf("p", &[("class", &"fix")], fix);
        }
        m.leaf("p", &[("class", &"muted")], when(alarm));
    });
}

/// The code, and the way to its page.
fn code(m: &mut Markup, code: &str) {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    match code.chars().all(plain) {
        true => {
            let page = format!("{CAUSE_PATH}{code}");
            let id = format!("cause-{code}");
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
