//! A reading of all heads as text.

use std::fmt::Write;

use hawser_model::output::watch::{Alarm, HeadReading, LinkReading, WatchReading};
use hawser_model::visible;
use hawser_watch::changes::Change;

/// The reading, what is wrong first.
pub fn text(reading: &WatchReading) -> String {
    let mut out = String::new();
    let name = match reading.cluster.as_str() {
        "" => "the hosts".to_owned(),
        name => format!("cluster {name}"),
    };
    // Writing into a String cannot fail.
    let _ = match reading.alarms.len() {
        0 => writeln!(out, "{name}: no alarm"),
        1 => writeln!(out, "{name}: 1 alarm"),
        n => writeln!(out, "{name}: {n} alarms"),
    };
    for alarm in &reading.alarms {
        let _ = writeln!(out, "{}", told(alarm));
    }
    for head in &reading.heads {
        let _ = writeln!(out, "{}", of_head(head));
    }
    out
}

/// An alarm that began, got worse or ended, as a line of a log.
pub fn change(change: &Change) -> String {
    let (word, alarm) = match change {
        Change::Began(alarm) => ("alarm", alarm),
        Change::Worse(alarm) => ("worse", alarm),
        Change::Ended(alarm) => ("ended", alarm),
    };
    let text = visible::one_line(&alarm.text);
    let again = match alarm.times {
        1 => String::new(),
        times => format!(" ({times} times)"),
    };
    format!(
        "{word}: {} {}{again}: {text}",
        alarm.severity.word(),
        alarm.code
    )
}

fn told(alarm: &Alarm) -> String {
    // What a head says in several lines begins none of them.
    let one = |text: &str| text.replace('\n', "\n        ");
    let mut text = format!(
        "    {} {}: {}",
        alarm.severity.word(),
        alarm.code,
        one(&alarm.text)
    );
    if let Some(fix) = &alarm.fix {
        text += &format!("\n        {}", one(fix));
    }
    text
}

fn of_head(head: &HeadReading) -> String {
    if let Some(why) = &head.unreached {
        return format!("{}: not reached: {}", head.name, why.replace('\n', " "));
    }
    let quorum = match head.quorate {
        Some(true) => "has quorum",
        Some(false) => "has NO quorum",
        None => "no Corosync answers",
    };
    let mut text = format!("{}: {quorum}", head.name);
    let here: Vec<&str> = head
        .pools
        .iter()
        .filter(|pool| pool.here == Some(true))
        .map(|pool| pool.name.as_str())
        .collect();
    if !here.is_empty() {
        text += &format!(", has {}", here.join(", "));
    }
    for link in &head.links {
        text += &format!("\n    {}", of_link(link));
    }
    text
}

fn of_link(link: &LinkReading) -> String {
    let words = link.words().join(", ");
    format!("{} to {}: {words}", link.name, link.peer)
}
