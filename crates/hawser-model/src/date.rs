//! Moments as text. A file, a log or another host may say any number: what is beyond the year 9999, which the format cannot
//! write, is shown as its last moment.

use std::time::{Duration, UNIX_EPOCH};

/// The last second of the year 9999.
const LAST_S: u64 = 253_402_300_799;

/// `2026-11-21T20:15:03Z`.
#[expect(clippy::disallowed_methods, reason = "within what it can write")]
pub fn utc_seconds(seconds: u64) -> String {
    let time = UNIX_EPOCH + Duration::from_secs(seconds.min(LAST_S));
    humantime::format_rfc3339_seconds(time).to_string()
}

/// `2026-11-21T20:15:03.903Z`, of microseconds.
#[expect(clippy::disallowed_methods, reason = "within what it can write")]
pub fn utc_millis(micros: u64) -> String {
    let time = UNIX_EPOCH + Duration::from_micros(micros.min(LAST_S * 1_000_000));
    humantime::format_rfc3339_millis(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_is_a_text() {
        assert_eq!(utc_seconds(1_795_000_000), "2026-11-18T11:06:40Z");
        assert_eq!(utc_seconds(u64::MAX), "9999-12-31T23:59:59Z");
        assert_eq!(utc_seconds(LAST_S + 1), utc_seconds(LAST_S));
        assert_eq!(utc_millis(1_500), "1970-01-01T00:00:00.001Z");
        assert_eq!(utc_millis(u64::MAX), "9999-12-31T23:59:59.000Z");
    }
}
