//! What a client that works for a coordinator says: its history as it grows, and the words beside it.

use serde::{Deserialize, Deserializer, Serialize};

use crate::history::Record;

/// What it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// The next record of the history.
    Record(Record),
    /// Every writer has been acknowledged something.
    Writing,
    /// The target refused a login.
    LoginRefused {
        /// At which address.
        #[serde(deserialize_with = "line")]
        portal: String,
        /// In the target's words.
        #[serde(deserialize_with = "line")]
        why: String,
    },
    /// What an application would have been told.
    Said(#[serde(deserialize_with = "line")] String),
    /// It has ended, and has read back all that it could: the last word.
    Ended,
    /// It could not work: the last word.
    Failed(#[serde(deserialize_with = "line")] String),
}

/// None of its words passes for a line of ours.
fn line<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let words = String::deserialize(deserializer)?;
    Ok(words.trim_end().replace(['\n', '\r'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_several_lines_is_read_as_one() {
        let json = serde_json::to_string(&Word::Said("two\nlines\n".into())).unwrap();
        let word: Word = serde_json::from_str(&json).unwrap();
        assert_eq!(word, Word::Said("two lines".into()));
    }
}
