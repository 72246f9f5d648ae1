//! A certificate by which a watch listens for other machines, or a head speaks with a quorum device, is over, or soon will
//! be.
//!
//! Evidence: its `notAfter` against the host's clock. Certain. A warning when less than 21 days are left, or less than a third
//! of its time if that is shorter: certbot renews when 30 days are left, and step-ca when a third is. An error when it is
//! over. Cases: `certificate-soon`, `certificate-over`, `certificate-short-lived`,
//! `certificate-quorum-device`.

use hawser_model::date::utc_seconds;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::host::CertificateUser;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, counted, host};
use crate::losses::Losses;
use crate::view::View;

const DAY_S: u64 = 86_400;

/// What a renewal that runs by itself leaves by far.
const SOON_S: u64 = 21 * DAY_S;

#[derive(Serialize)]
pub(crate) struct CertificateExpires {
    not_after: u64,
    /// Seconds that are left; 0: it is over.
    left_s: u64,
    #[serde(skip)]
    user: CertificateUser,
}

impl CheckCause for CertificateExpires {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for (host, facts) in &view.case.hosts {
            for certificate in &facts.certificates {
                let lasts = certificate.not_after.saturating_sub(certificate.not_before);
                let left_s = certificate.not_after.saturating_sub(certificate.read_at);
                if left_s >= SOON_S.min(lasts / 3) && left_s > 0 {
                    continue;
                }
                found.push(Found {
                    severity: match left_s {
                        0 => Severity::Error,
                        _ => Severity::Warning,
                    },
                    confidence: Confidence::Certain,
                    place: Place::of(&certificate.file, Some(host)),
                    evidence: Self {
                        not_after: certificate.not_after,
                        left_s,
                        user: certificate.user,
                    },
                });
            }
        }
        found
    }
}

impl Cause for CertificateExpires {
    const CODE: &'static str = "certificate-expires";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (host, file) = (host(at), at.object.as_deref().unwrap_or("a certificate"));
        let until = utc_seconds(self.not_after);
        let then = match self.user {
            CertificateUser::Watch => {
                "who checks it no longer speaks with the watch, Prometheus among them"
            }
            CertificateUser::QuorumDevice => {
                "corosync-qdevice and its server no longer speak, and the cluster is without the device's vote"
            }
        };
        let text = match (self.left_s, self.left_s / DAY_S) {
            (0, _) => format!("The certificate in {file} on {host} is over since {until}: {then}."),
            (_, 0) => format!("The certificate in {file} on {host} ends today, {until}."),
            (_, days) => format!(
                "The certificate in {file} on {host} ends in {}, {until}.",
                counted(days, "day")
            ),
        };
        let fix = match self.user {
            CertificateUser::Watch => format!(
                "Put a new one there (and its key, if that is new too): the watch reads it within a second, without a \
                 restart. If something renews {file} by itself, it has not done so."
            ),
            CertificateUser::QuorumDevice => {
                "`corosync-qdevice-net-certutil -Q -n CLUSTER SERVER NODE...` makes one for all nodes, by ssh as root; then \
                 restart corosync-qdevice on one head after the other. If the server's own is over (`QNet CA`), it needs a new \
                 one first (`corosync-qnetd-certutil -i -G`)."
                    .to_owned()
            }
        };
        Words { text, fix }
    }
}
