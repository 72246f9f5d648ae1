//! What the watches of all heads show, as one. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_model::output::watch::{Alarm, HeadReading};

use crate::group::grouped;
use crate::shown::Shown;
use crate::turns::OtherWatches;
use crate::worse::{add, has};

/// The watch of another head.
#[derive(Clone, Debug)]
pub struct Other {
    /// What it showed last.
    pub shown: Option<Arc<Shown>>,
    /// Why it does not answer now; absent: it does.
    pub why: Option<String>,
}

impl Other {
    /// What it shows, if it answers.
    pub fn now(&self) -> Option<&Shown> {
        self.shown.as_deref().filter(|_| self.why.is_none())
    }
}

/// What a watch shows and those of the other heads, as a watch of all heads shows it. What Pacemaker believes of the
/// cluster is that of this head as long as its own Corosync runs.
pub fn joined(file: &ClusterFile, mine: &Shown, others: &BTreeMap<HostName, Other>) -> Shown {
    let mut all = mine.clone();
    all.whole = true;
    (all.troubles, all.reading.alarms) = together(file, mine, others);
    for (name, other) in others {
        let Some(shown) = other.now() else {
            all.reading.heads.push(silent(name, other));
            continue;
        };
        all.reading
            .heads
            .extend(shown.reading.heads.iter().cloned());
        all.heads.extend(shown.heads.clone());
        let both = [all.running.take(), shown.running.clone()];
        all.running = both.into_iter().flatten().min_by_key(|it| it.since);
        all.not_kept = all.not_kept.saturating_add(shown.not_kept);
    }
    let place = |head: &HeadReading| file.nodes.iter().position(|node| *node.name == head.name);
    all.reading.heads.sort_by_key(place);
    let runs = |shown: &&Shown| {
        let mut heads = shown.heads.values();
        shown.status.is_some() && heads.any(|head| head.corosync)
    };
    let mut views = [mine]
        .into_iter()
        .chain(others.values().filter_map(Other::now));
    if let Some(view) = views.find(runs) {
        all.members.clone_from(&view.members);
        all.status.clone_from(&view.status);
        all.asked_at = view.asked_at;
    }
    all
}

/// The troubles of all heads, and the alarms that they are together.
fn together(
    file: &ClusterFile,
    mine: &Shown,
    others: &BTreeMap<HostName, Other>,
) -> (Vec<Alarm>, Vec<Alarm>) {
    let theirs = others.values().filter_map(Other::now);
    let all = theirs.flat_map(|shown| &shown.troubles);
    let troubles = once(mine.troubles.iter().chain(all).cloned());
    let alarms = grouped(troubles.clone(), &file.topology());
    (troubles, alarms)
}

/// What is told by the watches of the heads before this one in the file, and what of this one's is part of it.
pub fn seen(
    file: &ClusterFile,
    own: &HostName,
    mine: &Shown,
    others: &BTreeMap<HostName, Other>,
) -> OtherWatches {
    let before = file.nodes.iter().map(|node| node.name.get());
    let before = before.take_while(|name| *name != own);
    let answering = before.filter_map(|name| others.get(name)?.now());
    let telling: Vec<&Shown> = answering.filter(|shown| shown.tells).collect();
    let own = mine.reading.alarms.clone();
    if telling.is_empty() {
        return OtherWatches {
            mine: own,
            ..OtherWatches::default()
        };
    }
    let all = telling.iter();
    let all = all.flat_map(|shown| shown.troubles.iter().chain(&shown.reading.alarms));
    let earlier = once(all.cloned()).into_iter();
    let earlier: BTreeMap<_, _> = earlier.map(|alarm| (alarm.key(), alarm)).collect();
    // A group that only all heads together make is told by nobody, and its parts are; so is one that they show without it.
    let (_, together) = together(file, mine, others);
    let theirs = together.iter().filter_map(|alarm| {
        let shown = earlier.get(&alarm.key())?;
        Some((alarm, shown))
    });
    let theirs: Vec<(&Alarm, &Alarm)> = theirs.collect();
    let is_part = |alarm: &&Alarm| {
        let stands = together.iter().any(|one| one.key() == alarm.key());
        let mut theirs = theirs.iter();
        !stands
            && theirs
                .any(|(one, shown)| one.parts.contains(&alarm.place) && has(shown, &alarm.place))
    };
    OtherWatches {
        absorbed: own.iter().filter(is_part).map(Alarm::key).collect(),
        earlier: Some(earlier),
        mine: own,
    }
}

/// A head whose watch says nothing.
fn silent(name: &HostName, other: &Other) -> HeadReading {
    let why = other.why.as_deref().unwrap_or("it has read nothing yet");
    HeadReading {
        name: name.clone(),
        unreached: Some(format!("its watch does not answer ({why})")),
        seen_at: other.shown.as_ref().map(|shown| shown.reading.read_at),
        links: Vec::new(),
        quorate: None,
        pools: Vec::new(),
        exports: Vec::new(),
        alarms: Vec::new(),
    }
}

/// A trouble that several heads see is one: since the first of them has, and in the words of whoever is asked.
fn once(troubles: impl Iterator<Item = Alarm>) -> Vec<Alarm> {
    let mut all: BTreeMap<_, Alarm> = BTreeMap::new();
    for trouble in troubles {
        match all.get_mut(&trouble.key()) {
            Some(known) => {
                known.since = known.since.into_iter().chain(trouble.since).min();
                known.times = known.times.max(trouble.times);
                add(known, &trouble);
            }
            None => drop(all.insert(trouble.key(), trouble)),
        }
    }
    all.into_values().collect()
}
