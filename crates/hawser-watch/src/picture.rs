//! One picture of a cluster from what each of its heads knows. Pure.
//!
//! Of itself each head knows best, and of a pool the head that has it. What nobody tells stays unknown.

use std::collections::BTreeMap;

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_model::output::live::{
    EndKnown, Light, LiveEnd, LiveIncidents, LiveLink, LivePage, LivePool, LiveRunning, PoolAt,
};
use hawser_model::output::top::{Answers, TopHead, TopLink, TopLook, TopPicture, TopPort, TopWay};
use hawser_model::output::watch::Alarm;

use crate::live::{LiveInput, live_page};

/// What the picture is made of.
pub struct Parts<'a> {
    pub file: &'a ClusterFile,
    pub answers: BTreeMap<&'a HostName, &'a Answers>,
    /// What each head that answers knows.
    pub pages: BTreeMap<HostName, LivePage>,
    pub now: u64,
    pub begun_at: u64,
    pub look: TopLook,
    pub alarms: Vec<Alarm>,
    pub if_lost: BTreeMap<HostName, Vec<String>>,
    pub running: Option<LiveRunning>,
    pub incidents: LiveIncidents,
}

/// The picture.
pub fn picture(parts: Parts<'_>) -> TopPicture {
    let names: Vec<&HostName> = parts.file.nodes.iter().map(|n| n.name.get()).collect();
    let nothing = LiveInput {
        own: None,
        shown: None,
        problem: None,
        old_s: None,
        incidents: None,
    };
    // What the file alone says, of whatever no head tells.
    let bare = live_page(parts.file, nothing);
    let any = parts.pages.values().next().or(Some(&bare));
    let all = |of: fn(&LivePage) -> usize| any.map_or(0, of);
    TopPicture {
        cluster: parts.file.cluster.name.to_string(),
        now: parts.now,
        begun_at: parts.begun_at,
        heads: (0..names.len())
            .filter_map(|at| head(&parts, any?, at))
            .collect(),
        links: (0..all(|page| page.links.len()))
            .filter_map(|at| Some(link(&parts, &names, &any?.links[at], at)))
            .collect(),
        pools: (0..all(|page| page.pools.len()))
            .filter_map(|at| Some(pool(&parts, &any?.pools[at], at)))
            .collect(),
        look: parts.look,
        alarms: parts.alarms,
        if_lost: parts.if_lost,
        running: parts.running,
        incidents: parts.incidents,
    }
}

fn head(parts: &Parts<'_>, any: &LivePage, at: usize) -> Option<TopHead> {
    let name = &any.heads[at].name;
    let answers = (*parts.answers.get(name)?).clone();
    let mut head = match parts.pages.get(name) {
        Some(own) => own.heads[at].clone(),
        None => any.heads[at].clone(),
    };
    if !parts.pages.contains_key(name) {
        head.own = None;
        head.light = match answers {
            Answers::No { .. } => head.light.max(Light::Warning),
            Answers::Yes | Answers::NotYet => head.light,
        };
    }
    Some(TopHead { head, answers })
}

fn link(parts: &Parts<'_>, names: &[&HostName], like: &LiveLink, at: usize) -> TopLink {
    let unknown = LiveEnd {
        light: Light::Unknown,
        what: EndKnown::NotKnown,
        ways: Vec::new(),
    };
    let mut ports = Vec::new();
    let mut ways = Vec::new();
    for (number, name) in names.iter().enumerate() {
        let own = parts.pages.get(*name).map(|page| &page.links[at]);
        let end = match own {
            Some(own) => own.ends[number].clone(),
            // Its ways are its peers' to tell, its port nobody's.
            None if like.ends[number].what == EndKnown::NotThere => like.ends[number].clone(),
            None => unknown.clone(),
        };
        ports.push(TopPort {
            head: (*name).clone(),
            end,
        });
        ways.extend(own.into_iter().flat_map(|own| &own.ends).filter_map(|end| {
            let EndKnown::Peer(link) = &end.what else {
                return None;
            };
            Some(TopWay {
                from: (*name).clone(),
                light: end.light,
                link: link.clone(),
            })
        }));
    }
    TopLink {
        name: like.name.clone(),
        carries: like.carries.clone(),
        switch: like.switch.clone(),
        suspect: like.suspect,
        ports,
        ways,
    }
}

/// As the head tells it that has the pool, else as any.
fn pool(parts: &Parts<'_>, like: &LivePool, at: usize) -> LivePool {
    let mut pages = parts.pages.iter();
    let its = pages.find(|(name, page)| page.pools[at].on == PoolAt::Head((*name).clone()));
    its.map_or(like, |(_, page)| &page.pools[at]).clone()
}
