//! Every knob that this machine can turn, turned and undone in namespaces of the test's own: what
//! `ip`, `tc`, `ethtool` and the kernel's files then show is what they showed before, byte for byte.

use std::path::Path;
use std::process::Command;

use hawser_kernel::{Journal, Knobs, Owner};
use hawser_model::knob::{Knob, Side};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

/// A veth pair with two queues at each end and NAPI on, a bridge, and a FIFO that somebody has set.
const HOST: &str = "\
    sysctl -qw net.ipv6.conf.default.accept_dad=0
    ip link add ring0 type veth peer name peer0
    ip link add br0 type bridge
    ip link set lo up; ip link set ring0 up; ip link set peer0 up; ip link set br0 up
    ip addr add 10.77.1.1/24 dev ring0
    ethtool -K ring0 gro on
    tc qdisc add dev peer0 root handle 8001: pfifo limit 33";

/// What is there, as other programs than Hawser show it.
const SHOW: &str = "\
    ip -6 addr; ip -d link | sed 's/[a-z_]*_timer *[0-9.]*//g'
    for i in ring0 peer0 br0; do
        tc qdisc show dev $i; ethtool -k $i
        cd /sys/class/net/$i; grep -H '' mtu tx_queue_len threaded queues/*/[rx]ps_cpus queues/*/rps_flow_cnt
    done
    cd /sys/class/net/br0/bridge; grep -H '' multicast_*
    find /proc/sys/net -type f -perm /200 | grep -v -e conntrack_ -e /flush$ | sort | xargs grep -H ''";

/// In a namespace of its own: network, and mounts so that `/sys` is that network's.
fn in_namespace(test: impl FnOnce(&Journal, &Path) + Send) {
    std::thread::scope(|scope| {
        let ran = scope.spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).expect("root");
            let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
            mount(None::<&str>, "/", None::<&str>, private, None::<&str>).expect("private");
            mount(
                Some("sysfs"),
                "/sys",
                Some("sysfs"),
                MsFlags::empty(),
                None::<&str>,
            )
            .expect("the namespace's /sys");
            let place = tempfile::tempdir().unwrap();
            let journal =
                Journal::new(place.path().join("changes"), place.path(), Knobs::default());
            test(&journal, place.path());
        });
        ran.join().unwrap_or_else(|e| std::panic::resume_unwind(e));
    });
}

