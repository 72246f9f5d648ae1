//! Rules of udev: what each setting is there, and whether the host can do it.

use super::*;

#[test]
fn every_setting_has_its_rule() {
    let root = host(&[UDEV]);
    let eth0 = || "eth0".into();
    let head = "ACTION==\"add|move\", SUBSYSTEM==\"net\", KERNEL==\"eth0\", ";
    let run = |command| {
        format!("RUN+=\"/bin/sh -c 'PATH=/usr/sbin:/sbin:/usr/bin:/bin exec {command}'\"")
    };
    let steering = |side| Knob::PacketSteering {
        interface: eth0(),
        side,
        queue: 1,
    };
    for (knob, value, does) in [
        (mtu().knob, "9000", "ATTR{mtu}=\"9000\"".to_owned()),
        (
            steering(Side::Rx),
            "f",
            "ATTR{queues/rx-1/rps_cpus}=\"f\"".to_owned(),
        ),
        (
            steering(Side::Tx),
            "f",
            "ATTR{queues/tx-1/xps_cpus}=\"f\"".to_owned(),
        ),
        (
            Knob::FlowSteering {
                interface: eth0(),
                queue: 0,
            },
            "512",
            "ATTR{queues/rx-0/rps_flow_cnt}=\"512\"".to_owned(),
        ),
        (
            Knob::Bridge {
                bridge: eth0(),
                setting: "multicast_querier".into(),
            },
            "1",
            "ATTR{bridge/multicast_querier}=\"1\"".to_owned(),
        ),
        (ring().knob, "4096", run("ethtool -G $name rx 4096")),
        (
            Knob::Channels { interface: eth0() },
            "rx 0 tx 0 other 0 combined 4",
            run("ethtool -L $name combined 4"),
        ),
        (
            Knob::Coalescing {
                interface: eth0(),
                side: Side::Rx,
            },
            "adaptive off usecs 0",
            run("ethtool -C $name adaptive-rx off rx-usecs 0"),
        ),
        (
            Knob::Coalescing {
                interface: eth0(),
                side: Side::Tx,
            },
            "adaptive on usecs 50",
            [
                run("ethtool -C $name adaptive-tx off tx-usecs 50"),
                run("ethtool -C $name adaptive-tx on tx-usecs 50"),
            ]
            .join(", "),
        ),
        (
            Knob::Offload {
                interface: eth0(),
                feature: "rx-lro".into(),
            },
            "off",
            run("ethtool -K $name rx-lro off"),
        ),
        (
            Knob::Pause { interface: eth0() },
            "autoneg off rx on tx on",
            run("ethtool -A $name autoneg off rx on tx on"),
        ),
        (
            Knob::Qdisc { interface: eth0() },
            "pfifo 4857: limit 9",
            run("tc qdisc replace dev $name root pfifo limit 9"),
        ),
    ] {
        assert_eq!(
            written(&root, &change(knob.clone(), value)),
            format!("{head}{does}\n"),
            "{knob}"
        );
    }
}

#[test]
fn a_rule_that_runs_a_program_needs_it_installed() {
    let root = host(&[UDEV]);
    let qdisc = Knob::Qdisc {
        interface: "eth0".into(),
    };
    let qdisc = change(qdisc, "pfifo limit 9");
    assert_eq!(planned(&root, &ring()).as_deref(), Ok(RULES));
    assert_eq!(planned(&root, &qdisc).as_deref(), Ok(RULES));
    fs::remove_file(root.path().join("usr/sbin/ethtool")).unwrap();
    assert_eq!(
        planned(&root, &ring()).unwrap_err(),
        "ethtool is not installed, so no rule of udev can set it"
    );
    assert_eq!(planned(&root, &qdisc).as_deref(), Ok(RULES));
    assert_eq!(planned(&root, &mtu()).as_deref(), Ok(RULES), "an attribute");
    fs::remove_file(root.path().join("sbin/tc")).unwrap();
    let why = planned(&root, &qdisc).unwrap_err();
    assert!(why.starts_with("tc is not installed"), "{why}");
}
