//! The times that a head's logs cover: what a log of its own tells is not taken from syslog again, with a coarser stamp.

use hawser_model::drill::Moment;

use super::lines::Lines;

/// A line of syslog is stamped by another program, up to so much later, in microseconds.
const LATER_US: u64 = 1_000_000;

/// The times that the logs of one kind cover, of one head.
#[derive(Debug, Default)]
pub(super) struct Covers(Vec<(Moment, Moment)>);

impl Covers {
    /// What of a log is not covered yet; then it covers its own time. Logs of the program itself are all wanted; they come first.
    pub(super) fn uncovered(&mut self, lines: &mut Lines) {
        let covers = &self.0;
        if lines.syslog {
            let covered = |at: Moment| covers.iter().any(|(from, to)| (*from..*to).contains(&at));
            lines.kept.retain(|line| !covered(line.at));
        }
        if let (Some(first), Some(last)) = (lines.first, lines.last) {
            let second = Moment(first.0 / 1_000_000 * 1_000_000);
            self.0.push(match lines.syslog {
                // The next of the same kind may begin in the second in which this one ends.
                true => (second, last),
                false => (second, Moment(last.0.saturating_add(LATER_US))),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::Line;
    use super::*;

    const S: u64 = 1_000_000;

    fn lines(syslog: bool, at: &[u64]) -> Lines {
        let moments = at.iter().map(|at| Moment(*at));
        Lines {
            syslog,
            first: moments.clone().min(),
            last: moments.clone().max(),
            kept: moments
                .map(|at| Line {
                    at,
                    text: String::new(),
                    ahead_min: None,
                    has_year: false,
                })
                .collect(),
            ..Lines::default()
        }
    }

    fn left(covers: &mut Covers, mut lines: Lines) -> Vec<u64> {
        covers.uncovered(&mut lines);
        lines.kept.iter().map(|line| line.at.0).collect()
    }

    #[test]
    fn syslog_tells_what_a_log_of_its_own_does_not() {
        let mut covers = Covers::default();
        let own = [10 * S + 300_000, 12 * S + 900_000];
        assert_eq!(left(&mut covers, lines(false, &own)), own);
        // Rotated away, the same second, between, a moment later, and what came after.
        let coarse = [9 * S, 10 * S, 11 * S, 13 * S, 14 * S];
        assert_eq!(left(&mut covers, lines(true, &coarse)), [9 * S, 14 * S]);
        // Another head's copy of the same syslog, and the next file of it.
        assert_eq!(left(&mut covers, lines(true, &[9 * S, 13 * S])), [0_u64; 0]);
        assert_eq!(
            left(&mut covers, lines(true, &[14 * S, 15 * S])),
            [14 * S, 15 * S]
        );
        // Logs of its own are all wanted: what a watch has kept may have what the log has not.
        assert_eq!(left(&mut covers, lines(false, &own)), own);
    }
}
