//! From what was read to what is seen to be wrong, each thing by a code and a place that stay.

use hawser_cluster::live::{Said, Sign};
use hawser_model::case::{Case, Intensity};
use hawser_model::finding::{Place, Severity, WordedFinding};
use hawser_model::names::HostName;
use hawser_model::output::watch::Alarm;
use hawser_model::topology::Topology;

use crate::ask::Facts;

/// One thing that is wrong in one reading.
#[derive(Clone, Debug, PartialEq)]
pub struct Sighting {
    /// Its code.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// Where. With the code it says which trouble this is.
    pub place: Place,
    /// In words.
    pub text: String,
    /// What to do, where the words do not say it.
    pub fix: Option<String>,
}

impl Sighting {
    /// Which trouble it is.
    pub fn key(&self) -> Key {
        (self.code.clone(), self.place.clone())
    }
}

/// A trouble: two sightings with one key are the same at two times.
pub type Key = (String, Place);

impl From<WordedFinding> for Sighting {
    fn from(found: WordedFinding) -> Self {
        Self {
            code: found.finding.code,
            severity: found.finding.severity,
            place: found.finding.place,
            text: found.text,
            fix: Some(found.fix).filter(|fix| !fix.is_empty()),
        }
    }
}

impl From<Alarm> for Sighting {
    fn from(alarm: Alarm) -> Self {
        Self {
            code: alarm.code,
            severity: alarm.severity,
            place: alarm.place,
            text: alarm.text,
            fix: alarm.fix,
        }
    }
}

impl From<Said> for Sighting {
    fn from(said: Said) -> Self {
        Self {
            code: said.mark.sign.code().to_owned(),
            severity: said.severity,
            place: said.mark.place,
            text: said.text,
            fix: None,
        }
    }
}

/// The code of a head that did not answer.
const NOT_REACHED: Sign = Sign::HeadNotReached;

/// All that is wrong: what stands on the hosts, and what the status says of the cluster. What both say, with one code of
/// one place, is said once.
pub fn sightings(topology: &Topology, facts: &Facts, said: Vec<Said>) -> Vec<Sighting> {
    let mut case = Case::new(0, Intensity::Gentle, topology.clone(), facts.hosts.clone());
    case.sockets.clone_from(&facts.sockets);
    case.counted.clone_from(&facts.counted);
    case.echoes.clone_from(&facts.status.echoes);
    case.address_claims = Some(facts.status.claims.clone());
    let standing = hawser_account::standing(&case);
    let standing = standing.into_iter().map(Sighting::from);
    // The status has its own words for a head of a cluster: one that is off is not merely silent.
    let told = |name: &HostName| {
        said.iter()
            .any(|said| said.mark.place.host.as_ref() == Some(name))
    };
    let unreached = facts.status.unreached.iter();
    let unreached = unreached.filter(|(name, _)| !told(name));
    let unreached: Vec<Sighting> = unreached
        .map(|(name, why)| Sighting {
            code: NOT_REACHED.code().to_owned(),
            severity: NOT_REACHED.severity(),
            place: Place::on(name),
            text: format!("{name} did not answer: {why}"),
            fix: None,
        })
        .collect();
    let mut all: Vec<Sighting> = Vec::new();
    let said = said.into_iter().map(Sighting::from);
    for one in standing.chain(said).chain(unreached) {
        let known = all.iter().any(|known| known.key() == one.key());
        if one.severity > Severity::Note && !known {
            all.push(one);
        }
    }
    all
}
