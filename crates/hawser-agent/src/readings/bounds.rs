//! What is thinned and what is removed, so that a ring stays below its limit. Pure.

use hawser_model::readings::{AllNoted, Noted, Reading};

/// Readings of a part: an hour of them.
pub(super) const PART_READINGS: u64 = 3600;

/// And bytes, whichever come first.
pub(super) const PART_BYTES: u64 = 1 << 20;

/// Readings that are kept whole: 24 hours of one a second.
const WHOLE: u64 = 24 * 3600;

/// Parts, however short: a folder is listed at each start.
const PARTS: usize = 5000;

/// A part that is not written any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) number: u64,
    pub(super) bytes: u64,
    pub(super) readings: u64,
    pub(super) thinned: bool,
}

/// Whether these and one more part are more than may be.
pub(super) fn too_much(parts: &[Part], limit: u64) -> bool {
    let bytes: u64 = parts.iter().map(|part| part.bytes).sum();
    !parts.is_empty() && (bytes + PART_BYTES > limit || parts.len() > PARTS)
}

/// The next part to be thinned: the oldest that is whole, when it is older than what is kept whole or there is too much.
pub(super) fn to_thin(parts: &[Part], limit: u64) -> Option<usize> {
    let at = parts.iter().position(|part| !part.thinned)?;
    let newer: u64 = parts[at + 1..].iter().map(|part| part.readings).sum();
    (newer >= WHOLE || too_much(parts, limit)).then_some(at)
}

/// What is left of a part: each change of state, and a reading a minute with its numbers.
pub(super) fn thinned(readings: &[Reading]) -> Vec<Reading> {
    let (mut known, mut told) = (AllNoted::new(), AllNoted::new());
    let mut last_minute = None;
    let mut left = Vec::new();
    for reading in readings {
        reading.apply(&mut known);
        let minute = reading.at.0 / 60_000_000;
        let mut short = match reading.whole {
            true => Reading::whole(reading.at, &known),
            false => Reading::between(reading.at, &told, &known),
        };
        short.stepped_us = reading.stepped_us;
        if last_minute.replace(minute) == Some(minute) && !reading.whole {
            let is_as = |seen: &Noted| {
                told.get(&seen.subject())
                    .is_some_and(|known| known.is_as(seen))
            };
            short.now.retain(|seen| !is_as(seen));
            if short.is_quiet() {
                continue;
            }
        }
        short.apply(&mut told);
        left.push(short);
    }
    left
}
