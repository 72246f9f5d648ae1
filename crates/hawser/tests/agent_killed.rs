//! The end of an agent at random moments, while it turns whatever a veth has: its guard puts everything back,
//! byte for byte. By turns the agent alone is killed, and both are asked to end, as systemd ends a login.

mod agent_support;

use std::time::Duration;

use agent_support::{Nodes, ask, eventually, wait};
use hawser_agent::questions::{TryKnob, TurnKnob, UndoChange};
use hawser_model::knob::{Knob, Side};

/// What is there, as other programs show it.
const SHOW: &str = "\
    ip -d link show ring0; tc qdisc show dev ring0; ethtool -k ring0; ls -A /var/lib/hawser 2>/dev/null; \
    cd /sys/class/net/ring0; grep -H '' mtu tx_queue_len threaded queues/*/[rx]ps_cpus queues/*/rps_flow_cnt; \
    find /proc/sys/net -type f -perm /200 | grep -v -e conntrack_ -e /flush$ | sort | xargs grep -H '' 2>/dev/null; \
    find /etc/sysctl.d /etc/udev /etc/systemd/network -type f | sort | xargs md5sum";

/// What an agent has left to be undone. A guard that undoes it meanwhile removes files from under this look.
const LEFT: &str = "cd /var/lib/hawser 2>/dev/null && [ -n \"$(ls -A)\" ] || exit 0; \
    { ls -lAR; find . -type f -exec cat {} +; } 2>/dev/null; :";

fn knobs() -> Vec<(Knob, &'static str)> {
    let interface = || "ring0".into();
    let offload = |feature: &str| Knob::Offload {
        interface: interface(),
        feature: feature.into(),
    };
    let sysctl = |name: &str| Knob::Sysctl { name: name.into() };
    let steering = Knob::PacketSteering {
        interface: interface(),
        side: Side::Rx,
        queue: 0,
    };
    let flows = Knob::FlowSteering {
        interface: interface(),
        queue: 0,
    };
    vec![
        (
            Knob::Mtu {
                interface: interface(),
            },
            "9000",
        ),
        (
            Knob::TxQueueLength {
                interface: interface(),
            },
            "77",
        ),
        (
            Knob::Qdisc {
                interface: interface(),
            },
            "pfifo limit 9",
        ),
        (offload("tx-checksum-ip-generic"), "off"),
        (offload("rx-gro"), "off"),
        (steering, "1"),
        (flows, "64"),
        (sysctl("net.ipv4.tcp_rmem"), "4096 200000 400000"),
        (sysctl("net.ipv4.ipfrag_high_thresh"), "99999"),
        (sysctl("net.ipv4.conf.ring0.rp_filter"), "2"),
        (sysctl("net.ipv4.conf.all.force_igmp_version"), "2"),
    ]
}

/// A number below `limit`, the same for the same seed (splitmix64).
fn random(seed: &mut u64, limit: u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) % limit
}

fn number(variable: &str, default: u64) -> u64 {
    let set = std::env::var(variable).ok();
    set.map_or(default, |text| text.parse().expect("a number"))
}

/// `HAWSER_KILLS` and `HAWSER_SEED` ask for more and for others.
#[test]
fn an_agent_killed_while_it_turns_knobs_leaves_no_trace() {
    let kills = number("HAWSER_KILLS", 6);
    let mut seed = number("HAWSER_SEED", 2026);
    println!("seed {seed}, {kills} kills");
    let nodes = Nodes::start();
    nodes
        .b
        .sh("ethtool -K ring0 gro on; mount -t tmpfs tmpfs /etc/sysctl.d");
    // The kernel's first messages of a link that has just come up are over.
    eventually("addresses", Duration::from_secs(10), || {
        !nodes.b.sh("ip addr show ring0").contains("tentative")
    });
    let before = nodes.b.sh(SHOW);
    let mut made = 0;
    for kill in 0..kills {
        let mut agent = nodes.b.agent("head2");
        let moment = random(&mut seed, 400);
        let pid = agent.pid();
        let mut killer = nodes.b.command("sh");
        let end = match kill % 2 {
            0 => format!("kill -9 {pid}"),
            // The guard first: were it to obey, nobody would be left to undo anything.
            _ => format!("both=\"$(pgrep -P {pid}) {pid}\"; kill -TERM $both; kill -HUP $both"),
        };
        let script = format!("sleep 0.{moment:03}; {end}");
        let mut killer = killer.args(["-c", &script]).spawn().unwrap();
        // Turned, turned to and fro, some undone again, some kept as trials, until it is dead.
        let mut all = knobs();
        'alive: loop {
            let (knob, value) = all.swap_remove(random(&mut seed, all.len() as u64) as usize);
            let turn = TryKnob {
                knob: knob.clone(),
                value: value.to_owned(),
            };
            let Ok(change) = ask(&mut agent, &turn) else {
                break;
            };
            made += 1;
            let change = change.number;
            for after in [false, true] {
                if ask(&mut agent, &TurnKnob { change, after }).is_err() {
                    break 'alive;
                }
            }
            let keep = random(&mut seed, 2) == 0 && all.len() > 2;
            if !keep {
                all.push((knob, value));
                if ask(&mut agent, &UndoChange(change)).is_err() {
                    break;
                }
            }
        }
        killer.wait().unwrap();
        // A guard whose undoing is refused for a moment tries again for a minute.
        let mut left = String::new();
        let undone = wait::eventually(Duration::from_secs(90), || {
            left = nodes.b.sh(LEFT);
            left.is_empty()
        });
        assert!(undone, "kill {kill} after {moment} ms left:\n{left}");
        let after = nodes.b.sh(SHOW);
        let differing: Vec<_> = before
            .lines()
            .zip(after.lines())
            .filter(|(a, b)| a != b)
            .collect();
        assert!(
            after == before,
            "kill {kill} after {moment} ms: {differing:#?}"
        );
    }
    println!("{made} changes made, {kills} kills, 0 not as before");
    assert!(made > kills, "there was something to undo");
}
