//! The pool stood, and who created a file waited for the grace period of its NFS server (RFC 8881, 8.4.2.1), and then until the
//! client asked again.
//!
//! Evidence: the looks at the head that has the pool, each of which reads what the server says (`/proc/fs/nfsd/v4_end_grace`); a
//! client that creates files on NFS 4 (`hawser drill --create`), which got none meanwhile; and writers on the same client that were
//! answered. Certain; a warning from two seconds on. Cases: `drill/grace-of-old-client`,
//! which is recorded; `drill/nfs-grace`; `drill/nfs-grace-short`, which is not one.

use hawser_model::finding::{Confidence, Place, Severity};
use serde::Serialize;

use crate::cause::{Cause, Found, OutageCause, Words, host};
use crate::outage::millis::Millis;
use crate::outage::phase::Phase;
use crate::outage::view::DrillView;

#[derive(Serialize)]
pub(crate) struct NfsGrace {
    grace_ms: Millis,
    retry_ms: Millis,
    outage_ms: Millis,
}

const LEAST: Millis = Millis(2000);

impl OutageCause for NfsGrace {
    fn find(view: &DrillView<'_>) -> Option<Found<Self>> {
        let (grace, retry) = (view.ms(Phase::NfsGrace), view.ms(Phase::NfsRetry));
        let span = view.of(Phase::NfsGrace).last()?;
        (Millis(grace.0 + retry.0) >= LEAST).then(|| Found {
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            place: Place::of(&view.case.client.pool, Some(&span.host)),
            evidence: Self {
                grace_ms: grace,
                retry_ms: retry,
                outage_ms: view.outage_ms(),
            },
        })
    }
}

impl Cause for NfsGrace {
    const CODE: &'static str = "nfs-grace";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let mut text = format!(
            "A client that created a file on {} waited {} for the grace period of the NFS server of {}",
            at.object.as_deref().unwrap_or("the pool"),
            self.grace_ms.of(self.outage_ms),
            host(at),
        );
        if self.retry_ms > Millis(0) {
            text += &format!(", and {} more until its kernel asked again", self.retry_ms);
        }
        Words {
            text: text + ". Clients that had their files open did not wait for it.",
            fix: "The period ends when each client that may reclaim has said that it is done. One of NFS 4.0 and one that is gone \
                  for good never say so: mount by `vers=4.1` or later (`/proc/fs/nfsd/clients/*/info` on the head has \
                  each one's minor version). `grace-time` in nfs.conf of the heads bounds it. Price: it runs from the start of the \
                  server, and a client that comes back later than that loses its locks; 15 s were too few on a head under load."
                .to_owned(),
        }
    }
}