fn sh(script: &str) -> String {
    let ran = Command::new("sh").args(["-c", script]).output().unwrap();
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// Fails with the lines that differ.
#[track_caller]
fn assert_as(before: &str, what: &impl std::fmt::Display) {
    let now = sh(SHOW);
    let differing: Vec<_> = before
        .lines()
        .zip(now.lines())
        .filter(|(a, b)| a != b)
        .collect();
    let counts = (before.lines().count(), now.lines().count());
    assert!(
        differing.is_empty() && counts.0 == counts.1,
        "{what}: {counts:?} {differing:#?}"
    );
}

fn sysctl(name: &str) -> Knob {
    Knob::Sysctl { name: name.into() }
}

fn offload(feature: &str) -> Knob {
    Knob::Offload {
        interface: "ring0".into(),
        feature: feature.into(),
    }
}

fn bridge(setting: &str) -> Knob {
    Knob::Bridge {
        bridge: "br0".into(),
        setting: setting.into(),
    }
}

/// What to turn, to which value, and what is then read.
fn table() -> Vec<(Knob, &'static str, &'static str)> {
    let ring0 = || "ring0".into();
    let same = |knob, value| (knob, value, value);
    vec![
        same(Knob::Mtu { interface: ring0() }, "9000"),
        same(Knob::Mtu { interface: ring0() }, "1400"),
        same(Knob::TxQueueLength { interface: ring0() }, "5000"),
        (
            Knob::Qdisc { interface: ring0() },
            "pfifo limit 77",
            "pfifo 4857: limit 77",
        ),
        (
            Knob::Qdisc { interface: ring0() },
            "bfifo limit 99000",
            "bfifo 4857: limit 99000",
        ),
        (
            Knob::Qdisc {
                interface: "peer0".into(),
            },
            "bfifo limit 99000",
            "bfifo 4857: limit 99000",
        ),
        same(offload("rx-gro"), "off"),
        same(offload("rx-gro-list"), "on"),
        same(offload("tx-checksum-ip-generic"), "off"),
        same(offload("tx-tcp-segmentation"), "off"),
        same(offload("tx-generic-segmentation"), "off"),
        same(Knob::ThreadedNapi { interface: ring0() }, "1"),
        same(
            Knob::PacketSteering {
                interface: ring0(),
                side: Side::Rx,
                queue: 0,
            },
            "1",
        ),
        same(
            Knob::FlowSteering {
                interface: ring0(),
                queue: 0,
            },
            "64",
        ),
        same(bridge("multicast_snooping"), "0"),
        same(bridge("multicast_querier"), "1"),
        same(bridge("multicast_igmp_version"), "3"),
        same(bridge("multicast_mld_version"), "2"),
        same(bridge("multicast_router"), "2"),
        same(bridge("multicast_query_use_ifaddr"), "1"),
        same(sysctl("net.ipv4.ipfrag_time"), "44"),
        same(sysctl("net.ipv4.ipfrag_high_thresh"), "8388608"),
        same(sysctl("net.ipv4.conf.ring0.rp_filter"), "2"),
        same(sysctl("net.ipv4.conf.all.force_igmp_version"), "2"),
        same(sysctl("net.ipv4.udp_rmem_min"), "8192"),
        same(sysctl("net.ipv4.tcp_rmem"), "4096 262144 8388608"),
        same(sysctl("net.ipv4.tcp_wmem"), "4096 65536 8388608"),
        same(sysctl("net.ipv4.tcp_mtu_probing"), "1"),
    ]
}

#[test]
fn every_knob_is_turned_and_undone_without_a_trace() {
    in_namespace(|journal, place| {
        sh(HOST);
        let before = sh(SHOW);
        assert!(
            before.contains("pfifo 8001: root") && before.contains("rps_flow_cnt:0"),
            "{before}"
        );
        let owner = Owner::own().unwrap();
        for (knob, value, read) in table() {
            let change = journal.begin(&knob, value, &owner);
            let change = change.unwrap_or_else(|e| panic!("{knob} {value}: {e}"));
            assert_eq!(change.after, read, "{knob}");
            assert_ne!(
                sh(SHOW),
                before,
                "{knob}: nothing else shows that it was turned"
            );
            let undone = journal
                .undo(change.number)
                .unwrap_or_else(|e| panic!("{knob}: {e}"));
            assert_eq!(undone.left_at, None, "{knob}");
            assert_as(&before, &knob);
        }
        // All of them at once, as after the death of an agent.
        let all = table();
        for (knob, value, _) in &all {
            // One that another has turned on the way says so.
            let _turned_already = journal.begin(knob, value, &owner);
        }
        assert!(journal.changes().unwrap().changes.len() + 3 >= all.len());
        journal.undo_trials_of(&owner).unwrap();
        assert_as(&before, &"all at once");
        assert!(!place.join("changes").exists());
    });
}

#[test]
fn what_this_device_has_not_or_could_not_come_back_is_refused_and_named() {
    in_namespace(|journal, place| {
        sh(HOST);
        sh("tc qdisc add dev ring0 root handle 1: tbf rate 1gbit burst 64k latency 50ms");
        let before = sh(SHOW);
        let ring0 = || "ring0".into();
        let refused = [
            (
                Knob::Ring {
                    interface: ring0(),
                    side: Side::Rx,
                },
                "512",
                "ETHTOOL_GRINGPARAM ring0",
            ),
            (
                Knob::Pause { interface: ring0() },
                "autoneg off rx on tx on",
                "ETHTOOL_GPAUSEPARAM",
            ),
            (
                Knob::Coalescing {
                    interface: ring0(),
                    side: Side::Rx,
                },
                "adaptive off usecs 0",
                "ETHTOOL_GCOALESCE",
            ),
            (
                Knob::Qdisc { interface: ring0() },
                "pfifo limit 9",
                "it is set to tbf 1:",
            ),
            (
                Knob::Qdisc {
                    interface: "peer0".into(),
                },
                "no_such",
                "RTM_NEWQDISC",
            ),
            (Knob::Mtu { interface: ring0() }, "1279", "1280"),
            (offload("rx-lro"), "on", "kept off"),
            (bridge("../mtu"), "1", "no such file"),
        ];
        for (knob, value, words) in refused {
            let error = journal
                .begin(&knob, value, &Owner::own().unwrap())
                .unwrap_err();
            assert!(error.to_string().contains(words), "{knob}: {error}");
            assert_as(&before, &knob);
        }
        assert!(!place.join("changes").exists());
    });
}

#[test]
fn an_interrupt_and_a_module_are_turned_and_come_back() {
    let parameter = Knob::ModuleParameter {
        module: "dns_resolver".into(),
        parameter: "debug".into(),
    };
    let interrupt = std::fs::read_dir("/proc/irq")
        .into_iter()
        .flatten()
        .flatten();
    let mut numbers = interrupt.filter_map(|e| e.file_name().to_str()?.parse().ok());
    let affinity = numbers
        .next()
        .map(|interrupt| Knob::InterruptAffinity { interrupt });
    in_namespace(|journal, _| {
        let owner = Owner::own().unwrap();
        for (knob, value) in [(Some(parameter), "1"), (affinity, "0")] {
            let Some((knob, before)) =
                knob.and_then(|k| Some((k.clone(), journal.knobs().read(&k).ok()?.value)))
            else {
                println!("this machine has none to turn to {value}");
                continue;
            };
            if before == value {
                println!("{knob} is {before} already");
                continue;
            }
            match journal.begin(&knob, value, &owner) {
                Ok(change) => {
                    assert_eq!(change.after, value, "{knob}");
                    assert_eq!(journal.undo(change.number).unwrap().left_at, None);
                }
                // An interrupt controller may not move its interrupts.
                Err(error) => println!("{error}"),
            }
            assert_eq!(journal.knobs().read(&knob).unwrap().value, before, "{knob}");
        }
    });
}
