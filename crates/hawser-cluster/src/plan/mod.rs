//! The plan: what must change on the nodes so that they are what the file says, what that leads to,
//! and in which order it is done.

mod addresses;
mod alert;
pub mod boot;
mod cib_stages;
mod conf_diff;
mod device;
mod diff;
mod drift;
mod effects;
mod facts;
mod forecast;
mod grouped;
pub(crate) mod hooks;
mod kept;
mod members;
mod merge;
pub(crate) mod nics;
mod notes;
mod objects;
pub(crate) mod other_cluster;
mod ports;
mod problem;
mod problems;
mod reaction;
mod saved;
mod saved_file;
mod stages;
mod theirs;
mod unified;
mod waits;
mod watch_unit;
mod words;

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;

pub use conf_diff::{Setting, conf_diff};
pub use diff::{CibDiff, ObjectChange, diff, made_by_hawser, values_that_differ};
pub use drift::{Drift, drift};
pub use effects::{AUTHKEY, AUTHKEY_BYTES, COROSYNC_CONF, Effect, Stage};
pub use facts::{
    DeviceFacts, Facts, FileFacts, KeyFacts, NodeFacts, PortFacts, WatchFacts, WatchUnitFile,
};
pub use forecast::{Forecast, fenced, forecast};
pub use grouped::{Grouped, Member};
pub use merge::merge;
pub use notes::{Note, notes};
pub use objects::{Inside, Key, Object, objects};
pub use ports::{HeadPorts, Unwatched, watched};
pub use problem::Problem;
pub use problems::problems;
pub use saved::{Origin, beyond, differences, saved};
pub use saved_file::{PlanFileError, parse_saved, saved_text};
pub use waits::{Wait, waits};

pub use hawser_model::output::cluster::{Action, Change};

use crate::corosync::ConfError;
use crate::numbering::Numbering;
use crate::simulate::{SimulateError, Simulator};
use crate::xml::{Element, XmlError};
use reaction::Reaction;

/// A plan as people see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanReport {
    /// What changes, in the order it is done. Empty: the nodes are what the file says.
    pub changes: Vec<Change>,
    /// What Pacemaker will do about it, in words, in order; empty when it does nothing that a
    /// client notices.
    pub consequence: Vec<String>,
    /// Why it cannot be applied as it is.
    pub problems: Vec<String>,
    /// What is worth knowing and no reason to stop.
    pub notes: Vec<String>,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What is shown.
    pub report: PlanReport,
    /// What is done.
    pub effects: Vec<Effect>,
    /// The CIB afterwards.
    pub target_cib: Element,
    /// What Pacemaker does at this moment, before anything of the plan, in words.
    pub under_way: Vec<String>,
    /// What Pacemaker will do about it, in words, without what depends on how long it takes.
    pub pacemaker: Vec<String>,
    /// The pools that are served now and would be served nowhere.
    pub taken: Vec<String>,
    /// The same as a unified diff of `corosync.conf` and of the CIB's configuration.
    pub diff: String,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The live CIB cannot be read.
    #[error(transparent)]
    Cib(#[from] XmlError),
    /// A node's corosync.conf cannot be read.
    #[error("{node}: {source}")]
    Conf {
        /// The node.
        node: String,
        /// Why.
        source: ConfError,
    },
    /// Pacemaker could not be asked.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
}

impl Plan {
    /// True when the nodes are what the file says.
    pub fn is_empty(&self) -> bool {
        self.report.changes.is_empty()
    }

    /// True when clients of some pool notice it.
    pub fn is_disruptive(&self) -> bool {
        self.report.changes.iter().any(|change| change.disruptive)
    }
}

