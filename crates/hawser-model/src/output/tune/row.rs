//! A trial as a row of a table.

use super::{TrialReport, WOULD_BE_TRIED};

impl TrialReport {
    /// Its row in a table: knob, where, scope, from, to, windows, effect, verdict.
    pub fn row(&self) -> [String; 8] {
        let missing = || "–".to_owned();
        [
            self.knob.clone(),
            self.place.clone(),
            self.scope.map_or_else(missing, |s| s.word().to_owned()),
            self.from.as_deref().map_or_else(missing, short),
            self.to.as_deref().map_or_else(missing, short),
            self.windows.to_string(),
            self.effect_in_points().unwrap_or_else(missing),
            self.outcome(),
        ]
    }

    /// Effect and interval in percentage points: `-44.31 (-45.02 to -43.87)`.
    pub fn effect_in_points(&self) -> Option<String> {
        let [low, high] = self.interval?.map(|share| share * 100.0);
        let effect = self.effect? * 100.0;
        Some(format!("{effect:+.2} ({low:+.2} to {high:+.2})"))
    }

    /// `better, kept`; a trial without a window was none, and in a dry run each that could be one.
    pub fn outcome(&self) -> String {
        let end = match (self.kept, self.left_at.is_empty()) {
            (true, _) => "kept",
            (false, true) => "rolled back",
            (false, false) => "not all rolled back",
        };
        if self.note.as_deref() == Some(WOULD_BE_TRIED) {
            return WOULD_BE_TRIED.to_owned();
        }
        match self.windows {
            0 => "not tried".to_owned(),
            _ => format!("{}, {end}", self.verdict.word()),
        }
    }
}

/// A value for a table: of a value for each of many receivers the first two, and how many there are.
pub fn short(value: &str) -> String {
    let items: Vec<&str> = value.split_whitespace().collect();
    match items.as_slice() {
        [one, two, .., _] if items.len() > 3 && items.iter().all(|i| i.contains('=')) => {
            format!("{one} {two} … ({})", items.len())
        }
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_receivers_take_no_more_room_than_few() {
        assert_eq!(short("v1=1 v2=2 v3=1"), "v1=1 v2=2 v3=1");
        assert_eq!(short("v1=1 v2=2 v3=1 v4=2"), "v1=1 v2=2 … (4)");
        assert_eq!(short("adaptive off usecs 50"), "adaptive off usecs 50");
    }
}
