//! One truth from the views of all heads: a head that is frozen, cut off or just booting sees another cluster than
//! the one that serves, and does not know it.
//!
//! Pure. The partition with quorum decides, by the view of its DC; a head that cannot know better is named and not
//! believed.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;

use crate::host::HeadView;
use crate::host::view::{Quorum, Told};
use crate::plan::other_cluster;
use crate::xml::Element;

/// A machine whose first process is younger than this is still booting, when its cluster does not run yet.
const BOOTS_S: u64 = 300;

/// How a head stands to the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stand {
    /// It has quorum and a DC: its view is the cluster's.
    Member,
    /// Its Corosync answers and has no quorum.
    Minority,
    /// It boots or joins: what it sees is not yet the cluster.
    Starting(Startup),
    /// Its Corosync runs and does not answer: what it sees is old.
    Frozen(String),
    /// Its CIB cannot be had although Pacemaker runs.
    Mute(String),
    /// Its Corosync or its Pacemaker does not run.
    Down(&'static str),
    /// It runs another cluster than the file's, of this name: what it sees is not this one.
    Another(String),
}

/// How far a head is that boots or joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Startup {
    /// The machine is up, its cluster does not run yet.
    Boots,
    /// Its Pacemaker has not joined the others.
    Joins,
    /// No node has been chosen yet to decide.
    Elects,
}

/// What is true, as far as the heads can tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// The head whose view is taken.
    pub from: Option<HostName>,
    /// Whether that head has quorum.
    pub quorate: bool,
    /// How each head that was reached stands.
    pub stands: BTreeMap<HostName, Stand>,
    /// Heads with quorum that do not see that one, nor it them: each part holds itself for the cluster.
    pub split: Vec<HostName>,
    /// Controllers that do not answer, and within how many seconds.
    pub hung: BTreeMap<HostName, u32>,
}

impl Truth {
    /// Compares the views of heads that are all of one cluster.
    pub fn of(views: &BTreeMap<HostName, HeadView>) -> Self {
        Self::but_for(views, BTreeMap::new())
    }

    /// Compares the views of the heads of a file, of which some may run another cluster.
    pub fn of_cluster(file: &ClusterFile, views: &BTreeMap<HostName, HeadView>) -> Self {
        let another = |(name, view): (&HostName, &HeadView)| {
            let cluster = other_cluster::of_cib(file, cib(view)?)?;
            Some((name.clone(), cluster))
        };
        Self::but_for(views, views.iter().filter_map(another).collect())
    }

    /// Compares the views. The CIBs of these heads are of other clusters, with these names.
    fn but_for(
        views: &BTreeMap<HostName, HeadView>,
        mut others: BTreeMap<HostName, String>,
    ) -> Self {
        let ours: BTreeSet<&HostName> = views.keys().filter(|n| !others.contains_key(*n)).collect();
        let stands: BTreeMap<HostName, Stand> = views
            .iter()
            .map(|(name, view)| {
                let stand = match (stand(view), others.remove(name)) {
                    // Until it has joined, it has the CIB with which it started.
                    (joins @ Stand::Starting(Startup::Joins), _) => joins,
                    (_, Some(cluster)) => Stand::Another(cluster),
                    (stand, None) => stand,
                };
                (name.clone(), stand)
            })
            .collect();
        let hung: BTreeMap<HostName, u32> = views
            .iter()
            .filter_map(|(name, view)| match view.controller {
                Some(Told::Silent(seconds)) if ours.contains(name) => Some((name.clone(), seconds)),
                _ => None,
            })
            .collect();
        // The DC's view is the newest; a head with a controller that hangs may fall behind.
        let rank = |name: &HostName| {
            let view = &views[name];
            let size = membership(view).map_or(0, |quorum| quorum.members.len());
            (
                rank(&stands[name]),
                size,
                !hung.contains_key(name),
                is_dc(view),
            )
        };
        let with_cib = ours.into_iter().filter(|name| cib(&views[*name]).is_some());
        let mut all: Vec<&HostName> = with_cib.collect();
        // Stable: of equals the first by name.
        all.sort_by_key(|name| std::cmp::Reverse(rank(name)));
        let from = all.first().map(|name| (*name).clone());
        let member = |name: &HostName| stands[name] == Stand::Member;
        let split = from
            .iter()
            .filter(|from| member(from))
            .flat_map(|from| {
                let others = views
                    .keys()
                    .filter(move |name| *name != from && member(name));
                others.filter(|other| apart(&views[from], &views[*other]))
            })
            .cloned()
            .collect();
        Self {
            quorate: from.as_ref().is_some_and(member),
            from,
            stands,
            split,
            hung,
        }
    }

    /// Whether a head's view is the cluster's, whatever others see: it has quorum and a DC, and its controller does
    /// not hang, so that it does not fall behind.
    pub fn serves(file: &ClusterFile, view: &HeadView) -> bool {
        let hangs = view.controller.as_ref().is_some_and(Told::is_silent);
        let ours = |cib: &str| other_cluster::of_cib(file, cib).is_none();
        !hangs && stand(view) == Stand::Member && cib(view).is_some_and(ours)
    }

