//! The only place where sentences are made: each from the finding's own evidence.

use hawser_model::finding::{Finding, WordedFinding};
use hawser_model::units::{Bytes, Nanos, Packets, PacketsPerSec};

use crate::cause::{Words, counted, in_brackets};
use crate::causes::support::Lost;

mod multicast;
mod stream;

/// Makes the words of one cause.
type Writer = fn(&Told<'_>) -> Words;

/// Words of each code.
const WORDS: &[(&str, Writer)] = &[
    ("group-not-forwarded", multicast::group_not_forwarded),
    ("igmp-no-querier", multicast::no_querier),
    ("igmp-version-mixed", multicast::version_mixed),
    ("multicast-ttl-scope", multicast::ttl_scope),
    ("rate-after-burst", stream::rate_after_burst),
    ("receive-merging-stall", stream::receive_merging),
];

/// Puts a finding into words. A code of a newer version is named, not explained.
pub(crate) fn word(finding: &Finding) -> WordedFinding {
    let told = Told(finding);
    let mut all = WORDS.iter();
    let words = match all.find(|(code, _)| *code == finding.code) {
        Some((_, words)) => words(&told),
        None => Words {
            text: format!(
                "{} {}: this version has no words for it.",
                finding.code,
                told.at()
            ),
            fix: "Use the version of Hawser that recorded it.".to_owned(),
        },
    };
    WordedFinding {
        finding: finding.clone(),
        text: words.text,
        fix: words.fix,
    }
}

/// A finding as the sentences ask for it.
pub(crate) struct Told<'a>(&'a Finding);

impl Told<'_> {
    /// A number of the evidence.
    fn number(&self, key: &str) -> Option<u64> {
        self.0.evidence.get(key)?.as_u64()
    }

    /// A number of the evidence, zero when it is not there.
    fn count(&self, key: &str) -> u64 {
        self.number(key).unwrap_or(0)
    }

    /// A flag of the evidence.
    fn is(&self, key: &str) -> bool {
        self.count(key) > 0
    }

    /// A name of the evidence.
    fn name(&self, key: &str) -> &str {
        self.0
            .evidence
            .get(key)
            .and_then(|v| v.as_str())
            .unwrap_or("")
    }

    /// `1 234 packets`.
    fn packets(&self, key: &str) -> String {
        packets(self.count(key))
    }

    /// `208.0 KiB`, when known.
    fn bytes(&self, key: &str) -> Option<String> {
        self.number(key).map(|n| Bytes(n).to_string())
    }

    /// `9.81 kpkt/s`, when known.
    fn rate(&self, key: &str) -> Option<String> {
        self.number(key).map(|n| PacketsPerSec(n).to_string())
    }

    /// `149 ms`.
    fn time(&self, key: &str) -> String {
        Nanos(self.count(key)).to_string()
    }

    fn host(&self) -> &str {
        self.0.place.host.as_ref().map_or("a host", |h| h.as_str())
    }

    fn peer(&self) -> &str {
        self.0
            .place
            .peer
            .as_ref()
            .map_or("its peers", |h| h.as_str())
    }

    fn link(&self) -> Option<&str> {
        self.0.place.link.as_ref().map(|l| l.as_str())
    }

    fn interface(&self) -> &str {
        let known = self.0.place.interface.as_ref();
        known.map_or("the interface", |i| i.as_str())
    }

    fn object(&self) -> Option<&str> {
        self.0.place.object.as_deref()
    }

    /// ` on ring0`, or nothing for several links.
    fn on_link(&self) -> String {
        self.link().map_or(String::new(), |l| format!(" on {l}"))
    }

    /// `head2, interface ring0 (link ring0)`.
    fn at(&self) -> String {
        let mut at = self.host().to_owned();
        if let Some(i) = &self.0.place.interface {
            at.push_str(&format!(", interface {i}"));
        }
        if let Some(link) = self.link() {
            at.push_str(&format!(" (link {link})"));
        }
        at
    }

    /// `1 500 of 50 000 packets (3 %)`.
    fn lost(&self) -> String {
        let lost = Lost {
            lost_packets: Packets(self.count("lost_packets")),
            sent_packets: Packets(self.count("sent_packets")),
            lost_percent: (self.0.evidence.get("lost_percent")).and_then(|value| value.as_f64()),
        };
        lost.to_string()
    }
}

/// `1 packet`, `2 packets`.
fn packets(n: u64) -> String {
    counted(n, "packet")
}

/// The kernel's own word for a drop, in brackets, or nothing.
fn reason(told: &Told<'_>) -> String {
    in_brackets(told.name("reason"))
}
