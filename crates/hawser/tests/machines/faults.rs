//! The faults, each planted in a lab whose network has none, and taken back.

use super::{BOND, Heads, OVERLAY, RING0, RING1, VLAN};
use crate::SLOW;
use crate::support::eventually;

/// Each fault of the wire, on the way from head1 to head2 alone.
pub(super) fn on_the_wire(heads: &Heads) {
    let plant = |netem: &str| {
        let line = format!(
            "tc qdisc del dev ring0 root 2>/dev/null; tc qdisc add dev ring0 root netem {netem}"
        );
        heads.lab.sh("head1", &line);
    };

    plant("delay 20ms");
    let said = heads.check(&[RING0, RING1], &[]);
    said.says(&["link-slower-than-sibling"]);

    // Half of the packets 10 ms later: reordering is jitter that is longer than the gap between two packets.
    plant("delay 10ms reorder 50%");
    let said = heads.check(&[RING0], &[]);
    said.says(&["reordered-path"]);
    let late = &said.evidence("reordered-path")["reordered_packets"];
    assert!(late.as_u64() > Some(100), "{late}");

    // Jitter alone, without `reorder`.
    plant("delay 10ms 5ms");
    let said = heads.check(&[RING0], &[]);
    said.says(&["reordered-path"]);

    plant("duplicate 10%");
    let said = heads.check(&[RING0], &[]);
    said.says(&["duplicated-path"]);

    plant("corrupt 10%");
    let said = heads.check(&[RING0], &[]);
    // A bit of any field may be hit. A frame for another address is told as one, and a datagram of another length is counted by
    // nobody's socket.
    let others = ["ip-layer-drop", "unattributed-loss"];
    let codes = said.codes().into_iter();
    let codes: Vec<_> = codes.filter(|code| !others.contains(code)).collect();
    assert_eq!(codes, ["checksum-errors"], "{:#}", said.0["findings"]);

    plant("loss 10%");
    let said = heads.check(&[RING0], &[]);
    said.says(&["sender-queue-drops"]);
    heads.lab.sh("head1", "tc qdisc del dev ring0 root");
    heads.check(&[RING0], &[]).says(&[]);
}

/// Faults of bonds over ring1 and ring2.
pub(super) fn of_bonds(heads: &Heads) {
    let two = ["ring1", "ring2"];

    // The kernel's own default: nobody looks at the members.
    heads.bond("mode balance-xor xmit_hash_policy layer3+4", &two);
    let said = heads.check(&[BOND], &[]);
    said.says(&["bond-not-watched", "bond-not-watched"]);
    heads.both("ip link set bond0 type bond miimon 100");
    heads.check(&[BOND], &[]).says(&[]);
    // Each host hashes what it sends by other parts of a packet: no fault, and told by who compares them.
    heads.lab.sh(
        "head2",
        "ip link set bond0 type bond xmit_hash_policy layer2",
    );
    let told = heads.compare();
    assert!(told.contains("bond hash policy"), "{told}");
    heads.unbond(&two);

    heads.bond("mode active-backup miimon 100", &two);
    heads.lab.sh("head2", "ip link set ring2 down");
    let said = heads.check(&[BOND], &[]);
    said.says(&["bond-member-down"]);
    let down = said.evidence("bond-member-down");
    assert_eq!(
        (&down["members"], &down["members_up"]),
        (&2.into(), &1.into())
    );
    assert_eq!(
        (&down["set_down"], &down["noticed"]),
        (&1.into(), &1.into())
    );
    heads.unbond(&two);

    // Three members: two carry on.
    let three = ["ring0", "ring1", "ring2"];
    heads.bond("mode active-backup miimon 100", &three);
    heads.lab.sh("head1", "ip link set ring1 down");
    let said = heads.check(&[BOND], &[]);
    said.says(&["bond-member-down"]);
    let down = said.evidence("bond-member-down");
    assert_eq!(
        (&down["members"], &down["members_up"]),
        (&3.into(), &2.into())
    );
    heads.unbond(&three);

    // In turn, and one way is longer.
    heads.bond("mode balance-rr miimon 100", &two);
    heads.both("tc qdisc add dev ring2 root netem delay 5ms");
    let said = heads.check(&[BOND], &[]);
    said.says(&["reordered-path"]);
    assert_eq!(said.evidence("reordered-path")["round_robin_bond"], "bond0");
    heads.unbond(&two);

    heads.bond("mode broadcast miimon 100", &two);
    let said = heads.check(&[BOND], &[]);
    said.says(&["duplicated-path"]);
    assert_eq!(said.evidence("duplicated-path")["broadcast_bond"], "bond0");
    heads.unbond(&two);
}

