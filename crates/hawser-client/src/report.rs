//! What a client that works for somebody else says, a line each, and what it is told: the history as it grows, and
//! the words beside it.
//!
//! It is spoken over pipes, also those of an `ssh`. The client never waits for whoever listens: lines are kept in
//! its memory until they are taken.

use std::fmt;

use crate::history::{RECORD, Record};

/// The version of this language.
pub const PROTOCOL: u32 = 1;

/// What the client says before anything else, after whatever a login shell prints.
pub fn preamble() -> String {
    format!("<<hawser client {PROTOCOL}>>")
}

/// Without a word from whoever started it for so many seconds, it ends: a cut network closes nothing.
pub const SILENCE_S: u64 = 30;

/// What it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Somebody is there.
    Alive,
    /// Stop writing, read everything back, and end.
    Stop,
    /// Say what the history's clock shows; the number comes back with it.
    Clock(u64),
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alive => f.write_str("alive"),
            Self::Stop => f.write_str("stop"),
            Self::Clock(question) => write!(f, "clock {question}"),
        }
    }
}

impl Told {
    /// Reads a line; `None`: nothing that is known.
    pub fn parse(line: &str) -> Option<Self> {
        match line.split_once(' ') {
            None if line == "alive" => Some(Self::Alive),
            None if line == "stop" => Some(Self::Stop),
            Some(("clock", question)) => question.parse().ok().map(Self::Clock),
            _ => None,
        }
    }
}

/// What it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// The next record of the history.
    Record(Record),
    /// Every writer has been acknowledged something.
    Writing,
    /// The target refused a login.
    LoginRefused {
        /// At which address.
        portal: String,
        /// In the target's words.
        why: String,
    },
    /// What an application would have been told.
    Said(String),
    /// What the history's clock shows, in microseconds since 1970.
    Clock {
        /// Whose answer it is.
        question: u64,
        /// The time.
        at_us: u64,
    },
    /// It has ended: the last word.
    Ended {
        /// All that was written has been read back.
        read_back: bool,
    },
    /// It could not work: the last word.
    Failed(String),
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |words: &str| words.trim_end().replace(['\n', '\r'], " ");
        match self {
            Self::Record(record) => {
                f.write_str("r ")?;
                record
                    .bytes()
                    .iter()
                    .try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Self::Writing => f.write_str("writing"),
            Self::LoginRefused { portal, why } => write!(f, "refused {portal} {}", line(why)),
            Self::Said(words) => write!(f, "said {}", line(words)),
            Self::Failed(why) => write!(f, "failed {}", line(why)),
            Self::Clock { question, at_us } => write!(f, "clock {question} {at_us}"),
            Self::Ended { read_back: true } => f.write_str("read back"),
            Self::Ended { read_back: false } => f.write_str("not read back"),
        }
    }
}

impl Word {
    /// Reads a line; `None`: nothing that is known.
    pub fn parse(line: &str) -> Option<Self> {
        match line {
            "writing" => return Some(Self::Writing),
            "read back" => return Some(Self::Ended { read_back: true }),
            "not read back" => return Some(Self::Ended { read_back: false }),
            _ => {}
        }
        let (word, rest) = line.split_once(' ')?;
        match word {
            "r" => record(rest).map(Self::Record),
            "said" => Some(Self::Said(rest.to_owned())),
            "failed" => Some(Self::Failed(rest.to_owned())),
            "refused" => {
                let (portal, why) = rest.split_once(' ')?;
                Some(Self::LoginRefused {
                    portal: portal.to_owned(),
                    why: why.to_owned(),
                })
            }
            "clock" => {
                let (question, at_us) = rest.split_once(' ')?;
                Some(Self::Clock {
                    question: question.parse().ok()?,
                    at_us: at_us.parse().ok()?,
                })
            }
            _ => None,
        }
    }
}

fn record(hexadecimal: &str) -> Option<Record> {
    let text = hexadecimal.as_bytes();
    let mut bytes = [0; RECORD];
    if text.len() != 2 * RECORD {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Record::parse(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{FUA, Kind};

    #[test]
    fn what_is_said_is_understood() {
        let words = [
            Word::Record(Record {
                path: 1,
                flags: FUA,
                block: 70_000,
                sequence: 1 << 40,
                at_us: 1_790_000_000_000_000,
                value: 99,
                ..Record::new(Kind::Write, 3)
            }),
            Word::Writing,
            Word::LoginRefused {
                portal: "[fd00::207]:3260".into(),
                why: "Target not found(515)".into(),
            },
            Word::Said("writer 1: status 0x2: BUSY".into()),
            Word::Clock {
                question: 3,
                at_us: 12,
            },
            Word::Ended { read_back: true },
            Word::Ended { read_back: false },
            Word::Failed("/dev/sdb: no such file".into()),
        ];
        for word in words {
            assert_eq!(Word::parse(&word.to_string()), Some(word));
        }
        for told in [Told::Alive, Told::Stop, Told::Clock(7)] {
            assert_eq!(Told::parse(&told.to_string()), Some(told));
        }
    }

    #[test]
    fn a_word_is_one_line_and_half_a_record_is_none() {
        let said = Word::Said("two\nlines\n".into()).to_string();
        assert_eq!(said, "said two lines");
        assert_eq!(Word::parse("r 0102"), None);
        assert_eq!(Word::parse("Welcome to this host"), None);
        assert_eq!(Told::parse("clock x"), None);
    }
}
