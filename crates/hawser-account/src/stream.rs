//! The TCP streams of a check: their rates over time, and where one fell and stayed low.

use hawser_model::case::{Case, Phase, PhaseKind};
use hawser_model::output::copy::{ChangePoint, RatePoint};
use hawser_model::traffic::SLICE;
use hawser_model::trial::StreamRates;
use hawser_model::units::{BitsPerSec, Bytes, Nanos};

use crate::copy::{change_point, unsteadiness_after};
use crate::packets::facts::{PhaseFacts, Side};
use crate::view::Path;

/// A stream as the causes look at it.
pub(crate) struct StreamView<'a> {
    pub(crate) facts: PhaseFacts<'a>,
    /// Where it fell; absent when it stayed as it began.
    pub(crate) change: Option<ChangePoint>,
    /// How much the rates after the fall vary: standard deviation by mean.
    pub(crate) unsteadiness: Option<f64>,
}

impl StreamView<'_> {
    /// Whether the reading program waited for data rather than data for it.
    pub(crate) fn reader_waited(&self) -> bool {
        let drain = &self.facts.phase.receiver.drain;
        drain.idle > drain.busy
    }

    /// Share of the time that it waited.
    pub(crate) fn waited(&self) -> Option<f64> {
        let drain = &self.facts.phase.receiver.drain;
        let all = drain.idle.0.checked_add(drain.busy.0).filter(|n| *n > 0)?;
        Some(drain.idle.0 as f64 / all as f64)
    }

    /// What the slower of its two ports runs at; absent where one does not say.
    pub(crate) fn speed(&self) -> Option<BitsPerSec> {
        let of = |side| self.facts.interface(side)?.1.speed.filter(|s| s.0 > 0);
        Some(of(Side::Sender)?.min(of(Side::Receiver)?))
    }

    /// Its directed path.
    pub(crate) fn path(&self) -> Path {
        Path {
            link: self.facts.link().clone(),
            from: self.facts.host(Side::Sender).clone(),
            to: self.facts.host(Side::Receiver).clone(),
        }
    }
}

/// All streams of a case.
pub(crate) fn streams(case: &Case) -> Vec<StreamView<'_>> {
    let all = case.measurements.iter().flat_map(|m| {
        let of_kind = m.phases.iter().filter(|p| p.kind == PhaseKind::Stream);
        of_kind.map(move |phase| (m, phase))
    });
    all.map(|(measurement, phase)| {
        let points = points(phase);
        let change = change_point(&points);
        StreamView {
            facts: PhaseFacts::new(case, measurement, phase),
            unsteadiness: change.and_then(|change| unsteadiness_after(&points, &change)),
            change,
        }
    })
    .collect()
}

/// Slices of a stream that are looked at: a quarter of an hour. A check's streams last seconds.
const SLICES: u64 = 9_000;

/// Bytes read in each slice of the time that the sender had. The receiver's list ends with the
/// last byte that came: a stalled stream has nothing beyond it.
pub(crate) fn slices(phase: &Phase) -> impl Iterator<Item = Bytes> + '_ {
    let due = (phase.spec.duration.0 / SLICE.0).min(SLICES) as usize;
    let read = &phase.receiver.slices;
    (0..due).map(|slice| read.get(slice).copied().unwrap_or_default())
}

fn points(phase: &Phase) -> Vec<RatePoint> {
    let step = SLICE.as_secs_f64();
    let mut bytes = 0;
    slices(phase)
        .enumerate()
        .map(|(index, slice)| {
            bytes = slice.0.saturating_add(bytes);
            RatePoint {
                at_s: (index + 1) as f64 * step,
                bytes,
                mb_per_s: slice.0 as f64 / 1e6 / step,
            }
        })
        .collect()
}

/// How fast a stream was at its best and at its end.
pub fn rates(phase: &Phase) -> StreamRates {
    let per_second = |bytes: u64, slices: usize| {
        let time = SLICE.0.saturating_mul(slices.max(1) as u64);
        Bytes((u128::from(bytes) * 1_000_000_000 / u128::from(time)) as u64)
    };
    let all: Vec<Bytes> = slices(phase).collect();
    let late = &all[all.len() / 2..];
    // A single slice is too short a time on a busy machine; a quarter is what a window leaves a
    // stream that falls.
    let quarter = (all.len() / 4).max(1);
    let sums = all
        .windows(quarter)
        .map(|w| w.iter().copied().sum::<Bytes>().0);
    StreamRates {
        fastest: per_second(sums.max().unwrap_or(0), quarter),
        late: per_second(late.iter().copied().sum::<Bytes>().0, late.len()),
    }
}

/// When the last byte of a stream came that then stood still for a quarter of its time or longer, though its sender had more.
pub(crate) fn stood_still(phase: &Phase) -> Option<Nanos> {
    let all: Vec<Bytes> = slices(phase).collect();
    let came = all
        .iter()
        .rposition(|slice| slice.0 > 0)
        .map_or(0, |n| n + 1);
    let still = all.len() - came;
    let more = phase.sender.stream_bytes > phase.receiver.stream_bytes;
    (more && still > 0 && still * 4 >= all.len()).then(|| Nanos(SLICE.0 * came as u64))
}

/// The shortest window that tells a stream that stays fast from one that does not.
const LEAST: Nanos = Nanos::from_millis(300);

/// Of a stream that did not fall: a few hundred round trips of a local network, so that its beginning does not count.
const STEADY: Nanos = Nanos::from_millis(1_000);

/// How long a window of a trial must last for the fall to be seen in it: four times as long as it
/// took the stream of the check, so that a slower beginning is over before the second half.
pub fn window(phase: &Phase) -> Nanos {
    let fell =
        change_point(&points(phase)).map_or(STEADY, |change| Nanos((change.at_s * 4e9) as u64));
    fell.max(LEAST).min(phase.spec.duration.max(LEAST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_came_counts_as_nothing() {
        let case: Case = hawser_cases::read("stream-merging-stall");
        let phase = case.measurements[0].phases.last().expect("a stream");
        let all = points(phase);
        assert_eq!(all.len(), 60);
        assert_eq!(all[59].mb_per_s, 0.0);
        let rates = rates(phase);
        assert!(rates.late.0 * 1_000 < rates.fastest.0, "{rates:?}");
        assert_eq!(window(phase), Nanos::from_millis(800));
    }
}
