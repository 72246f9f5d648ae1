//! Asking every head what it sees.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use hawser_host::{Hosts, on_all, until_enough};
use hawser_model::cluster_file::{Backend, ClusterFile, ExportKind, Pool, Role};
use hawser_model::names::HostName;
use hawser_model::probe::{AddressAsked, AddressClaim, PathEcho};
use serde::{Deserialize, Serialize};

use super::LiveError;
use super::fence_questions::questions;
use super::truth::Truth;
use crate::cib;
use crate::cib::fencing::{is_by_reservation, targets};
use crate::exports::host::Parameters;
use crate::exports::ocf;
use crate::host::questions::CompareKeys;
use crate::host::view::{Limits, MoreQuestions, PoolQuestion, PoolView, Told};
use crate::host::{Encrypted, HeadView, KeyFile, ViewQuestion};
use crate::numbering::Numbering;
use crate::xml::Element;

/// What is known of a cluster at a moment: what each head says, judged nowhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusFacts {
    /// The view of each head that answered.
    pub views: BTreeMap<HostName, HeadView>,
    /// By how much each head's clock is ahead of the operator's.
    pub clocks: BTreeMap<HostName, Ahead>,
    /// The nodes that were not reached or did not answer, and why.
    pub unreached: BTreeMap<HostName, String>,
    /// What a drill from this machine that was killed may have left, in words.
    pub left: Option<String>,
    /// The head that looked at itself alone, and asked no other; absent when all heads were to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone: Option<HostName>,
    /// What echoes of full size found between heads; empty where none were sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub echoes: Vec<PathEcho>,
    /// Who else answered for addresses of the heads; empty where nobody asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<AddressClaim>,
    /// For which addresses they asked; empty where nobody asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own_addresses: Vec<AddressAsked>,
    /// When each head was asked what is asked seldom, by its clock in seconds since 1970 UTC; empty where that is not known.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rare_at: BTreeMap<HostName, u64>,
}

/// By how much a clock is ahead, in microseconds: somewhere between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ahead {
    /// At least.
    pub least_us: i64,
    /// At most.
    pub most_us: i64,
}

/// Asks every head everything, all at the same time, and watches the heartbeat links for so long, two seconds at
/// most. None fails all: one that cannot answer is among the unreached.
pub fn observe(
    file: &ClusterFile,
    heads: &mut Hosts,
    unreached: BTreeMap<HostName, String>,
    limits: Limits,
    watch_links: Duration,
) -> StatusFacts {
    let mut questions = whole_questions(file, heads.keys().cloned().collect());
    for more in questions.values_mut() {
        more.watch_links_ms = u64::try_from(watch_links.as_millis()).unwrap_or(u64::MAX);
    }
    let mut facts = ask(heads, unreached, limits, |name| {
        questions.get(name).cloned()
    });
    compare_keys(heads, &mut facts);
    facts
}

/// The same for one who looks again because something has changed. No fence device is asked: a head that waits to be fenced is
/// often what has changed, and a management controller has few sessions. What they answered before stands.
pub fn observe_again(
    file: &ClusterFile,
    heads: &mut Hosts,
    unreached: BTreeMap<HostName, String>,
    limits: Limits,
    before: &StatusFacts,
) -> StatusFacts {
    let mut questions = whole_questions(file, heads.keys().cloned().collect());
    for more in questions.values_mut() {
        more.devices.clear();
    }
    let mut facts = ask(heads, unreached, limits, |name| {
        questions.get(name).cloned()
    });
    compare_keys(heads, &mut facts);
    facts.take_rare(before);
    facts
}

/// What one head sees, asked of no other: for a process that stays on it. It is not asked about a fence device that
/// fences it, which others use, and which may well be out of its own reach, unless that acts by reservations; nor, with what it
/// saw before, about any other, as in [`observe_again`].
pub fn observe_alone(
    file: &ClusterFile,
    own: &HostName,
    heads: &mut Hosts,
    before: Option<&StatusFacts>,
) -> StatusFacts {
    let mut questions = whole_questions(file, vec![own.clone()]);
    let targets = targets(file);
    for more in questions.values_mut() {
        let fences_it = |device: &str| {
            let victims = targets.get(device);
            victims.is_some_and(|victims| victims.contains(own.as_str()))
        };
        more.devices.retain(|device| {
            let asks = is_by_reservation(&device.agent) || !fences_it(&device.name);
            before.is_none() && asks
        });
    }
    let mut facts = ask(heads, BTreeMap::new(), Limits::PATIENT, |name| {
        questions.get(name).cloned()
    });
    if let Some(before) = before {
        facts.take_rare(before);
    }
    StatusFacts {
        alone: Some(own.clone()),
        ..facts
    }
}

