//! What a watch on head1 of the lab's cluster shows: all well, a dead link, a lost head.

use std::collections::BTreeMap;

use hawser_cluster::live::Sign;
use hawser_model::cluster_file::{ClusterFile, parse_complete};
use hawser_model::drops::{DropRecord, DropScope, DropSubject, DropTotals};
use hawser_model::finding::{Place, Severity};
use hawser_model::host::Interface;
use hawser_model::output::cluster::{
    ClusterStatus, NodeCondition, NodeStatus, PoolAddress, PoolExport, PoolStatus, ServiceState,
};
use hawser_model::output::live::{LiveIncident, LiveIncidents, LiveRunning};
use hawser_model::output::watch::{
    Alarm, ExportReading, HeadReading, LinkReading, LinkState, PoolReading, WatchReading,
};
use hawser_model::port_traffic::PortRates;
use hawser_model::storage::{
    DiskFacts, MultipathFacts, PathFacts, ShelfSlot, StorageFacts, ZpoolFacts, ZpoolMember,
};
use hawser_model::units::{BitsPerSec, BytesPerSec, Packets, PacketsPerSec};
use hawser_watch::shown::{Shown, ShownHead};

/// 2026-11-25 18:30:00 UTC.
pub const NOW: u64 = 1_795_631_400;

pub fn file() -> ClusterFile {
    let text = include_str!("../../../../examples/lab/hawser.toml");
    let on_file = |pool: &str| {
        format!(
            "kind = \"filesystem\"\ndevice = \"/srv/shelf/{pool}.img\"\ndirectory = \"/srv/{pool}\"\nfstype = \"ext4\"\n\
             options = \"loop\"\n"
        )
    };
    let second = on_file("vmpool02");
    let on_disk = second.replace("/srv/shelf/vmpool02.img", "/dev/mapper/mpathc");
    let text = text.replace(&on_file("vmpool01"), "kind = \"zfs\"\n");
    let text = text.replace(&second, &on_disk.replace("options = \"loop\"\n", ""));
    parse_complete(&text, "hawser.toml").unwrap()
}

pub fn incidents() -> LiveIncidents {
    LiveIncidents {
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
    }
}

pub fn healthy() -> Shown {
    let link = |name: &str, us: f64| LinkReading {
        name: name.into(),
        peer: "head2".into(),
        state: LinkState::Up,
        latency_s: Some(us / 1e6),
        lost: Some(0),
        sent: Some(60),
    };
    let pool = |name: &str, here: bool| PoolReading {
        name: name.into(),
        here: Some(here),
        used_percent: here.then_some(37),
        free_bytes: None,
    };
    let head = HeadReading {
        name: "head1".into(),
        unreached: None,
        seen_at: None,
        links: vec![link("ring0", 312.0), link("ring1", 298.0)],
        quorate: Some(true),
        pools: vec![pool("vmpool01", true), pool("vmpool02", false)],
        exports: vec![ExportReading {
            pool: "vmpool01".into(),
            offered: Some(true),
            missing: Vec::new(),
        }],
        alarms: Vec::new(),
    };
    let lost = |head: &str, other: &str, pool: &str| {
        let lines = vec![
            format!("{head} is fenced"),
            format!("{pool} starts on {other}"),
        ];
        (head.into(), lines)
    };
    let status = ClusterStatus {
        cluster: "lab".into(),
        state: ServiceState::Redundant,
        reason: None,
        quorate: true,
        redundant: true,
        view_of: Some("head1".into()),
        degraded: Vec::new(),
        notes: Vec::new(),
        quorum_device: None,
        nodes: ["head1", "head2"].map(online).into(),
        pools: vec![
            on("vmpool01", Some("head1"), 207),
            on("vmpool02", Some("head2"), 208),
        ],
        if_lost: [
            lost("head1", "head2", "vmpool01"),
            lost("head2", "head1", "vmpool02"),
        ]
        .into(),
        last_takeover: None,
    };
    Shown {
        tells: false,
        troubles: Vec::new(),
        reading: WatchReading {
            cluster: "lab".into(),
            read_at: NOW,
            heads: vec![head],
            alarms: Vec::new(),
        },
        whole: false,
        running: None,
        heads: [("head1".into(), itself(1, true))].into(),
        not_kept: 0,
        members: members(NodeCondition::Online),
        status: Some(status),
        asked_at: Some(NOW - 70),
    }
}

/// The same, as both heads say it who were asked from elsewhere.
pub fn both_healthy() -> Shown {
    let mut shown = healthy();
    let mut second = shown.reading.heads[0].clone();
    second.name = "head2".into();
    for link in &mut second.links {
        (link.peer, link.latency_s) = ("head1".into(), Some(0.000_305));
    }
    second.pools.reverse();
    (second.pools[0].name, second.pools[1].name) = ("vmpool01".into(), "vmpool02".into());
    second.exports[0].pool = "vmpool02".into();
    shown.reading.heads.push(second);
    shown.heads.insert("head2".into(), itself(2, true));
    shown.whole = true;
    shown.asked_at = Some(NOW);
    shown
}