/// Plans. Asks the simulator only when there is a live cluster: what it is doing now, and what each step would lead to.
pub fn plan(
    file: &ClusterFile,
    facts: &Facts,
    simulator: &dyn Simulator,
) -> Result<Plan, PlanError> {
    let confs = stages::live_confs(facts)?;
    let live = match &facts.cib {
        Some(text) => Element::parse(text, "the live CIB")?,
        // A cluster that is not there yet: nothing in it, and no nodes either.
        None => Element::new("cib").child(Element::new("configuration")),
    };
    let conf = other_cluster::of_this(file, facts, &confs);
    let numbering = Numbering::in_cluster(file, conf, &live);
    let (ports, unwatched) = ports::watched(file, |node| facts.ports_of(node), &live);
    let desired = crate::cib::generate_watching(file, &numbering, &ports);
    let diff = diff_as_read(&desired, &live);
    let target = match facts.cib {
        Some(_) => merge(&live, &diff.changes),
        None => desired.clone(),
    };
    let cib_stages = cib_stages::cib_stages(&diff);
    let mut in_the_way = theirs::in_the_way(&desired, &live);
    in_the_way.extend(kept::otherwise(&desired, &live));
    let reaction = match facts.cib.is_some() && !grouped::is_grouped(&in_the_way) {
        true => {
            let started = started(facts);
            let joined = with_nodes(&live, &started, &numbering);
            Reaction::ask(simulator, &joined, &started, &cib_stages)?
        }
        false => Reaction::default(),
    };
    let stages = stages::Stages {
        file,
        facts,
        confs: &confs,
        conf: &crate::corosync::generate(file, &numbering),
        diff: &diff,
        cib_stages: &cib_stages,
        reaction: &reaction,
    };
    let (changes, effects) = stages.changes_and_effects();
    let heads = facts.nodes.iter();
    let heads = heads.filter_map(|(node, there)| Some((node.clone(), there.boot.clone()?)));
    let (dangers, hints): (Vec<_>, Vec<_>) = boot::dangers_at_boot(file, &heads.collect())
        .into_iter()
        .partition(boot::Danger::stops_an_apply);
    let report = PlanReport {
        changes,
        consequence: words::consequence(&reaction.stories, &live, &target),
        problems: in_the_way
            .into_iter()
            .chain(problems(file, facts))
            .map(|problem| problem.to_string())
            .chain(dangers.iter().map(ToString::to_string))
            .collect(),
        notes: under_way(&reaction.under_way)
            .into_iter()
            .chain(notes(file, &live, &diff))
            .chain(kept::offered_by_others(&desired, &live))
            .chain(notes::no_takeover(facts))
            .chain(watch_unit::notes(file, facts))
            .map(|note| note.to_string())
            .chain(hints.iter().map(ToString::to_string))
            .chain(unwatched.iter().map(ToString::to_string))
            .collect(),
    };
    let diff = unified::unified(facts, &effects, &live, &target);
    Ok(Plan {
        report,
        effects,
        target_cib: target,
        pacemaker: words::reaction(&reaction.stories),
        under_way: reaction.under_way,
        taken: reaction.taken,
        diff,
    })
}

/// The heads of a cluster that are started.
fn started(facts: &Facts) -> Vec<&HostName> {
    let nodes = facts.nodes.iter().filter(|(_, there)| !there.running);
    nodes.map(|(name, _)| name).collect()
}

/// A CIB with the nodes that it does not know yet, as Pacemaker enters one that joins.
fn with_nodes(live: &Element, joining: &[&HostName], numbering: &Numbering) -> Element {
    let mut cib = live.clone();
    let nodes = cib.first_or_new("configuration").first_or_new("nodes");
    for node in joining {
        let known = |it: &Element| it.get("uname") == Some(node.as_str());
        let known = nodes.all("node").any(known);
        if let (false, Some(id)) = (known, numbering.nodes.get(*node)) {
            let new = Element::new("node")
                .with("id", id.to_string())
                .with("uname", node.as_str());
            nodes.children.push(new);
        }
    }
    cib
}

/// The difference to what Pacemaker reads, templates and references written out; what is written stands as it stood.
fn diff_as_read(desired: &Element, live: &Element) -> CibDiff {
    let mut diff = diff::diff(desired, &crate::cib::written_out(live));
    let stands = objects(live, &diff::groups(desired, live));
    for change in &mut diff.changes {
        if let (Some(there), Some(object)) = (&mut change.live, stands.get(&change.key)) {
            there.element.clone_from(&object.element);
        }
    }
    diff
}

fn under_way(steps: &[String]) -> Option<Note> {
    (!steps.is_empty()).then(|| Note::UnderWay(steps.to_vec()))
}
