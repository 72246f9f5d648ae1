//! `hawser watch` on the heads of a lab, as its systemd unit runs it on real ones.

use std::ffi::OsStr;

use super::services::{SUBCOMMAND, ServiceAction};
use crate::error::LabError;
use crate::lab::Lab;

impl Lab {
    /// Starts the watch of a head, now and at each of its boots, unless it runs.
    ///
    /// # Errors
    /// The head has died; or the watch did not start, which has been said on standard error.
    pub fn start_watch(&self, head: &str) -> Result<(), LabError> {
        let hawser = self.agent_binary();
        let words = ["lab", SUBCOMMAND, ServiceAction::StartWatch.word()].map(OsStr::new);
        let words = [&[hawser.as_os_str()], &words[..]].concat();
        let mut started = self.command(head, words)?.attached()?;
        let ended = started.wait();
        let ended = ended.map_err(|e| LabError::io("wait for", hawser, e))?;
        match ended.success() {
            true => Ok(()),
            false => Err(LabError::Tool {
                command: "start hawser watch".into(),
                what: ended.to_string(),
            }),
        }
    }
}
