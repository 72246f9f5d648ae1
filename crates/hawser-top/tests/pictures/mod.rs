//! Clusters as `hawser top` sees them: all well, a dead link, a dead head, and one whose every name is hostile.
#![allow(dead_code, reason = "each test takes some of them")]

use std::collections::BTreeMap;

use hawser_model::finding::{Place, Severity};
use hawser_model::names::HostName;
use hawser_model::output::cluster::NodeCondition;
use hawser_model::output::live::{
    EndKnown, Light, LiveAddress, LiveDevice, LiveEnd, LiveHead, LiveIncident, LiveIncidents,
    LivePath, LivePool, LiveRunning, OwnHead, OwnPort, PoolAt,
};
use hawser_model::output::top::{Answers, TopHead, TopLink, TopLook, TopPicture, TopPort, TopWay};
use hawser_model::output::watch::{Alarm, LinkReading, LinkState};
use hawser_model::port_traffic::PortRates;
use hawser_model::units::{BitsPerSec, BytesPerSec, PacketsPerSec};

/// 2026-11-25 18:30:00 UTC.
pub const NOW: u64 = 1_795_631_400;

const HEADS: [&str; 2] = ["head1", "head2"];

pub fn healthy() -> TopPicture {
    let head = |name: &str| TopHead {
        head: LiveHead {
            name: name.into(),
            light: Light::Good,
            condition: Some(NodeCondition::Online),
            own: Some(OwnHead {
                corosync: true,
                pacemaker: Some(true),
                quorate: Some(true),
            }),
            not_reached: None,
        },
        answers: Answers::Yes,
    };
    let lost = |head: &str, other: &str, pool: &str| {
        let lines = [
            format!("{head} is fenced"),
            format!("{pool} starts on {other}"),
            format!("{other} takes {pool}'s addresses"),
        ];
        (HostName::from(head), lines.to_vec())
    };
    TopPicture {
        cluster: "lab".into(),
        now: NOW,
        begun_at: NOW - 600,
        look: TopLook {
            at: Some(NOW - 70),
            problem: None,
        },
        heads: HEADS.map(head).into(),
        links: vec![
            link("ring0", "heartbeat", 0, true),
            link("ring1", "heartbeat", 1, true),
            link("san01", "clients", 2, false),
            link("san02", "clients", 3, false),
        ],
        pools: vec![
            pool("vmpool01", "head1", 207, 37),
            pool("vmpool02", "head2", 208, 81),
        ],
        alarms: Vec::new(),
        if_lost: [
            lost("head1", "head2", "vmpool01"),
            lost("head2", "head1", "vmpool02"),
        ]
        .into(),
        running: None,
        incidents: LiveIncidents {
            read: true,
            newest: vec![
                LiveIncident {
                    id: "20261125-031412".into(),
                    began: "2026-11-25 03:14:12.903".into(),
                    away: "vmpool02 away for 5.548 s".into(),
                    trigger: "head2 was lost and fenced".into(),
                },
                LiveIncident {
                    id: "20261119-120007".into(),
                    began: "2026-11-19 12:00:07.001".into(),
                    away: "vmpool01 and 1 more away for 2.310 s".into(),
                    trigger: "head1 was put in standby".into(),
                },
            ],
            older: 3,
            gaps: vec!["head1: only the last 4 MiB of pacemaker.log were read".into()],
        },
    }
}

