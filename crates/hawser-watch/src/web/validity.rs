//! For how long a certificate is valid.

use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::time::Time;

/// From when and until when, in seconds since 1970 UTC; none of what is no certificate.
pub(super) fn of(der: &[u8]) -> Option<(u64, u64)> {
    let certificate = Certificate::from_der(der).ok()?;
    let validity = certificate.tbs_certificate().validity();
    Some((seconds(validity.not_before), seconds(validity.not_after)))
}

fn seconds(time: Time) -> u64 {
    time.to_unix_duration().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_time_are_read_and_no_other() {
        let time = |tag: u8, text: &str| {
            let length = u8::try_from(text.len()).expect("a short text");
            let der = [&[tag, length], text.as_bytes()].concat();
            Time::from_der(&der).ok().map(seconds)
        };
        let utc = |text: &str| time(0x17, text);
        let general = |text: &str| time(0x18, text);
        assert_eq!(utc("261118110640Z"), Some(1_795_000_000));
        assert_eq!(general("20261118110640Z"), Some(1_795_000_000));
        assert_eq!(general("20500101000000Z"), Some(2_524_608_000));
        for wrong in [
            "2611181106Z",
            "261118110640",
            "26111811064xZ",
            "26131811064\u{e9}",
            "",
        ] {
            assert_eq!(utc(wrong), None, "{wrong}");
        }
        assert_eq!(general("20261318110640Z"), None);
    }

    #[test]
    fn what_is_no_certificate_has_no_validity() {
        for bytes in [
            &[][..],
            &[0x30],
            &[0x30, 0x80],
            &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff],
            b"\x30\x02\x30\x00",
        ] {
            assert_eq!(of(bytes), None);
        }
    }
}