impl StatusFacts {
    /// Whether the cluster was seen: by a head whose Corosync and Pacemaker gave their view of it, or since none that was asked
    /// hides one. Else what was known of it is not over.
    pub fn cluster_was_seen(&self) -> bool {
        fn said<T>(part: Option<&Told<T>>) -> bool {
            part.and_then(Told::said).is_some()
        }
        let gives = |view: &HeadView| said(view.quorum.as_ref()) && said(view.cib.as_ref());
        let views = || self.views.values();
        let none_hides = !views().any(HeadView::hides_the_cluster);
        views().any(gives) || (none_hides && !self.views.is_empty())
    }

    /// Where a Corosync does not say whose its numbers are, they are those that it gave before.
    pub fn keep_numbers(&mut self, before: &Self) {
        for (name, view) in &mut self.views {
            let said = view
                .nodes
                .as_ref()
                .is_none_or(|nodes| nodes.said().is_some());
            if let (false, Some(before)) = (said, before.views.get(name)) {
                view.nodes.clone_from(&before.nodes);
            }
        }
    }

    /// What is asked seldom is as it was before: fence devices, echoes, and who claims addresses.
    fn take_rare(&mut self, before: &Self) {
        self.claims.clone_from(&before.claims);
        self.echoes.clone_from(&before.echoes);
        self.own_addresses.clone_from(&before.own_addresses);
        self.rare_at.clone_from(&before.rare_at);
        for (name, view) in &mut self.views {
            if let Some(before) = before.views.get(name) {
                view.fence_status.clone_from(&before.fence_status);
            }
        }
    }
}

/// Asks all heads whether they have the keys of what is encrypted in pools, as those heads have them where the pools are.
fn compare_keys(heads: &mut Hosts, facts: &mut StatusFacts) {
    let mut users: BTreeMap<String, HostName> = BTreeMap::new();
    for (head, view) in &facts.views {
        let encrypted = view.pools.values().filter_map(PoolView::encrypted);
        let files = encrypted.flatten().filter_map(Encrypted::file);
        users.extend(files.map(|file| (file.to_owned(), head.clone())));
    }
    let mut salt = [0; 32];
    // Without random bytes nothing is compared, since what heads answer would tell of their keys.
    if users.is_empty() || getrandom::fill(&mut salt).is_err() {
        return;
    }
    let files = users.keys().cloned().collect();
    let question = CompareKeys { files, salt };
    let views = &facts.views;
    let Ok(said) = on_all(heads, |name, head| {
        // Who did not answer before would be waited for again.
        let asked = views.contains_key(name);
        Ok::<_, Infallible>(asked.then(|| head.ask(&question).ok()).flatten())
    });
    for (file, user) in &users {
        let at = |head: &HostName| said.get(head)?.as_ref()?.get(file);
        for (head, view) in &mut facts.views {
            let why = match (at(user), at(head)) {
                (_, Some(KeyFile::Unfit(why))) => why.clone(),
                (Some(KeyFile::There(used)), Some(KeyFile::There(own))) if used != own => {
                    format!("is not the same as on {user}")
                }
                _ => continue,
            };
            view.lacks_keys.insert(file.clone(), why);
        }
    }
}

/// Asks every head for its view of the membership alone.
pub(super) fn views(heads: &mut Hosts) -> StatusFacts {
    ask(heads, BTreeMap::new(), Limits::PATIENT, |_| None)
}

fn ask(
    heads: &mut Hosts,
    unreached: BTreeMap<HostName, String>,
    limits: Limits,
    more: impl Fn(&HostName) -> Option<MoreQuestions> + Sync,
) -> StatusFacts {
    let Ok(answered) = on_all(heads, |name, head| {
        let question = ViewQuestion {
            node: name.clone(),
            limits,
            more: more(name).map(Box::new),
        };
        let clock = head.clock();
        let before = clock.time_of_day().0;
        let answer = head.ask(&question);
        Ok::<_, Infallible>((before, answer, clock.time_of_day().0))
    });
    let mut facts = StatusFacts {
        unreached,
        ..StatusFacts::default()
    };
    for (name, (before, answer, after)) in answered {
        match answer {
            Ok(view) => {
                if let Some(clock) = view.clock {
                    // It was asked after `before` and answered before `after`.
                    let ahead = Ahead {
                        least_us: micros(clock.answered_us) - micros(after),
                        most_us: micros(clock.asked_us) - micros(before),
                    };
                    facts.clocks.insert(name.clone(), ahead);
                }
                facts.views.insert(name, view);
            }
            Err(e) => {
                facts.unreached.insert(name, e.to_string());
            }
        }
    }
    facts
}