/// ring1's port at head1 has no carrier, and ring0 loses pings one way.
pub fn degraded() -> TopPicture {
    let mut picture = healthy();
    let EndKnown::Port(port) = &mut picture.links[1].ports[0].end.what else {
        unreachable!("a port");
    };
    port.carrier = false;
    port.rates = None;
    picture.links[1].ports[0].end.light = Light::Bad;
    for way in &mut picture.links[1].ways {
        way.light = Light::Bad;
        (way.link.state, way.link.lost, way.link.sent) = (LinkState::Down, None, None);
    }
    let way = &mut picture.links[0].ways[0];
    (way.light, way.link.lost) = (Light::Warning, Some(7));
    picture.alarms = vec![
        Alarm {
            code: "link-down".into(),
            severity: Severity::Error,
            place: Place::port(&"head1".into(), &"ring1".into(), &"eth1".into()),
            parts: Vec::new(),
            since: Some(NOW - 5),
            times: 1,
            text: "ring1 of head1 is up but has no carrier: link ring1 is dead for this host. With it: heartbeat link ring1 \
                   between head1 and head2 is down."
                .into(),
            fix: Some("Look at the cable and at the port of the switch.".into()),
        },
        Alarm {
            code: "heartbeat-link-lossy".into(),
            severity: Severity::Warning,
            place: Place {
                link: Some("ring0".into()),
                peer: Some("head2".into()),
                ..Place::on(&"head1".into())
            },
            parts: Vec::new(),
            since: Some(NOW - 665),
            times: 4,
            text: "heartbeat link ring0 between head1 and head2 loses pings: 7 of 60".into(),
            fix: None,
        },
    ];
    picture.heads[0].head.light = Light::Good;
    let device = |depth: usize, name: &str, light: Light, words: &str| LiveDevice {
        name: name.into(),
        depth,
        light,
        words: words.into(),
        paths: Vec::new(),
    };
    let mut side = device(2, "wwn-0x5000c500a1b2c3d4", Light::Warning, "ONLINE");
    let path = |disk: &str, light: Light, words: &str| LivePath {
        disk: disk.into(),
        light,
        words: words.into(),
    };
    side.paths = vec![
        path("sda", Light::Good, "active, ready"),
        path("sdb", Light::Bad, "failed, faulty"),
    ];
    picture.pools[0].devices = vec![
        device(0, "vmpool01", Light::Good, "ONLINE"),
        device(1, "mirror-0", Light::Good, "ONLINE"),
        side,
    ];
    picture
}

/// head2 has no power, and its pool runs on head1.
pub fn dead_head() -> TopPicture {
    let mut picture = healthy();
    picture.heads[1] = TopHead {
        head: LiveHead {
            name: "head2".into(),
            light: Light::Warning,
            condition: Some(NodeCondition::Offline),
            own: None,
            not_reached: None,
        },
        answers: Answers::No {
            why: "ssh: connect to host head2 port 22: No route to host".into(),
            seen: Some(NOW - 47),
        },
    };
    for link in &mut picture.links {
        link.ports[1].end = LiveEnd {
            light: Light::Unknown,
            what: EndKnown::NotKnown,
            ways: Vec::new(),
        };
        link.ways.retain(|way| way.from == "head1".into());
        for way in &mut link.ways {
            way.light = Light::Bad;
            (way.link.state, way.link.lost) = (LinkState::Down, Some(60));
        }
    }
    picture.pools[1].on = PoolAt::Head("head1".into());
    picture.if_lost = [
        (
            "head1".into(),
            vec![
                "vmpool01 would run nowhere".to_owned(),
                "vmpool02 would run nowhere".to_owned(),
            ],
        ),
        ("head2".into(), vec!["it runs nothing now".to_owned()]),
    ]
    .into();
    picture.running = Some(LiveRunning {
        since: NOW - 44,
        or_before: false,
        trigger: "head2 is gone and not known to be off: nothing of it is taken over yet".into(),
    });
    picture.alarms = vec![Alarm {
        code: "head-away".into(),
        severity: Severity::Warning,
        place: Place::on(&"head2".into()),
        parts: Vec::new(),
        since: Some(NOW - 41),
        times: 1,
        text: "head2 is not a member of the cluster".into(),
        fix: None,
    }];
    picture
}

/// What a head may call itself, or say.
pub const HOSTILE: &str =
    "\u{1b}[2J\u{1b}]0;x\u{7}\r\n\u{202e}東京e\u{301}\u{302}\u{303}\u{200d}\t";

/// Each string that comes from outside is this one.
pub fn hostile() -> TopPicture {
    planted(HOSTILE)
}

