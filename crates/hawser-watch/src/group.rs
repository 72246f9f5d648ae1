//! Which troubles are one alarm: a port without carrier takes its heartbeat link with it, links that are down together may
//! run over one switch, and that a pool has lost a disk is told once.

use std::collections::{BTreeMap, BTreeSet};

use hawser_cluster::live::Sign;
use hawser_model::finding::{Place, Severity};
use hawser_model::names::LinkName;
use hawser_model::output::watch::Alarm;
use hawser_model::topology::Topology;

/// Codes of a port that is down, the most basic first.
pub(crate) const PORT: &[&str] = &["interface-down", "link-down"];

/// The code of a heartbeat link that is down.
const HEARTBEAT: &str = "heartbeat-link-down";

/// The code of links of one switch that are down together.
const SWITCH: &str = "links-of-one-switch-down";

/// What a head's disks say of a ZFS pool, device by device; and what `status` says of the same pool, whose cluster it knows.
pub(crate) const ZPOOL: &str = "zpool-degraded";

/// Makes one alarm of those that belong together, worst first.
pub fn grouped(alarms: Vec<Alarm>, topology: &Topology) -> Vec<Alarm> {
    let (mut links, mut others): (Vec<_>, Vec<_>) = alarms
        .into_iter()
        .partition(|alarm| alarm.place.link.is_some() && is_link(&alarm.code));
    links.sort_by_key(|alarm| {
        let basic = PORT.iter().position(|code| *code == alarm.code);
        basic.unwrap_or(PORT.len())
    });
    let mut heads: Vec<Alarm> = Vec::new();
    for alarm in links {
        match heads.iter_mut().find(|head| takes(head, &alarm)) {
            Some(head) => absorb(head, &alarm),
            None => heads.push(alarm),
        }
    }
    once(&mut others);
    others.extend(by_switch(heads, topology));
    others.sort_by(|a, b| {
        let rank = |alarm: &Alarm| (std::cmp::Reverse(alarm.severity), alarm.since);
        rank(a)
            .cmp(&rank(b))
            .then_with(|| (&a.code, &a.place).cmp(&(&b.code, &b.place)))
    });
    others
}

/// Leaves out that a pool has lost a disk where the same head says it device by device.
fn once(alarms: &mut Vec<Alarm>) {
    let lost = Sign::DisksLost.code();
    let said: BTreeMap<Place, Option<u64>> = alarms
        .iter()
        .filter(|alarm| alarm.code == lost)
        .map(|alarm| (alarm.place.clone(), alarm.since))
        .collect();
    let mut told: BTreeSet<Place> = BTreeSet::new();
    for alarm in alarms.iter_mut().filter(|alarm| alarm.code == ZPOOL) {
        if let Some(since) = said.get(&alarm.place) {
            alarm.since = earlier(alarm.since, *since);
            told.insert(alarm.place.clone());
        }
    }
    alarms.retain(|alarm| alarm.code != lost || !told.contains(&alarm.place));
}

fn is_link(code: &str) -> bool {
    code == HEARTBEAT || PORT.contains(&code)
}

/// Whether a trouble of a port has this heartbeat link down with it: the port is one of its ends.
fn takes(port: &Alarm, heartbeat: &Alarm) -> bool {
    let ends = [&heartbeat.place.host, &heartbeat.place.peer];
    let at_an_end = port.place.host.is_none() || ends.contains(&&port.place.host);
    PORT.contains(&port.code.as_str())
        && heartbeat.code == HEARTBEAT
        && port.place.link == heartbeat.place.link
        && at_an_end
}

fn absorb(into: &mut Alarm, other: &Alarm) {
    if into.parts.is_empty() {
        into.parts.push(into.place.clone());
    }
    add_parts(into, other);
    into.severity = into.severity.max(other.severity);
    into.since = earlier(into.since, other.since);
    into.times = into.times.max(other.times);
    into.text = format!("{} With it: {}.", sentence(&into.text), other.text);
}