/// The same, with ring1's port of head2 dead, which both see, and ring0 lossy from there alone.
pub fn both_dead_link() -> Shown {
    let mut shown = both_healthy();
    for head in &mut shown.reading.heads {
        let link = &mut head.links[1];
        (link.state, link.lost, link.sent) = (LinkState::Down, None, None);
    }
    shown.reading.heads[1].links[0].lost = Some(7);
    shown.heads.insert("head2".into(), itself(2, false));
    shown.reading.alarms = dead_link().reading.alarms;
    shown.reading.alarms[0].place = Place::port(&"head2".into(), &"ring1".into(), &"eth1".into());
    shown
}

/// The same, with a head that does not answer.
pub fn one_silent() -> Shown {
    let mut shown = both_healthy();
    shown.reading.heads[1] = HeadReading {
        name: "head2".into(),
        unreached: Some("ssh: connect to host head2 port 22: Connection timed out".into()),
        seen_at: Some(NOW - 95),
        links: Vec::new(),
        quorate: None,
        pools: Vec::new(),
        exports: Vec::new(),
        alarms: Vec::new(),
    };
    shown.heads.remove("head2");
    let lost = lost_head();
    shown.reading.heads[0].links = lost.reading.heads[0].links.clone();
    shown.reading.alarms = lost.reading.alarms;
    (shown.members, shown.status) = (lost.members, lost.status);
    shown.running = lost.running;
    shown
}

/// ring1's port has no carrier.
pub fn dead_link() -> Shown {
    let mut shown = healthy();
    shown.heads.insert("head1".into(), itself(1, false));
    let link = &mut shown.reading.heads[0].links[1];
    (link.state, link.lost, link.sent) = (LinkState::Down, None, None);
    shown.reading.alarms = vec![
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
            since: Some(NOW - 65),
            times: 4,
            text: "heartbeat link ring0 between head1 and head2 loses pings: 7 of 60".into(),
            fix: None,
        },
    ];
    shown.reading.heads[0].links[0].lost = Some(7);
    shown
}

/// head2 is gone, and not yet known to be off: its pool runs nowhere.
pub fn lost_head() -> Shown {
    let mut shown = healthy();
    for link in &mut shown.reading.heads[0].links {
        (link.state, link.lost, link.sent) = (LinkState::Down, None, None);
    }
    shown.members = members(NodeCondition::Unclean);
    let status = shown.status.as_mut().unwrap();
    status.pools[1] = on("vmpool02", None, 208);
    status.if_lost = [
        (
            "head1".into(),
            vec!["vmpool01 would run nowhere".to_owned()],
        ),
        ("head2".into(), vec!["it is lost already".to_owned()]),
    ]
    .into();
    shown.running = Some(LiveRunning {
        since: NOW - 3,
        or_before: false,
        trigger: "head2 is gone and not known to be off: nothing of it is taken over yet".into(),
    });
    let alarm = |sign: Sign, place: Place, text: &str| Alarm {
        code: sign.code().into(),
        severity: sign.severity(),
        place,
        parts: Vec::new(),
        since: Some(NOW - 3),
        times: 1,
        text: text.into(),
        fix: None,
    };
    shown.reading.alarms = vec![
        alarm(
            Sign::HeadLost,
            Place::on(&"head2".into()),
            "head2 is gone and not known to be off: nothing of it is taken over yet",
        ),
        alarm(
            Sign::PoolNowhere,
            Place::of("vmpool02", None),
            "pool vmpool02 runs on no head",
        ),
    ];
    shown
}

fn online(name: &str) -> NodeStatus {
    NodeStatus {
        name: name.into(),
        state: NodeCondition::Online,
    }
}

fn members(second: NodeCondition) -> BTreeMap<hawser_model::names::HostName, NodeCondition> {
    [
        ("head1".into(), NodeCondition::Online),
        ("head2".into(), second),
    ]
    .into()
}

fn on(name: &str, head: Option<&str>, last: u8) -> PoolStatus {
    let up = head.is_some();
    let address = |net: u8| PoolAddress {
        address: [10, 72, net, last].into(),
        up,
    };
    PoolStatus {
        name: name.into(),
        active_on: head.map(Into::into),
        addresses: vec![address(2), address(3)],
        exports: vec![PoolExport {
            resource: format!("{name}-exports"),
            up,
        }],
    }
}

fn itself(head: u8, second: bool) -> ShownHead {
    ShownHead {
        storage: Some(shelf(second)),
        certificates: Vec::new(),
        secrets: Vec::new(),
        corosync: true,
        corosync_seen: Some(NOW),
        pacemaker: Some(true),
        stats: BTreeMap::new(),
        interfaces: ports(head, second),
        rates: rates(second),
        socket_drops: Some(0),
        drops: Some(DropTotals::Counted {
            drops: dropped(second),
            missed: 0,
        }),
        dropped_now: dropped(second),
        ..ShownHead::default()
    }
}

