//! What is not as it should be, each thing said once and with its weight.

/// How much a thing weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// The next loss may be an outage because of it.
    Costs,
    /// It is to be put right, and a node or a link can still be lost.
    Wrong,
    /// It is worth knowing.
    Note,
}

/// Everything that was found, the most important first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings(Vec<(Weight, String)>);

impl Findings {
    /// Something on account of which the next loss may be an outage.
    pub fn costs(&mut self, text: impl Into<String>) {
        self.add(Weight::Costs, text.into());
    }

    /// Something that is to be put right.
    pub fn wrong(&mut self, text: impl Into<String>) {
        self.add(Weight::Wrong, text.into());
    }

    /// Something worth knowing.
    pub fn note(&mut self, text: impl Into<String>) {
        self.add(Weight::Note, text.into());
    }

    fn add(&mut self, weight: Weight, text: String) {
        if !self.0.iter().any(|(_, there)| *there == text) {
            self.0.push((weight, text));
        }
    }

    /// The first thing that costs the redundancy.
    pub fn first_cost(&self) -> Option<&str> {
        self.of(Weight::Costs).next()
    }

    /// What is degraded.
    pub fn degraded(&self) -> Vec<String> {
        let degraded = self.0.iter().filter(|(weight, _)| *weight != Weight::Note);
        degraded.map(|(_, text)| text.clone()).collect()
    }

    /// What is worth knowing.
    pub fn notes(&self) -> Vec<String> {
        self.of(Weight::Note).map(str::to_owned).collect()
    }

    fn of(&self, wanted: Weight) -> impl Iterator<Item = &str> {
        let all = self.0.iter();
        all.filter_map(move |(weight, text)| (*weight == wanted).then_some(text.as_str()))
    }
}
