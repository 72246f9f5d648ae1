//! Probes over agents: path MTU in both its answers, and who hears whom at layer 2.

mod agent_support;

use agent_support::{A, B, Nodes, ask};
use hawser_agent::questions::{
    AnnounceHello, ClosePathMtuResponder, HearHellos, ListenHello, OpenPathMtuResponder,
    SearchPathMtu,
};
use hawser_model::probe::HelloHeard;
use hawser_model::units::{Mtu, Nanos};

const DEADLINE: Nanos = Nanos::from_millis(1_500);

#[test]
fn the_path_mtu_is_what_arrives_and_not_what_the_interface_allows() {
    let nodes = Nodes::start();
    let (mut a, mut b) = (nodes.a.agent("a"), nodes.b.agent("b"));
    let port = ask(&mut b, &OpenPathMtuResponder { address: B }).unwrap();
    let mut search = |mtu| {
        let question = SearchPathMtu {
            source: A,
            destination: B,
            port,
            interface_mtu: Mtu(mtu),
            deadline: DEADLINE,
        };
        ask(&mut a, &question).unwrap()
    };
    let whole = search(1500);
    assert_eq!((whole.passed, whole.silent), (Some(Mtu(1500)), None));

    // The sender believes in jumbo frames, the receiver's port does not take them.
    nodes.a.sh("ip link set ring0 mtu 9000");
    let hole = search(9000);
    let passed = hole.passed.expect("small ones pass");
    assert!(passed >= Mtu(1500) && passed < Mtu(9000), "{hole:?}");
    assert!(hole.silent.is_some(), "{hole:?}");

    ask(&mut b, &ClosePathMtuResponder).unwrap();
    assert!(!nodes.b.udp_port_open(port));
}

#[test]
fn a_hello_is_heard_by_the_other_node_under_the_names_of_the_cluster_file() {
    let nodes = Nodes::start();
    let (mut a, mut b) = (nodes.a.agent("head1"), nodes.b.agent("head2"));
    let listen = ListenHello(vec![("ring0".into(), "san".into())]);
    ask(&mut b, &listen).unwrap();
    let mut announce = |interface: &str, link: &str| {
        let (interface, link) = (interface.into(), link.into());
        ask(&mut a, &AnnounceHello { interface, link })
    };
    announce("ring0", "heartbeat").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    let heard = ask(&mut b, &HearHellos).unwrap();
    assert_eq!(
        heard,
        [HelloHeard {
            from: "head1".into(),
            from_link: "heartbeat".into(),
            by: "head2".into(),
            on_link: "san".into(),
            copies: 1,
        }]
    );
    let error = ask(&mut b, &HearHellos).unwrap_err();
    assert!(error.host_goes_on(), "{error}");
    let error = announce("ring9", "x").unwrap_err();
    assert!(error.to_string().contains("ring9"), "{error}");
}
