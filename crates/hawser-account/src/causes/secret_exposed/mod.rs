//! A file with a secret of the cluster that every user of the host can read, or change.
//!
//! Evidence: its permission bits, and those of the folders above it. Certain; an error. Cases: `secret-exposed`,
//! `secret-in-a-closed-folder`.

use hawser_model::date::utc_seconds;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::host::SecretFacts;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, host};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct SecretExposed {
    /// As chmod(1) has it: `0644`.
    mode: String,
    modified: u64,
    #[serde(skip)]
    done: &'static str,
}

/// What others can do with it; none where they can do nothing.
fn done(secret: &SecretFacts) -> Option<&'static str> {
    match (
        secret.reached_by_all,
        secret.mode & 0o004,
        secret.mode & 0o002,
    ) {
        (false, _, _) | (_, 0, 0) => None,
        (true, 0, _) => Some("changed"),
        (true, _, 0) => Some("read"),
        (true, _, _) => Some("read and changed"),
    }
}

impl CheckCause for SecretExposed {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for (host, facts) in &view.case.hosts {
            for secret in &facts.secrets {
                let Some(done) = done(secret) else { continue };
                found.push(Found {
                    severity: Severity::Error,
                    confidence: Confidence::Certain,
                    place: Place::of(&secret.file, Some(host)),
                    evidence: Self {
                        mode: format!("{:04o}", secret.mode),
                        modified: secret.modified,
                        done,
                    },
                });
            }
        }
        found
    }
}

impl Cause for SecretExposed {
    const CODE: &'static str = "secret-exposed";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (host, file) = (host(at), at.object.as_deref().unwrap_or("a file"));
        let (can, renew) = match file {
            "/etc/corosync/authkey" => (
                "speak as a node of the cluster",
                "make a new one with `corosync-keygen` and copy it to all nodes, with Corosync stopped on all of them",
            ),
            "/etc/pacemaker/authkey" => (
                "start and stop what remote nodes run",
                "make a new one as the first was made, and copy it to all nodes and remote nodes",
            ),
            _ => ("switch a head off", "give the device a new password"),
        };
        Words {
            text: format!(
                "{file} on {host} can be {} by every user there (mode {}, written {}): who has what is in it can {can}.",
                self.done,
                self.mode,
                utc_seconds(self.modified)
            ),
            fix: format!("`chmod o= {file}` on {host}. Who may have read it knows it: {renew}."),
        }
    }
}
