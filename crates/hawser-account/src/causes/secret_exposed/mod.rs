//! A file with a secret of the cluster that every user of the host can read, or change.
//!
//! Evidence: its permission bits. Certain; an error. Case: `secret-exposed`.

use hawser_model::date::utc_seconds;
use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, host};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct SecretExposed {
    /// As chmod(1) has it: `0644`.
    mode: String,
    modified: u64,
}

/// Read and write for others (`S_IROTH`, `S_IWOTH`).
const OTHERS: u32 = 0o006;

impl CheckCause for SecretExposed {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let secrets = view.case.hosts.iter();
        let secrets =
            secrets.flat_map(|(host, facts)| facts.secrets.iter().map(move |it| (host, it)));
        let exposed = secrets.filter(|(_, secret)| secret.mode & OTHERS != 0);
        let found = exposed.map(|(host, secret)| Found {
            severity: Severity::Error,
            confidence: Confidence::Certain,
            place: Place::of(&secret.file, Some(host)),
            evidence: Self {
                mode: format!("{:04o}", secret.mode),
                modified: secret.modified,
            },
        });
        found.collect()
    }
}

impl Cause for SecretExposed {
    const CODE: &'static str = "secret-exposed";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (can, renew) = match at.object.as_deref() {
            Some(file) if file.ends_with("/authkey") => (
                "speak as a node of the cluster",
                "make a new one (`corosync-keygen`), on all nodes, with Corosync stopped",
            ),
            _ => ("switch a head off", "give the device a new password"),
        };
        let (host, file) = (host(at), at.object.as_deref().unwrap_or("a file"));
        Words {
            text: format!(
                "{file} on {host} can be read or changed by every user there (mode {}, written {}): who has what is in it can {can}.",
                self.mode,
                utc_seconds(self.modified)
            ),
            fix: format!("`chmod o= {file}` on {host}. Who may have read it knows it: {renew}."),
        }
    }
}
