//! The alarms of a watch as they are kept on its head, so that the next watch goes on from them.

use serde::{Deserialize, Serialize};

use crate::output::watch::Alarm;

/// What stood when a watch was last heard of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptAlarms {
    /// The troubles that stood, each by itself.
    pub standing: Vec<Alarm>,
    /// What people were told of, and not yet of its end. What is told of several troubles together is among them.
    pub told: Vec<Alarm>,
    /// Those of them of which the watch of another head has told, and tells the end.
    pub left: Vec<Alarm>,
    /// Nobody was told but who reads the watch's own output: a watch that has a receiver tells what stands.
    #[serde(default)]
    pub untold: bool,
}

impl KeptAlarms {
    /// No more of each are kept.
    pub const MOST: usize = 1000;

    /// Whether both say the same, but for words with numbers that change all the time.
    pub fn is_as(&self, other: &Self) -> bool {
        let same = |one: &[Alarm], two: &[Alarm]| {
            let same = |(a, b): (&Alarm, &Alarm)| {
                let what = (&a.code, &a.place, a.severity) == (&b.code, &b.place, b.severity);
                what && (a.since, a.times, &a.parts) == (b.since, b.times, &b.parts)
            };
            one.len() == two.len() && one.iter().zip(two).all(same)
        };
        same(&self.standing, &other.standing)
            && same(&self.told, &other.told)
            && same(&self.left, &other.left)
            && self.untold == other.untold
    }
}

/// What a watch finds on its head when it opens its ring.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FoundAlarms {
    /// What the watch before it kept.
    pub alarms: KeptAlarms,
    /// Why that could not be read: then nothing of it is known.
    pub problem: Option<String>,
}
