//! The times that a head's logs cover: what a log of its own tells is not taken from syslog again, with a coarser stamp.

use std::collections::BTreeMap;

use hawser_model::drill::Moment;

use super::lines::Lines;

/// A line of syslog is stamped by another program, up to so much later, in microseconds.
const LATER_US: u64 = 1_000_000;

/// What the logs of one kind cover, of one head.
#[derive(Debug, Default)]
pub(super) struct Covers {
    /// The times of logs of the program itself.
    own: Vec<(Moment, Moment)>,
    /// The times of syslogs.
    syslogs: Vec<(Moment, Moment)>,
    /// What these have told, and when.
    told: BTreeMap<String, Vec<Moment>>,
}

impl Covers {
    /// What of a log is not covered yet; then it covers its own time. Logs of the program itself are all wanted; they come first.
    /// A syslog may lack lines of its time that another one has (a copy of the errors alone): of these what is told is left out.
    pub(super) fn uncovered(&mut self, lines: &mut Lines) {
        let over = match (lines.first, lines.last) {
            (Some(first), Some(last)) => Some((Moment(first.0 / 1_000_000 * 1_000_000), last)),
            _ => None,
        };
        if !lines.syslog {
            let later =
                |(from, last): (Moment, Moment)| (from, Moment(last.0.saturating_add(LATER_US)));
            self.own.extend(over.map(later));
            return;
        }
        let own = &self.own;
        let by_own = |at: Moment| own.iter().any(|(from, to)| (*from..*to).contains(&at));
        lines.kept.retain(|line| !by_own(line.at));
        let of_syslog: Vec<(Moment, String)> = lines
            .kept
            .iter()
            .map(|line| (line.at, line.rest().trim().to_owned()))
            .collect();
        let (syslogs, told) = (&self.syslogs, &self.told);
        lines.kept.retain(|line| {
            // The next of the same kind may begin in the second in which this one ends.
            let covered = syslogs
                .iter()
                .any(|(from, to)| (*from..*to).contains(&line.at));
            let near = |at: &Moment| at.0.abs_diff(line.at.0) < LATER_US;
            let said = told.get(line.rest().trim());
            !(covered && said.is_some_and(|said| said.iter().any(near)))
        });
        for (at, said) in of_syslog {
            self.told.entry(said).or_default().push(at);
        }
        self.syslogs.extend(over);
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
