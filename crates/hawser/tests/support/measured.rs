//! A test that could not be made.

use std::io::Write;

/// Says that this machine, as busy as it is, cannot show what is tested; packaging/run-tests counts these.
pub fn not_measured(why: &str) {
    // Not by a macro, whose words libtest keeps for itself.
    writeln!(std::io::stderr(), "\nskipped: not measured: {why}").expect("standard error");
}
