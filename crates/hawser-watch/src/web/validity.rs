//! For how long a certificate is valid: the one thing of X.509 that a watch reads by itself (RFC 5280, 4.1).

use hawser_model::date;

const SEQUENCE: u8 = 0x30;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// `[0] EXPLICIT Version`.
const VERSION: u8 = 0xa0;

/// From when and until when, in seconds since 1970 UTC; none of what is no certificate.
pub(super) fn of(der: &[u8]) -> Option<(u64, u64)> {
    let (SEQUENCE, certificate, _) = element(der)? else {
        return None;
    };
    let (SEQUENCE, mut rest, _) = element(certificate)? else {
        return None;
    };
    if rest.first() == Some(&VERSION) {
        (_, _, rest) = element(rest)?;
    }
    // Serial number, algorithm, issuer.
    for _ in 0..3 {
        (_, _, rest) = element(rest)?;
    }
    let (SEQUENCE, validity, _) = element(rest)? else {
        return None;
    };
    let (kind, from, rest) = element(validity)?;
    let from = time(kind, from)?;
    let (kind, until, _) = element(rest)?;
    Some((from, time(kind, until)?))
}

/// The first element: its tag, what is in it, and what follows it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first()?;
    let (length, rest) = match length {
        0..=0x7f => (usize::from(*length), rest),
        0x81..=0x84 => {
            let (length, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
            let number = length
                .iter()
                .fold(0, |sum: usize, byte| sum << 8 | usize::from(*byte));
            (number, rest)
        }
        _ => return None,
    };
    let (inside, rest) = rest.split_at_checked(length)?;
    Some((*tag, inside, rest))
}

/// `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`: RFC 5280 allows no other form.
fn time(kind: u8, text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let text = match kind {
        // 50 to 99 are of the last century.
        UTC_TIME if text.as_bytes().first()? < &b'5' => format!("20{text}"),
        UTC_TIME => format!("19{text}"),
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let digits = text.strip_suffix('Z')?;
    if digits.len() != 14 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize, to: usize| &digits[from..to];
    date::of_utc(&format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0, 4),
        part(4, 6),
        part(6, 8),
        part(8, 10),
        part(10, 12),
        part(12, 14)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_time_are_read_and_no_other() {
        let utc = |text: &str| time(UTC_TIME, text.as_bytes());
        let general = |text: &str| time(GENERALIZED_TIME, text.as_bytes());
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
