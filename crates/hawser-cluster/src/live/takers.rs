//! What the heads themselves say of an order: Pacemaker's scheduler, by which it is played, starts everything everywhere.

use std::collections::BTreeMap;
use std::convert::Infallible;

use hawser_host::{Hosts, on_all};
use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;

use super::guard::Forecast;
use super::views::pool_questions;
use crate::host::questions::LookAtPools;
use crate::host::view::{Limits, PoolQuestion, PoolView, Told};

/// What heads say of the pools that would change theirs.
#[derive(Debug, Default)]
pub(super) struct Takers {
    /// Pools that nobody would serve, each with the reason.
    pub taken: Vec<String>,
    /// What is not known, or would be less than now.
    pub doubts: Vec<String>,
}

/// Asks the head that would get a pool whether it sees the disks, and the one that has it whether it could be started again. Who
/// hangs is waited for until its patience is over.
pub(super) fn ask_takers(file: &ClusterFile, heads: &mut Hosts, forecast: &Forecast) -> Takers {
    let mut questions: BTreeMap<HostName, Vec<PoolQuestion>> = BTreeMap::new();
    let mut get: Vec<(HostName, String)> = Vec::new();
    for (pool, question) in pool_questions(file) {
        let name = pool.name.as_str();
        let services = forecast.now.get(name).zip(forecast.then.get(name));
        let served = services.filter(|(now, _)| now.served);
        let places = served.and_then(|(now, then)| now.node.as_ref().zip(then.node.as_ref()));
        let Some((from, to)) = places.filter(|(from, to)| from != to) else {
            continue;
        };
        get.push((to.as_str().into(), name.to_owned()));
        for head in [from, to] {
            let of_head = questions.entry(head.as_str().into()).or_default();
            of_head.push(question.clone());
        }
    }
    if questions.is_empty() {
        return Takers::default();
    }
    let Ok(answers) = on_all(heads, |name, head| {
        let pools = questions.get(name).cloned();
        Ok::<_, Infallible>(pools.map(|pools| {
            head.ask(&LookAtPools {
                pools,
                limits: Limits::PROMPT,
            })
        }))
    });
    let mut takers = Takers::default();
    for (head, answer) in answers {
        match answer {
            None => {}
            Some(Err(e)) => takers.doubts.push(e.to_string()),
            Some(Ok(seen)) => {
                for (pool, seen) in seen {
                    let gets = get.contains(&(head.clone(), pool.clone()));
                    takers.hear(&head, &pool, &seen, gets);
                }
            }
        }
    }
    takers
}

impl Takers {
    fn hear(&mut self, head: &HostName, pool: &str, seen: &PoolView, gets: bool) {
        let nowhere = |why: &str| format!("{pool} would be served nowhere: {why}");
        match seen {
            PoolView::Here {
                file: Told::Said(Some(why)),
                ..
            } => {
                let why = format!("its next start fails, on any head: {why}");
                self.taken.push(nowhere(&why));
            }
            PoolView::Away(Told::Said(_)) | PoolView::Imported(_) if gets => {
                let why = seen.no_takeover(pool, head);
                self.taken.extend(why.map(|why| nowhere(&why)));
            }
            _ if gets => self.doubts.extend(seen.no_takeover(pool, head)),
            _ => {}
        }
    }
}