/// LACP. A card of user-mode Linux tells no duplex, and the kernel speaks LACP on no such port; a bridge keeps LACPDUs to itself.
pub(super) fn of_lacp(heads: &Heads) {
    let two = ["ring1", "ring2"];
    heads.bond("mode 802.3ad", &two);
    let said = heads.check(&[BOND], &[]);
    said.says(&["lacp-not-aggregated", "lacp-not-aggregated"]);
    let lacp = said.evidence("lacp-not-aggregated");
    assert_eq!(
        (&lacp["members_up"], &lacp["members_aggregated"]),
        (&2.into(), &1.into())
    );
    assert_eq!(
        (&lacp["partner"], &lacp["members_without_duplex"]),
        (&0.into(), &2.into())
    );
    heads.unbond(&two);

    // Cards with a duplex, on cables that carry LACPDUs: each end is a veth whose other end is joined to a tunnel.
    heads.both(
        "for i in 1 2; do ip addr replace 10.72.$i.@/24 dev ring$i; done\n\
         cable() {\n\
           ip link add m$1 mtu 1450 type veth peer name c$1 mtu 1450\n\
           ip link add x$1 type vxlan id 1$1 local 10.72.$1.@ remote 10.72.$1.$((3-@)) dstport 4789\n\
           ip link set c$1 up; ip link set x$1 up\n\
           join c$1 x$1; join x$1 c$1\n\
         }\n\
         join() { tc qdisc add dev $1 clsact; tc filter add dev $1 ingress matchall action mirred egress redirect dev $2; }\n\
         cable 1; cable 2",
    );
    heads.bond(
        "mode 802.3ad lacp_rate fast xmit_hash_policy layer3+4",
        &["m1", "m2"],
    );
    // A bond gives its members its own MTU, and the tunnels take less.
    heads.both("ip link set bond0 mtu 1450");
    let aggregated = || {
        let shown = heads.lab.sh("head1", "cat /proc/net/bonding/bond0");
        shown.contains("Number of ports: 2")
    };
    assert!(eventually(SLOW, aggregated), "LACP does not agree");
    heads.check(&[BOND], &[]).says(&[]);

    // The other end stops talking LACP, as two ports of a switch without a group. It may send by the member that this end does not use.
    heads.lab.sh("head2", "ip link del bond0");
    heads.lab.sh(
        "head2",
        "ip link add bond0 type bond mode active-backup miimon 100; for i in m1 m2; do ip link set $i down; ip link set $i master \
         bond0; done; ip link set bond0 up; ip link set bond0 mtu 1450; ip addr add 10.73.0.2/24 dev bond0",
    );
    let alone = || {
        let shown = heads.lab.sh("head1", "cat /proc/net/bonding/bond0");
        shown.contains("Number of ports: 1")
            && shown.contains("Partner Mac Address: 00:00:00:00:00:00")
    };
    assert!(eventually(SLOW, alone), "the partner is not given up");
    let said = heads.check(&[BOND], &[]);
    let lacp = said.evidence("lacp-not-aggregated");
    assert_eq!(
        (&lacp["partner"], &lacp["members_without_duplex"]),
        (&0.into(), &0.into())
    );
    heads.both("ip link del bond0; for i in 1 2; do ip link del m$i; ip link del x$i; done");
}