/// The CIB of the partition with quorum, from the head that is believed; of none, when Pacemaker runs nowhere. The
/// first head that is a member of that partition is enough: one that hangs holds up no order. A head that runs another
/// cluster than the file's is not believed.
pub(crate) fn live_cib(
    file: &ClusterFile,
    heads: &mut Hosts,
) -> Result<Option<(HostName, String)>, LiveError> {
    let question = |name: &HostName| ViewQuestion {
        node: name.clone(),
        limits: Limits::PATIENT,
        more: None,
    };
    let mut facts = StatusFacts::default();
    for (name, answer) in until_enough(heads, question, |view| Truth::serves(file, view)) {
        match answer {
            Ok(view) => drop(facts.views.insert(name, view)),
            Err(e) => drop(facts.unreached.insert(name, e.to_string())),
        }
    }
    let truth = Truth::of_cluster(file, &facts.views);
    match (truth.from.clone(), truth.cib(&facts.views)) {
        (Some(from), Some(cib)) => Ok(Some((from, cib.to_owned()))),
        // Of a cluster that nobody could be asked about, nothing is known.
        _ if facts.views.is_empty() && !facts.unreached.is_empty() => {
            let why = facts.unreached.values().cloned().collect::<Vec<_>>();
            Err(LiveError::Failed(why.join("; ")))
        }
        _ => Ok(None),
    }
}

/// What each head is asked.
fn whole_questions(
    file: &ClusterFile,
    reached: Vec<HostName>,
) -> BTreeMap<HostName, MoreQuestions> {
    let mut devices = questions(file, &reached);
    let pools = pool_questions(file);
    let nodes: Vec<HostName> = file.nodes.iter().map(|n| n.name.get().clone()).collect();
    let one = |name: HostName| {
        let node = file.nodes.iter().find(|node| *node.name.get() == name);
        let addresses = node.into_iter().flat_map(|node| &node.addresses);
        let san = |link: &str| file.links_with(Role::San).any(|l| l.name.as_str() == link);
        let ports = addresses
            .filter(|(link, _)| san(link.as_str()))
            .map(|(link, address)| (link.to_string(), address.to_string()));
        let pools = pools.iter().filter(|(pool, _)| pool.may_run_on(&name));
        let more = MoreQuestions {
            nodes: nodes.clone(),
            devices: devices.remove(&name).unwrap_or_default(),
            quorum_device: file.quorum.device.is_some(),
            pools: pools.map(|(_, question)| question.clone()).collect(),
            ports: ports.collect(),
            watch_links_ms: 0,
        };
        (name, more)
    };
    reached.into_iter().map(one).collect()
}

pub(super) fn pool_questions(file: &ClusterFile) -> Vec<(&Pool, PoolQuestion)> {
    let cib = cib::generate(file, &Numbering::of(file, None));
    let question = |pool: &Pool| PoolQuestion {
        exports: exports(&cib, pool),
        iscsi: *pool.exports == ExportKind::Iscsi,
        ..PoolQuestion::of(pool)
    };
    let all = file.pools.iter();
    all.map(|pool| (pool, question(pool))).collect()
}

/// What the exports agent of a pool is told, if it has one.
fn exports(cib: &Element, pool: &Pool) -> Option<Parameters> {
    let id = pool.exports_id();
    let agent = cib.walk().into_iter().find(|element| {
        element.get("id") == Some(id.as_str()) && element.get("provider") == Some("hawser")
    })?;
    let pairs = agent.all("instance_attributes").flat_map(Element::walk);
    let environment = pairs
        .filter_map(|pair| Some((pair.get("name")?, pair.get("value")?)))
        .map(|(name, value)| (format!("OCF_RESKEY_{name}"), value.to_owned()))
        .collect();
    ocf::parameters(&environment).ok()
}

/// What offers a pool by the exports agent; none when nothing does.
pub(super) fn backend(file: &ClusterFile, pool: &Pool) -> Option<Backend> {
    (*pool.exports == ExportKind::Iscsi).then_some(file.exports.backend)
}

fn micros(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}
