//! Numbers of an evidence, as it holds and says them.

use serde::{Serialize, Serializer};

/// A number with one decimal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Tenths(pub(crate) f64);

impl Tenths {
    /// The nearest one.
    pub(crate) fn of(value: f64) -> Self {
        Self((value * 10.0).round() / 10.0)
    }
}

/// `part` of `whole` in per cent, with two decimals.
pub(crate) fn hundredths(part: u64, whole: u64) -> f64 {
    (part as f64 * 10_000.0 / whole.max(1) as f64).round() / 100.0
}

/// The same, none of nothing.
pub(crate) fn percent_of(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| hundredths(part, whole))
}

/// Evidence has numbers and names only: a flag is 0 or 1.
pub(crate) fn as_number<S: Serializer>(flag: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u8(u8::from(*flag))
}

/// The kernel's own word for a drop, in brackets, or nothing.
pub(crate) fn in_brackets(reason: &str) -> String {
    match reason {
        "" => String::new(),
        reason => format!(" ({reason})"),
    }
}

/// Two decimals at most, none where they say nothing.
pub(crate) fn percent_text(percent: f64) -> String {
    if percent == 0.0 {
        return "less than 0.01".to_owned();
    }
    let text = format!("{percent:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_written_short() {
        assert_eq!(percent_text(3.0), "3");
        assert_eq!(percent_text(0.25), "0.25");
        assert_eq!(percent_text(0.0), "less than 0.01");
    }
}