/// One flow on one member. A card of user-mode Linux tells no speed: a member is a VLAN over a tap that tells 10 Mbit/s, and the tunnel
/// behind it takes no more. The VLAN counts what it sends.
pub(super) fn of_one_flow(heads: &Heads) {
    heads.both(
        "modprobe tun\n\
         cat >/root/taps.py <<'END'\n\
         import fcntl, os, struct, time\n\
         def tap(name): f = os.open('/dev/net/tun', os.O_RDWR); fcntl.ioctl(f, 0x400454ca, struct.pack('16sH22x', name, 0x1002)); return f\n\
         held = [tap(b't1'), tap(b't2')]\n\
         open('/run/taps', 'w').close()\n\
         time.sleep(1e6)\n\
         END\n\
         systemd-run -q --unit=taps python3 /root/taps.py\n\
         timeout 120 sh -c 'while ! [ -e /run/taps ]; do sleep 1; done'\n\
         for i in 1 2; do\n\
           ethtool -s t$i speed 10 duplex full; ip link set t$i up\n\
           ip link add v$i link t$i type vlan id 7\n\
           ip link add x$i type vxlan id 1$i local 10.72.$i.@ remote 10.72.$i.$((3-@)) dstport 4789\n\
           ip link set x$i up; tc qdisc add dev x$i root netem rate 10mbit limit 100\n\
           tc qdisc add dev t$i clsact; tc filter add dev t$i egress matchall action mirred egress redirect dev x$i\n\
           tc qdisc add dev x$i clsact; tc filter add dev x$i ingress matchall action mirred ingress redirect dev t$i\n\
         done",
    );
    heads.bond(
        "mode balance-xor miimon 100 xmit_hash_policy layer3+4",
        &["v1", "v2"],
    );
    heads.both("ip link set bond0 mtu 1400");
    let said = heads.check(&[BOND], &["--stream", "5s"]);
    said.says(&["bond-one-member", "bond-one-member"]);
    let one = said.evidence("bond-one-member");
    assert_eq!(
        (&one["members"], &one["member_bits_per_s"]),
        (&2.into(), &10_000_000.into())
    );
    heads.both(
        "ip link del bond0; systemctl stop taps; for i in 1 2; do ip link del x$i; done; rm /run/taps",
    );
}

/// A VXLAN whose MTU its own host cannot carry.
pub(super) fn of_an_overlay(heads: &Heads) {
    heads.both(
        "ip link add vx0 type vxlan id 5 local 10.72.0.@ remote 10.72.0.$((3-@)) dstport 4789\n\
         ip link set vx0 up; ip addr add 10.75.0.@/24 dev vx0",
    );
    for outside in ["unset", "set"] {
        heads.both(&format!("ip link set vx0 type vxlan df {outside}"));
        let said = heads.check(&[OVERLAY], &[]);
        said.says(&["tunnel-mtu-too-large", "tunnel-mtu-too-large"]);
        let tunnel = said.evidence("tunnel-mtu-too-large");
        assert_eq!(
            (&tunnel["mtu_bytes"], &tunnel["fits_bytes"]),
            (&1500.into(), &1450.into())
        );
    }
    heads.both("ip link set vx0 mtu 1450");
    heads.check(&[OVERLAY], &[]).says(&[]);
    heads.both("ip link del vx0");
}

/// VLANs over ring0, and a bridge of the host that filters them. What waits for a neighbour that never answers has no place.
pub(super) fn of_vlans(heads: &Heads) {
    let vlan = |head: &str, id: &str, address: &str| {
        let line = format!(
            "ip link add v0 link ring0 type vlan id {id}; ip link set v0 up; ip addr add {address}/24 dev v0"
        );
        heads.lab.sh(head, &line);
    };
    vlan("head1", "10", "10.74.0.1");
    vlan("head2", "10", "10.74.0.2");
    heads.check(&[VLAN], &[]).says(&[]);
    heads.lab.sh("head2", "ip link del v0");
    vlan("head2", "20", "10.74.0.2");
    let said = heads.check(&[VLAN], &[]);
    said.finds(&["vlan-mismatch"]);
    let wrong = said.evidence("vlan-mismatch");
    assert_eq!(
        (&wrong["vlan"], &wrong["others_vlan"]),
        (&20.into(), &10.into())
    );
    heads.both("ip link del v0");

    vlan("head2", "10", "10.74.0.2");
    heads.lab.sh(
        "head1",
        "ip link add br0 type bridge vlan_filtering 1; ip addr flush dev ring0; ip link set ring0 master br0; ip link set br0 up\n\
         bridge vlan add dev br0 vid 10 self\n\
         ip link add v0 link br0 type vlan id 10; ip link set v0 up; ip addr add 10.74.0.1/24 dev v0",
    );
    let said = heads.check(&[VLAN], &[]);
    said.finds(&["vlan-filtered"]);
    let filtered = said.evidence("vlan-filtered");
    assert_eq!(
        (&filtered["vlan"], &filtered["ports_passing"]),
        (&10.into(), &0.into())
    );
    heads.lab.sh("head1", "bridge vlan add dev ring0 vid 10");
    heads.check(&[VLAN], &[]).says(&[]);
    heads.lab.sh(
        "head1",
        "ip link del br0; ip addr add 10.72.0.1/24 dev ring0",
    );
    heads.lab.sh("head2", "ip link del v0");
}