/// Two disks that are the sides of a mirror, and one of a file system, each by two ways; one of these is lost with the port, and
/// the mirror is made whole again.
fn shelf(well: bool) -> StorageFacts {
    let wwid = |n: usize| format!("5000c500a1b2c3d{n}");
    let disk = |(n, name): (usize, &str)| {
        let facts = DiskFacts {
            state: if well || name != "sdd" {
                "running"
            } else {
                "offline"
            }
            .to_owned(),
            address: format!("2:0:{n}:0"),
            wwid: Some(format!("naa.{}", wwid(n / 2))),
            shelf: (n % 2 == 0).then(|| ShelfSlot {
                shelf: "0x500304801f0a1b3f".to_owned(),
                slot: format!("Slot 0{n}"),
            }),
        };
        (name.to_owned(), facts)
    };
    let path = |name: &str| {
        let (used, checked) = match well || name != "sdd" {
            true => ("active", "ready"),
            false => ("failed", "faulty"),
        };
        let facts = PathFacts {
            used: Some(used.to_owned()),
            checked: Some(checked.to_owned()),
        };
        (name.to_owned(), facts)
    };
    let map = |(n, name, paths): (usize, &str, [&str; 2])| {
        let facts = MultipathFacts {
            name: name.to_owned(),
            paths: paths.map(path).into(),
        };
        (format!("3{}", wwid(n)), facts)
    };
    let member = |depth: usize, name: &str, state: &str| ZpoolMember {
        name: name.to_owned(),
        depth,
        state: state.to_owned(),
        beside: false,
    };
    let (state, scan) = match well {
        true => ("ONLINE", None),
        false => (
            "DEGRADED",
            Some("resilver in progress since Wed Nov 25 18:11:09 2026, 14.70% done".to_owned()),
        ),
    };
    let zpool = ZpoolFacts {
        state: state.to_owned(),
        scan,
        devices: vec![
            member(0, "mirror-0", state),
            member(1, "wwn-0x5000c500a1b2c3d0", "ONLINE"),
            member(
                1,
                "wwn-0x5000c500a1b2c3d1",
                if well { "ONLINE" } else { "FAULTED" },
            ),
        ],
        troubled: Vec::new(),
        errors: None,
    };
    let disks = ["sda", "sdb", "sdc", "sdd", "sde", "sdf"];
    StorageFacts {
        disks: disks.into_iter().enumerate().map(disk).collect(),
        multipath: [
            (0, "mpatha", ["sda", "sdb"]),
            (1, "mpathb", ["sdc", "sdd"]),
            (2, "mpathc", ["sde", "sdf"]),
        ]
        .map(map)
        .into(),
        zpools: [("vmpool01".to_owned(), zpool)].into(),
    }
}

/// A port without carrier carries nothing; of the last one there is no second reading.
fn rates(second: bool) -> BTreeMap<hawser_model::names::InterfaceName, PortRates> {
    let of = |(name, received, sent): (&str, u64, u64)| {
        let rates = PortRates {
            received: BytesPerSec(received),
            received_packets: PacketsPerSec(received.div_ceil(1400)),
            sent: BytesPerSec(sent),
            sent_packets: PacketsPerSec(sent.div_ceil(1400)),
        };
        (name.into(), rates)
    };
    let second = if second { 3200 } else { 0 };
    let all = [
        ("eth0", 3400, 3300),
        ("eth1", second, second),
        ("eth2", 812_000_000, 96_400_000),
    ];
    all.map(of).into()
}

/// A port that has lost its carrier drops what is still sent through it.
fn dropped(second: bool) -> Vec<DropRecord> {
    let of = |(reason, location, packets): (&str, &str, u64)| DropRecord {
        reason: reason.to_owned(),
        location: location.to_owned(),
        scope: DropScope::ThisHost,
        interface: Some("eth1".into()),
        subject: DropSubject::Other,
        packets: Packets(packets),
    };
    let all = [
        ("NETFILTER_DROP", "nf_hook_slow", 7),
        ("NOT_SPECIFIED", "noop_enqueue", 412),
        ("NOT_SPECIFIED", "arp_solicit", 2),
        ("UNHANDLED_PROTO", "__netif_receive_skb_core", 3),
        ("OTHERHOST", "ip_rcv_core", 1),
    ];
    all.into_iter().filter(|_| !second).map(of).collect()
}

fn ports(head: u8, second: bool) -> BTreeMap<hawser_model::names::InterfaceName, Interface> {
    let port = |(n, name): (u8, &str)| {
        let interface = Interface {
            addresses: vec![([10, 72, n, head].into(), 24)],
            up: true,
            carrier: second || n != 1,
            speed: Some(BitsPerSec(10_000_000_000)),
            ..Interface::default()
        };
        (name.into(), interface)
    };
    let names = ["eth0", "eth1", "eth2", "eth3"];
    (0..).zip(names).map(port).collect()
}
