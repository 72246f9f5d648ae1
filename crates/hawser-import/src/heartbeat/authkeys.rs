//! `authkeys`. The key itself is neither kept nor shown.

use crate::page::Page;
use crate::picture::{Picture, Said};
use crate::place::{Malformed, quoted};
use crate::source::Source;

/// Reads the file.
pub(crate) fn read(
    source: &Source,
    picture: &mut Picture,
    page: &mut Page,
) -> Result<(), Malformed> {
    let (mut chosen, mut keys) = (None, Vec::new());
    for (at, line) in source.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |word: &str| word.parse::<u8>().ok().filter(|n| (1..=15).contains(n));
        match words[..] {
            ["auth", n] => match number(n) {
                Some(n) => chosen = Some((n, at)),
                None => {
                    return Err(Malformed::new(
                        &at,
                        format!("auth {}", quoted(n)),
                        "auth N, N from 1 to 15",
                    ));
                }
            },
            [n, method @ ("md5" | "sha1" | "crc"), ..] if number(n).is_some() => {
                keys.push((number(n), method.to_owned(), at));
            }
            // Whatever else stands there may be a key: it is not repeated.
            _ => {
                return Err(Malformed::new(
                    &at,
                    "a line that is neither",
                    "`auth N`, or `N METHOD KEY` with md5, sha1 or crc",
                ));
            }
        }
    }
    let Some((n, at)) = chosen else {
        return Err(Malformed::new(
            &source.at(1),
            "no line `auth N`",
            "one, which chooses the key",
        ));
    };
    let Some((_, method, key_at)) = keys.iter().find(|(number, ..)| *number == Some(n)) else {
        return Err(Malformed::new(
            &at,
            format!("auth {n}, and no key {n}"),
            "the number of a key that is there",
        ));
    };
    picture.crypto = Some(Said::new(("aes256".into(), "sha256".into()), key_at));
    page.changed(
        key_at,
        format!("key {n}, {method}"),
        "messages are signed with sha256 and encrypted with aes256; `hawser apply` makes a new key, this one is not kept",
    );
    for (number, method, at) in keys.iter().filter(|(number, ..)| *number != Some(n)) {
        let number = number.unwrap_or_default();
        page.not_needed(
            at,
            format!("key {number}, {method}"),
            "it is not the one in use",
        );
    }
    Ok(())
}