/// Each string that comes from outside is this one.
pub fn planted(words: &str) -> TopPicture {
    let mut picture = degraded();
    let dead = dead_head();
    picture.cluster = words.into();
    picture.look.problem = Some(words.into());
    picture.heads.push(dead.heads[1].clone());
    for head in &mut picture.heads {
        head.head.name = words.into();
        if let Answers::No { why, .. } = &mut head.answers {
            *why = words.into();
        }
    }
    for link in &mut picture.links {
        link.name = words.into();
        link.carries = words.into();
        link.switch = Some(words.into());
        for port in &mut link.ports {
            port.head = words.into();
            if let EndKnown::Port(port) = &mut port.end.what {
                port.interface = words.into();
            }
        }
        for way in &mut link.ways {
            way.from = words.into();
            way.link.name = words.into();
            way.link.peer = words.into();
        }
    }
    for pool in &mut picture.pools {
        pool.name = words.into();
        pool.on = PoolAt::Head(words.into());
        pool.missing = vec![words.into()];
        pool.about_devices = vec![words.into()];
        for device in &mut pool.devices {
            (device.name, device.words) = (words.into(), words.into());
            for path in &mut device.paths {
                (path.disk, path.words) = (words.into(), words.into());
            }
        }
        for address in &mut pool.addresses {
            address.link = words.into();
        }
    }
    for alarm in &mut picture.alarms {
        alarm.code = words.into();
        alarm.text = words.into();
        alarm.fix = Some(words.into());
        alarm.place.object = Some(words.into());
        alarm.place.host = Some(words.into());
    }
    picture.running = dead.running;
    if let Some(running) = &mut picture.running {
        running.trigger = words.into();
    }
    picture.if_lost = [(words.into(), vec![words.into(), words.into()])].into();
    for incident in &mut picture.incidents.newest {
        incident.id = words.into();
        incident.began = words.into();
        incident.away = words.into();
        incident.trigger = words.into();
    }
    picture.incidents.gaps = vec![words.into()];
    picture
}

fn link(name: &str, carries: &str, number: usize, ways: bool) -> TopLink {
    let port = |head: &str| TopPort {
        head: head.into(),
        end: LiveEnd {
            light: Light::Good,
            what: EndKnown::Port(OwnPort {
                interface: format!("eth{number}").as_str().into(),
                up: true,
                carrier: true,
                speed: Some(BitsPerSec(10_000_000_000)),
                rates: Some(PortRates {
                    received: BytesPerSec(84_300),
                    received_packets: PacketsPerSec(120),
                    sent: BytesPerSec(9_610),
                    sent_packets: PacketsPerSec(61),
                }),
                dropped: BTreeMap::new(),
            }),
            ways: Vec::new(),
        },
    };
    let way = |from: &str, peer: &str, us: f64| TopWay {
        from: from.into(),
        light: Light::Good,
        link: LinkReading {
            name: name.into(),
            peer: peer.into(),
            state: LinkState::Up,
            latency_s: Some(us / 1e6),
            lost: Some(0),
            sent: Some(60),
        },
    };
    let [first, second] = HEADS;
    let all = vec![way(first, second, 312.0), way(second, first, 298.0)];
    TopLink {
        name: name.into(),
        carries: carries.into(),
        switch: Some(format!("sw{number}")),
        suspect: false,
        ports: HEADS.map(port).into(),
        ways: if ways { all } else { Vec::new() },
    }
}

fn pool(name: &str, head: &str, last: u8, used: u8) -> LivePool {
    let address = |net: u8| LiveAddress {
        address: [10, 72, net, last].into(),
        link: format!("san0{}", net - 1).as_str().into(),
        up: Some(true),
    };
    LivePool {
        name: name.into(),
        light: Light::Good,
        on: PoolAt::Head(head.into()),
        used_percent: Some(used),
        offered: Some(true),
        missing: Vec::new(),
        devices: Vec::new(),
        about_devices: Vec::new(),
        addresses: vec![address(2), address(3)],
    }
}
