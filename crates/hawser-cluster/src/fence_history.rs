//! What the fencer remembers (`stonith_admin --history --output-as=xml`). Pure.

use std::time::UNIX_EPOCH;

use hawser_model::drill::{FenceEvent, Moment, utc_offset_s};
use hawser_model::names::HostName;

use crate::xml::{Element, XmlError};

/// The shots that are over, oldest first.
///
/// # Errors
/// The text is no XML.
pub fn finished(history: &str) -> Result<Vec<FenceEvent>, XmlError> {
    let history = parse(history)?;
    let mut events: Vec<FenceEvent> = events(&history)
        .filter_map(|event| {
            Some(FenceEvent {
                target: event.get("target")?.into(),
                action: event.get("action")?.to_owned(),
                delegate: event.get("delegate").map(HostName::from),
                succeeded: event.get("status") == Some("success"),
                completed: Moment(seconds(event.get("completed")?)? * 1_000_000),
            })
        })
        .collect();
    events.sort_by_key(|event| event.completed);
    Ok(events)
}

/// Whether a shot at a node is under way.
///
/// # Errors
/// The text is no XML.
pub fn is_under_way(history: &str, node: &HostName) -> Result<bool, XmlError> {
    let history = parse(history)?;
    let mut events = events(&history);
    Ok(events.any(|event| {
        event.get("target") == Some(node.as_str()) && event.get("status") == Some("pending")
    }))
}

fn parse(history: &str) -> Result<Element, XmlError> {
    Element::parse(history, "the fencing history")
}

/// What it remembers of each shot.
pub(crate) fn events(history: &Element) -> impl Iterator<Item = &Element> {
    let all = history.walk().into_iter();
    all.filter(|event| event.name == "fence_event")
}

/// Seconds since 1970 of `2026-11-22 01:17:34Z`, with or without a fraction, or with an offset
/// (` +01:00`) instead of the `Z`.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    let (date, rest) = text.split_at_checked("2026-11-22 ".len())?;
    let at = rest.find(|c: char| !c.is_ascii_digit() && !matches!(c, ':' | '.'));
    let (time, zone) = rest.split_at(at.unwrap_or(rest.len()));
    let local = humantime::parse_rfc3339_weak(&format!("{date}{time}")).ok()?;
    let local = local.duration_since(UNIX_EPOCH).ok()?.as_secs();
    let zone = zone.trim();
    let offset = match zone.starts_with(['+', '-']) && zone.contains(':') {
        true => utc_offset_s(zone)?,
        false => 0,
    };
    local.checked_add_signed(i64::from(-offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fencers_times_are_read() {
        assert_eq!(seconds("1970-01-02 00:00:01Z"), Some(86_401));
        assert_eq!(seconds("2026-11-22 01:17:34Z"), Some(1_795_310_254));
        assert_eq!(seconds("2026-11-22 01:17:34.250000Z"), Some(1_795_310_254));
        assert_eq!(seconds("2026-11-22 02:17:34 +01:00"), Some(1_795_310_254));
        assert_eq!(seconds("yesterday"), None);
    }
}
