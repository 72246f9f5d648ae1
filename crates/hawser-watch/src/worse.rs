//! Whether an alarm is worse than what people were told of it. Pure.

use hawser_model::finding::Place;
use hawser_model::output::watch::Alarm;

/// Whether it matters more than it was told, or has a trouble that was not told with it. One that wavers is worse once, since
/// what was told is the worst of it ([`add`]).
pub(crate) fn is_worse(now: &Alarm, told: &Alarm) -> bool {
    let untold = |part: &Place| !has(told, part);
    now.severity > told.severity || now.parts.iter().any(untold)
}

/// Adds to what is known of an alarm what another time, or another head, says of it.
pub(crate) fn add(to: &mut Alarm, other: &Alarm) {
    to.severity = to.severity.max(other.severity);
    for part in &other.parts {
        if !to.parts.contains(part) {
            to.parts.push(part.clone());
        }
    }
}

/// Whether an alarm tells of a trouble at this place: it is one of those that it was made of, or follows from one. A heartbeat
/// link follows from a port at one of its ends, and both of its ends see it.
pub(crate) fn has(alarm: &Alarm, place: &Place) -> bool {
    let ends = [&place.host, &place.peer];
    let follows = |from: &Place| {
        let mut known = [&from.host, &from.peer].into_iter().flatten();
        place.peer.is_some()
            && from.link == place.link
            && known.all(|head| ends.contains(&&Some(head.clone())))
    };
    let places = match alarm.parts.as_slice() {
        [] => std::slice::from_ref(&alarm.place),
        parts => parts,
    };
    places.iter().any(|it| it == place || follows(it))
}
