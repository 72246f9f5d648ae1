//! A head of which everything is read that becomes a sample, some of it well and some not.

use hawser_cluster::live::Ahead;
use hawser_model::clock::ClockFacts;
use hawser_model::host::PortCounts;
use hawser_model::probe::{AddressAsked, PathEcho, PathMtu};
use hawser_model::served::SentSegments;
use hawser_model::storage::{DiskFacts, MultipathFacts, PathFacts, StorageFacts, ZpoolFacts};
use hawser_model::units::{Mtu, Nanos, Packets};
use hawser_watch::probed::Probed;
use hawser_watch::shown::ShownHead;

/// Adds it.
pub fn measured(head: &mut ShownHead) {
    let counts = PortCounts {
        rx_errors: Some(Packets(7)),
        tx_errors: Some(Packets(1)),
        rx_dropped: Some(Packets(2)),
        tx_dropped: Some(Packets(3)),
        rx_missed: Some(Packets(4)),
    };
    let some = PortCounts {
        rx_errors: Some(Packets(0)),
        ..PortCounts::default()
    };
    head.port_counts = [("eth1".into(), counts), ("eth2".into(), some)].into();
    head.storage = Some(storage());
    head.probed = probed();
    head.clock = Some(ClockFacts {
        synchronised: true,
        estimated_error: Nanos(62_000),
        greatest_error: Nanos(21_500_000),
    });
    let sent = SentSegments {
        segments: Packets(8_300),
        resent: Packets(412),
        needless: Packets(9),
    };
    head.served = [("san01".into(), sent)].into();
}

fn path(used: Option<&str>, checked: Option<&str>) -> PathFacts {
    PathFacts {
        used: used.map(str::to_owned),
        checked: checked.map(str::to_owned),
    }
}

fn storage() -> StorageFacts {
    let disk = |state: &str, address: &str| DiskFacts {
        state: state.to_owned(),
        address: address.to_owned(),
        ..DiskFacts::default()
    };
    let device = |name: &str, paths: [(&str, PathFacts); 2]| MultipathFacts {
        name: name.to_owned(),
        paths: paths.map(|(name, path)| (name.to_owned(), path)).into(),
    };
    let well = path(Some("active"), Some("ready"));
    let failed = path(Some("failed"), Some("faulty"));
    let multipath = [
        (
            "1",
            device("mpatha", [("sda", well.clone()), ("sdb", failed)]),
        ),
        (
            "2",
            device("mpathb", [("sdc", well), ("sdd", path(None, None))]),
        ),
    ];
    let degraded = ZpoolFacts {
        state: "DEGRADED".into(),
        ..ZpoolFacts::default()
    };
    StorageFacts {
        disks: [
            ("sda".into(), disk("running", "2:0:1:0")),
            ("sdb".into(), disk("transport-offline", "3:0:1:0")),
        ]
        .into(),
        multipath: multipath.map(|(id, it)| (id.to_owned(), it)).into(),
        zpools: [("vmpool01".to_owned(), degraded)].into(),
    }
}

fn echo(link: &str, passed: Option<u32>) -> PathEcho {
    PathEcho {
        from: "head1".into(),
        to: "head2".into(),
        link: link.into(),
        found: PathMtu {
            source: "10.0.0.1".parse().unwrap(),
            destination: "10.0.0.2".parse().unwrap(),
            interface_mtu: Mtu(9000),
            passed: passed.map(Mtu),
            silent: Some(Mtu(9000)),
            denied: false,
            told: None,
            told_by: None,
            vanishes: None,
            holes: None,
        },
    }
}

fn probed() -> Probed {
    let asked = |address: &str, claimed| {
        let asked = AddressAsked {
            host: "head1".into(),
            link: "san01".into(),
            address: address.parse().unwrap(),
        };
        (asked, claimed)
    };
    Probed {
        at: Some(1_795_346_000),
        fence_devices: [
            ("fence-head2".to_owned(), None),
            (
                "fence-head3".to_owned(),
                Some("no route to host".to_owned()),
            ),
        ]
        .into(),
        echoes: vec![
            echo("ring0", Some(9000)),
            echo("ring1", Some(1500)),
            echo("san01", None),
        ],
        addresses: vec![asked("10.1.0.1", false), asked("10.1.0.9", true)],
        ahead: Some(Ahead {
            least_us: -1_500,
            most_us: 2_500_000,
        }),
    }
}
