//! What a progress bar says: it goes to the terminal beside [`print`](super::print), through the same gate.
#![expect(clippy::disallowed_methods, reason = "this is the gate before them")]

use std::fmt::Display;

use hawser_model::visible;
use indicatif::ProgressBar;

use super::paint::shown;

/// What stands beside a bar.
pub fn message(bar: &ProgressBar, text: impl Display) {
    bar.set_message(visible::one_line(&text.to_string()).into_owned());
}

/// What stands before a bar.
pub fn prefix(bar: &ProgressBar, text: impl Display) {
    bar.set_prefix(visible::one_line(&text.to_string()).into_owned());
}

/// A line that stays, above a bar.
pub fn line_above(bar: &ProgressBar, text: &str) {
    bar.println(shown(text, |_| false));
}
