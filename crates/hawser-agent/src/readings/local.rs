//! The ring by the head's local time, as its logs stamp it; the ring itself has UTC.

use hawser_cluster::host::drill::logs::utc_offset;
use hawser_files::FileError;
use hawser_model::drill::Moment;
use hawser_model::readings::KeptReadings;

/// The readings between two moments of the head's local time.
///
/// # Errors
/// The ring cannot be read.
pub(crate) fn read_local(from: Moment, to: Moment) -> Result<KeptReadings, FileError> {
    let ahead_us = i64::from(utc_offset()) * 1_000_000;
    let kept = super::read(from.shifted(-ahead_us), to.shifted(-ahead_us))?;
    Ok(shifted(kept, ahead_us))
}

fn shifted(mut kept: KeptReadings, by_us: i64) -> KeptReadings {
    let gaps = kept.gaps.iter_mut();
    let gaps = gaps.flat_map(|(from, to)| [from, to]);
    let readings = kept.readings.iter_mut().map(|reading| &mut reading.at);
    let ends = kept.oldest.iter_mut().chain(&mut kept.newest);
    for at in gaps.chain(readings).chain(ends) {
        *at = at.shifted(by_us);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_of_an_answer_is_local() {
        let kept = KeptReadings {
            oldest: Some(Moment(1)),
            newest: Some(Moment(4)),
            gaps: vec![(Moment(2), Moment(3))],
            ..KeptReadings::default()
        };
        let local = shifted(kept, 100);
        assert_eq!(
            (local.oldest, local.newest),
            (Some(Moment(101)), Some(Moment(104)))
        );
        assert_eq!(local.gaps, [(Moment(102), Moment(103))]);
    }
}