/// What another alarm was made of is a part of this one too.
fn add_parts(into: &mut Alarm, other: &Alarm) {
    let parts = match other.parts.as_slice() {
        [] => std::slice::from_ref(&other.place),
        parts => parts,
    };
    for part in parts {
        if !into.parts.contains(part) {
            into.parts.push(part.clone());
        }
    }
}

/// Links that are down and run over one switch, as the cluster file has it, are one alarm that names the switch: it is
/// where to look first, and is not said to be the cause.
fn by_switch(alarms: Vec<Alarm>, topology: &Topology) -> Vec<Alarm> {
    let switch_of = |alarm: &Alarm| {
        let link = topology.link(alarm.place.link.as_ref()?)?;
        link.switch.clone()
    };
    let mut switches: BTreeMap<String, BTreeSet<LinkName>> = BTreeMap::new();
    for alarm in &alarms {
        if let Some(switch) = switch_of(alarm) {
            let links = switches.entry(switch).or_default();
            links.extend(alarm.place.link.clone());
        }
    }
    switches.retain(|_, links| links.len() > 1);
    let mut all: Vec<Alarm> = Vec::new();
    let mut of_switch: BTreeMap<String, Alarm> = BTreeMap::new();
    for alarm in alarms {
        let switch = switch_of(&alarm).filter(|switch| switches.contains_key(switch));
        let Some(switch) = switch else {
            all.push(alarm);
            continue;
        };
        let links: Vec<&str> = switches[&switch].iter().map(|link| link.as_str()).collect();
        let group = of_switch.entry(switch.clone()).or_insert_with(|| Alarm {
            code: SWITCH.to_owned(),
            severity: Severity::Note,
            place: Place::of(&object(&switch), None),
            parts: Vec::new(),
            since: alarm.since,
            times: alarm.times,
            text: format!(
                "{} are down, and all run over switch {switch}: look there first.",
                links.join(" and ")
            ),
            fix: None,
        });
        add_parts(group, &alarm);
        group.severity = group.severity.max(alarm.severity);
        group.since = earlier(group.since, alarm.since);
        group.times = group.times.max(alarm.times);
        group.text = format!("{} {}", group.text, sentence(&alarm.text));
    }
    all.extend(of_switch.into_values());
    all
}

fn object(switch: &str) -> String {
    format!("switch {switch}")
}

/// Whether an alarm names this switch as the one to look at first.
pub fn suspects(alarm: &Alarm, switch: &str) -> bool {
    alarm.code == SWITCH && alarm.place.object.as_deref() == Some(object(switch).as_str())
}

