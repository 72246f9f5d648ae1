//! Times as Heartbeat writes them (ha.cf(5), "understood time specifications").

/// `2`, `1.7`, `2000ms`, `2s`, `1min`, `1h` in milliseconds; without a unit seconds. `None`: no time, or longer
/// than a week.
pub(super) fn millis(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = number.parse().ok()?;
    let factor = match unit {
        "" | "s" | "sec" => 1_000.0,
        "ms" | "msec" => 1.0,
        "us" | "usec" => 0.001,
        "m" | "min" => 60_000.0,
        "h" | "hr" => 3_600_000.0,
        _ => return None,
    };
    let millis = (number * factor).round();
    (0.0..=604_800_000.0)
        .contains(&millis)
        .then_some(millis as u64)
}

#[cfg(test)]
mod tests {
    use super::millis;

    #[test]
    fn the_manuals_own_examples() {
        for (text, ms) in [
            ("2", 2000),
            ("1.7", 1700),
            ("2000ms", 2000),
            ("1min", 60_000),
        ] {
            assert_eq!(millis(text), Some(ms), "{text}");
        }
        for text in ["", "soon", "-1", "1.2.3", "9e99", "99999999999"] {
            assert_eq!(millis(text), None, "{text}");
        }
    }
}