    /// The CIB that is taken for the cluster's.
    pub fn cib<'a>(&self, views: &'a BTreeMap<HostName, HeadView>) -> Option<&'a str> {
        cib(views.get(self.from.as_ref()?)?)
    }

    /// Whether a head boots or joins.
    pub fn starts(&self, head: &HostName) -> Option<Startup> {
        match self.stands.get(head) {
            Some(Stand::Starting(how)) => Some(*how),
            _ => None,
        }
    }

    /// Whether there is no cluster yet, but one that starts.
    pub fn all_start(&self) -> bool {
        let mut starts = false;
        for stand in self.stands.values() {
            match stand {
                Stand::Starting(_) => starts = true,
                Stand::Member | Stand::Minority | Stand::Frozen(_) | Stand::Mute(_) => {
                    return false;
                }
                Stand::Down(_) | Stand::Another(_) => {}
            }
        }
        starts
    }
}

fn stand(view: &HeadView) -> Stand {
    let boots = view.up_s.is_some_and(|up| up < BOOTS_S);
    let down = |what| match boots {
        true => Stand::Starting(Startup::Boots),
        false => Stand::Down(what),
    };
    if !view.corosync {
        return down("Corosync");
    }
    let quorum = match &view.quorum {
        Some(Told::Said(quorum)) => quorum,
        Some(Told::Failed(_)) if boots => return Stand::Starting(Startup::Boots),
        Some(silent) => {
            let why = silent.why_not().map(|why| why.to_string());
            return Stand::Frozen(why.unwrap_or_default());
        }
        None => return Stand::Frozen("not asked".into()),
    };
    if !view.pacemaker {
        return down("Pacemaker");
    }
    let joins = |state: &str| ["S_STARTING", "S_PENDING"].contains(&state);
    if view
        .controller
        .as_ref()
        .and_then(Told::said)
        .is_some_and(|state| joins(state))
    {
        return Stand::Starting(Startup::Joins);
    }
    let cib = match &view.cib {
        Some(Told::Said(cib)) => head_of(cib),
        // Refused: the daemon is not there yet, or again.
        Some(Told::Failed(_)) if view.controller.as_ref().and_then(Told::said).is_none() => {
            return Stand::Starting(Startup::Joins);
        }
        Some(other) => {
            let why = other.why_not().map(|why| why.to_string());
            return Stand::Mute(why.unwrap_or_default());
        }
        None => return Stand::Mute("not asked".into()),
    };
    match (quorum.quorate && cib.quorate, cib.decided) {
        (true, true) => Stand::Member,
        (true, false) => Stand::Starting(Startup::Elects),
        (false, _) => Stand::Minority,
    }
}

/// Whose view is taken before whose.
fn rank(stand: &Stand) -> u8 {
    match stand {
        Stand::Member => 5,
        Stand::Minority => 4,
        Stand::Starting(Startup::Elects) => 3,
        Stand::Starting(_) => 2,
        Stand::Frozen(_) | Stand::Mute(_) | Stand::Down(_) | Stand::Another(_) => 1,
    }
}

/// Two memberships that do not know of each other.
fn apart(a: &HeadView, b: &HeadView) -> bool {
    match (membership(a), membership(b)) {
        (Some(a), Some(b)) => !a.members.contains(&b.local) && !b.members.contains(&a.local),
        _ => false,
    }
}

fn membership(view: &HeadView) -> Option<&Quorum> {
    view.quorum.as_ref()?.said()
}

fn cib(view: &HeadView) -> Option<&str> {
    view.cib.as_ref()?.said().map(String::as_str)
}

/// Whether the CIB's DC is the head itself.
fn is_dc(view: &HeadView) -> bool {
    let dc = cib(view).and_then(|cib| head_of(cib).dc);
    dc.is_some() && dc == membership(view).map(|quorum| quorum.local.to_string())
}

/// Whether a CIB says that its cluster has quorum.
pub fn has_quorum(cib: &str) -> bool {
    head_of(cib).quorate
}

/// What a CIB says of its cluster in its first tag.
struct Head {
    quorate: bool,
    decided: bool,
    dc: Option<String>,
}

fn head_of(cib: &str) -> Head {
    // Behind a declaration of XML, if it has one.
    let cib = &cib[cib.find("<cib").unwrap_or(0)..];
    let end = cib.find('>').map_or(cib.len(), |end| end + 1);
    let tag = cib[..end].trim_end_matches('>').trim_end_matches('/');
    let root = Element::parse(&format!("{tag}/>"), "the CIB").ok();
    let of = |name| root.as_ref().and_then(|root| root.get(name));
    let dc = of("dc-uuid").filter(|dc| !dc.is_empty() && *dc != "0");
    Head {
        quorate: of("have-quorum") == Some("1"),
        decided: dc.is_some(),
        dc: dc.map(str::to_owned),
    }
}

/// The members of the view that is taken, by their numbers.
pub(super) fn members(view: &HeadView) -> BTreeSet<u32> {
    membership(view).map_or(BTreeSet::new(), |quorum| quorum.members.clone())
}