/// What is not known is not earlier.
fn earlier(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn sentence(text: &str) -> String {
    match text.ends_with('.') {
        true => text.to_owned(),
        false => format!("{text}."),
    }
}

/// What the codes mean that only a status or a watch has, for whoever explains a code.
pub fn meaning(code: &str) -> Option<&'static str> {
    let sign = Sign::ALL.iter().find(|sign| sign.code() == code);
    let of_group = (code == SWITCH).then_some(
        "Two or more links are down that run over one switch, by the cluster file: look at the switch first.",
    );
    sign.map(|sign| sign.meaning()).or(of_group)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology() -> Topology {
        let link = |name: &str, switch: Option<&str>| hawser_model::topology::Link {
            name: name.into(),
            mtu: None,
            speed: None,
            switch: switch.map(str::to_owned),
            serial: false,
        };
        Topology {
            links: vec![
                link("ring0", Some("sw1")),
                link("ring1", Some("sw2")),
                link("san1", Some("sw1")),
                link("san2", None),
            ],
            ..Topology::default()
        }
    }

    fn alarm(code: &str, host: Option<&str>, peer: Option<&str>, link: &str) -> Alarm {
        Alarm {
            code: code.into(),
            severity: Severity::Warning,
            place: Place {
                host: host.map(Into::into),
                peer: peer.map(Into::into),
                link: Some(link.into()),
                ..Place::default()
            },
            parts: Vec::new(),
            since: Some(100),
            times: 1,
            text: format!("{code} of {link}"),
            fix: None,
        }
    }

    fn codes(alarms: Vec<Alarm>) -> Vec<(String, String)> {
        let all = grouped(alarms, &topology()).into_iter();
        all.map(|alarm| (alarm.code, alarm.text)).collect()
    }

    #[test]
    fn a_port_without_carrier_has_its_heartbeat_link_with_it() {
        let heartbeat = alarm(HEARTBEAT, Some("head1"), Some("head2"), "ring1");
        let port = alarm("link-down", Some("head2"), None, "ring1");
        let said = codes(vec![heartbeat.clone(), port]);
        assert_eq!(
            said,
            [(
                "link-down".into(),
                "link-down of ring1. With it: heartbeat-link-down of ring1.".into()
            )]
        );
        let both = grouped(
            vec![
                heartbeat.clone(),
                alarm("link-down", Some("head2"), None, "ring1"),
            ],
            &topology(),
        );
        assert!(both[0].is_of(&"head1".into()), "its heartbeat link is down");
        // The port of a third head explains nothing of two others.
        let elsewhere = alarm("link-down", Some("head3"), None, "ring1");
        assert_eq!(codes(vec![heartbeat, elsewhere]).len(), 2);
    }

    #[test]
    fn a_pool_that_has_lost_a_disk_is_one_alarm() {
        let of = |code: &str, head: &str, since| Alarm {
            since: Some(since),
            place: Place::of("tank", Some(&head.into())),
            ..alarm(code, None, None, "")
        };
        let both = vec![
            of("pool-disks-lost", "head1", 100),
            of("zpool-degraded", "head1", 130),
            of("pool-disks-lost", "head2", 140),
        ];
        let alarms = grouped(both, &topology());
        let told: Vec<_> = alarms
            .iter()
            .map(|it| (it.code.as_str(), it.since))
            .collect();
        assert_eq!(
            told,
            [
                ("zpool-degraded", Some(100)),
                ("pool-disks-lost", Some(140))
            ]
        );
    }

    #[test]
    fn two_links_on_one_switch_are_one_alarm_that_names_it() {
        let said = codes(vec![
            alarm(HEARTBEAT, Some("head1"), Some("head2"), "ring0"),
            alarm("link-down", Some("head1"), None, "san1"),
        ]);
        assert_eq!(said.len(), 1);
        assert_eq!(said[0].0, SWITCH);
        assert!(said[0].1.starts_with(
            "ring0 and san1 are down, and all run over switch sw1: look there first. link-down of san1."
        ), "{}", said[0].1);
    }

    #[test]
    fn the_alarm_of_a_switch_is_of_each_head_whose_links_it_has() {
        let alarms = vec![
            alarm("link-down", Some("head1"), None, "ring0"),
            alarm("link-down", Some("head2"), None, "san1"),
            alarm(HEARTBEAT, Some("head1"), Some("head3"), "ring0"),
        ];
        let all = grouped(alarms, &topology());
        assert_eq!(all.len(), 1);
        let is_of = ["head1", "head2", "head3", "head4"].map(|head| all[0].is_of(&head.into()));
        assert_eq!(is_of, [true, true, true, false]);
        assert_eq!(all[0].parts.len(), 3);
    }

    #[test]
    fn links_of_different_switches_or_of_none_stay_apart() {
        let both = |a, b| {
            codes(vec![
                alarm(HEARTBEAT, Some("head1"), Some("head2"), a),
                alarm(HEARTBEAT, Some("head1"), Some("head2"), b),
            ])
        };
        assert_eq!(both("ring0", "ring1").len(), 2);
        assert_eq!(both("ring1", "san2").len(), 2);
        assert_eq!(both("ring0", "san1").len(), 1);
    }

    #[test]
    fn a_group_is_as_old_as_its_oldest_part() {
        let mut old = alarm(HEARTBEAT, Some("head1"), Some("head2"), "ring0");
        (old.since, old.times) = (Some(7), 3);
        let new = alarm("link-down", Some("head1"), None, "san1");
        let group = &grouped(vec![new, old], &topology())[0];
        assert_eq!((group.since, group.times), (Some(7), 3));
    }
}
