//! One reading as people and scripts see it.

use hawser_cluster::host::HeadView;
use hawser_cluster::host::view::{PoolView, Told};
use hawser_cluster::live::grew;
use hawser_cluster::numbering::Numbering;
use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_model::output::watch::{
    ExportReading, HeadReading, LinkReading, LinkState, PoolReading, WatchReading,
};

use crate::ask::Facts;

/// What the heads said, without alarms. `names` are the heads that there should be.
pub fn reading(file: Option<&ClusterFile>, names: &[HostName], facts: &Facts) -> WatchReading {
    let head = |name: &HostName| {
        let view = facts.status.views.get(name);
        HeadReading {
            name: name.clone(),
            unreached: facts.status.unreached.get(name).cloned(),
            seen_at: None,
            links: links(file, name, facts),
            quorate: view.and_then(quorate),
            pools: view.map(pools).unwrap_or_default(),
            exports: view.map(exports).unwrap_or_default(),
            alarms: Vec::new(),
        }
    };
    WatchReading {
        cluster: file.map_or(String::new(), |file| file.cluster.name.to_string()),
        read_at: facts.read_at,
        heads: names.iter().map(head).collect(),
        alarms: Vec::new(),
    }
}

fn quorate(view: &HeadView) -> Option<bool> {
    Some(view.quorum.as_ref()?.said()?.quorate)
}

/// The heartbeat links of a head to every other node of the file.
fn links(file: Option<&ClusterFile>, own: &HostName, facts: &Facts) -> Vec<LinkReading> {
    let Some(view) = facts.status.views.get(own) else {
        return Vec::new();
    };
    let (Some(file), Some(last)) = (file, view.links.last()) else {
        return Vec::new();
    };
    let numbering = Numbering::said(file, view.nodes.as_ref());
    let mut links = Vec::new();
    for (peer, id) in numbering.nodes.iter().filter(|(peer, _)| *peer != own) {
        for (name, number) in &numbering.links {
            let key = |value: &str| format!("stats.knet.node{id}.link{number}.{value}");
            let state = match last.get(&key("connected")).map(String::as_str) {
                Some("1") => LinkState::Up,
                Some(_) => LinkState::Down,
                None => LinkState::Unknown,
            };
            let latency: Option<f64> = last.get(&key("latency_ave")).and_then(|us| us.parse().ok());
            let sent = grew(&view.links, &key("tx_ping_packets"));
            let answered = grew(&view.links, &key("rx_pong_packets"));
            links.push(LinkReading {
                name: name.clone(),
                peer: peer.clone(),
                state,
                // 0 is what it has before the first answer.
                latency_s: latency.filter(|us| *us > 0.0).map(|us| us / 1e6),
                lost: sent
                    .zip(answered)
                    .map(|(sent, answered)| sent.saturating_sub(answered)),
                sent,
            });
        }
    }
    links
}

fn pools(view: &HeadView) -> Vec<PoolReading> {
    let room = |seen: &PoolView| match seen {
        PoolView::Here { room, .. } => room.said().copied().flatten(),
        PoolView::Away(_) | PoolView::Short(_) | PoolView::Imported(_) | PoolView::Hangs(_) => None,
    };
    let pool = |(name, seen): (&String, &PoolView)| PoolReading {
        name: name.clone(),
        here: match seen {
            PoolView::Here { .. } => Some(true),
            PoolView::Away(_) | PoolView::Short(_) | PoolView::Imported(_) => Some(false),
            PoolView::Hangs(_) => None,
        },
        used_percent: room(seen).map(|room| room.used),
        free_bytes: room(seen).and_then(|room| room.free),
    };
    view.pools.iter().map(pool).collect()
}

fn exports(view: &HeadView) -> Vec<ExportReading> {
    let here = view.pools.iter().filter_map(|(name, seen)| match seen {
        PoolView::Here { offered, .. } => Some((name, offered)),
        PoolView::Away(_) | PoolView::Short(_) | PoolView::Imported(_) | PoolView::Hangs(_) => None,
    });
    here.map(|(pool, offered)| ExportReading {
        pool: pool.clone(),
        offered: match offered {
            Told::Said(Some(missing)) => Some(missing.is_empty()),
            Told::Said(None) => Some(false),
            Told::Silent(_) | Told::Failed(_) => None,
        },
        missing: offered.said().cloned().flatten().unwrap_or_default(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use hawser_model::finding::{Place, Severity};
    use hawser_model::output::watch::Alarm;
    use hawser_model::topology::{Link, Topology};

    use super::*;
    use crate::group::grouped;

    #[test]
    fn a_switch_whose_links_are_down_is_an_alarm_of_each_head_that_has_one_of_them_and_once_of_the_whole()
     {
        let link = |name: &str| Link {
            name: name.into(),
            mtu: None,
            speed: None,
            switch: Some("sw0".to_owned()),
            serial: false,
        };
        let topology = Topology {
            links: vec![link("ring0"), link("san01")],
            ..Topology::default()
        };
        let down = |head: &str, link: &str| Alarm {
            code: "link-down".to_owned(),
            severity: Severity::Error,
            place: Place {
                link: Some(link.into()),
                ..Place::on(&head.into())
            },
            parts: Vec::new(),
            since: None,
            times: 1,
            text: format!("{link} of {head} has no carrier"),
            fix: None,
        };
        let all = vec![
            down("head1", "ring0"),
            down("head1", "san01"),
            down("head2", "ring0"),
        ];
        let alarms = grouped(all, &topology);
        let names = ["head1", "head2", "head3"].map(HostName::from);
        let reading = reading(None, &names, &Facts::default()).with(alarms);
        let codes = |alarms: &[Alarm]| -> Vec<String> {
            alarms.iter().map(|alarm| alarm.code.clone()).collect()
        };
        let once = ["links-of-one-switch-down"];
        assert_eq!(codes(&reading.alarms), once);
        assert_eq!(codes(&reading.heads[0].alarms), once);
        assert_eq!(codes(&reading.heads[1].alarms), once);
        assert_eq!(codes(&reading.heads[2].alarms), [""; 0]);
    }
}
