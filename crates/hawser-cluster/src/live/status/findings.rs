//! What is not as it should be, each thing said once and with its weight.

use hawser_model::finding::Severity;

use super::signs::{Mark, Said};

/// How much a thing weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// It is an outage, or becomes one with the next write.
    Fails,
    /// The next loss may be an outage because of it.
    Costs,
    /// It is to be put right, and a node or a link can still be lost.
    Wrong,
    /// It is worth knowing.
    Note,
}

/// Everything that was found, the most important first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings(Vec<(Weight, Mark, String)>);

impl Findings {
    /// Something that fails now, an error whatever its sign is else.
    pub fn fails(&mut self, mark: Mark, text: impl Into<String>) {
        self.add(Weight::Fails, mark, text.into());
    }

    /// Something on account of which the next loss may be an outage.
    pub fn costs(&mut self, mark: Mark, text: impl Into<String>) {
        self.add(Weight::Costs, mark, text.into());
    }

    /// Something that is to be put right.
    pub fn wrong(&mut self, mark: Mark, text: impl Into<String>) {
        self.add(Weight::Wrong, mark, text.into());
    }

    /// Something worth knowing.
    pub fn note(&mut self, mark: Mark, text: impl Into<String>) {
        self.add(Weight::Note, mark, text.into());
    }

    fn add(&mut self, weight: Weight, mark: Mark, text: String) {
        if !self.0.iter().any(|(_, _, there)| *there == text) {
            self.0.push((weight, mark, text));
        }
    }

    /// The first thing that costs the redundancy.
    pub fn first_cost(&self) -> Option<&str> {
        self.of(&[Weight::Fails, Weight::Costs]).next()
    }

    /// What is degraded.
    pub fn degraded(&self) -> Vec<String> {
        let degraded = self
            .0
            .iter()
            .filter(|(weight, _, _)| *weight != Weight::Note);
        degraded.map(|(_, _, text)| text.clone()).collect()
    }

    /// What is worth knowing.
    pub fn notes(&self) -> Vec<String> {
        self.of(&[Weight::Note]).map(str::to_owned).collect()
    }

    /// All of it, with its marks.
    pub fn said(self) -> Vec<Said> {
        let all = self.0.into_iter();
        let said = |(weight, mark, text): (Weight, Mark, String)| Said {
            severity: match weight {
                Weight::Fails => Severity::Error,
                Weight::Note => Severity::Note,
                Weight::Costs => mark.sign.severity(),
                // What can wait is no error, whatever it would be where it cannot.
                Weight::Wrong => mark.sign.severity().min(Severity::Warning),
            },
            mark,
            text,
        };
        all.map(said).collect()
    }

    fn of(&self, wanted: &'static [Weight]) -> impl Iterator<Item = &str> {
        let all = self.0.iter();
        all.filter_map(|(weight, _, text)| wanted.contains(weight).then_some(text.as_str()))
    }
}
