//! What a watch does not know, in words, of its cluster and at its moment. Pure.

use hawser_model::cluster_file::ClusterFile;
use hawser_model::drops::DropTotals;
use hawser_model::names::HostName;

use crate::live::LiveInput;
use crate::shown::ShownHead;

pub(crate) fn not_known(file: &ClusterFile, known: LiveInput<'_>) -> Vec<String> {
    let mut all = match known.own {
        Some(own) => of_one(file, own, known),
        None => of_all(file, known),
    };
    if !file.links.is_empty() {
        all.push("No switch is asked: of a switch only the links over it are known.".to_owned());
    }
    all
}

/// What one head cannot know.
fn of_one(file: &ClusterFile, own: &HostName, known: LiveInput<'_>) -> Vec<String> {
    let heads = file.nodes.iter().map(|node| node.name.as_str());
    let others: Vec<&str> = heads.filter(|name| *name != own.as_str()).collect();
    let mut all = Vec::new();
    match known.shown {
        None => all.push(format!("{own} has not read itself yet.")),
        Some(shown) if shown.status.is_none() => all.push(format!(
            "{own} has not looked at the cluster yet: what the heads are and where pools run is not known."
        )),
        Some(_) => {}
    }
    all.extend(failed(known));
    all.extend(not_counted(known));
    if !others.is_empty() {
        let others = others.join(" and ");
        all.push(format!(
            "{own} asks itself and no other head. What {others} is or has, is what Pacemaker on {own} believes; the ports \
             of {others}, what is offered there, and whether the clocks agree is not known here."
        ));
    }
    if others.len() > 1 {
        all.push(format!(
            "How the links are between {} is not known here.",
            others.join(" and ")
        ));
    }
    all
}

/// What nobody knows who asks all heads now and then.
fn of_all(file: &ClusterFile, known: LiveInput<'_>) -> Vec<String> {
    let mut all: Vec<String> = failed(known).into_iter().collect();
    all.extend(not_counted(known));
    let heads = known
        .shown
        .into_iter()
        .flat_map(|shown| &shown.reading.heads);
    for head in heads.filter(|head| head.unreached.is_some()) {
        let name = &head.name;
        all.push(format!(
            "{name} did not answer: its ports, what it offers and how it sees its links is not known."
        ));
    }
    if file.cluster.name.is_empty() {
        all.push(
            "Without a cluster file nothing is asked about a cluster: these are hosts alone."
                .to_owned(),
        );
    }
    all
}

/// Heads of which it is not known, or not of all, why their kernel drops packets.
fn not_counted(known: LiveInput<'_>) -> Vec<String> {
    let heads = known.shown.into_iter().flat_map(|shown| &shown.heads);
    let why = |(name, head): (&HostName, &ShownHead)| match head.drops.as_ref()? {
        DropTotals::NotCounted(why) => Some(format!(
            "Why the kernel of {name} drops packets cannot be counted: {why}"
        )),
        DropTotals::Counted { missed: 0, .. } => None,
        DropTotals::Counted { missed, .. } => Some(format!(
            "Why the kernel of {name} dropped {missed} packets was not counted: there were too many kinds, or one within another."
        )),
    };
    heads.filter_map(why).collect()
}

fn failed(known: LiveInput<'_>) -> Option<String> {
    let why = known.problem?;
    Some(format!(
        "The last look at the cluster failed, so what the heads are and where pools run may be old: {why}"
    ))
}
