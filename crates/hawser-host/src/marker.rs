//! Finding the agent behind a talkative login shell.
//!
//! What a node's shell prints before it runs our command (`motd`, an `echo` in `.bashrc`) comes
//! down the same pipe as the first frame. So whoever speaks first on the node's side writes a
//! marker, `<<hawser WORD …>>` and a newline, and the coordinator skips everything up to it.

use std::fmt;

use crate::frame::excerpt;
use crate::protocol::VERSION;

/// How a marker begins.
const OPEN: &[u8] = b"<<hawser ";
/// How a marker ends.
const CLOSE: &[u8] = b">>\n";
/// Longest text between the two.
const LONGEST: usize = 512;

/// How many bytes a shell may print before the marker: far more than any greeting, far less
/// than a program that floods the pipe.
pub const BANNER_LIMIT: usize = 64 << 10;

/// What the agent writes before its first frame.
pub fn preamble() -> String {
    format!("<<hawser agent {VERSION}>>\n")
}

/// Who speaks on the node's side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Marker {
    /// The agent, with this version of the protocol: frames follow.
    Agent(u32),
    /// The start script: the node does not have our executable; it waits for its bytes.
    Need,
    /// The start script gave up, for this reason (its first word) and detail.
    Refused {
        /// One word: `machine`, `user`, `directory`, `copy`, `tool`.
        reason: String,
        /// What belongs to it.
        detail: String,
    },
    /// A marker of no known kind: another version's.
    Unknown(String),
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(version) => write!(f, "{version}"),
            Self::Need => f.write_str("`need`"),
            Self::Refused { reason, detail } => write!(f, "`refused {reason} {detail}`"),
            Self::Unknown(text) => write!(f, "`{text}`"),
        }
    }
}

/// Why no marker was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{seen} bytes without the agent's marker, starting {start:?}")]
pub struct NoMarker {
    /// How many bytes came.
    pub seen: usize,
    /// The first of them, as text.
    pub start: String,
}

/// Looks for the marker in bytes as they come.
#[derive(Debug, Default)]
pub struct Scanner {
    seen: Vec<u8>,
    /// Bytes before this offset hold no complete marker.
    searched: usize,
}

impl Scanner {
    /// Adds bytes; answers the marker and the bytes after it once it is complete.
    ///
    /// # Errors
    /// [`NoMarker`] after [`BANNER_LIMIT`] bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<(Marker, Vec<u8>)>, NoMarker> {
        self.seen.extend_from_slice(bytes);
        while let Some(open) = find(&self.seen[self.searched..], OPEN) {
            let start = self.searched + open + OPEN.len();
            let window = &self.seen[start..self.seen.len().min(start + LONGEST)];
            match find(window, CLOSE) {
                Some(length) => {
                    // A banner may quote the beginning of a marker: the last one counts.
                    let inner = &window[..length];
                    let inner = rfind(inner, OPEN).map_or(inner, |i| &inner[i + OPEN.len()..]);
                    let marker = parse(&String::from_utf8_lossy(inner));
                    let rest = self.seen[start + length + CLOSE.len()..].to_vec();
                    return Ok(Some((marker, rest)));
                }
                None if window.len() < LONGEST => {
                    // The rest of it may still be under way.
                    self.searched += open;
                    return self.within_limit();
                }
                None => self.searched = start,
            }
        }
        // Half of OPEN may stand at the end.
        self.searched = self
            .searched
            .max(self.seen.len().saturating_sub(OPEN.len() - 1));
        self.within_limit()
    }

    /// What was seen so far, as an error: the stream ended without a marker.
    pub fn without_marker(&self) -> NoMarker {
        NoMarker {
            seen: self.seen.len(),
            start: excerpt(&self.seen),
        }
    }

    fn within_limit(&self) -> Result<Option<(Marker, Vec<u8>)>, NoMarker> {
        if self.seen.len() > BANNER_LIMIT {
            return Err(self.without_marker());
        }
        Ok(None)
    }
}

fn parse(text: &str) -> Marker {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let unknown = || Marker::Unknown(text.to_owned());
    match word {
        "agent" => rest.parse().map_or_else(|_| unknown(), Marker::Agent),
        "need" if rest.is_empty() => Marker::Need,
        "refused" => {
            let (reason, detail) = rest.split_once(' ').unwrap_or((rest, ""));
            Marker::Refused {
                reason: reason.to_owned(),
                detail: detail.to_owned(),
            }
        }
        _ => unknown(),
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|w| w == needle)
}

fn rfind(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).rposition(|w| w == needle)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_agent_is_found_behind_a_banner_and_its_first_frame_is_kept() {
        let stream = format!(
            "Welcome to head1!\nLast login: today\n{}\0\0\0\x02{{}}",
            preamble()
        );
        let (marker, rest) = Scanner::default().push(stream.as_bytes()).unwrap().unwrap();
        assert_eq!(marker, Marker::Agent(VERSION));
        assert_eq!(rest, b"\0\0\0\x02{}");
    }

    #[test]
    fn a_banner_that_quotes_half_a_marker_does_not_hide_the_real_one() {
        for filler in [0, 10, LONGEST] {
            let stream = format!("<<hawser {}\n{}", "x".repeat(filler), preamble());
            let (marker, _) = Scanner::default().push(stream.as_bytes()).unwrap().unwrap();
            assert_eq!(marker, Marker::Agent(VERSION), "filler {filler}");
        }
    }

    #[test]
    fn words_of_the_start_script_are_understood() {
        let one = |text: &str| Scanner::default().push(text.as_bytes()).unwrap().unwrap().0;
        assert_eq!(one("<<hawser need>>\n"), Marker::Need);
        assert_eq!(
            one("<<hawser refused machine aarch64>>\n"),
            Marker::Refused {
                reason: "machine".into(),
                detail: "aarch64".into()
            }
        );
        assert_eq!(
            one("<<hawser agent new>>\n"),
            Marker::Unknown("agent new".into())
        );
    }

    #[test]
    fn endless_output_is_given_up_and_its_start_is_shown() {
        let mut scanner = Scanner::default();
        scanner.push(b"This account is not available.\n").unwrap();
        let error = loop {
            match scanner.push(&[b'y'; 4096]) {
                Ok(found) => assert_eq!(found, None),
                Err(error) => break error,
            }
        };
        assert!(error.seen > BANNER_LIMIT && error.seen <= BANNER_LIMIT + 4096);
        assert!(error.start.starts_with("This account is not available."));
    }

    proptest! {
        #[test]
        fn the_marker_is_found_however_the_pipe_cuts_it(
            banner in prop::collection::vec(any::<u8>(), 0..600),
            tail in prop::collection::vec(any::<u8>(), 0..40),
            cut in 1usize..50,
        ) {
            let mut stream = banner;
            stream.extend_from_slice(preamble().as_bytes());
            stream.extend_from_slice(&tail);
            let mut scanner = Scanner::default();
            let mut chunks = stream.chunks(cut);
            let (marker, mut rest) = loop {
                let chunk = chunks.next().expect("the marker was missed");
                if let Some(found) = scanner.push(chunk).unwrap() {
                    break found;
                }
            };
            rest.extend(chunks.flatten());
            prop_assert_eq!(marker, Marker::Agent(VERSION));
            prop_assert_eq!(rest, tail);
        }
    }
}
